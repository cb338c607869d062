"""Every Python and shell snippet of the README and the pages runs, in order, in one session a page.

The pages speak of `tickets.csv` and `december.csv`, which are in examples/. A block of text right below a snippet shows
its output: most words of it must still be printed. `SHOW=1 pytest tests/system/test_snippets.py` writes these anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import words_missing

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/guides").glob("*.md"))]
SNIPPET = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\s*```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def snippets(page: Path) -> list[tuple[str, str, str]]:
    return SNIPPET.findall(page.read_text("utf-8"))


def tidy(printed: str) -> str:
    return "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_the_snippets_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for table in (ROOT / "examples").glob("*.csv"):
        shutil.copy(table, tmp_path)
    # The command of the environment that runs the tests.
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("COLUMNS", "100")
    session: dict[str, object] = {"__name__": "__main__"}
    for number, (kind, code, shown) in enumerate(snippets(page), 1):
        where = f"{page.name}, snippet {number}"
        if kind == "python":
            capsys.readouterr()
            exec(compile(code, where, "exec"), session)
            printed = capsys.readouterr().out
        else:
            done = subprocess.run(["bash", "-e", "-c", code], capture_output=True, text=True)
            assert done.returncode == 0, f"{where}:\n{done.stderr}"
            printed = done.stdout
        if shown and os.environ.get("SHOW"):
            before, after = f"{code}```\n\n```text\n{shown}", f"{code}```\n\n```text\n{tidy(printed)}\n"
            page.write_text(page.read_text("utf-8").replace(before, after), "utf-8")
            continue
        missing = words_missing(shown, printed)
        assert not missing, f"{where} shows what is not printed: {missing}\n{printed}"


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_no_snippet_is_cut_off(page: Path) -> None:
    long = [line for _, code, _ in snippets(page) for line in code.splitlines() if len(line) > 96]
    assert not long, "the site shows 96 characters at a width of 1,300 pixels"


def test_the_readme_names_its_two_commands() -> None:
    blocks = (ROOT / "README.md").read_text("utf-8").split("```")[1::2]
    assert any("make demo" in block and "make test" in block for block in blocks)
