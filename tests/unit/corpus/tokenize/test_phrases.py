"""Phrases against twins of a few lines, and what must not change them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spherevec
from spherevec.corpus import EncodedCorpus, Vocabulary, encode, encode_texts
from spherevec.corpus.tokenize.characters import BREAK_BIT, ID_MASK
from spherevec.corpus.tokenize.phrases import (
    PhraseFinder,
    count_runs,
    find_phrases,
    likelihood_ratio,
    phrases_of,
    roles,
)

WORDS = ["heart", "attack", "of", "bill", "rights", "the", "cat", "...", "new", "york"]
DOCUMENTS = st.lists(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=12), max_size=6)


def encoded(documents):
    """Ids with marks, and offsets, of documents of pairs of a word and whether punctuation stands before it."""
    ids = [word | BREAK_BIT * broken for document in documents for word, broken in document]
    return np.array(ids, np.int32), np.cumsum([0, *map(len, documents)]).astype(np.int64)


def runs_slowly(documents, least):
    """Runs that may be a phrase, or begin or end one."""
    never, inside = WORDS.index("..."), {WORDS.index("of"), WORDS.index("the")}
    counts = Counter()
    for document in documents:
        for i in range(len(document)):
            for size in range(2, 5):
                run = document[i : i + size]
                if len(run) < size or any(broken for _, broken in run[1:]) or any(word == never for word, _ in run):
                    break
                function_words = len({0, size - 1} & {place for place, (word, _) in enumerate(run) if word in inside})
                if function_words <= (size < 4):
                    counts[tuple(word for word, _ in run)] += 1
    return {run: count for run, count in counts.items() if count >= least}


@settings(max_examples=100)
@given(documents=DOCUMENTS, least=st.integers(1, 3), threads=st.integers(1, 3))
def test_runs_are_counted(documents, least, threads):
    runs = count_runs(*encoded(documents), roles(WORDS), least, threads)
    found = {
        tuple(w for w in run if w >= 0): n for run, n in zip(runs.words.tolist(), runs.counts.tolist(), strict=True)
    }
    assert found == runs_slowly(documents, least)
    assert list(found) == sorted(found)


def test_too_many_runs_raise_the_least_count():
    rng = np.random.default_rng(1)
    documents = [[(int(word), False) for word in rng.integers(0, 7, 3000)]] * 2
    every = runs_slowly(documents, 2)
    runs = count_runs(*encoded(documents), roles(WORDS), 2, most=100)
    assert 0 < len(runs.counts) < len(every)
    assert runs.counts.min() >= 4
    assert len(runs.counts) == sum(count >= runs.counts.min() for count in every.values())


def apply_slowly(documents, phrases):
    """Words, and behind those of each phrase the phrase, as a tuple."""
    applied = []
    for document in documents:
        found, i = [], 0
        while i < len(document):
            sizes = [
                size
                for size in range(4, 1, -1)
                if tuple(word for word, _ in document[i : i + size]) in phrases
                and not any(broken for _, broken in document[i + 1 : i + size])
            ]
            size = sizes[0] if sizes else 1
            found += [word for word, _ in document[i : i + size]]
            if sizes:
                found.append(tuple(word for word, _ in document[i : i + size]))
            i += size
        applied.append(found)
    return applied


@settings(max_examples=200)
@given(
    documents=DOCUMENTS,
    phrases=st.sets(st.lists(st.integers(0, 9), min_size=2, max_size=4).map(tuple), max_size=8).map(sorted),
)
def test_phrases_are_found_again(documents, phrases):
    finder = PhraseFinder(phrases, range(10, 10 + len(phrases)), 10)
    ids, offsets, met = finder.apply(*encoded(documents))
    names = [*range(10), *phrases]
    expected = apply_slowly(documents, set(phrases))
    assert [names[i] for i in ids] == [word for document in expected for word in document]
    assert offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    counts = Counter(word for document in expected for word in document)
    assert met[10:].tolist() == [counts[phrase] for phrase in phrases]


def test_the_likelihood_ratio_is_that_of_a_table_of_four():
    both, left, right, total = 30, 50, 80, 1000
    table = np.array([[both, left - both], [right - both, total - left - right + both]], float)
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / total
    found = likelihood_ratio(*(np.array([float(n)]) for n in (both, left, right)), total)
    assert found[0] == pytest.approx(2 * (table * np.log(table / expected)).sum())


def text(n=60):
    """Two terms that hold together, among words that do not."""
    rng = np.random.default_rng(3)
    common = [f"word{i}" for i in range(40)]
    lines = []
    for line in range(n):
        words = list(rng.choice(common, 20))
        words.insert(5, "Heart attack" if line % 2 else "Bill of Rights")
        if line % 6 == 1:
            words.insert(12, "heart, attack")
        words[2] += " of the"
        lines.append(" ".join(words) + ".")
    return lines


def test_phrases_by_example(tmp_path):
    corpus = encode(text(), tmp_path / "out", phrases=True, min_count=3)
    found = [word for word in corpus.vocabulary.words if " " in word]
    assert found == ["bill of rights", "heart attack"]
    assert corpus.vocabulary.counts[corpus.vocabulary.word_to_id["heart attack"]] == 30
    assert corpus.vocabulary.counts[corpus.vocabulary.word_to_id["heart"]] == 40
    words = [corpus.vocabulary.words[i] for i in corpus.document(1)]
    assert words[words.index("heart") :][:3] == ["heart", "attack", "heart attack"]
    assert words.count("heart attack") == 1
    counts = np.bincount(corpus.ids, minlength=len(corpus.vocabulary))
    assert counts.tolist() == corpus.vocabulary.counts.tolist()
    assert not list(corpus.folder.glob("marked*"))


def test_neither_threads_nor_blocks_change_a_byte(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(text()))
    ways = [(1, 1 << 20), (2, 50), (3, 333), (1, 9)]
    for threads, size in ways:
        encode(path, tmp_path / f"{threads}-{size}", phrases=True, threads=threads, min_count=3, block_size=size)
    for name in ("ids.bin", "offsets.bin", "counts.bin", "words.json"):
        assert len({(tmp_path / f"{threads}-{size}" / name).read_bytes() for threads, size in ways}) == 1, name


@pytest.mark.parametrize("tokenizer", ["words", str.split])
def test_new_texts_get_the_same_phrases(tmp_path, tokenizer):
    lines = [line.lower().replace(",", " ,") for line in text()]
    corpus = encode(lines, tmp_path / "out", phrases=True, min_count=3, tokenizer=tokenizer)
    again = EncodedCorpus.open(tmp_path / "out")
    ids, offsets, unknown = encode_texts(lines, again.vocabulary, tokenizer)
    assert ids.tolist() == corpus.ids.tolist()
    assert offsets.tolist() == corpus.offsets.tolist()
    raw = encode(lines, tmp_path / "raw", min_count=3, tokenizer=tokenizer)
    assert unknown.sum() == raw.raw_tokens - raw.n_tokens


def test_max_vocab_counts_phrases_and_drops_those_without_their_words(tmp_path):
    for most in range(2, 50):
        corpus = encode(text(), tmp_path / str(most), phrases=True, min_count=3, max_vocab=most)
        assert len(corpus.vocabulary) <= most
        for word in corpus.vocabulary.words:
            assert all(part in corpus.vocabulary for part in word.split(" "))
        assert np.bincount(corpus.ids, minlength=len(corpus.vocabulary)).tolist() == corpus.vocabulary.counts.tolist()


def test_phrases_of_a_vocabulary():
    vocabulary = Vocabulary(["heart", "heart attack", "attack", "no such"], np.ones(4, np.int64), True)
    assert phrases_of(vocabulary.word_to_id) == ([(0, 2)], [1])
    assert Vocabulary(["heart", "heart attack", "attack"], np.ones(3, np.int64)).phrase_finder is None
    assert find_phrases(np.zeros(0, np.int32), np.zeros(1, np.int64), ["a", "b"], np.ones(2, np.int64)) == []


def test_a_model_knows_its_phrases(tmp_path):
    model = spherevec.train(text(), phrases=True, epochs=2, vector_size=8, min_count=3, threads=1)
    assert model.words["heart attack"].shape == (8,)
    np.testing.assert_array_equal(model.words["Heart  ATTACK"], model.words["heart attack"])
    assert "heart" in model.words
    model.save(tmp_path / "model")
    again = spherevec.load(tmp_path / "model")
    np.testing.assert_array_equal(again.infer(["the Heart attack"]), model.infer(["the Heart attack"]))
    assert (again.infer(["heart attack"]) != again.infer(["heart, attack"])).any()
    assert again.words["Bill of Rights"].shape == (8,)
    assert len(model.words) < ID_MASK


def test_growing_a_model_finds_phrases_by_the_same_rule():
    """In new text that is trained on, as in queries, no phrase crosses punctuation."""
    texts = [f"a heart attack {word}" for word in ["one", "two", "three", "four"] * 10]
    texts += [f"the {word} heart" for word in ["one", "two", "three", "four"] * 10]
    model = spherevec.train(texts, phrases=True, epochs=1, vector_size=4, min_count=2, progress=False)
    phrase = model.words.key_to_index["heart attack"]
    new = ["my heart, attack the hill", "heart attack again", "heart (attack)", "heart unheard attack"]
    for add_only in (False, True):
        grown = model.update(new, add_only=add_only, epochs=1, progress=False)
        assert grown.words.counts[phrase] == 40 + (not add_only)
        assert grown.document_terms[len(texts) :, [phrase]].toarray().ravel().tolist() == [0, 1, 0, 0]
    assert "heart, attack" not in model.words and "Heart  attack" in model.words
