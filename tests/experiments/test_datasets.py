"""Data sets: a small folder of each kind, its faults, and the real folder where SPHEREVEC_DATA names one."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier

from experiments.datasets import (
    cross_validated,
    find_data,
    fold_rows,
    labelled_sets,
    load_analogies,
    load_labelled,
    load_similarity,
    wiki_path,
)
from spherevec.errors import ConfigError, CorpusError

needs_data = pytest.mark.skipif(not os.environ.get("SPHEREVEC_DATA"), reason="SPHEREVEC_DATA names no data folder")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("SPHEREVEC_DATA", raising=False)
    news, words = tmp_path / "20news", tmp_path / "wordsim"
    news.mkdir()
    words.mkdir()
    with gzip.open(news / "text.txt.gz", "wb") as stream:
        stream.write("first post\n\na line\x85with a next-line character\nlast".encode())
    (news / "label.txt").write_text("0\n1\n1\n0\n")
    (news / "split.txt").write_text("train\ntrain\ntest\ntest\n")
    (news / "classes.txt").write_text("alt.one\nalt.two\n")
    (words / "wordsim353.csv").write_bytes(b"Word 1,Word 2,Human (mean)\r\nlove,sex,6.77\r\ntiger,cat,7.35\r\n")
    (words / "men.txt").write_text("sun sunlight 50.000000\n")
    (words / "simlex999.txt").write_bytes(b"word1\tword2\tPOS\tSimLex999\tconc\r\nold\tnew\tA\t1.58\t2.72\r\n")
    (words / "google-analogies.txt").write_text(
        ": capitals\nAthens Greece Oslo Norway\n: gram1-plural\ncat cats dog dogs\n"
    )
    return tmp_path


def test_labelled_texts_keep_empty_documents_and_odd_line_separators(folder):
    data = load_labelled("20news", folder)
    assert data.texts == ["first post", "", "a line\x85with a next-line character", "last"]
    assert data.labels.tolist() == [0, 1, 1, 0]
    assert data.split is not None and data.split.tolist() == ["train", "train", "test", "test"]
    assert data.classes == ("alt.one", "alt.two")


def test_labels_may_be_numbered_from_1(folder):
    (folder / "20news" / "label.txt").write_text("1\n2\n2\n1\n")
    assert load_labelled("20news", folder).labels.tolist() == [0, 1, 1, 0]
    (folder / "20news" / "label.txt").write_text("1\n2\n0\n1\n")
    with pytest.raises(CorpusError, match="line 2: expected a class number below 2, not '2'"):
        load_labelled("20news", folder)


def test_a_set_without_a_split_says_so(folder):
    (folder / "20news" / "split.txt").write_text("all\n" * 4)
    assert load_labelled("20news", folder).split is None


def test_folder_comes_from_the_environment_and_the_argument_wins(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SPHEREVEC_DATA", str(folder))
    assert find_data() == folder
    other = tmp_path / "other"
    other.mkdir()
    assert find_data(other) == other


def test_similarity_files(folder):
    assert load_similarity("wordsim353", folder) == [("love", "sex", 6.77), ("tiger", "cat", 7.35)]
    assert load_similarity("men", folder) == [("sun", "sunlight", 50.0)]
    assert load_similarity("simlex999", folder) == [("old", "new", 1.58)]


def test_analogy_sections(folder):
    capitals, plural = load_analogies(folder)
    assert capitals.questions == (("Athens", "Greece", "Oslo", "Norway"),)
    assert not capitals.syntactic and plural.syntactic


@pytest.mark.parametrize(
    ("file", "content", "call", "message"),
    [
        ("20news/label.txt", "0\n1\n2\n0\n", "labelled", "label.txt, line 3: expected a class number below 2, not '2'"),
        ("20news/label.txt", "0\n1\n", "labelled", "label.txt has 2 lines for 4 documents"),
        ("20news/split.txt", "train\ntest\nboth\ntest\n", "labelled", "split.txt: expected lines 'train' and 'test'"),
        ("20news/text.txt.gz", "not gzip", "labelled", "text.txt.gz: cannot be read"),
        (
            "wordsim/men.txt",
            "sun sunlight 50\nsun\n",
            "men",
            "men.txt, line 2: expected two words and a score, not 'sun'",
        ),
        ("wordsim/google-analogies.txt", "a b c d\n", "analogies", "line 1: expected ': section' or four words"),
        ("wordsim/google-analogies.txt", ": x\na b c\n", "analogies", "line 2: expected ': section' or four words"),
    ],
)
def test_a_broken_file_is_named_with_its_line(folder, file, content, call, message):
    (folder / file).write_text(content)
    calls = {"labelled": lambda: load_labelled("20news", folder), "analogies": lambda: load_analogies(folder)}
    with pytest.raises(CorpusError) as caught:
        calls.get(call, lambda: load_similarity(call, folder))()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_absent_is_named(folder, monkeypatch):
    with pytest.raises(CorpusError, match="SPHEREVEC_DATA"):
        find_data()
    with pytest.raises(CorpusError, match="nowhere does not exist"):
        find_data(folder / "nowhere")
    with pytest.raises(CorpusError, match=r"wiki20m.txt.gz: no such file"):
        wiki_path(folder)
    with pytest.raises(ConfigError, match="has no labelled data set 'news'; it has 20news"):
        load_labelled("news", folder)
    with pytest.raises(ConfigError, match="unknown similarity data set 'rg65'"):
        load_similarity("rg65", folder)


def test_any_folder_with_labels_is_a_set(folder):
    assert labelled_sets(folder) == ["20news"]
    (folder / "20news").rename(folder / "mine")
    assert labelled_sets(folder) == ["mine"]
    assert load_labelled("mine", folder).name == "mine"


def test_cross_validation_tests_every_document_once_with_classes_in_proportion():
    labels = np.repeat([0, 1], [40, 10])
    folds = fold_rows(labels, 5, seed=0)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(50))
    for train, test in folds:
        assert not set(train) & set(test)
        assert np.bincount(labels[test]).tolist() == [8, 2]


def test_cross_validated_scores_repeat_and_vary_with_the_seed():
    rng = np.random.default_rng(4)
    labels = np.arange(300) % 4
    vectors = np.eye(4)[labels] + rng.normal(0, 0.8, (300, 4))
    first, again, other = (cross_validated(vectors, labels, seed=seed) for seed in (0, 0, 1))
    assert len(first.micro_f1.values) == 5 and first == again != other and first.micro_f1.std > 0
    train, test = fold_rows(labels, 5, 0)[-1]
    predicted = KNeighborsClassifier(3).fit(vectors[train], labels[train]).predict(vectors[test])
    assert first.macro_f1.values[-1] == f1_score(labels[test], predicted, average="macro")
    with pytest.raises(ConfigError, match="folds must be between 2"):
        cross_validated(vectors, labels, folds=1)


@needs_data
def test_the_real_folder():
    news, reviews = load_labelled("20news"), load_labelled("movie_reviews")
    assert len(news.texts) == 18_846 and len(news.classes) == 20
    assert news.split is not None and (news.split == "train").sum() == 11_314
    assert np.bincount(reviews.labels).tolist() == [1000, 1000] and reviews.split is None
    assert [len(load_similarity(name)) for name in ("wordsim353", "men", "simlex999")] == [353, 3000, 999]
    sections = load_analogies()
    assert len(sections) == 14 and sum(len(section.questions) for section in sections) == 19_544
    assert sum(section.syntactic for section in sections) == 9
    assert isinstance(wiki_path(), Path)
