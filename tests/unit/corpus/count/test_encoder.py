"""Encoding against a twin of a few lines, and what must not change the result."""

import os
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import steady_memory
from spherevec import config
from spherevec.corpus import EncodedCorpus, Vocabulary, encode, encode_texts, read_documents
from spherevec.corpus.count.encoded import Part, rewrite
from spherevec.corpus.tokenize import tokenize
from spherevec.errors import ConfigError, CorpusError

_ONE_LINE = dict.fromkeys(map(ord, "\n\r\0\ufeff"), " ")  # what ends a line, or is no text
LINES = ["The cat sat.", "", "the DOG don't sit", "Ünïcode ünïcode; the cat", "   ", "rare words here"]


def encode_slowly(documents, min_count, max_vocab=None, tokenizer="words"):
    """Words, counts, ids and offsets, the obvious way."""
    split = [tokenize(document, tokenizer) if isinstance(document, str) else document for document in documents]
    counts = Counter(word for words in split for word in words)
    words = sorted((w for w in counts if counts[w] >= min_count), key=lambda w: (-counts[w], w.encode()))[:max_vocab]
    number = {word: i for i, word in enumerate(words)}
    ids = [[number[word] for word in words if word in number] for words in split]
    offsets = np.cumsum([0, *map(len, ids)]).tolist()
    return words, [counts[word] for word in words], [i for document in ids for i in document], offsets


def as_lists(corpus):
    return corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), corpus.ids.tolist(), corpus.offsets.tolist()


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES), "utf-8")
    return path


def test_attributes(text_file, tmp_path):
    with encode(text_file, tmp_path / "out", min_count=2) as corpus:
        assert as_lists(corpus) == encode_slowly(LINES, 2)
        assert corpus.ids.dtype == np.int32
        assert corpus.offsets.dtype == np.int64
        assert corpus.vocabulary.counts.dtype == np.int64
        assert (corpus.n_documents, corpus.n_tokens) == (len(LINES), len(corpus.ids))
        assert corpus.raw_tokens == sum(len(tokenize(line)) for line in LINES)
        assert str(corpus.tokenizer).startswith("words-0.2")
        assert corpus.summary.documents == len(LINES)
        assert corpus.document(0).tolist() == [corpus.vocabulary.word_to_id["the"], corpus.vocabulary.word_to_id["cat"]]
        assert sorted(path.name for path in corpus.folder.iterdir()) == [
            "corpus.json", "counts.bin", "documents.safetensors", "ids.bin", "offsets.bin",
            "rare.safetensors", "rare_counts.safetensors", "words.json",
        ]  # fmt: skip
        for number in (-1, len(LINES)):
            with pytest.raises(IndexError, match=f"document {number} of 6"):
                corpus.document(number)
    with pytest.raises(ValueError, match="closed"):
        _ = corpus.ids


def test_opened_again_it_is_the_same(text_file, tmp_path):
    first = encode(text_file, tmp_path / "out", min_count=1)
    again = EncodedCorpus.open(tmp_path / "out")
    assert as_lists(first) == as_lists(again)
    again.drop_pages()
    assert again.ids.tolist() == first.ids.tolist()


def test_vocabulary():
    vocabulary = Vocabulary(["the", "cat"], np.array([2, 1]))
    assert len(vocabulary) == 2
    assert "cat" in vocabulary
    assert "dog" not in vocabulary
    assert vocabulary.word_to_id["cat"] == 1


