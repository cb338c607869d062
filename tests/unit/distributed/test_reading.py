"""Workers that read parts of a source give what one machine gives: words, counts, documents, ids and fields."""

import gzip
import json

import numpy as np
import pytest

import spherevec
from experiments.distributed.inline import InlinePool
from spherevec.corpus import encode
from spherevec.corpus.count.vocabulary import CountedWords
from spherevec.corpus.read.options import ReadOptions
from spherevec.distributed import pieces
from spherevec.distributed.reading import choose, read_on_workers, vocabulary_of
from spherevec.errors import ConfigError, CorpusError
from spherevec.model.documents import DocumentTable
from spherevec.storage.text_column import TextColumn

HOW = {"min_count": 2, "max_vocab": None, "tokenizer": "words"}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(pieces, "LEAST_PART", 300)


def lines(count=120, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(f"w{i}" for i in rng.zipf(1.4, rng.integers(0, 30)).clip(max=500)) for _ in range(count)]
    texts[count // 2] = "long lines go on " * 120  # longer than a part
    return [text.replace("w7", "Straße") for text in texts]


def both(source, tmp_path, workers=3, **reading):
    """What workers read, and what one machine does."""
    found = read_on_workers(InlinePool(workers), source, tmp_path / "theirs", reading=ReadOptions(**reading), **HOW)
    assert found is not None
    return found[0], encode(source, tmp_path / "ours", **HOW, **reading), found[1]


def assert_same(theirs, ours):
    assert theirs.vocabulary.words == ours.vocabulary.words
    np.testing.assert_array_equal(theirs.vocabulary.counts, ours.vocabulary.counts)
    np.testing.assert_array_equal(theirs.ids, ours.ids)
    np.testing.assert_array_equal(theirs.offsets, ours.offsets)
    assert theirs.rare_counts.as_dict() == ours.rare_counts.as_dict()
    for mine, its in zip(theirs.rare_words(), ours.rare_words(), strict=True):
        np.testing.assert_array_equal(mine, its)
    mine, its = (DocumentTable.of_columns(one.document_columns, "") for one in (theirs, ours))
    assert list(mine.ids) == list(its.ids)
    assert mine.fields == its.fields
    for row in range(len(its)):
        assert mine.record(row) == its.record(row) and mine.snippet(row) == its.snippet(row)
    before, after = theirs.summary, ours.summary
    for name in ("documents", "empty", "unknown_documents", "tokens", "dropped_tokens", "distinct_words", "kept_words"):
        assert getattr(before, name) == getattr(after, name), name


@pytest.mark.parametrize("workers", [1, 3])
def test_one_file_is_read_by_ranges_of_bytes(tmp_path, workers):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines()) + "\n", "utf-8")
    theirs, ours, layout = both(path, tmp_path, workers)
    assert_same(theirs, ours)
    assert sum(layout.sizes) == ours.n_documents and len(layout.sizes) > workers


def test_a_last_line_without_its_end(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines()), "utf-8")
    assert_same(*both(path, tmp_path)[:2])


def test_many_files_and_compressed_ones(tmp_path):
    paths = []
    for number in range(7):
        text = "\n".join(lines(30, number)) + "\n"
        if number % 3:
            paths.append(tmp_path / f"{number}.txt")
            paths[-1].write_text(text, "utf-8")
        else:
            paths.append(tmp_path / f"{number}.txt.gz")
            paths[-1].write_bytes(gzip.compress(text.encode()))
    assert_same(*both(paths, tmp_path)[:2])


def test_a_folder_of_documents(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for number, text in enumerate(lines(40)):
        (folder / f"{number:03}.txt").write_text(text + "\nmore words\n", "utf-8")
    assert_same(*both(folder, tmp_path)[:2])


def records(count=90):
    return [
        {
            "id": f"d{i}",
            "body": text,
            "when": f"2024-0{1 + i % 9}-03",
            "team": "abc"[i % 3],
            "n": i,
            "author": f"a{i % 40}",
            "score": i / 2 if i > 60 else None,
            "seen": f"v{i}" if i > 60 else "",
        }
        for i, text in enumerate(lines(count))
    ]


FIELDS = {
    "text_field": "body",
    "id_field": "id",
    "title_field": "team",
    "keep": ["when:date", "team", "n", "author", "score", "seen"],
}


def test_records_by_ranges(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records()), "utf-8")
    assert_same(*both(path, tmp_path, **FIELDS)[:2])


