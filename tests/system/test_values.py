"""Values at the ends of what dates, numbers and texts can be: kept, clipped with a warning, or refused in one line."""

import datetime
import decimal
import json
import math
import sys
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from benchmarks.tables import made_table
from spherevec.cli import main
from spherevec.corpus import encode
from spherevec.errors import ConfigError, CorpusError
from spherevec.model.documents import DocumentTable

REFUSED = "(refused)"  # stands for an error; a plain string, so that a test has the same name in every process
DIGITS = "9" * 400
FIRST, LAST = "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"

# A cell of JSON or CSV as it is written; what becomes of it as it is found to be, as a date, and as a number.
CELLS = [
    ("jsonl", f'"{FIRST}"', "0001-01-01", "0001-01-01", REFUSED),
    ("jsonl", f'"{LAST}"', "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999", REFUSED),
    ("jsonl", f'"{DIGITS}"', DIGITS, REFUSED, REFUSED),
    ("jsonl", DIGITS, DIGITS, REFUSED, REFUSED),
    ("jsonl", "NaN", None, None, None),
    ("jsonl", "Infinity", REFUSED, REFUSED, REFUSED),
    ("jsonl", "-1e999", REFUSED, REFUSED, REFUSED),
    ("jsonl", "-0.0", 0, REFUSED, 0),
    ("jsonl", "1e-999", 0, REFUSED, 0),
    ("jsonl", "1e308", 1e308, REFUSED, 1e308),
    ("jsonl", str(2**53 + 1), 2**53 + 1, REFUSED, 2**53 + 1),
    ("jsonl", str(2**63), float(2**63), REFUSED, float(2**63)),
    ("jsonl", '"a\\ud800b"', "a?b", REFUSED, REFUSED),
    ("jsonl", '"a\\u0000b"', "a\0b", REFUSED, REFUSED),
    ("jsonl", '"2024-02-30"', "2024-02-30", REFUSED, REFUSED),
    ("csv", FIRST, "0001-01-01", "0001-01-01", REFUSED),
    ("csv", LAST, "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999", REFUSED),
    ("csv", DIGITS, DIGITS, REFUSED, REFUSED),
    ("csv", "NaN", "NaN", REFUSED, REFUSED),
    ("csv", "-0", 0, REFUSED, 0),
    ("csv", "1e999", "1e999", REFUSED, REFUSED),
    ("csv", "0000-01-01", "0000-01-01", REFUSED, REFUSED),
    ("csv", "10000-01-01", "10000-01-01", REFUSED, REFUSED),
]


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["found", "date", "number"])
@pytest.mark.parametrize(("ending", "cell", *"xyz"), CELLS, ids=[f"{row[0]} {row[1][:28]}" for row in CELLS])
def test_cells(tmp_path, ending, cell, x, y, z, kind):
    expected = (x, y, z)[kind]
    path = tmp_path / f"t.{ending}"
    rows = [f'{{"t": "a b", "v": {cell}}}\n'] * 2 if ending == "jsonl" else ["t,v\n", *[f"a b,{cell}\n"] * 2]
    path.write_text("".join(rows))
    keep = ["v" + ("", ":date", ":number")[kind]]
    if expected is REFUSED:
        with pytest.raises(CorpusError, match=r", line [12], field 'v': .*(is not|is no)") as caught:
            encode(path, tmp_path / "c", text_field="t", keep=keep, min_count=1)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
        return
    clipped = cell.strip('"') in (FIRST, LAST)
    with (
        pytest.warns(UserWarning, match="years 1 and 9999") if clipped else nullcontext(),
        encode(path, tmp_path / "c", text_field="t", keep=keep, min_count=1) as corpus,
    ):
        table = DocumentTable.of_columns(corpus.document_columns, "")
        record = json.loads(json.dumps(table.record(1), allow_nan=False))
    found = record["v"]
    assert (found.encode("utf-8", "replace").decode() if isinstance(found, str) else found) == expected


HUGE = 10**400
# A condition, and how many of the cells 1, 2.5 and none; 2024-01-01, 9999-12-31 and none; x, y, x fulfil it.
CONDITIONS = [
    ({"n": HUGE}, 0),
    ({"n<": HUGE}, 2),
    ({"n>": -HUGE}, 2),
    ({"n>": HUGE}, 0),
    ({"n": math.nan}, 0),
    ({"n<": math.inf}, 2),
    ({"n>": -0.0}, 2),
    ({"n": [HUGE, 1]}, 1),
    ({"n": DIGITS}, REFUSED),
    ({"n": "1e999"}, REFUSED),
    ({"n": True}, REFUSED),
    ({"n": 1j}, REFUSED),
    ({"d>=": FIRST}, 2),
    ({"d<=": LAST}, 2),
    ({"d": "9999"}, REFUSED),
    ({"d": "9999-12-31"}, 1),
    ({"d": datetime.date.max}, 1),
    ({"d": "2024..9999-12-31"}, 2),
    ({"d": "2025..2024"}, REFUSED),
    ({"d": "0000"}, REFUSED),
    ({"d": ".."}, REFUSED),
    ({"d": HUGE}, REFUSED),
    ({"c": "\ud800"}, 0),
    ({"c": HUGE}, 0),
    ({"c": b"x"}, 0),
    ({"nothing": 1}, REFUSED),
    ({"n~": 1}, REFUSED),
]