@settings(max_examples=60)
@given(
    documents=st.lists(
        st.lists(
            st.sampled_from([*"aAbBéİ日'’ \t.\r\u0301<>&", "<a href='b c'>", "&eacute; ", "www.a.b ", "c++ ", "<b "])
            | st.characters(exclude_categories=["Cs"]),
            max_size=30,
        ).map("".join),
        min_size=1,
    ),
    min_count=st.integers(1, 2),
    max_vocab=st.none() | st.integers(2, 5),
    tokenizer=st.sampled_from(["words", "words:urls=keep,hyphens=join,unspaced=bigrams", "whitespace"]),
    threads=st.integers(1, 3),
    block_size=st.integers(1, 40),
    final_newline=st.booleans(),
)
def test_any_text_cut_anywhere(
    tmp_path_factory, documents, min_count, max_vocab, tokenizer, threads, block_size, final_newline
):
    documents = [document.translate(_ONE_LINE) for document in documents]
    text = "\n".join(documents) + "\n" * (final_newline or not documents[-1])
    folder = tmp_path_factory.mktemp("any")
    (folder / "text.txt").write_bytes(text.encode())
    expected = encode_slowly(documents, min_count, max_vocab, tokenizer)
    options = {"min_count": min_count, "max_vocab": max_vocab, "tokenizer": tokenizer, "threads": threads}
    if len(expected[0]) < 2:
        with pytest.raises(CorpusError, match=r"no words|no word occurs|only one word"):
            encode(folder / "text.txt", folder / "out", **options, block_size=block_size)
        assert not (folder / "out").exists()
    else:
        corpus = encode(folder / "text.txt", folder / "out", **options, block_size=block_size)
        assert as_lists(corpus) == expected
        callable_twin = encode(
            documents,
            folder / "twin",
            **options | {"tokenizer": lambda t: tokenize(t, tokenizer)},
            block_size=block_size,
        )
        assert as_lists(callable_twin) == expected


@pytest.mark.parametrize(("times", "kept"), [(1, ["a", "b", "c"]), (2, ["a", "b"])])
def test_small_texts_keep_rarer_words(tmp_path, monkeypatch, times, kept):
    monkeypatch.setattr(config, "SMALL_TEXT", 24)
    corpus = encode(["a a a b b b a a b b c c d"] + ["a b"] * (5 * times), tmp_path / "out", min_count=None)
    assert corpus.raw_tokens == 13 + 10 * times
    assert list(corpus.vocabulary.words) == kept
    assert corpus.summary.min_count == (2 if corpus.raw_tokens < 24 else 5)


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
def test_threads_do_not_change_a_byte(tmp_path, tokenizer):
    rng = np.random.default_rng(1)
    path = tmp_path / "text.txt"
    words = np.array([f"Wörd{i}" for i in range(500)])
    lines = [" ".join(words[np.minimum(rng.zipf(1.3, rng.integers(0, 30)), 500) - 1]) for _ in range(2000)]
    path.write_text("\n".join(lines))
    for threads in (1, 2, 5):
        encode(path, tmp_path / str(threads), tokenizer=tokenizer, threads=threads, block_size=1000)
    for name in ("ids.bin", "offsets.bin", "counts.bin", "words.json", "corpus.json"):
        assert len({(tmp_path / str(threads) / name).read_bytes() for threads in (1, 2, 5)}) == 1, name
    assert as_lists(EncodedCorpus.open(tmp_path / "1")) == encode_slowly(lines, 2, None, tokenizer)


def test_a_document_of_30_megabytes_is_one_document(tmp_path):
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        pytest.skip("30 MB of text need the compiled tokeniser")
    path = tmp_path / "long.txt"
    path.write_bytes(b"first line\n" + b"one long document " * 1_700_000 + b"\nlast")
    corpus = encode(path, tmp_path / "out", threads=2, min_count=1)
    assert corpus.offsets.tolist() == [0, 2, 2 + 3 * 1_700_000, 3 + 3 * 1_700_000]
    assert dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True))["long"] == 1_700_000


def test_a_word_longer_than_many_blocks(tmp_path):
    corpus = encode(["x " + "é" * 5000 + " x"], tmp_path / "out", min_count=1, block_size=64)
    assert corpus.vocabulary.words == ["x", "é" * 5000]


@pytest.mark.parametrize("tokenizer", ["words", str.split])
def test_token_lists_are_taken_as_they_are(tmp_path, tokenizer):
    documents = [["New York", "a"], [], ["a", "B\n", ""], ["New York"]]
    corpus = encode(documents, tmp_path / "out", min_count=1, tokenizer=tokenizer)
    assert corpus.tokenizer.name == "tokens"
    assert as_lists(corpus) == encode_slowly([["New York", "a"], [], ["a", "B\n"], ["New York"]], 1)
    assert EncodedCorpus.open(tmp_path / "out").vocabulary.words == ["New York", "a", "B\n"]


