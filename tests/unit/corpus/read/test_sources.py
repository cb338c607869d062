"""Every kind of source, and every way in which one can be wrong."""

import csv
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from helpers import grows, unprivileged
from spherevec.corpus import EncodedCorpus, encode, read_documents
from spherevec.corpus.read.streams import blocks, lines
from spherevec.errors import CorpusError, MissingExtraError
from spherevec.model.documents import DocumentTable

DOCUMENTS = ["The cat sat", "", "the dog, näïve", "cat’s “dog”"]
TEXT = "\n".join(DOCUMENTS).encode()


def zstd(data):
    return zstandard.ZstdCompressor().compress(data)


COMPRESSORS = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd, "": bytes}


def read(path, **options):
    return list(read_documents(path, **options))


def written(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def fails(path, folder, **options):
    """The one line that `encode` fails with; nothing may be left behind."""
    with pytest.raises(CorpusError) as caught:
        encode(path, folder / "out", **options)
    assert not (folder / "out").exists()
    message = str(caught.value)
    assert "\n" not in message
    return message


class TestTextFiles:
    @pytest.mark.parametrize("ending", COMPRESSORS)
    def test_one_document_a_line(self, tmp_path, ending):
        path = written(tmp_path / f"text.TXT{ending}", COMPRESSORS[ending](TEXT))
        assert read(path) == DOCUMENTS
        corpus = encode(str(path), tmp_path / "out", min_count=1)
        assert corpus.n_documents == len(DOCUMENTS)
        assert corpus.document(1).tolist() == []

    @pytest.mark.parametrize("ending", COMPRESSORS)
    def test_compressed_files_may_be_joined(self, tmp_path, ending):
        compress = COMPRESSORS[ending]
        path = written(tmp_path / f"text.txt{ending}", compress(b"one\ntw") + compress(b"o\nthree\n"))
        assert read(path) == ["one", "two", "three"]

    @pytest.mark.parametrize(
        ("data", "documents"),
        [
            (b"a\nb", ["a", "b"]),
            (b"a\nb\n", ["a", "b"]),
            (b"\na\n\n\n", ["", "a", "", ""]),
            (b"a\r\nb\r\n", ["a\r", "b\r"]),
            (b"\xef\xbb\xbfa\nb", ["a", "b"]),
            (b"\n", [""]),
        ],
    )
    def test_ends_of_lines(self, tmp_path, data, documents):
        assert read(written(tmp_path / "text", data)) == documents

    def test_carriage_returns_belong_to_no_word(self, tmp_path):
        path = written(tmp_path / "text.txt", b"a b\r\nb a\r\n")
        assert encode(path, tmp_path / "out", min_count=1, tokenizer="whitespace").vocabulary.words == ["a", "b"]

    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp1252"])
    @pytest.mark.parametrize("size", [1, 3, 1000])
    def test_encodings(self, tmp_path, encoding, size):
        text = "näïve café\nzwei\n" * 3
        path = written(tmp_path / "text.txt", text.encode(encoding))
        corpus = encode(path, tmp_path / "out", min_count=1, encoding=encoding, block_size=size)
        assert corpus.vocabulary.words == ["café", "näïve", "zwei"]
        assert corpus.offsets.tolist() == [0, 2, 3, 5, 6, 8, 9]

    def test_a_pipe(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"a b\nb a",))
        writer.start()
        assert read(tmp_path / "pipe") == ["a b", "b a"]
        writer.join()


