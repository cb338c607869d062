"""CONTRIBUTING.md names what exists."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PATHS = sorted(set(re.findall(r"`((?:src|tests|docs|examples|experiments|benchmarks)/[\w./]*)`", TEXT)))
# `src/spherevec/module.py`: `NAME`, or: a field or subclass of `Name`
NAMES = re.findall(r"`src/(spherevec/[\w/]+)\.py`:[^|]*?`([A-Za-z_]\w+)`", TEXT)
CHANGES = (
    "a setting of training", "an export format", "a figure of training progress", "a command", "a clusterer",
    "an objective", "a backend", "an input format", "a tokenizer option", "a role of a column",
    "a way to title topics", "a file (part) of the model",
)  # fmt: skip


def test_every_path_exists():
    assert len(PATHS) > 30
    assert [path for path in PATHS if not (ROOT / path).exists()] == []


def test_every_table_is_where_it_is_said_to_be():
    assert len(NAMES) > 8
    for file, name in NAMES:
        module = importlib.import_module(file.removesuffix("/__init__").replace("/", "."))
        assert hasattr(module, name), f"{file} has no {name}"


@pytest.mark.parametrize("change", CHANGES)
def test_every_usual_change_has_a_row(change):
    assert f"\n| {change} |" in TEXT


def test_every_room_is_on_the_map():
    rooms = {path.name for path in (ROOT / "src/spherevec").iterdir() if (path / "__init__.py").is_file()}
    assert rooms == set(re.findall(r"`src/spherevec/(\w+)/`", TEXT)) - {"commands"}


def test_unit_tests_mirror_the_rooms():
    rooms = {path.name for path in (ROOT / "src/spherevec").iterdir() if (path / "__init__.py").is_file()}
    tested = {path.name for path in (ROOT / "tests/unit").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert tested <= rooms
    assert rooms - tested == {"cli", "demo"}  # these are run as commands, in tests/system


def test_the_targets_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`?make (\w+)", TEXT):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
