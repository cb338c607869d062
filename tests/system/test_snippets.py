"""Every Python and shell snippet of the README and the pages runs, in order, in one session a page.

The pages speak of a table `tickets.csv` with the columns ticket, subject, body, created and team, and of a later one,
`december.csv`; both are written here.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/guides").glob("*.md"))]
SNIPPET = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)

TEAMS = {
    "billing": "invoice refund charge payment card amount receipt price",
    "login": "password account log in reset email locked verify",
    "delivery": "parcel courier shipping address late package tracking warehouse",
    "app": "crash screen update button phone install freeze version",
}
COMMON = [
    "the",
    "my",
    "is",
    "not",
    "and",
    "please",
    "help",
    "again",
    "since",
    "yesterday",
    "cannot",
    "still",
    "with",
    "after",
    "a",
    "to",
    "i",
    "have",
    "was",
    "it",
]


def write_tickets(path: Path, first: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["ticket", "subject", "body", "created", "team"])
        for number in range(first, first + count):
            team = list(TEAMS)[number % len(TEAMS)]
            own = TEAMS[team].split()
            words = [str(rng.choice(own if rng.random() < 0.5 else COMMON)) for _ in range(25)]
            day = date(2026, 9, 1) + timedelta(days=int(number) // 5)
            table.writerow([f"T-{number:04}", " ".join(words[:4]), " ".join(words), day.isoformat(), team])


def snippets(page: Path) -> list[tuple[str, str]]:
    return [(kind, code) for kind, code in SNIPPET.findall(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_the_snippets_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tickets(tmp_path / "tickets.csv", 0, 400, seed=1)
    write_tickets(tmp_path / "december.csv", 400, 60, seed=2)
    # The command of the environment that runs the tests.
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    session: dict[str, object] = {"__name__": "__main__"}
    for number, (kind, code) in enumerate(snippets(page), 1):
        if kind == "python":
            exec(compile(code, f"{page.name}, snippet {number}", "exec"), session)
            continue
        done = subprocess.run(["bash", "-e", "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, f"{page.name}, snippet {number}:\n{done.stderr}"


def test_the_readme_has_its_two_commands_on_top() -> None:
    first_block = (ROOT / "README.md").read_text("utf-8").split("```")[1]
    assert [line.split("#")[0].strip() for line in first_block.strip().splitlines()] == ["make demo", "make test"]
