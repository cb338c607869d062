"""Lookups, neighbours and analogies, compared with gensim's where gensim has them."""

from __future__ import annotations

import copy
import json
import pickle
import re
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner

import spherevec
from helpers import grows
from spherevec.cli import cli
from spherevec.errors import ConfigError, FormatError, SpherevecError
from spherevec.model import KeyedVectors, Model, UnknownKeyError
from spherevec.model.other_names import HERE, OtherNames
from spherevec.model.verbs import VERBS, verb

WORDS = ["cat", "dog", "horse", "king", "queen", "man", "woman", "Paris", "naïve", "don't"]


def unit(n, dim=8, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def words():
    return KeyedVectors(WORDS, unit(10), np.arange(10, 0, -1))


@pytest.fixture
def model(words):
    return Model(words, KeyedVectors(WORDS, unit(10, seed=1)), KeyedVectors(None, unit(30, seed=2)))


@pytest.fixture(scope="module")
def peers():
    """The same 300 vectors, ours and gensim's."""
    gensim = pytest.importorskip("gensim")
    names = [f"w{i}" for i in range(300)]
    theirs = gensim.models.KeyedVectors(12)
    theirs.add_vectors(names, unit(300, 12))
    return KeyedVectors(names, unit(300, 12)), theirs


def same(ours, theirs):
    assert [key for key, _ in ours] == [key for key, _ in theirs]
    np.testing.assert_allclose([score for _, score in ours], [score for _, score in theirs], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("positive", "negative"),
    [(["w1"], []), ("w7", []), (["w1", "w2", "w3"], []), (["w4", "w5"], ["w6"]), ([], ["w8"]), (["w1"], ["w2", "w3"])],
)
def test_most_similar_is_gensims(peers, positive, negative):
    ours, theirs = peers
    same(ours.most_similar(positive, negative, topn=12), theirs.most_similar(positive, negative, topn=12))


def test_most_similar_to_a_vector_and_among_the_first_is_gensims(peers):
    ours, theirs = peers
    vector = 3 * unit(1, 12, seed=9)[0]
    same(ours.most_similar(vector, topn=7), theirs.most_similar([vector], topn=7))
    same(ours.similar_by_vector(vector, 5), theirs.similar_by_vector(vector, 5))
    same(ours.most_similar("w3", topn=7, restrict=50), theirs.most_similar("w3", topn=7, restrict_vocab=50))
    # gensim weighs a vector by its length; here every part counts alike.
    same(ours.most_similar(["w3", vector], topn=4), theirs.most_similar(["w3", vector / 3], topn=4))


@pytest.mark.parametrize("length", [1e-45, 1e-30, 1e-12, 1e19, 3e38])
def test_a_vector_of_any_length_is_a_question(words, length):
    query = np.zeros(8, np.float32)
    query[3] = length
    expected = words.similar_by_vector(np.eye(8)[3])
    assert words.similar_by_vector(query) == expected
    assert words.most_similar([query]) == expected
    assert words.similarity(query, "cat") == words.similarity(np.eye(8)[3], "cat")


def test_similarity_and_analogies_are_gensims(peers):
    ours, theirs = peers
    assert ours.similarity("w1", "w2") == pytest.approx(float(theirs.similarity("w1", "w2")), abs=1e-6)
    assert ours.distance("w1", "w2") == pytest.approx(float(theirs.distance("w1", "w2")), abs=1e-6)
    same(ours.analogy("w1", "w2", "w3"), theirs.most_similar(["w2", "w3"], ["w1"]))
    # gensim adds 0.000001 where the paper, and we, add 0.001.
    multiplied, gensims = ours.analogy("w1", "w2", "w3", method="mul"), theirs.most_similar_cosmul(["w2", "w3"], ["w1"])
    same([(key, 1.0) for key, _ in multiplied], [(key, 1.0) for key, _ in gensims])
    np.testing.assert_allclose([score for _, score in multiplied], [score for _, score in gensims], rtol=0.02)


def test_lookups(words):
    np.testing.assert_array_equal(words["dog"], words.vectors[1])
    np.testing.assert_array_equal(words.get_vector(1), words.vectors[1])
    np.testing.assert_array_equal(words[np.int64(1)], words.vectors[1])
    np.testing.assert_array_equal(words[["dog", "cat"]], words.vectors[[1, 0]])
    assert "dog" in words and "wolf" not in words and 9 in words and 10 not in words and True not in words
    assert len(words) == 10 and list(words) == WORDS and words.index_to_key[3] == "king"
    assert words.key_to_index["queen"] == 4 and words.vector_size == 8
    assert "cat" in repr(words) and "10 of dimension 8" in repr(words)


def test_rows_without_names_are_positions():
    docs = KeyedVectors(None, unit(5))
    assert list(docs) == [0, 1, 2, 3, 4] and not docs.named and "0" not in docs and -1 not in docs
    found = docs.most_similar(2, topn=10)
    assert sorted(key for key, _ in found) == [0, 1, 3, 4] and all(isinstance(key, int) for key, _ in found)
    for key in (5, -1, "5"):
        with pytest.raises(KeyError, match="there are 5, counted from 0"):
            docs[key]


def test_unknown_word_suggests_spellings(words):
    with pytest.raises(KeyError) as caught:
        words.get_vector("hrose")
    assert isinstance(caught.value, UnknownKeyError) and isinstance(caught.value, SpherevecError)
    assert str(caught.value) == "no vector for 'hrose'; did you mean 'horse'?"
    with pytest.raises(KeyError, match="did you mean 'dog'"):
        words.most_similar("Dog")
    with pytest.raises(KeyError, match="did you mean 'king'"):
        words["zing"]
    with pytest.raises(KeyError) as caught:
        words["xylophone"]
    assert str(caught.value) == "no vector for 'xylophone'; names are such as " + ", ".join(map(repr, WORDS[:3]))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_long_words_are_cut_in_messages_and_not_compared():
    def message(word):
        with pytest.raises(KeyError) as caught:
            KeyedVectors([word[:-1]], unit(1, 2))[word]
        assert len(str(caught.value)) < 150

    assert grows(message, lambda n: "".join(chr(0x4E00 + i * i % 499) for i in range(n)), 2000) < 24


def test_spellings_are_looked_up_when_the_message_is_read_not_when_the_error_is_raised(monkeypatch):
    many = KeyedVectors([f"word{i}" for i in range(2000)], np.tile(unit(1, 2), (2000, 1)))
    looked_up = []
    find = KeyedVectors.nearest_spellings
    monkeypatch.setattr(KeyedVectors, "nearest_spellings", lambda *a, **k: looked_up.append(1) or find(*a, **k))
    with pytest.raises(KeyError) as caught:
        many["wird5"]
    assert not looked_up
    assert "did you mean 'word5'" in str(caught.value)
    assert looked_up


@pytest.mark.parametrize(
    "call",
    [
        lambda kv: kv.most_similar(),
        lambda kv: kv.most_similar("cat", "cat"),
        lambda kv: kv.most_similar("cat", topn=0),
        lambda kv: kv.most_similar("cat", restrict=0),
        lambda kv: kv.similar_by_vector(np.full(8, np.nan)),
        lambda kv: kv.similar_by_vector(np.ones(7)),
        lambda kv: kv.similar_by_vector(np.zeros(8)),
        lambda kv: kv.similar_by_vector(np.full(8, "x")),
        lambda kv: kv.n_similarity(["cat", -kv["cat"]], ["dog"]),
        lambda kv: kv.analogy("cat", "dog", "king", method="divide"),
    ],
)
def test_questions_without_an_answer_are_refused(words, call):
    with pytest.raises(ConfigError) as caught:
        call(words)
    assert "\n" not in str(caught.value)


def test_what_does_not_fit_together_is_refused(words):
    with pytest.raises(FormatError, match="3 keys do not fit 2"):
        KeyedVectors(["a", "b", "c"], unit(2))
    with pytest.raises(FormatError, match="shape"):
        KeyedVectors(["a"], np.ones(3, np.float32))
    with pytest.raises(FormatError, match="counts"):
        KeyedVectors(["a"], unit(1), [1, 2])
    with pytest.raises(FormatError, match="same keys"):
        Model(words, KeyedVectors(WORDS[::-1], unit(10)))
    with pytest.raises(FormatError, match="dimension 5"):
        Model(words, docs=KeyedVectors(None, unit(3, dim=5)))
    with pytest.raises(FormatError, match="need names"):
        Model(KeyedVectors(None, unit(3)))


def test_one_sphere_for_words_and_documents(model):
    def expected(vector, table, skip=()):
        cosines = table.vectors @ vector
        order = [int(row) for row in np.argsort(-cosines) if row not in skip]
        return [str(table.index_to_key[row]) for row in order[:4]]

    cat, other = model.words["cat"], unit(1, seed=5)[0]
    assert model.search("cat", "words", 4).ids == expected(cat, model.words, skip=[0])
    assert model.search(cat, "docs", 4).ids == expected(cat, model.docs)
    assert model.search(model.docs[10], "docs", 4).ids == expected(model.docs[10], model.docs)
    assert model.search(other, "docs", 4).ids == expected(other, model.docs)


def test_search_says_what_is_missing(words, model):
    bare = Model(words)
    with pytest.raises(ConfigError, match="no documents"):
        bare.search("cat")
    with pytest.raises(ConfigError, match=r"model.docs.most_similar\(3\)"):
        bare.search(3, "words")
    assert "guessed from spelling: 'hrose' as 'horse'" in bare.search("hrose", "words").note
    assert "guessed from spelling: 'hrose' as 'horse'" in model.search("hrose").note
    with pytest.raises(ConfigError, match="among"):
        model.search("cat", "sentences")
    with pytest.raises(ConfigError, match="mode"):
        model.search("cat", mode="fuzzy")
    with pytest.raises(ConfigError, match="topn must be"):
        model.search("cat", topn=0)
    for name in ("top", "top_k", "k"):
        with pytest.raises(ConfigError, match=f"search has no argument '{name}'; use topn"):
            model.search("cat", **{name: 3})
    with pytest.raises(ConfigError, match="search has no argument 'colour'; use one of"):
        model.search("cat", colour=3)
    with pytest.raises(ConfigError, match="does not keep the words"):
        model.search("cat", mode="lexical")


def test_small_verbs(model):
    words = model.words
    some = list(words.names[:3])
    assert words.n_similarity(some, some) == pytest.approx(1)
    assert words.doesnt_match(some) in some
    order = [key for key, _ in words.most_similar("cat", topn=len(words))]
    assert [words.rank("cat", key) for key in order[:3]] == [1, 2, 3]
    cosines = words.most_similar("cat", topn=None)
    assert cosines.shape == (len(words),) and cosines[0] == pytest.approx(1)
    frame = words.to_pandas()
    assert frame.index[0] == "cat" and frame.shape == words.vectors.shape
    for shown in (words._repr_html_(), model._repr_html_()):
        assert shown.startswith("<table>") and "cat" in words._repr_html_()
    with pytest.raises(ConfigError, match="at least one word"):
        words.n_similarity([], some)


@pytest.mark.parametrize(
    ("row", "value", "fault"),
    [(3, np.nan, "NaN"), (4, np.inf, "NaN or inf"), (5, 0.0, "norm 0,"), (6, 1.0, "norm 2.8")],
)
def test_check_finds_the_bad_row(row, value, fault):
    vectors = unit(10)
    KeyedVectors(WORDS, vectors).check()
    vectors[row] = value
    with pytest.raises(FormatError, match=f"row {row} .*{fault}"):
        Model(KeyedVectors(WORDS, vectors)).check()


def test_check_tolerates_one_part_in_a_hundred_thousand():
    KeyedVectors(WORDS, unit(10) * np.float32(1 + 9e-6)).check()
    with pytest.raises(FormatError, match="norm"):
        KeyedVectors(WORDS, unit(10) * np.float32(1 + 2e-5)).check()


def test_check_finds_repeated_keys_and_bad_counts():
    with pytest.raises(FormatError, match="'a' occurs more than once"):
        KeyedVectors(["a", "b", "a"], unit(3)).check()
    with pytest.raises(FormatError, match="negative count"):
        KeyedVectors(["a", "b"], unit(2), [1, -1]).check()


def test_it_says_what_it_is(model):
    assert repr(model) == "Model(10 words, 30 documents, dimension 8, imported)"
    described = model.describe()
    json.dumps(described)
    assert described["words"] == 10 and described["documents"] == 30 and described["tokens"] == 55
    assert model.version == described["provenance"]["version"] and model.created.endswith("+00:00")
    np.testing.assert_array_equal(model.counts, np.arange(10, 0, -1))


def test_forms_of_one_word_are_one_neighbour(tmp_path):
    names = ["doctor", "doctors", "doctor's", "nurse", "nurses", "ward", "car"]
    rows = np.array([[1, 0.1 * place] for place in range(len(names))], np.float32)
    vectors = KeyedVectors(names, rows / np.linalg.norm(rows, axis=1, keepdims=True))
    found = vectors.most_similar("doctor", topn=2, families=True)
    assert [(one.key, one.forms) for one in found] == [("nurse", ("nurses",)), ("ward", ())]
    assert dict(vectors.most_similar("doctor", topn=7))["nurse"] == found[0].cosine
    assert [key for key, _ in vectors.most_similar("doctor", topn=2)] == ["doctors", "doctor's"]
    Model(vectors).save(tmp_path / "m")
    run = partial(CliRunner().invoke, cli)
    folded = run(["neighbors", str(tmp_path / "m"), "doctor", "--top", "2"]).stdout
    assert "nurse (nurses)" in folded and "doctors" not in folded
    (answer,) = json.loads(run(["neighbors", str(tmp_path / "m"), "doctor", "--json"]).stdout)
    assert answer["neighbors"][0]["forms"] == ["nurses"] and "forms" not in answer["neighbors"][1]
    assert "doctors" in run(["neighbors", str(tmp_path / "m"), "doctor", "--spellings"]).stdout


@pytest.mark.parametrize(
    "copied", [lambda table: table, copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))]
)
def test_vectors_cannot_be_changed_behind_the_back_of_a_search(copied):
    """A search keeps a copy of them, which would go on giving the old answers."""
    given = np.eye(4, dtype=np.float32)
    vectors = copied(KeyedVectors(["a", "b", "c", "d"], given))
    vectors.prepare_search()
    with pytest.raises(ValueError, match="read-only"):
        vectors.vectors[0] = vectors.vectors[1]
    given *= 1.0  # whoever has made them may do as before


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_found_in_its_room(name):
    assert callable(verb(name))