@pytest.mark.filterwarnings("ignore:date ")
@pytest.mark.parametrize(("condition", "expected"), CONDITIONS, ids=[str(one[0])[:30] for one in CONDITIONS])
def test_conditions(condition, expected):
    fields = {"n": [1, 2.5, None], "d": ["2024-01-01", "9999-12-31", ""], "c": ["x", "y", "x"]}
    table = made_table(3, fields=fields)
    if expected is REFUSED:
        with pytest.raises(ConfigError) as caught:
            table.rows_where(condition)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    else:
        assert len(table.rows_where(condition)) == expected


PARQUET: list[tuple[str, Any, Any]] = [
    ("timestamp[s]", [253402300799, -62135596800], ["9999-12-31T23:59:59", "0001-01-01"]),
    ("timestamp[ms]", [2**62, 1], REFUSED),
    ("timestamp[ns]", [2**63 - 1, -(2**63) + 1], ["2262-04-11T23:47:16.854775", "1677-09-21T00:12:43.145224"]),
    ("date32[day]", [2**31 - 1, 0], REFUSED),
    ("uint64", [2**64 - 1, 0], [float(2**64), 0]),
    ("double", [math.nan, 1.0], [None, 1.0]),
    ("double", [math.inf, 1.0], REFUSED),
    ("decimal256(76, 0)", [decimal.Decimal("9" * 76), None], [1e76, None]),
    ("binary", [b"\xff", b"a"], REFUSED),
    ("list<item: int64>", [[1], [2]], REFUSED),
]


@pytest.mark.parametrize(
    ("kind", "values", "expected"), PARQUET, ids=[f"{row[0]} {row[1][0]!r:.20}" for row in PARQUET]
)
def test_parquet(tmp_path, kind, values, expected):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    types = {
        "timestamp[s]": pyarrow.timestamp("s"),
        "timestamp[ms]": pyarrow.timestamp("ms"),
        "timestamp[ns]": pyarrow.timestamp("ns"),
        "date32[day]": pyarrow.date32(),
        "uint64": pyarrow.uint64(),
        "decimal256(76, 0)": pyarrow.decimal256(76),
    }
    column = pyarrow.array(values, types[kind]) if kind in types else pyarrow.array(values)
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"t": ["a b", "c d"], "v": column}), path)
    if expected is REFUSED:
        with pytest.raises(CorpusError, match=r"t\.parquet") as caught:
            encode(path, tmp_path / "c", text_field="t", keep=["v"], min_count=1)
        assert "\n" not in str(caught.value)
        return
    with encode(path, tmp_path / "c", text_field="t", keep=["v"], min_count=1) as corpus:
        table = DocumentTable.of_columns(corpus.document_columns, "")
        assert [table.record(row)["v"] for row in range(2)] == expected


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["-0", "0"], ["-0", "0"]),
        ([DIGITS, "1"], [DIGITS, "1"]),
        ([10**400, 2**64], REFUSED if sys.get_int_max_str_digits() < 401 else [str(10**400), str(2**64)]),
        (["a\ud800", "a\ud801"], ["a\ud800", "a\ud801"]),
        ([math.nan, "x"], REFUSED),
        ([1.5, "x"], REFUSED),
        (["", "x"], REFUSED),
        ([np.int64(7), "7"], REFUSED),
    ],
    ids=str,
)
def test_ids(ids, expected):
    if expected is REFUSED:
        with pytest.raises((ConfigError, CorpusError)):
            made_table(2, ids=ids)
    else:
        table = made_table(2, ids=ids)
        assert list(table.ids) == expected and table.row_of(expected[1]) == 1


OPTIONS = [
    ("--vector-size", DIGITS), ("--vector-size", "-1"), ("--vector-size", "nan"), ("--vector-size", "1e3"),
    ("--learning-rate", "nan"), ("--learning-rate", "inf"), ("--learning-rate", "-0.0"), ("--learning-rate", "1e999"),
    ("--epochs", "-0"), ("--epochs", DIGITS), ("--window", "0"), ("--sample", "nan"), ("--seed", DIGITS),
    ("--seed", "-1"), ("--min-count", DIGITS), ("--threads", DIGITS), ("--checkpoint-every", "nane"),
    ("--checkpoint-every", DIGITS + "s"), ("--margin", "nan"), ("--date-format", "\ud800"), ("--decimal", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value"), OPTIONS, ids=[f"{one} {value[:12]!a}" for one, value in OPTIONS])
def test_options_are_refused_before_any_text_is_read(tmp_path, capfd, option, value):
    corpus = tmp_path / "t.txt"
    corpus.write_bytes(b"\xff\xfe\0 not read")
    assert main(["train", str(corpus), "--out", str(tmp_path / "m"), option, value]) == 2
    error = capfd.readouterr().err
    assert (
        "t.txt" not in error
        and "Traceback" not in error
        and option.lstrip("-").replace("-", "_") in error.replace("-", "_")
    )
    assert len(error.strip().splitlines()) <= 3 and not (tmp_path / "m").exists()
