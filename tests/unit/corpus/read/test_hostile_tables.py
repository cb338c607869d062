"""Tables as an attacker would write them: one line or documents, in time that grows with their size and no faster."""

import json

import pytest

from helpers import grows
from spherevec.corpus import read_documents
from spherevec.errors import CorpusError

CSV = {
    "a quote that is never closed": lambda n: 'text\n"' + "a\n" * n,
    "quotes and no end": lambda n: "text\n" + '"a\n' * n,
    "one long cell": lambda n: "text\n" + "a" * (5 * n),
    "doubled quotes": lambda n: 'text\n"' + '""' * n + '"\n',
    "quotes inside cells": lambda n: "text\n" + 'a"' * n,
    "thousands of columns": lambda n: ",".join(["text", *map(str, range(n))]) + "\na" + "," * n + "\n",
    "columns of one name": lambda n: "text" + ",text" * n + "\n" + "a," * n + "\n",
    "rows of commas": lambda n: "text\na\n" + "," * n,
    "empty lines": lambda n: "text,id\n" + "\n" * n + "a,b\n",
    "carriage returns": lambda n: "text\r" + "a\r" * n,
    "escaped line ends": lambda n: 'text\n"' + "\r\n" * n + '"',
    "nothing but delimiters": lambda n: ";,|\t" * n + "\n",
}
JSON = {
    "deep arrays": lambda n: "[" * n,
    "deep objects": lambda n: '[{"text":' + '{"a":' * n,
    "closed deep arrays": lambda n: '[{"text":"a","b":' + "[" * n + "]" * n + "}]",
    "a string that never ends": lambda n: '[{"text":"' + "a" * (5 * n),
    "escapes that never end": lambda n: '["' + '\\"' * n,
    "backslashes": lambda n: '["' + "\\\\" * n + '"]',
    "spaces": lambda n: "[" + " " * n + "]",
    "spaces between": lambda n: "[" + '"a" ,  ' * n + '"b"]',
    "a long number": lambda n: '[{"text":"a","b":' + "1" * n + "}]",
    "numbers": lambda n: "[" + "1," * n,
    "many keys": lambda n: "[{" + ",".join(f'"k{i}":1' for i in range(n)) + ',"text":"a"}]',
    "one key again and again": lambda n: "[{" + '"text":"a",' * n + '"text":"b"}]',
    "surrogates": lambda n: '["' + "\\ud800" * n + '"]',
}
JSONL = {
    "deep lines": lambda n: ('{"text":"a","b":' + "[" * 5000 + "\n") * (n // 5000 + 1),
    "one long line": lambda n: '{"text":"' + "a" * (5 * n) + '"}',
    "open lines": lambda n: '{"text":"a"\n' * n,
    "good lines, then a bad one": lambda n: '{"text":"a"}\n' * n + "{",
}
PATTERNS = [(f"t.{ending}", name, make) for ending, kind in (("csv", CSV), ("json", JSON), ("jsonl", JSONL))
            for name, make in kind.items()]  # fmt: skip


@pytest.mark.parametrize(("file", "name", "make"), PATTERNS, ids=[f"{file}-{name}" for file, name, _ in PATTERNS])
def test_takes_time_in_proportion_to_its_size(tmp_path, file, name, make):
    def read(text):
        (tmp_path / file).write_text(text, "utf-8", newline="")
        plain = file == "t.json" and text.startswith(('["', "[ "))  # an array of texts has no fields
        try:
            return list(read_documents(tmp_path / file, text_field=None if plain else "text"))
        except CorpusError as error:
            assert str(error).startswith(str(tmp_path / file))
            assert "\n" not in str(error)
            assert len(str(error)) < 1000 + len(str(tmp_path))
            return []

    # A square would be 64 times as much.
    assert grows(read, make, 4_000) < 24


def test_records_have_a_longest_length(tmp_path, monkeypatch):
    """A cell, a line and a record of hundreds of megabytes are refused before they are held; here, of a few."""
    monkeypatch.setattr("spherevec.corpus.read.tables.LONGEST_RECORD", 1 << 20)
    text = "a" * (3 << 20)
    for name, content in {
        "t.csv": f'text\n"{text}\n{text}"\n',
        "u.csv": f"text\n{text}\n",
        "t.jsonl": f'{{"text":"{text}"}}\n',
        "t.json": f'[{{"text":"{text}"}}]',
    }.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(CorpusError, match=rf"{name}.*(over|longer than) 1 MB; split it"):
            list(read_documents(tmp_path / name, text_field="text"))


class TestParquet:
    @pytest.fixture
    def path(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pyarrow.table({"text": [f"text {number}" for number in range(100)], "n": list(range(100))})
        parquet.write_table(table, tmp_path / "t.parquet", row_group_size=20)
        return tmp_path / "t.parquet"

    def outcome(self, path):
        try:
            return len(list(read_documents(path, text_field="text")))
        except CorpusError as error:
            assert str(error).startswith(str(path))
            assert "\n" not in str(error)
            return None

    def test_damaged_footers(self, path):
        whole = path.read_bytes()
        size = int.from_bytes(whole[-8:-4], "little")
        footers = {
            "gone": whole[: -size - 8],
            "cut": whole[:-4],
            "zero": whole[: -size - 8] + bytes(size) + whole[-8:],
            "longer than the file": whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:],
            "negative": whole[:-8] + b"\xff\xff\xff\xff" + whole[-4:],
            "short": whole[:-8] + (1).to_bytes(4, "little") + whole[-4:],
            "encrypted": whole[:-4] + b"PARE",
            "nothing else": b"PAR1" + whole[-8:],
        }
        for content in footers.values():
            path.write_bytes(content)
            assert self.outcome(path) is None

    def test_damage_anywhere_is_one_line_or_nothing(self, path):
        whole = path.read_bytes()
        for at in range(4, len(whole) - 8, 37):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
            self.outcome(path)

    @pytest.mark.parametrize("compression", ["none", "zstd"])
    def test_a_few_bytes_that_stand_for_gigabytes(self, path, compression, monkeypatch):
        import pyarrow
        from pyarrow import parquet

        long = pyarrow.array(["a b " * 25_000, "c"]).dictionary_encode()
        column = pyarrow.DictionaryArray.from_arrays([0] * 5000, long.dictionary)
        parquet.write_table(pyarrow.table({"text": column}), path, compression=compression)
        with pytest.raises(
            CorpusError, match=r"t\.parquet: [\d,]+ bytes expand to .* set SPHEREVEC_MAX_EXPANSION higher"
        ):
            list(read_documents(path, text_field="text"))
        monkeypatch.setenv("SPHEREVEC_MAX_EXPANSION", "1000000")
        assert next(iter(read_documents(path, text_field="text"))).startswith("a b ")

    def test_a_thousand_columns(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pyarrow.table({"text": ["one", "two"], **{f"c{number}": [1, 2] for number in range(1000)}})
        parquet.write_table(table, tmp_path / "t.parquet")
        assert list(read_documents(tmp_path / "t.parquet", text_field="text")) == ["one", "two"]


def test_values_at_the_edges_are_kept_or_refused(tmp_path):
    """Dates at the ends of the calendar, 400 digits, half a surrogate: see the table of documents."""
    from spherevec.corpus import encode
    from spherevec.model.documents import DocumentTable

    rows = [
        {"text": "one", "day": "0001-01-01T00:00:00+01:00", "n": -0.0},
        {"text": "two \ud800", "day": "9999-12-31T23:59:59-01:00", "n": 1e300},
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = encode(tmp_path / "t.jsonl", tmp_path / "c", min_count=1, text_field="text", keep=["day:date", "n"])
    table = DocumentTable.of_columns(corpus.document_columns, tmp_path)
    assert [str(day)[:10] for day in table.column("day")] == ["0001-01-01", "9999-12-31"]
    assert table.column("n").tolist() == [0.0, 1e300]
    for value in ("1" * 400, "NaN"):
        (tmp_path / "u.csv").write_text(f"text,n\none,1\ntwo,{value}\n")
        with pytest.raises(CorpusError, match=r"u\.csv, line 3, field 'n': .* is not a number"):
            encode(tmp_path / "u.csv", tmp_path / "d", min_count=1, text_field="text", keep=["n:number"])
