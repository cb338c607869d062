"""Tables as an attacker would write them: one line or documents, in time that grows with their size and no faster."""

import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import grows
from spherevec.corpus import encode, read_documents
from spherevec.corpus.read import streams, tables
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.readers import open_source
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
MBOX = {
    "mails of nothing": lambda n: "From a\n\n" * n,
    "mails of a subject": lambda n: "From a\nSubject: b\n\nc\n" * n,
}
FORMATS = {"csv": CSV, "json": JSON, "jsonl": JSONL, "mbox": MBOX}
PATTERNS = [(f"t.{ending}", name, make) for ending, kind in FORMATS.items() for name, make in kind.items()]


@pytest.mark.parametrize(("file", "name", "make"), PATTERNS, ids=[f"{file}-{name}" for file, name, _ in PATTERNS])
def test_takes_time_in_proportion_to_its_size(tmp_path, file, name, make):
    def read(text):
        (tmp_path / file).write_text(text, "utf-8", newline="")
        # An array of texts has no fields, and mails have their own.
        plain = file == "t.mbox" or (file == "t.json" and text.startswith(('["', "[ ")))
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


def test_white_space_before_json_is_not_held(tmp_path):
    path, options = tmp_path / "t.json", ReadOptions(text_field="text")

    def read(text):
        path.write_text(text)
        return list(open_source(path, options, size=64).texts())

    assert read(" \n" * 500 + '[{"text":"a"}]') == ["a"]
    assert grows(read, lambda n: " " * n + '[{"text":"a"}]', 50_000) < 24
    with pytest.raises(CorpusError, match="line 502: not JSON"):  # counted from the beginning of the file
        read("\n" * 500 + '{"text":"a"}\n{"text":\n')


def test_a_header_longer_than_a_cell_may_be_for_python(tmp_path):
    names = ",".join(f"measurement_{number:05}" for number in range(9000))
    (tmp_path / "t.csv").write_text(f"text,{names}\na b{',1' * 9000}\n")
    assert list(read_documents(tmp_path / "t.csv", text_field="text")) == ["a b"]


def test_rows_without_cells_cost_little(tmp_path, monkeypatch):
    """They are documents without text: their cells are looked up once, and nothing of one goes through NumPy."""
    path, calls = tmp_path / "t.csv", []

    def counted(of):
        return lambda *given: calls.append(of) or of(*given)

    monkeypatch.setattr(tables, "make_row", counted(tables.make_row))
    monkeypatch.setattr(streams.np, "frombuffer", counted(streams.np.frombuffer))
    path.write_text("text,id\n" + "\n" * 3000 + "a,b\n\n")
    assert list(read_documents(path, text_field="text")) == [""] * 3000 + ["a"]
    assert len(calls) < 10


@given(st.lists(st.text("a\n", max_size=5), max_size=6), st.integers(1, 5), st.integers(1, 5))
def test_documents_are_counted_as_lines_are(pieces, most, most_empty):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPHEREVEC_MAX_DOCUMENTS", str(most))
        patch.setenv("SPHEREVEC_MAX_EMPTY_DOCUMENTS", str(most_empty))
        lines = "".join(pieces).split("\n")[:-1]
        try:
            list(streams.bounded((piece.encode() for piece in pieces), "t"))
            refused = False
        except CorpusError:
            refused = True
    assert refused == (len(lines) > most or lines.count("") > most_empty)


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

    @pytest.mark.parametrize("dictionary", [False, True])
    def test_a_few_bytes_that_stand_for_gigabytes_beside_the_text(self, path, tmp_path, dictionary, monkeypatch):
        import pyarrow
        from pyarrow import parquet

        column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 100), pyarrow.array(["lorem " * 200_000]))
        kept = column if dictionary else column.cast(pyarrow.string())
        table = pyarrow.table({"text": ["a b"] * 100, "x": kept})
        parquet.write_table(table, path, compression="zstd", dictionary_pagesize_limit=1 << 30)
        added = []
        add = streams.DecompressionLimit.add
        monkeypatch.setattr(
            streams.DecompressionLimit, "add", lambda self, size, packed: added.append(size) or add(self, size, packed)
        )
        with pytest.raises(CorpusError, match=r"t\.parquet: [\d,]+ bytes expand to .* and more"):
            encode(path, tmp_path / "c", min_count=1, text_field="text", keep=["x:text"])
        assert max(added) < 1 << 25  # at once

    def test_a_column_of_few_values_is_as_large_as_its_cells(self, path, tmp_path):
        """Each batch of rows brings all values of such a column."""
        import pyarrow
        from pyarrow import parquet

        values = pyarrow.array([f"category {number} " * 10 for number in range(2000)])
        column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([i % 2000 for i in range(20_000)]), values)
        texts = [f"text {number * 7919 % 20_000}" for number in range(20_000)]
        parquet.write_table(pyarrow.table({"text": texts, "c": column}), path, compression="zstd")
        corpus = encode(path, tmp_path / "c", min_count=1, text_field="text", keep=["c"])
        assert corpus.n_documents == 20_000

    def test_time_zones_that_are_not_known_here(self, path, tmp_path):
        import pyarrow
        from pyarrow import parquet

        for zone in ("UTC", "+01:00", "Mars/Phobos"):
            days = pyarrow.array([0, None], pyarrow.timestamp("us", zone))
            parquet.write_table(pyarrow.table({"text": ["a b", "b a"], "day": days}), path)
            assert self.outcome(path) == 2
            if zone != "Mars/Phobos":
                encode(path, tmp_path / zone, min_count=1, text_field="text", keep=["day"])
        with pytest.raises(
            CorpusError, match=r"field 'day': the time zone 'Mars/Phobos' is not known here; install tz"
        ):
            encode(path, tmp_path / "c", min_count=1, text_field="text", keep=["day"])

    def test_a_thousand_columns(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pyarrow.table({"text": ["one", "two"], **{f"c{number}": [1, 2] for number in range(1000)}})
        parquet.write_table(table, tmp_path / "t.parquet")
        assert list(read_documents(tmp_path / "t.parquet", text_field="text")) == ["one", "two"]


def test_values_at_the_edges_are_kept_or_refused(tmp_path):
    """Dates at the ends of the calendar, 400 digits, half a surrogate: see the table of documents."""
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


def test_dates_at_the_end_of_the_calendar_are_one_warning(tmp_path):
    rows = "".join(f"a b,0001-01-01T00:00:00.{number:06}+01:00\n" for number in range(100))
    (tmp_path / "t.csv").write_text(f"text,day\n{rows}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        encode(tmp_path / "t.csv", tmp_path / "c", min_count=1, text_field="text", keep=["day"])
    assert [str(one.message) for one in caught] == [
        "dates that are not between the years 1 and 9999 in UTC become 0001-01-01 00:00:00"
    ]
