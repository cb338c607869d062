"""Every Python snippet of the README runs, in order, in one session."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return {"folder": tmp_path_factory.mktemp("readme")}


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_snippet_runs(number: int, session: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(session["folder"]))
    exec(compile(SNIPPETS[number], f"README.md, snippet {number + 1}", "exec"), session)


def test_the_readme_has_its_two_commands_on_top() -> None:
    first_block = README.read_text("utf-8").split("```")[1]
    assert [line.split("#")[0].strip() for line in first_block.strip().splitlines()] == ["make demo", "make test"]
