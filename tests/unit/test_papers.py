"""The papers beside the code say what is there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import spherevec

ROOT = Path(__file__).parents[2]


def read(name):
    return (ROOT / name).read_text("utf-8")


@pytest.mark.process
def test_the_version_has_one_home():
    project = tomllib.loads(read("pyproject.toml"))
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    home = project["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{spherevec.__version__}"' in read(home)
    code = [sys.executable, "-m", "spherevec", "--version"]
    assert subprocess.run(code, capture_output=True, text=True, check=True).stdout.split()[-1] == spherevec.__version__


def test_the_changelog_has_this_version_and_the_citation_none():
    versions = re.findall(r"^## (\d+\.\d+\.\d+) \((.*)\)$", read("CHANGELOG.md"), re.MULTILINE)
    assert versions[0][0] == re.match(r"[\d.]+\d", spherevec.__version__).group()
    assert not re.search(r"^(version|date-released):", read("CITATION.cff"), re.MULTILINE)


def test_contributing_names_files_that_exist():
    text = read("CONTRIBUTING.md")
    rows = [line.split("|")[1:3] for line in text.splitlines() if re.match(r"\| (an?|another) ", line)]
    assert len(rows) >= 12
    for what, where in rows:
        path = re.findall(r"`([^`]+)`", where)[0]
        assert (ROOT / path.split("<")[0]).exists(), f"{what}: {path}"
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (ROOT / link).exists(), link


def test_make_help_lists_every_target():
    makefile = read("Makefile")
    targets = set(re.search(r"\.PHONY: (.*)", makefile).group(1).split())
    described = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    assert targets == described


@pytest.mark.parametrize("folder", ["experiments", "benchmarks"])
def test_the_readmes_name_what_is_there(folder):
    for readme in (ROOT / folder).rglob("README.md"):
        for module in re.findall(r"python -m ((?:experiments|benchmarks)[.\w]*)", readme.read_text("utf-8")):
            path = ROOT / module.replace(".", "/")
            assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), f"{readme}: {module}"


def test_the_wheel_holds_the_package_alone():
    wheel = tomllib.loads(read("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["src/spherevec"]
    rooms = {path.name for path in (ROOT / "src" / "spherevec").iterdir() if path.is_dir()}
    assert not rooms & {"reproduction", "experiments", "benchmarks", "tests"}


def test_the_docs_name_tests_and_files_that_exist():
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    known = set(re.findall(r"def (test_\w+)", tests))
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        text = page.read_text("utf-8")
        assert set(re.findall(r"\b(test_\w+)\b(?!\.py)", text)) <= known, page
        for path in re.findall(r"`((?:src|tests|experiments|benchmarks)/[\w./-]+)`", text):
            assert (ROOT / path).exists(), f"{page}: {path}"
