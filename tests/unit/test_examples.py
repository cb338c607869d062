"""The examples of docstrings run."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import spherevec

SOURCE = Path(spherevec.__file__).parent
FILES = sorted(path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text("utf-8"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(SOURCE).as_posix())
def test_examples_run(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = ".".join(["spherevec", *file.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
    found = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted and not found.failed
