"""The table of input formats, and tables as people have them."""

import gzip
import json

import pytest

from spherevec import train
from spherevec.corpus import encode, read_documents
from spherevec.corpus.read import formats
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.readers import open_source
from spherevec.corpus.read.tables import record_rows
from spherevec.errors import ConfigError, CorpusError


def read(source, **options):
    return list(read_documents(source, **options))


def written(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def notes_of(source, **options):
    opened = open_source(source, ReadOptions(**options))
    for _ in opened.pieces:
        pass
    return opened.notes


def read_toy(file):
    """A toy format: `id|text`, one document a line."""
    fields = (line.decode().rstrip("\n").split("|") for line in file.lines(1 << 20))
    records = ((number, {"id": id, "text": text}) for number, (id, text) in enumerate(fields, 1))
    return record_rows(records, file.options, f"{file.path}, line ", str(file.path))


def test_a_new_format_is_a_row_and_a_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "FORMATS", [*formats.FORMATS, formats.Format("toy", (".toy",), read_toy)])
    path = written(tmp_path / "posts.toy", "".join(f"n{i}|the cat saw a dog {i % 7}\n" for i in range(40)))
    packed = written(tmp_path / "posts.toy.gz", gzip.compress(path.read_bytes()))
    for source in (path, packed):
        model = train(source, text_field="text", id_field="id", vector_size=8, epochs=1, min_count=1, threads=1)
        assert model.documents.ids[:2] == ["n0", "n1"]
    with pytest.raises(CorpusError, match=r"needs a table such as \.csv, .*\.toy; leave it out"):
        read(written(tmp_path / "a.txt", "x"), text_field="text")


class TestRaggedRows:
    TABLE = "id,text,team\n1,a b,x\n2,c, d,y\n3,e f\n4,g h,z,,\n"

    def test_are_refused_with_their_first_cells(self, tmp_path):
        path = written(tmp_path / "t.csv", self.TABLE)
        with pytest.raises(CorpusError, match=r"line 3: 4 cells, but the header has 3; it begins with '2', 'c'"):
            read(path, text_field="text")

    @pytest.mark.parametrize(
        ("how", "texts", "done"),
        [("skip", ["a b", "g h"], "skipped"), ("pad", ["a b", "c", "e f", "g h"], "padded or cut")],
    )
    def test_are_skipped_or_padded_on_request(self, tmp_path, how, texts, done):
        path = written(tmp_path / "t.csv", self.TABLE)
        assert read(path, text_field="text", ragged=how) == texts
        assert notes_of(path, text_field="text", ragged=how) == [
            f"{path}: {done} 2 rows with more or fewer cells than the header"
        ]

    def test_other_ways_are_refused(self):
        with pytest.raises(ConfigError, match="ragged must be one of error, skip, pad, not 'drop'"):
            ReadOptions(ragged="drop")


class TestSeparatorLine:
    def test_says_what_separates_cells(self, tmp_path):
        assert read(written(tmp_path / "t.csv", "sep=;\r\nid;text\r\n1;a,b\r\n"), text_field="text") == ["a,b"]

    def test_lines_are_counted_with_it(self, tmp_path):
        with pytest.raises(CorpusError, match="line 4: 1 cells"):
            read(written(tmp_path / "t.csv", "sep=;\nid;text\n1;a\n2\n"), text_field="text")


class TestSeveralTextFields:
    def test_are_one_text_in_every_format(self, tmp_path):
        rows = [
            {"title": "One", "body": "first text"},
            {"title": "", "body": "second"},
            {"title": "Three", "body": None},
        ]
        lines = written(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)))
        table = written(tmp_path / "t.csv", "title,body\nOne,first text\n,second\nThree,\n")
        for source in (lines, table, rows):
            assert read(source, text_field=["title", "body"]) == ["One first text", "second", "Three"]

    def test_each_must_be_there(self, tmp_path):
        with pytest.raises(CorpusError, match="no field 'head'; choose text_field=NAME among 'title', 'body'"):
            read(written(tmp_path / "t.csv", "title,body\na,b\n"), text_field=["head", "body"])
        with pytest.raises(CorpusError, match="no record has a field 'head'"):
            read([{"body": "a"}], text_field=["body", "head"])


class TestEncodings:
    TEXT = "Grüße aus Köln – naïve\nzweite Zeile\n"

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
    @pytest.mark.parametrize("ending", ["", ".gz"])
    def test_are_found_out(self, tmp_path, encoding, ending):
        data = self.TEXT.encode(encoding)
        path = written(tmp_path / f"t.txt{ending}", gzip.compress(data) if ending else data)
        assert read(path) == self.TEXT.splitlines()

    def test_a_note_says_so(self, tmp_path):
        path = written(tmp_path / "t.txt", self.TEXT.encode("cp1252"))
        assert notes_of(path) == [f"{path}: read as cp1252; if that is wrong, name its encoding"]

    @pytest.mark.parametrize(
        "ambiguous",
        [
            b"good \xff bad",
            b"\x81 caf\xe9",
            "Привет мир".encode("cp1251"),
            "καλημέρα".encode("cp1253"),
            "你好世界".encode("gbk"),
        ],
        ids=["ÿ", "undefined", "cyrillic", "greek", "chinese"],
    )
    def test_what_may_be_anything_is_refused(self, tmp_path, ambiguous):
        path = written(tmp_path / "t.txt", b"one line\n" + ambiguous + b"\n")
        with pytest.raises(CorpusError, match=r"t\.txt, line 2: not valid utf-8 .* say cp1252.*'replace'"):
            read(path)

    @pytest.mark.parametrize(
        "late", ["Zürich".encode(), b"\xff", "Привет".encode("cp1251")], ids=["utf-8", "ÿ", "cyrillic"]
    )
    def test_nothing_is_read_in_two_encodings(self, tmp_path, late):
        early = "naïve\n".encode("cp1252") + b"a line\n" * 20
        path = written(tmp_path / "t.txt", early + late + b"\n")
        for size in (64, 70, 73, 1 << 20):
            source = open_source(path, ReadOptions(), size)
            with pytest.raises(CorpusError, match=r"t\.txt, line \d+: .*name the file's encoding.*cp1252"):
                list(source.texts())
        with pytest.raises(CorpusError, match=r"line 22: "):
            list(open_source(path, ReadOptions(), 64).texts())
        assert len(read(path, encoding="cp1252")) == 22
        assert len(read(path, encoding="utf-8", encoding_errors="replace")) == 22

    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_bad_byte_far_into_a_large_file(self, tmp_path, threads):
        path = written(tmp_path / "t.txt", "Zürich ist groß\n".encode() * 80_000 + b"Z\xfcrich\n" + b"more\n" * 10)
        with pytest.raises(CorpusError, match=r"t\.txt, line 80001: not valid utf-8 \(byte 0xfc\)"):
            encode(path, tmp_path / "out", threads=threads)

    def test_a_file_of_two_encodings_is_refused_or_mended(self, tmp_path):
        path = written(tmp_path / "t.txt", "naïve\n".encode() + "naïve \ufffd\n".encode() + "Köln\n".encode("latin-1"))
        with pytest.raises(CorpusError, match=r"line 3: not valid utf-8 \(byte 0xf6\).*encoding_errors='replace'"):
            read(path)
        assert read(path, encoding_errors="replace") == ["naïve", "naïve \ufffd", "K\ufffdln"]
        assert notes_of(path, encoding_errors="replace") == [
            f"{path}: 1 bytes or characters that are not valid text were replaced"
        ]
