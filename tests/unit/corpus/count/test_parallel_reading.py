"""Many threads on one text: ranges of a file, groups of files, decompressors; always the bytes of one thread."""

import gzip
import lzma
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spherevec.corpus import Vocabulary, encode, encode_texts
from spherevec.corpus.count import vocabulary
from spherevec.corpus.count.vocabulary import CountedWords
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn
from spherevec.threads import in_order

FILES = ("ids.bin", "offsets.bin", "counts.bin", "words.json", "documents.safetensors", "rare.safetensors",
         "rare_counts.safetensors", "corpus.json")  # fmt: skip


def some_lines(count, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array([f"wörd{i}" if i % 7 else f"Word{i}," for i in range(300)])
    return [" ".join(words[np.minimum(rng.zipf(1.4, rng.integers(0, 40)), 300) - 1]) for _ in range(count)]


def same_bytes(folders):
    for name in FILES:
        assert len({(folder / name).read_bytes() for folder in folders}) == 1, name


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["same prefix ", "a", ""]).flatmap(lambda a: st.text().map(lambda b: a + b)),
                       st.integers(1, 3)))  # fmt: skip
def test_ranked_equals_sorted(counts):
    counted = CountedWords(TextColumn.of(counts), np.array(list(counts.values()), np.int64))
    ranked = counted.at(counted.ranked(np.arange(len(counts))))
    assert list(ranked) == sorted(counts, key=lambda word: (-counts[word], word))


def test_results_come_in_order_and_errors_come_through():
    assert list(in_order(range(50), lambda worker, item: item * item, 4)) == [i * i for i in range(50)]

    def fail(worker, item):
        if item == 7:
            raise ValueError("seven")
        return item

    for workers in (1, 3):
        results = in_order(range(50), fail, workers)
        assert [next(results) for _ in range(7)] == list(range(7))
        with pytest.raises(ValueError, match="seven"):
            next(results)


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_one_file_in_ranges(tmp_path, tokenizer, ending):
    lines = [*some_lines(800), "a very long line " * 400, "", "", *some_lines(100, 1), "the end"]
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbf" + ending.join(lines).encode())
    folders = []
    for threads, size in ((1, 1 << 20), (1, 700), (2, 700), (5, 64), (3, 4096)):
        folders.append(tmp_path / f"{threads}-{size}")
        corpus = encode(path, folders[-1], tokenizer=tokenizer, threads=threads, block_size=size, min_count=2)
        assert corpus.n_documents == len(lines)
    same_bytes(folders)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_compressed_files(tmp_path, pack, count):
    """One decompressor for all workers, or one for each; the result is that of the plain files, names aside."""
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.mkdir()
    packed.mkdir()
    ending = ".gz" if pack is gzip.compress else ".xz"
    for i in range(count):
        text = "\n".join([*some_lines(300, i), "long " * 3000, "last"]).encode()
        (plain / f"{i}.log").write_bytes(text)
        (packed / f"{i}.log{ending}").write_bytes(pack(text))
    expected = encode([*sorted(plain.iterdir())], tmp_path / "expected", min_count=2)
    folders = [tmp_path / f"out-{threads}" for threads in (1, 2, 7)]
    for folder, threads in zip(folders, (1, 2, 7), strict=True):
        corpus = encode([*sorted(packed.iterdir())], folder, threads=threads, min_count=2, block_size=500)
        assert corpus.ids.tolist() == expected.ids.tolist()
        assert corpus.offsets.tolist() == expected.offsets.tolist()
        assert corpus.vocabulary.words == expected.vocabulary.words
    same_bytes(folders)


def test_many_small_files_and_a_large_one(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for i, line in enumerate(some_lines(60)):
        (source / f"{i:03}.txt").write_text(line + "\n" + line if i % 5 else "")
    folders = [tmp_path / f"out-{threads}" for threads in (1, 4)]
    for folder, threads in zip(folders, (1, 4), strict=True):
        corpus = encode(source, folder, threads=threads, min_count=1, block_size=300)
        assert corpus.n_documents == 60
        assert sum("is empty" in note for note in corpus.summary.notes) == 0  # a whole document without words
    same_bytes(folders)
    big = tmp_path / "big.log"
    big.write_text("\n".join(some_lines(200)))
    (tmp_path / "none.log").write_text("")
    corpus = encode([big, tmp_path / "none.log"], tmp_path / "both", threads=3, block_size=300)
    assert f"{tmp_path / 'none.log'}: is empty" in corpus.summary.notes


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("packed", [False, True])
def test_the_line_of_bad_bytes_is_told(tmp_path, threads, packed):
    text = ("good enough\n" * 500 + "nearly g").encode() + b"\xe9\xff\n" + b"more\n" * 500
    path = tmp_path / ("text.txt.gz" if packed else "text.txt")
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(CorpusError, match=r"text.txt.*, line 501: not valid utf-8 \(byte 0xe9\)"):
        encode(path, tmp_path / "out", threads=threads, block_size=100)
    assert not (tmp_path / "out").exists()


def test_a_file_that_grows_is_refused(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("some words to read\n" * 200)

    def grow(done, total):
        with path.open("a") as file:
            file.write("one more\n")

    with pytest.raises(CorpusError, match="changed while it was read"):
        encode(path, tmp_path / "out", threads=2, block_size=100, progress=grow)


def test_bounds_hold_for_ranges(tmp_path, monkeypatch):
    path = tmp_path / "text.txt"
    path.write_text("a b\n" * 2000)
    monkeypatch.setenv("SPHEREVEC_MAX_DOCUMENTS", "1000")
    with pytest.raises(CorpusError, match=r"text.txt: over 1,000 documents"):
        encode(path, tmp_path / "out", threads=2, block_size=100)


def test_counts_are_those_of_the_text(tmp_path):
    lines = some_lines(500)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines))
    corpus = encode(path, tmp_path / "out", tokenizer="whitespace", min_count=3, threads=4, block_size=200)
    counts = Counter(word for line in lines for word in line.split())
    kept = dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True))
    assert kept == {word: count for word, count in counts.items() if count >= 3}
    assert corpus.rare_counts.as_dict() == {word: count for word, count in counts.items() if count < 3}


@pytest.mark.parametrize("phrases", [False, True])
def test_new_texts_on_threads(tmp_path, monkeypatch, phrases):
    monkeypatch.setattr(vocabulary, "_SHARED_BLOCK", 300)
    lines = [*some_lines(400), "new york is new york, " * 5 + "new", "unheard of", "", "word " * 900]
    corpus = encode([*lines, *["new york city"] * 30], tmp_path / "out", min_count=3, phrases=phrases)
    found = [
        [array.tolist() for array in encode_texts(lines, corpus.vocabulary, "words", stand_ins, threads)]
        for stand_ins in (None, lambda words: np.array([len(word) % 3 - 1 for word in words], np.int32))
        for threads in (1, 2, 5)
    ]
    assert found[0] == found[1] == found[2] and found[3] == found[4] == found[5] and found[0] != found[3]
    assert len(found[0][1]) == len(lines) + 1


@settings(max_examples=100)
@given(st.lists(st.text(max_size=5), min_size=1, unique=True), st.lists(st.text(max_size=5)))
def test_ids_of_many_words(known, asked):
    vocabulary = Vocabulary(known, np.ones(len(known), np.int64))
    expected = [vocabulary.word_to_id.get(word, -1) for word in asked]
    assert vocabulary.ids_of(TextColumn.of(asked)).tolist() == expected