class TestFolders:
    def test_one_document_a_file_sorted(self, tmp_path):
        for name, data in [("b.txt", b"two\nlines\n"), ("a/z.md", b"deep"), ("a.txt.gz", gzip.compress(b"packed"))]:
            written(tmp_path / "in" / name, data)
        written(tmp_path / "in" / "empty.text", b"")
        written(tmp_path / "in" / "picture.png", b"\0no text")
        written(tmp_path / "in" / ".hidden.txt", b"hidden")
        written(tmp_path / "in" / ".git" / "x.txt", b"hidden")
        assert read(tmp_path / "in") == ["packed ", "deep ", "two lines ", ""]
        corpus = encode(tmp_path / "in", tmp_path / "out", min_count=1)
        names = ["a.txt.gz", "a/z.md", "b.txt", "empty.text"]
        assert DocumentTable(corpus.document_columns).ids == names
        assert corpus.offsets.tolist() == [0, 1, 2, 4, 4]
        assert "left out 1 file other than text (1 with .png)" in str(EncodedCorpus.open(tmp_path / "out").summary)

    def test_any_name_where_no_file_has_a_text_ending(self, tmp_path):
        written(tmp_path / "in" / "51060", b"a news post")
        assert read(tmp_path / "in") == ["a news post "]

    def test_no_text_files(self, tmp_path):
        written(tmp_path / "in" / ".hidden", b"x")
        assert "in: holds no text files" in fails(tmp_path / "in", tmp_path)

    def test_tables_are_not_taken_for_texts(self, tmp_path):
        written(tmp_path / "in" / "x.jsonl", b"{}")
        assert "holds tables such as x.jsonl" in fails(tmp_path / "in", tmp_path)

    def test_the_file_at_fault_is_named(self, tmp_path):
        written(tmp_path / "in" / "a.txt", b"good")
        written(tmp_path / "in" / "b.txt", b"good \xc3\xa9\nbad \xff")
        assert f"{Path('in', 'b.txt')}, line 2: not valid utf-8 (byte 0xff)" in fails(tmp_path / "in", tmp_path)


CELLS = ['a, "quoted"\ncell', None, "plain", ""]
CELL_TEXTS = ['a, "quoted" cell', "", "plain", ""]


class TestTables:
    @pytest.mark.parametrize("ending", COMPRESSORS)
    def test_csv(self, tmp_path, ending):
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerows([["id", "text"], *([i, cell] for i, cell in enumerate(CELLS))])
        path = written(tmp_path / f"table.csv{ending}", COMPRESSORS[ending](out.getvalue().encode("utf-8-sig")))
        assert read(path, text_field="text") == CELL_TEXTS

    @pytest.mark.parametrize("ending", COMPRESSORS)
    def test_jsonl(self, tmp_path, ending):
        data = "\n\n".join(json.dumps({"id": i, "text": cell}) for i, cell in enumerate([*CELLS, float("nan")]))
        path = written(tmp_path / f"table.jsonl{ending}", COMPRESSORS[ending](data.encode()))
        assert read(path, text_field="text") == [*CELL_TEXTS, ""]

    @pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.dictionary("int32", "string")])
    def test_parquet(self, tmp_path, kind):
        table = pyarrow.table({"id": range(4), "text": pyarrow.array(CELLS).cast(kind)})
        pyarrow.parquet.write_table(table, tmp_path / "table.parquet", row_group_size=3)
        assert read(tmp_path / "table.parquet", text_field="text") == CELL_TEXTS
        calls = []
        encode(
            tmp_path / "table.parquet", tmp_path / "out", text_field="text", min_count=1,
            progress=lambda *call: calls.append(call),
        )  # fmt: skip
        assert calls[-1] == ((tmp_path / "table.parquet").stat().st_size,) * 2

    def test_csv_in_another_encoding(self, tmp_path):
        path = written(tmp_path / "table.csv", "id;x,text\n1,naïve\n".encode("utf-16"))
        assert read(path, text_field="text", encoding="utf-16") == ["naïve"]

    def test_a_long_csv_cell_and_a_borrowed_limit(self, tmp_path):
        limit = csv.field_size_limit()
        path = written(tmp_path / "table.csv", b"text\n" + (b"x" * (limit + 1) + b"\n") * 3)
        documents = iter(read_documents(path, text_field="text"))
        for _ in range(3):
            assert len(next(documents)) == limit + 1
            assert csv.field_size_limit() == limit  # also while nobody goes on reading
        assert next(documents, None) is None

    @pytest.mark.parametrize(
        ("name", "data", "field", "message"),
        [
            ("t.csv", b"id,body\n1,x\n", "text", "t.csv: no field 'text'; choose text_field=NAME among 'id', 'body'"),
            ("t.csv", b"id,body\n1,x\n", None, "(text_field=NAME); there are 'id', 'body'"),
            (
                "t.csv",
                b"id,text\n1,x\n2\n",
                "text",
                "t.csv, line 3: 1 cells, but the header has 2; it begins with '2'.",
            ),
            (
                "t.csv",
                b"id,text\n1,a, b\n",
                "text",
                "t.csv, line 2: 3 cells, but the header has 2; it begins with '1',",
            ),
            ("t.csv", b'id,text\n1,"x\ny\nz\n', "text", "t.csv, line 2: not CSV (unexpected end of data); is a quote"),
            ("t.csv", b"text,text\nx,y\n", "text", "t.csv: has 2 fields 'text'; rename one of them"),
            ("t.mbox", b"no mails\n", None, "t.mbox: does not begin with a mail"),
            ("t.csv", b"text\n\xc3\xa9\xff\n", "text", "t.csv, line 2: not valid utf-8 (byte 0xff)"),
            ("t.csv", b"", "text", "t.csv: is empty"),
            ("t.csv", b"text\n", "text", "t.csv: is empty"),
            ("t.jsonl", b'{"text": "x"}\n{"text"\n', "text", "t.jsonl, line 2: not JSON (Expecting ':' delimiter)"),
            ("t.jsonl", b'{"text": "x"}\n{"body": "y"}', "text", "t.jsonl, line 2: no field 'text'; choose"),
            ("t.jsonl", b'{"id": 1, "body": "x"}\n', None, "(text_field=NAME); there are 'id', 'body'"),
            ("t.jsonl", b'\n["x"]\n', "text", "t.jsonl, line 2: not a record with fields"),
            ("t.jsonl", b'{"text": 5}\n', "text", "t.jsonl, line 1, field 'text': holds int '5', not text"),
            ("t.jsonl", b"[" * 100_000, "text", "t.jsonl, line 1: not JSON"),
            ("t.jsonl", b"\n", "text", "t.jsonl: is empty"),
            ("t.parquet", b"no parquet", "text", "t.parquet: cannot be read as Parquet"),
            ("t.txt", b"x", "text", "t.txt: text_field 'text' needs a table"),
        ],
    )
    def test_what_can_be_wrong(self, tmp_path, name, data, field, message):
        assert message in fails(written(tmp_path / name, data), tmp_path, text_field=field)

    def test_what_can_be_wrong_with_parquet(self, tmp_path):
        path = tmp_path / "t.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2], "body": ["x", "y"]}), path)
        assert "no field 'text'; choose text_field=NAME among 'id', 'body'" in fails(path, tmp_path, text_field="text")
        assert "(text_field=NAME); there are 'id', 'body'" in fails(path, tmp_path)
        assert "row 1, field 'id': holds int '1', not text" in fails(path, tmp_path, text_field="id")
        pyarrow.parquet.write_table(pyarrow.table({"title": ["café".encode()], "body": ["x"]}), path)
        assert "row 1, field 'title': holds bytes" in fails(path, tmp_path, text_field="body", title_field="title")
        path.write_bytes(path.read_bytes()[:-20])
        assert "t.parquet: cannot be read as Parquet" in fails(path, tmp_path, text_field="body")


