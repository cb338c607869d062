"""`spherevec tokenize` on real files."""

import json

import pytest

from spherevec.cli import main
from spherevec.corpus.count.encoder import preview

TEXT = (
    "The U.S. &amp; COVID-19: see http://x.org/a, C++ &lt;b&gt;\nheart attack 😀 #tag 3.14\n\n"
    + "heart attack again\n" * 20
)


def test_counts_and_examples(tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, "utf-8")
    assert main(["tokenize", str(path), "--top", "3", "--phrases"]) == 0
    said = capsys.readouterr().out
    assert "23 documents, 1 of them empty" in said and "of them occur fewer than twice\n" in said
    assert "hyphens: covid-19" in said
    assert "abbreviations: u.s." in said
    assert "21  heart" in said
    assert "&amp; 1" in said


def test_json(tmp_path, capsys):
    path = tmp_path / "text.csv"
    path.write_text("body,x\nCovid-19 spreads,1\nit spreads,2\n", "utf-8")
    assert main(["tokenize", str(path), "--text-field", "body", "--json", "--tokenizer", "words:hyphens=split"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tokens"] == 5
    assert found["top"][0] == ["spreads", 2]
    assert (found["words"], found["min_count"], found["rare"]) == (4, 2, 3)


@pytest.mark.parametrize("tokenizer", ["wrods", "words:urls=never"])
def test_bad_tokenizers_get_one_line(tmp_path, capsys, tokenizer):
    path = tmp_path / "text.txt"
    path.write_text("a b\n")
    assert main(["tokenize", str(path), "--tokenizer", tokenizer]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_preview_in_python():
    found = preview(["Heart attack, <b>heart</b> attack"] * 6, phrases=True, top=2)
    assert found["joined"]["phrases"] == ["heart attack"]
    assert found["left_out"][0] == ("<b>", 6)
    assert preview(["c++ and #tag, 3.14!"])["left_out"] == [(",", 1), ("!", 1)]
    assert preview(["<i>c++</i>"], "words:html=off,symbols=off")["left_out"] == [("<", 2), (">", 2), ("+", 2), ("/", 1)]
