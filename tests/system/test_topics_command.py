"""`spherevec topics` and `spherevec evaluate topics` as a user runs them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from spherevec.cli import main
from warm import run_command as run

WORDS = {
    "sport": "goal match team league coach",
    "money": "bank loan invoice refund credit",
    "food": "oven flour salt dough pan",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("topics")
    random = np.random.default_rng(1)
    with (place / "text.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "body", "team", "created"])
        for number in range(180):
            subject = list(WORDS)[number % 3]
            body = " ".join(random.choice(WORDS[subject].split(), 10))
            rows.writerow([f"d{number}", body, "a" if subject == "sport" else "b", f"202{number % 4}-01-05"])
    (place / "labels.txt").write_text("".join(f"{number % 3}\n" for number in range(180)))
    done = run(
        "train", place / "text.csv", "--text-field", "body", "--id-field", "id", "--keep", "team,created",
        "--out", place / "model", "--min-count", 1, "--vector-size", 12, "--epochs", 40, "--threads", 1, "--quiet",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return place


def test_found_topics_are_printed_and_written(folder: Path) -> None:
    out = folder / "found"
    done = run("topics", folder / "model", "--by", "team", "--by", "created:year", "--out", out, "--k", 3)
    assert done.returncode == 0, done.stderr
    assert "documents" in done.stdout and "█" in done.stdout
    assert "2021" not in done.stdout and "4 of 4 without a typical topic are left out" in done.stdout
    assert "–" not in done.stdout and done.stdout.count("left out") == 1  # both teams have one
    about = json.loads((out / "topics.json").read_text())
    assert [topic["size"] for topic in about["topics"]] == [60, 60, 60]
    assert [*about["by"][1]["groups"]] == ["2020", "2021", "2022", "2023"]
    assert about["by"][0]["groups"]["a"]["typical"] == [about["by"][0]["groups"]["a"]["typical"][0]]
    rows = list(csv.DictReader((out / "assignments.csv").open(newline="")))
    assert [*rows[0]] == ["id", "topic", "name", "probability", "second", "parent", "parent_name"] and len(rows) == 180
    assert run("topics", folder / "model", "--out", out).returncode == 2
    assert run("topics", folder / "model", "--out", out, "--force", "--quiet", "--k", 2).returncode == 0


@pytest.mark.parametrize("width", [120, 80, 44])
def test_numbers_are_shown_however_narrow_the_terminal_is(
    folder: Path, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("spherevec.cli.display._WIDTH", width)
    assert main(["topics", str(folder / "model"), "--k", "3", "--quiet", "--threads", "1"]) == 0
    heads, *rows, _ = capsys.readouterr().out.splitlines()
    assert heads.split()[:3] == ["topic", "documents", "name"] and ("further words" in heads) == (width > 60)
    assert [row.split()[:2] for row in rows] == [[str(number), "60"] for number in range(3)]
    assert max(map(len, rows)) <= width


def test_names_classify(folder: Path) -> None:
    names = folder / "names.txt"
    names.write_text("sport: match\nmoney: bank, loan\nkitchen: oven\n")
    done = run("topics", folder / "model", "--names", names, "--only-names", "--json", "--quiet")
    assert done.returncode == 0 and done.stderr == ""
    assert {topic["title"]: topic["size"] for topic in json.loads(done.stdout)["topics"]} == {
        "sport": 60,
        "money": 60,
        "kitchen": 60,
    }


def test_topics_are_kept_with_the_model(folder: Path) -> None:
    names = folder / "kept.txt"
    names.write_text("sport: match\nmoney: bank\n")
    done = run("topics", folder / "model", "--names", names, "--only-names", "--keep", "--quiet")
    assert done.returncode == 0, done.stderr
    again = run("topics", folder / "model", "--json", "--quiet")
    assert [topic["title"] for topic in json.loads(again.stdout)["topics"]] == ["sport", "money"]
    found = run("topics", folder / "model", "--json", "--quiet", "--k", 3, "--keep")
    assert len(json.loads(found.stdout)["topics"]) == 3
    answers = run("search", folder / "model", "bank loan", "--among", "topics", "--json")
    assert answers.returncode == 0, answers.stderr


def test_topics_are_changed_from_the_command_line(folder: Path) -> None:
    def topics(*args: object) -> dict[int, dict[str, object]]:
        done = run("topics", folder / "model", "--json", "--quiet", *args)
        assert done.returncode == 0, done.stderr
        return {topic["number"]: topic for topic in json.loads(done.stdout)["topics"]}

    before = topics("--k", 3, "--keep")
    changed = topics("--merge", "0,1", "--rename", "2=ice hockey", "--keep")
    assert list(changed) == [0, 2] and changed[0]["size"] == 120 and changed[2]["title"] == "ice hockey"
    assert changed[2]["size"] == before[2]["size"] == 60
    assert topics("--split", 0, "--drop", 2).keys() == {0, 3}
    assert topics()[2]["title"] == "ice hockey"  # what was not kept changed nothing
    assert "add --keep to save them" in run("topics", folder / "model", "--drop", 2).stderr
    assert topics("--seed", 1).keys() != {0, 2}  # found anew
    assert len(topics("--k", 3, "--keep")) == 3
    shown = run("topics", folder / "model", "--levels", "2,3", "--quiet").stdout
    assert "2 broad, 3 finer" in shown


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--k", 1000], "k is a whole number from 1 to 180"),
        (["--by", "colour"], "no field 'colour'"),
        (["--by", "team:month"], "'team' holds no dates"),
        (["--by", "created:hour"], "the unit of time is one of"),
        (["--names", "nowhere.txt"], "no such file of names"),
        (["--only-names"], "--only-names needs --names"),
        (["--k", 3, "--merge", "0"], "merging needs two different topics, not 0; give two numbers, such as 3,7"),
        (["--k", 3, "--merge", "0,x"], "give whole numbers with commas"),
        (["--k", 3, "--rename", "7"], "give a number and a title"),
        (["--k", 3, "--drop", 9], "there is no topic 9"),
        (["--levels", "9,3"], "levels go from broad to fine, such as 6,40, not 9,3"),
        (["--k", 3, "--split", "1,2"], "'1,2' is not a whole number"),
    ],
)
def test_mistakes_cost_one_line(folder: Path, args: list[object], message: str) -> None:
    done = run("topics", folder / "model", "--quiet", *args)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_evaluate(folder: Path) -> None:
    done = run("evaluate", "topics", folder / "model", "--labels", folder / "labels.txt", "--json")
    assert done.returncode == 0, done.stderr
    assert '"nmi": ' in done.stdout and '"npmi": ' in done.stdout
    assert run("evaluate", "topics", folder / "model").returncode == 0
