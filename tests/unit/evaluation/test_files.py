"""A user's own files: labels, splits, pairs and questions, and what is wrong with them."""

import pytest

from spherevec.errors import CorpusError
from spherevec.evaluation.files import read_analogies, read_labels, read_pairs, read_split


def test_labels_of_ones_own(tmp_path):
    file = tmp_path / "labels.txt"
    file.write_bytes("billing\r\nlog in\r\nÜbung\r\n".encode())
    assert read_labels(file).tolist() == ["billing", "log in", "Übung"]
    file.write_text("train\ntest\n")
    marks = read_split(file)
    assert marks is not None and marks.tolist() == ["train", "test"]
    file.write_text("all\nall\n")
    assert read_split(file) is None
    file.write_text("a\n\nb\n")
    with pytest.raises(CorpusError, match=r"labels.txt, line 2: is empty; every document needs a label"):
        read_labels(file)
    with pytest.raises(CorpusError, match="expected lines 'train' and 'test'"):
        read_split(file)
    with pytest.raises(CorpusError, match=r"none.txt: no such file"):
        read_labels(tmp_path / "none.txt")


@pytest.mark.parametrize("separator", [" ", "\t", ",", ", "])
def test_pairs_by_any_separator_with_or_without_a_header(tmp_path, separator):
    file = tmp_path / "pairs"
    rows = [("tiger", "cat", "7.35"), ("sun", "sunlight", "N", "50", "2.1")]
    lines = [separator.join(row) for row in rows]
    for header in ([], [separator.join(("word", "other", "score"))]):
        file.write_text("\n".join(header + lines) + "\n")
        assert read_pairs(file) == [("tiger", "cat", 7.35), ("sun", "sunlight", 50.0)]


@pytest.mark.parametrize("line", ["tiger", "tiger cat", "tiger,cat,nan", "tiger\t\t7", ""])
def test_a_line_that_is_no_pair_is_named(tmp_path, line):
    file = tmp_path / "pairs"
    file.write_text(f"sun sunlight 50\n{line}\n")
    with pytest.raises(CorpusError, match="line 2: expected two words and a score"):
        read_pairs(file)


def test_questions_come_in_sections(tmp_path):
    file = tmp_path / "questions"
    file.write_text(": capitals\nAthens Greece Oslo Norway\n: gram1-plural\ncat cats dog dogs\n")
    capitals, plural = read_analogies(file)
    assert capitals.questions == (("Athens", "Greece", "Oslo", "Norway"),)
    assert not capitals.syntactic and plural.syntactic
    file.write_text("a b c d\n")
    with pytest.raises(CorpusError, match="line 1: expected ': section' or four words"):
        read_analogies(file)