def test_fields_are_what_one_machine_finds_in_all_of_them(tmp_path):
    """Authors occur once in a part; scores are missing in most parts."""
    path = tmp_path / "table.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records()), "utf-8")
    for keep, kind in ((["author", "score"], "category"), (["author:text", "score"], "text")):
        theirs, ours, _ = both(path, tmp_path / kind, **FIELDS | {"keep": keep})
        assert_same(theirs, ours)
        table = DocumentTable.of_columns(theirs.document_columns, "")
        assert table.fields == {"author": kind, "score": "number"}


def test_a_folder_of_parquet_and_its_row_groups(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "tables"
    folder.mkdir()
    rows = records()
    for number, start in enumerate(range(0, 90, 30)):
        table = pyarrow.Table.from_pylist(rows[start : start + 30])
        parquet.write_table(table, folder / f"{number}.parquet", row_group_size=7)
    (folder / "_SUCCESS").touch()
    found = read_on_workers(InlinePool(2), folder, tmp_path / "theirs", reading=ReadOptions(**FIELDS), **HOW)
    assert_same(found[0], encode(sorted(folder.glob("*.parquet")), tmp_path / "ours", **HOW, **FIELDS))


def test_addresses_go_through_fsspec(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    text = "\n".join(lines()) + "\n"
    with fsspec.open("memory://store/text.txt", "wb") as file:
        file.write(text.encode())
    path = tmp_path / "text.txt"
    path.write_text(text, "utf-8")
    ours = encode(path, tmp_path / "ours", **HOW)
    for number, address in enumerate(["memory://store/text.txt", ["memory://store/*.txt"], path.as_uri()]):
        found = read_on_workers(InlinePool(2), address, tmp_path / str(number), reading=ReadOptions(), **HOW)
        assert_same(found[0], ours)
    with pytest.raises(CorpusError, match=r"memory://store/nothing.*no such file"):
        read_on_workers(InlinePool(2), "memory://store/nothing", tmp_path / "x", reading=ReadOptions(), **HOW)
    with pytest.raises(CorpusError, match="ray='local'"):
        spherevec.train("memory://store/text.txt")


def test_what_goes_wrong_names_the_file(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("\n".join(lines(20)), "utf-8")
    found = pieces.find_parts(sorted(tmp_path.glob("*.txt")), 2, "utf-8", [])
    (tmp_path / "1.txt").unlink()
    pool = InlinePool(1)
    with pytest.raises(CorpusError, match=r"1\.txt: no such file"):
        for part in found:
            pool.call(0, "read_part", part, "words", 1, ReadOptions())
    (tmp_path / "bad.txt").write_bytes("all is füne\n".encode() * 200 + b"\xff\n" + b"all is fine\n" * 200)
    with pytest.raises(CorpusError, match=r"bad\.txt.*, line .* not valid utf-8"):
        read_on_workers(InlinePool(2), tmp_path / "bad.txt", tmp_path / "y", reading=ReadOptions(), **HOW)


def test_small_texts_and_objects_are_left_to_the_driver(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a b c\n")
    for source in (path, ["a b", "c d"], "-"):
        assert pieces.find_parts(source, 2, "utf-8", []) is None
    with pytest.raises(ConfigError, match="lower workers"):
        (tmp_path / "one.txt.gz").write_bytes(gzip.compress("\n".join(lines(500)).encode()))
        pieces.find_parts(tmp_path / "one.txt.gz", 2, "utf-8", [])


def counted(counts):
    return CountedWords(TextColumn.of(counts), np.array(list(counts.values()), np.int64))


@pytest.mark.parametrize("buckets", [1, 4])
def test_counts_are_merged_in_buckets(buckets):
    rng = np.random.default_rng(0)
    texts = [dict(zip((f"w{i}" for i in rng.permutation(60)[:30]), rng.integers(1, 9, 30).tolist(), strict=True))
             for _ in range(5)]  # fmt: skip
    total: dict[str, int] = {}
    for text in texts:
        for word, count in text.items():
            total[word] = total.get(word, 0) + count
    chosen = []
    for bucket in range(buckets):
        own = [counted({w: c for w, c in text.items() if int(w[1:]) % buckets == bucket}) for text in texts]
        chosen.append(choose(CountedWords.merged(own)[0], 6))
    vocabulary, rare, distinct = vocabulary_of(chosen, 6, 20)
    expected = sorted((word for word, count in total.items() if count >= 6), key=lambda word: (-total[word], word))
    assert vocabulary.words == expected[:20] and distinct == len(total)
    assert rare.as_dict() == {word: count for word, count in total.items() if word not in vocabulary.words}