def test_a_number_that_is_a_row_and_the_name_of_another_is_refused():
    docs = KeyedVectors([str(10 + row) for row in range(30)], unit(30))
    for ask in (docs.position, docs.get_vector, docs.most_similar, lambda key: docs[[key]]):
        with pytest.raises(ConfigError, match=r"20 may mean '20' or row 20, which is '30'; .*'20', or names\[20\]"):
            ask(20)
    with pytest.raises(UnknownKeyError, match="there is no row 35; names are text: write '35'"):
        docs[np.int64(35)]
    with pytest.raises(UnknownKeyError, match="no vector for 99; there are 30"):
        docs[99]
    assert docs.position(5) == 5 and docs.position("20") == 10 and docs.position(docs.names[20]) == 20
    assert KeyedVectors(["0", "1"], unit(2)).position(1) == 1  # both mean the same


def test_names_of_other_libraries_are_answered_with_ours(model):
    with pytest.raises(AttributeError, match=r"'Model' object has no attribute 'wv'; use model\.words$"):
        model.wv["cat"]
    with pytest.raises(AttributeError, match=r"use model.topics\(\).to_pandas\(\)$"):
        model.get_topic_info()
    with pytest.raises(AttributeError, match=r"^'Model' object has no attribute 'no_such'$"):
        _ = model.no_such
    assert not any(hasattr(model, name) for name in (*HERE, "__array__", "_ipython_canary_method_should_not_exist_"))
    for same in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert same.words.index_to_key == WORDS
    with pytest.raises(ConfigError, match="most_similar has no argument 'top_k'; use topn"):
        model.words.most_similar("cat", top_k=3)


def test_the_error_of_a_property_is_not_hidden():
    class Broken(OtherNames):
        @property
        def found(self):
            return None.nothing

    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'nothing'"):
        _ = Broken().found


@pytest.mark.parametrize("name", HERE)
def test_what_is_advised_exists(name):
    from spherevec.topics import Topics

    for owner, method in re.findall(r"(model|topics|spherevec)\.(\w+)", HERE[name]):
        there = {"model": [Model, *Model.__annotations__], "topics": [Topics], "spherevec": [spherevec]}[owner]
        assert method in there or hasattr(there[0], method), HERE[name]