def test_half_a_surrogate_pair_is_replaced(tmp_path):
    text = encode(["a\ud83d b", "a b"], tmp_path / "text", min_count=1, tokenizer="whitespace")
    tokens = encode([["a\ud83d", "b"], ["a", "b"]], tmp_path / "tokens", min_count=1)
    assert text.vocabulary.words == tokens.vocabulary.words == ["b", "a", "a\ufffd"]


def test_half_a_surrogate_pair_in_the_words_of_a_model_is_kept(tmp_path):
    corpus = encode(["a b", "b a"], tmp_path / "text", min_count=1)
    words = Vocabulary(["a\ud800", '"\udcff'], corpus.vocabulary.counts)
    rewrite([Part(corpus, np.array([0, 1], np.int32), np.arange(2))], words, tmp_path / "again")
    assert EncodedCorpus.open(tmp_path / "again").vocabulary.words == ["a\ud800", '"\udcff']


def test_a_generator_is_read_once_and_in_this_thread(tmp_path):
    import threading

    read_in = set()

    def documents():
        for i in range(50):
            read_in.add(threading.current_thread())
            yield f"a b {i}"

    corpus = encode(documents(), tmp_path / "out", threads=3, min_count=50, block_size=10)
    assert corpus.offsets.tolist() == list(range(0, 102, 2))
    assert read_in == {threading.current_thread()}


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_of_a_generator_come_through_and_nothing_is_left(tmp_path, threads):
    def documents():
        for i in range(100):
            yield f"a b {i}"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        encode(documents(), tmp_path / "out", threads=threads, block_size=10)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_leaves_nothing_behind(tmp_path, threads):
    def interrupt(done, total):
        if done > 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode(["a b c"] * 1000, tmp_path / "out", threads=threads, progress=interrupt, block_size=10)
    assert list(tmp_path.iterdir()) == []


def test_progress(text_file, tmp_path):
    calls = []
    encode(text_file, tmp_path / "out", min_count=1, progress=lambda *call: calls.append(call), block_size=8)
    size = text_file.stat().st_size
    assert len(calls) > 3
    assert calls == sorted(calls)
    assert calls[-1] == (size, size)
    calls.clear()
    encode(LINES, tmp_path / "out2", min_count=1, progress=lambda *call: calls.append(call))
    assert calls[-1] == (size + 1, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_count": 0}, "min_count must be at least 1, not 0"),
        ({"max_vocab": 1}, "max_vocab must be at least 2, not 1"),
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"tokenizer": "wrods"}, "tokenizer must be"),
        ({"encoding": "utf-88"}, "encoding 'utf-88' cannot be used"),
        ({"encoding": "base64"}, "encoding 'base64' cannot be used"),
    ],
)
def test_settings_out_of_range(text_file, tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        encode(text_file, tmp_path / "out", **options)


class TestEncodeTexts:
    VOCABULARY = Vocabulary(["the", "cat", "don't"], np.array([3, 2, 1]))

    @pytest.mark.parametrize("tokenizer", ["words", lambda text: tokenize(text)])
    def test_texts(self, tokenizer):
        ids, offsets, unknown = encode_texts(["The cat!", "", "Dogs don't\nbark", "dog"], self.VOCABULARY, tokenizer)
        assert (ids.tolist(), offsets.tolist(), unknown.tolist()) == ([0, 1, 2], [0, 2, 2, 3, 3], [0, 0, 2, 1])
        assert (ids.dtype, offsets.dtype, unknown.dtype) == (np.int32, np.int64, np.int64)

    def test_token_lists(self):
        ids, offsets, unknown = encode_texts([["cat", "The"], []], self.VOCABULARY, "words")
        assert (ids.tolist(), offsets.tolist(), unknown.tolist()) == ([1], [0, 1, 1], [1, 0])

    @pytest.mark.parametrize("texts", [[], iter([])])
    def test_nothing(self, texts):
        ids, offsets, unknown = encode_texts(texts, self.VOCABULARY, "words")
        assert (ids.tolist(), offsets.tolist(), unknown.tolist()) == ([], [0], [])

    def test_it_agrees_with_encode(self, text_file, tmp_path):
        corpus = encode(text_file, tmp_path / "out", min_count=2)
        ids, offsets, unknown = encode_texts(LINES, corpus.vocabulary, "words")
        assert ids.tolist() == corpus.ids.tolist()
        assert offsets.tolist() == corpus.offsets.tolist()
        assert unknown.sum() == corpus.raw_tokens - corpus.n_tokens


def mapped_kilobytes(path):
    """How much of a mapped file is resident in this process."""
    within = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0]:
            within = line.endswith(str(path))
        elif within and line.startswith("Rss:"):
            return int(line.split()[1])
    raise AssertionError(f"{path} is not mapped")


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="resident pages are read from /proc")
def test_dropped_pages_leave_memory(tmp_path):
    corpus = encode([["a", "b"] * 250_000], tmp_path / "out")
    assert corpus.ids.sum() == 250_000
    assert mapped_kilobytes(tmp_path / "out" / "ids.bin") > 1900
    corpus.drop_pages()
    assert mapped_kilobytes(tmp_path / "out" / "ids.bin") == 0


