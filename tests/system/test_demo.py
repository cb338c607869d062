"""The tour: where its text comes from, and what it shows."""

import inspect
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from spherevec.demo.docstrings import PACKAGES, STANDARD_LIBRARY, Docstring

SPHEREVEC = str(Path(sys.executable).with_name("spherevec"))
SECTIONS = ("Search", "Topics", "Similar words")


@pytest.fixture(scope="module")
def collected():
    """The docstrings by name, and the modules that a new process has imported when it has collected them."""
    code = "import sys, json; from spherevec.demo.docstrings import collect_docstrings as c; print(json.dumps(c()));"
    code += "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    docstrings, modules = done.stdout.splitlines()
    return {name: Docstring(name, *rest) for name, *rest in json.loads(docstrings)}, set(modules.split())


@pytest.fixture(scope="module")
def docstrings(collected):
    return collected[0]


@pytest.mark.parametrize(
    ("name", "package", "documented"),
    [
        ("json.dumps", STANDARD_LIBRARY, json.dumps),
        ("subprocess.Popen.communicate", STANDARD_LIBRARY, subprocess.Popen.communicate),
        ("numpy.linalg.svd", "numpy", np.linalg.svd),
        ("scipy.stats.pearsonr", "scipy", scipy.stats.pearsonr),
    ],
)
def test_docstrings_are_those_that_python_shows(docstrings, name, package, documented):
    assert docstrings[name].package == package
    assert docstrings[name].module == name.removesuffix(".communicate").rpartition(".")[0]
    shown = inspect.getdoc(documented).replace("``", "").split("\n\n")[0]
    first = docstrings[name].text.split(". ")[0].removesuffix(".")
    assert first in " ".join(shown.split())


def test_docstrings_of_compiled_functions_are_found(docstrings):
    assert docstrings["numpy.ndarray.shape"].text.startswith("Tuple of array dimensions.")
    assert "numpy.array" in docstrings


def test_the_language_reference_is_among_them(docstrings):
    assert "context manager" in docstrings["language.with"].text
    assert sum(one.module == "language" for one in docstrings.values()) > 40


def test_docstrings_are_prose(docstrings):
    for name, one in docstrings.items():
        assert ">>>" not in one.text and "----" not in one.text and "_" not in one.text, name
        assert not any(part.startswith("_") for part in name.split(".")), name
    longest = max(len(one.text.split()) for one in docstrings.values() if one.module != "language")
    assert longest < 5000


def test_docstrings_are_many_and_distinct(docstrings):
    assert len(docstrings) > 5_000
    assert len({one.text for one in docstrings.values()}) == len(docstrings)
    packages = Counter(one.package for one in docstrings.values())
    assert set(packages) == {STANDARD_LIBRARY, *PACKAGES} and min(packages.values()) > 600
    assert not any(".tests." in name or name.startswith("test.") for name in docstrings)


def test_collecting_imports_nothing_that_it_reads(collected):
    _, modules = collected
    assert "ast" in modules
    assert not {"numpy", "scipy", "sklearn", "tkinter", "asyncio"} & modules


def sections(stdout: str) -> dict[str, list[list[str]]]:
    """The cells of each section of the tour, by its title."""
    found: dict[str, list[list[str]]] = {}
    for line in stdout.splitlines():
        title, _, _ = line.partition(":")
        if title in SECTIONS:
            rows = found[title] = []
        elif line.strip() and found:
            rows.append(re.split(r" {2,}", line.strip()))
    return found


def demo(*arguments):
    done = subprocess.run([SPHEREVEC, "demo", *arguments], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done


def test_the_tour_of_docstrings(docstrings):
    done = demo("--json")
    assert "documents" in done.stderr and "training, epoch" in done.stderr
    found = json.loads(done.stdout)
    threads, samples = found["search"]
    assert sum("thread" in one["id"].lower() for one in threads["answers"]) >= 2
    assert any("ttest" in one["id"] for one in samples["answers"])
    words = found["similar_words"]
    assert {"thread", "file", "matrix"} <= set(words)
    [broad] = found["above"]
    assert 2 <= len(broad) <= 20 and len(broad) < len(found["topics"])
    outside = found["without_known_word"] + found["other"]
    for level in (broad, found["topics"]):
        assert sum(one["size"] for one in level) + outside == len(docstrings)
    [by_package] = found["by"]
    assert set(by_package["groups"]) == {STANDARD_LIBRARY, *PACKAGES}
    assert Path(found["page"]).is_file()


def test_the_tour_of_own_text(tmp_path):
    rng = np.random.default_rng(0)
    topics = (["apple", "pear", "plum", "fig"], ["bolt", "screw", "nail", "hinge"], ["oboe", "flute", "horn", "lute"])
    texts = tmp_path / "texts"
    texts.mkdir()
    for n in range(90):
        words = rng.choice([*topics[n % 3], "the", "of"], size=25)
        (texts / f"{topics[n % 3][0]}-{n:02}.txt").write_text(" ".join(words))
    done = demo("--corpus", texts)
    shown = sections(done.stdout)
    assert tuple(shown) == SECTIONS
    topic_of = {word: topic[0] for topic in topics for word in topic}
    for word, near in shown["Similar words"]:  # not "the" or "of"
        assert topic_of[near.split(", ")[0]] == topic_of[word]
    assert len({name.split("-")[0] for _, name, *_ in shown["Search"]}) == 1
    _, *rows = shown["Topics"]
    assert [row[1] for row in rows[:3]] == ["30", "30", "30"]


def test_the_tour_of_a_single_short_document(tmp_path):
    (tmp_path / "text").write_text("so so so it it it is is is")
    done = demo("--corpus", tmp_path / "text")
    assert "Similar words" in done.stdout and "Search" not in done.stdout


def test_the_tour_of_a_table(tmp_path):
    rows = [
        f"{number},{word} and {other} again"
        for number in range(60)
        for word, other in [("tea", "milk"), ("car", "road")]
    ]
    (tmp_path / "t.csv").write_text("id,body\n" + "\n".join(rows) + "\n")
    done = demo("--corpus", tmp_path / "t.csv", "--text-field", "body", "--out", tmp_path / "map.html")
    assert done.returncode == 0, done.stderr
    assert f"spherevec train {tmp_path / 't.csv'} --text-field body --out MODEL" in done.stderr
    assert (tmp_path / "map.html").is_file()
