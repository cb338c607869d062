"""The notebooks in examples/ are stored with their outputs, and still print most of it when they run again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import words_missing

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def printed(cell: Any) -> str:
    outputs = [one.get("text") or one.get("data", {}).get("text/plain", "") for one in cell.get("outputs", ())]
    return "\n".join(outputs)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for table in EXAMPLES.glob("*.csv"):
        shutil.copy(table, tmp_path)
    notebook = nbformat.read(path, as_version=4)
    stored = [printed(cell) for cell in notebook.cells]
    assert any(stored), "a forge shows the outputs that are stored"
    assert path.stat().st_size < 100_000
    nbclient.NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for shown, cell in zip(stored, notebook.cells, strict=True):
        missing = words_missing(shown, printed(cell))
        assert not missing, f"{cell.source}\nshows what is not printed: {missing}\n{printed(cell)}"