@pytest.mark.skipif("SPHEREVEC_DATA" not in os.environ, reason="SPHEREVEC_DATA names no folder of data sets")
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="34 MB of text need the compiled tokeniser")
def test_twenty_newsgroups(tmp_path):
    path = Path(os.environ["SPHEREVEC_DATA"], "20news", "text.txt.gz")
    corpus = encode(path, tmp_path / "out", threads=2)
    assert corpus.n_documents == 18_846
    for number, text in enumerate(islice(read_documents(path), 0, 200)):
        words = [word for word in tokenize(text) if word in corpus.vocabulary]
        assert [corpus.vocabulary.words[i] for i in corpus.document(number)] == words


MEMORY = """
import sys
from spherevec.corpus import encode
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
before = encode(["a b " * 10], sys.argv[2] + "-warm", min_count=1) and peak()
corpus = encode(sys.argv[1], sys.argv[2], threads=2, tokenizer=sys.argv[3])
print(peak() - before)
"""


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="100 MB of text need the compiled tokeniser")
def test_memory_does_not_grow_with_the_text(tmp_path):
    peaks = []
    for megabytes in (10, 100):
        path = tmp_path / f"{megabytes}.txt"
        line = b" ".join(b"word%d" % i for i in range(2000)) + b"\n"
        path.write_bytes(line * (megabytes * 1_000_000 // len(line)))
        command = [sys.executable, "-c", MEMORY, str(path), str(tmp_path / f"{megabytes}"), "whitespace"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=steady_memory())
        peaks.append(int(done.stdout))
        path.unlink()
    assert peaks[1] < peaks[0] + 25_000, f"peaks in kB: {peaks}"  # ids alone would be 60 MB more
    assert peaks[1] < 60_000, f"peaks in kB: {peaks}"


class TestElisions:
    FRENCH = ["l'erreur de lecture", "une erreur d'écriture et l’écriture", "aujourd'hui il n'est rien"] * 3

    def words(self, texts, folder, **options):
        with encode(texts, folder, min_count=1, **options) as corpus:
            ids, words = corpus.ids.tolist(), corpus.vocabulary.words
            return [words[number] for number in ids], corpus.tokenizer.options.elisions

    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_text_that_has_many_loses_them(self, tmp_path, threads):
        words, found = self.words(self.FRENCH, tmp_path / "auto", threads=threads)
        assert found == "drop"
        assert words[:8] == ["erreur", "de", "lecture", "une", "erreur", "écriture", "et", "écriture"]
        assert "aujourd'hui" in words
        how = "words:elisions=drop"
        assert words == self.words(self.FRENCH, tmp_path / "drop", tokenizer=how, threads=threads)[0]
        assert words == [word for text in self.FRENCH for word in tokenize(text, how)]

    def test_any_other_text_keeps_them(self, tmp_path):
        english = ["a coup d'etat"] + ["don't stop at five o'clock, it isn't over"] * 30
        assert self.words(english, tmp_path / "english") == (
            [word for text in english for word in tokenize(text)],
            "keep",
        )
        words, found = self.words(self.FRENCH, tmp_path / "kept", tokenizer="words:elisions=keep")
        assert (words[0], found) == ("l'erreur", "keep")