class TestBadFiles:
    def test_missing(self, tmp_path):
        assert "nowhere.txt: no such file or folder" in fails(tmp_path / "nowhere.txt", tmp_path)

    @pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
    def test_empty(self, tmp_path, data):
        assert "text.txt: is empty" in fails(written(tmp_path / "text.txt", data), tmp_path)

    def test_binary(self, tmp_path):
        message = fails(written(tmp_path / "text.txt", b"MZ\0\x01" * 9), tmp_path)
        assert "text.txt: looks binary, not text" in message
        assert "encoding=NAME" in message

    @pytest.mark.parametrize("size", [1, 7, 1 << 20])
    @pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf"])
    def test_invalid_utf8(self, tmp_path, size, bad):
        path = written(tmp_path / "text.txt", "good é\n\nlong good line é\nnow ".encode() + bad)
        message = fails(path, tmp_path, block_size=size)
        assert f"text.txt, line 4: not valid utf-8 (byte 0x{bad[0]:02x})" in message
        assert "encoding=NAME" in message

    def test_invalid_in_another_encoding(self, tmp_path):
        path = written(tmp_path / "text.txt", "one\ntwo\n".encode("utf-16") + b"\x00\xd8a\x00")
        assert "line 3: not valid utf-16" in fails(path, tmp_path, encoding="utf-16")

    @pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
    def test_truncated(self, tmp_path, ending):
        data = COMPRESSORS[ending](np.random.default_rng(1).integers(97, 122, 50_000).astype(np.uint8).tobytes())
        path = written(tmp_path / f"text.txt{ending}", data[: len(data) * 2 // 3])
        assert f"text.txt{ending}: compressed file is truncated" in fails(path, tmp_path)

    @pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
    def test_not_compressed_at_all(self, tmp_path, ending):
        path = written(tmp_path / f"text.txt{ending}", b"just some text\n" * 9)
        assert f"text.txt{ending}: not a valid {ending} file" in fails(path, tmp_path)

    def test_damaged_inside(self, tmp_path):
        data = bytearray(gzip.compress(TEXT * 100))
        data[len(data) // 2] ^= 0xFF
        message = fails(written(tmp_path / "text.txt.gz", bytes(data)), tmp_path)
        assert "not a valid .gz file" in message or "truncated" in message

    def test_missing_extras_name_themselves(self, tmp_path, monkeypatch):
        written(tmp_path / "text.txt.zst", zstd(TEXT))
        written(tmp_path / "t.parquet", b"PAR1")
        monkeypatch.setitem(sys.modules, "zstandard", None)
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(MissingExtraError, match=r"spherevec\[zstd\]"):
            encode(tmp_path / "text.txt.zst", tmp_path / "out")
        with pytest.raises(MissingExtraError, match=r"spherevec\[parquet\]"):
            encode(tmp_path / "t.parquet", tmp_path / "out", text_field="text")
        assert not (tmp_path / "out").exists()


class TestBadIterables:
    @pytest.mark.parametrize(
        ("source", "message"),
        [
            (5, "a corpus is a path, or an iterable of texts or of lists of words, not int 5"),
            ([], "holds no documents"),
            ([None, "a"], "document 0 (counted from 0) must be a text or a list of words, not NoneType None"),
            (["a", ["b"]], "document 1 (counted from 0) must be a string like the first, not list ['b']"),
            ([["a"], "b"], "document 1 (counted from 0) must be a list of words like the first, not str 'b'"),
            ([["a"], ["b", 5]], "document 1 (counted from 0): int 5 is not a word"),
            ([["a"], [["b"]]], "document 1 (counted from 0): list ['b'] is not a word"),
        ],
    )
    def test_what_can_be_wrong(self, tmp_path, source, message):
        assert message in fails(source, tmp_path)

    def test_text_field_is_for_tables(self, tmp_path):
        assert "record 0: not a record with fields" in fails(["a"], tmp_path, text_field="x")


class TestNothingToLearnFrom:
    def test_no_words(self, tmp_path):
        assert "the text holds no words" in fails(["... ", "!"], tmp_path)

    def test_no_word_reaches_min_count(self, tmp_path):
        message = fails(["a b b c c c"], tmp_path, min_count=4)
        assert "1 distinct word occurs once;" in fails(["a"], tmp_path, min_count=2)
        assert "no word occurs 4 times: the most frequent of 3 distinct words occurs 3 times" in message
        assert "lower min_count (--min-count)" in message

    def test_one_word(self, tmp_path):
        assert "only one word, 'b', occurs twice or more" in fails(["a b b c"], tmp_path, min_count=2)
        assert len(fails(["a" * 100_000], tmp_path, min_count=1)) < 300


class TestBadFolders:
    def test_not_empty(self, tmp_path):
        kept = written(tmp_path / "out" / "precious", b"data")
        with pytest.raises(CorpusError, match="out: is not empty; choose a new folder"):
            encode(["a b"], tmp_path / "out", min_count=1)
        assert kept.read_bytes() == b"data"

    def test_an_empty_folder_is_taken_and_stays_when_encoding_fails(self, tmp_path):
        (tmp_path / "out").mkdir()
        with pytest.raises(CorpusError, match="no word occurs"):
            encode(["a b"], tmp_path / "out", min_count=2)
        assert list((tmp_path / "out").iterdir()) == []
        encode(["a b"], tmp_path / "out", min_count=1)

    def test_a_file_in_the_way(self, tmp_path):
        written(tmp_path / "out", b"data")
        with pytest.raises(CorpusError, match="out: cannot write: "):
            encode(["a b"], tmp_path / "out", min_count=1)
        assert (tmp_path / "out").read_bytes() == b"data"

    @pytest.mark.process
    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_disk_that_fills_up(self, tmp_path, threads):
        # A limit on the size of files stops a write half-way, as a full disk does.
        program = (
            "import resource, sys; from spherevec.corpus import encode\n"
            "encode(['a b'], sys.argv[1] + '-warm', min_count=1)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
            f"encode(['a b ' * 10_000] * 50, sys.argv[1], threads={threads}, block_size=50_000)\n"
        )
        command = [sys.executable, "-c", program, str(tmp_path / "out")]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 1
        assert "out: cannot write: File too large; raise the limit" in result.stderr.splitlines()[-1]
        assert "Exception ignored" not in result.stderr
        assert not (tmp_path / "out").exists()

    @pytest.mark.process
    def test_a_disk_that_is_full(self, tmp_path):
        disk = tmp_path / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
        if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("a small disk can be mounted by root only")
        try:
            with pytest.raises(CorpusError, match="out: cannot write: No space left on device; free some space"):
                encode(["a b " * 20_000] * 3, disk / "out")
            assert list(disk.iterdir()) == []
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_unreadable_and_unwritable(self, tmp_path):
        written(tmp_path / "secret.txt", b"a b").chmod(0)
        (tmp_path / "locked").mkdir(mode=0o555)
        with unprivileged(tmp_path):
            with pytest.raises(CorpusError, match=r"secret.txt: permission denied; make it readable"):
                read(tmp_path / "secret.txt")
            with pytest.raises(CorpusError, match=r"locked: cannot write: Permission denied"):
                encode(["a b"], tmp_path / "locked", min_count=1)
            with pytest.raises(CorpusError, match=r"out: cannot write: Permission denied"):
                encode(["a b"], tmp_path / "locked" / "out", min_count=1)


class TestOpen:
    @pytest.fixture
    def folder(self, tmp_path):
        encode(["a b"], tmp_path / "out", min_count=1)
        return tmp_path / "out"

    @pytest.mark.parametrize("name", ["ids.bin", "offsets.bin", "counts.bin", "words.json", "corpus.json"])
    def test_a_missing_file(self, folder, name):
        (folder / name).unlink()
        with pytest.raises(CorpusError, match=rf"no encoded corpus \({name} is missing\)"):
            EncodedCorpus.open(folder)

    @pytest.mark.parametrize("name", ["ids.bin", "offsets.bin", "counts.bin", "words.json", "corpus.json"])
    def test_a_truncated_file(self, folder, name):
        (folder / name).write_bytes((folder / name).read_bytes()[:-3])
        with pytest.raises(CorpusError, match=r"damaged corpus .*; encode the text again"):
            EncodedCorpus.open(folder)

    def test_another_format(self, folder):
        (folder / "corpus.json").write_text((folder / "corpus.json").read_text().replace('"format": 2', '"format": 1'))
        with pytest.raises(CorpusError, match="corpus format 1, not 2; encode the text again"):
            EncodedCorpus.open(folder)


def test_blocks_end_at_white_space_and_lose_nothing():
    pieces = [b"one tw", b"o three\nfo", b"ur", b"five", b" six\n"]
    for size in range(1, 30):
        cut = list(blocks(pieces, size))
        assert b"".join(cut) == b"".join(pieces)
        assert all(block[-1:] in b" \n" for block in cut)


def test_no_block_ends_inside_a_tag():
    text = b"x <b>y</b> a < b <a href=1 title='2 3'>z</a> " * 20 + b"\n"
    for length in (3, 10, 33, 300):
        pieces = [text[i : i + length] for i in range(0, len(text), length)]
        for size in (1, 7, 40):
            cut = list(blocks(pieces, size))
            assert b"".join(cut) == text
            assert len(cut) > 3
            ends = np.cumsum([len(block) for block in cut[:-1]]).tolist()
            inside = [range(match.start() + 1, match.end()) for match in re.finditer(rb"<[a-z/][^<>]*>", text)]
            assert not any(end in tag for end in ends for tag in inside)


def test_a_line_of_open_tags_takes_time_that_grows_with_it():
    def read(text):
        return list(blocks((text[i : i + 1000].encode() for i in range(0, len(text), 1000)), 1))

    assert grows(read, lambda n: "<b " * n, 60_000) < 24


def test_lines_keep_their_newlines():
    assert list(lines([b"a", b"b\n\nc", b"\n"])) == [b"ab\n", b"\n", b"c\n"]
