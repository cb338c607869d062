"""What a kept field holds, as people write it."""

import re
import tempfile
from decimal import Decimal

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from benchmarks.tables import made_table
from spherevec.corpus import encode
from spherevec.corpus.table.field_types import (
    DAY_FIRST,
    ISO,
    MONTH_FIRST,
    KindFinder,
    as_microseconds,
    as_number,
    date_as,
)
from spherevec.errors import ConfigError, CorpusError
from spherevec.model.documents import DocumentTable


def column(cells, tmp_path, keep="d", **options):
    """A kept column of a CSV file: its kind and its cells."""
    path = tmp_path / "t.csv"
    path.write_text("text;d\n" + "".join(f"some words;{cell}\n" for cell in cells), "utf-8")
    options = {"text_field": "text", "keep": [keep], "delimiter": ";", "min_count": 1, **options}
    with encode(path, tempfile.mkdtemp(dir=tmp_path), **options) as corpus:
        table = DocumentTable(corpus.document_columns)
        return table.fields["d"], [str(cell) for cell in table.column("d").tolist()]


def summary(cells, tmp_path, keep="d", **options):
    """The kept fields and the warnings of the same file; each text has a word of its own."""
    path = tmp_path / "t.csv"
    path.write_text("text;d\n" + "".join(f"word more{row};{cell}\n" for row, cell in enumerate(cells)), "utf-8")
    options = {"text_field": "text", "keep": [keep], "delimiter": ";", "min_count": 1, **options}
    with encode(path, tempfile.mkdtemp(dir=tmp_path), **options) as corpus:
        return corpus.summary


DAYS = ["2024-02-25 00:00:00", "2024-03-01 00:00:00"]


@pytest.mark.parametrize(
    "cells",
    [
        ["2024-02-25", "2024-03-01"],
        ["25.02.2024", "1.3.2024"],
        ["2/25/2024", "3/1/2024"],
        ["25/02/2024", "01/03/2024"],
        ["25-02-2024", "01-03-2024"],
        ["25 Feb 2024", "1 March 2024"],
        ["Feb 25, 2024", "March 1st, 2024"],
    ],
)
@pytest.mark.parametrize("keep", ["d", "d:date"])
def test_dates_as_columns_show_them(tmp_path, cells, keep):
    assert column(cells, tmp_path, keep) == ("date", DAYS)


def test_dates_with_times_and_gaps(tmp_path):
    assert column(["25.02.2024 9:05", "", "01.03.2024 13:00:30"], tmp_path) == (
        "date", ["2024-02-25 09:05:00", "None", "2024-03-01 13:00:30"],
    )  # fmt: skip


def test_times_with_twelve_hours(tmp_path):
    found = column(["2/25/2024 12:05 AM", "2/25/2024 3:05:10 pm", "2/25/2024 12:00 p.m."], tmp_path)[1]
    assert found == ["2024-02-25 00:05:00", "2024-02-25 15:05:10", "2024-02-25 12:00:00"]


@pytest.mark.parametrize("date_format", ["%Y/%m/%d", "excel"])
def test_a_format_that_fits_no_field_is_refused(tmp_path, date_format):
    with pytest.raises(CorpusError, match=rf"'{date_format}' fits no field that is kept \(d\); .*keep='d:date'"):
        column(["2024-02-25", "2024-03-01"], tmp_path, date_format=date_format)
    with pytest.raises(CorpusError, match=rf"line 2, field 'd': '2024-02-25' is not a date written as '{date_format}'"):
        column(["2024-02-25"], tmp_path, "d:date", date_format=date_format)


def test_day_and_month_that_cannot_be_told_apart_are_refused_with_both_readings(tmp_path):
    both = r"2024-03-02 \(date_format='%d/%m/%Y'\) or 2024-02-03 \(date_format='%m/%d/%Y'\)"
    with pytest.raises(CorpusError, match=rf"t.csv, line 3, field 'd': '02/03/2024' may be day or month first: {both}"):
        column(["01/01/2024", "02/03/2024", "05/06/2024"], tmp_path)
    assert column(["02/03/2024"], tmp_path, date_format="%d/%m/%Y")[1] == ["2024-03-02 00:00:00"]


def test_other_formats_are_named(tmp_path):
    assert column(["240225"], tmp_path, "d:date", date_format="%y%m%d") == ("date", DAYS[:1])
    with pytest.raises(CorpusError, match="line 2, field 'd': 'soon' is not a date as in"):
        column(["soon"], tmp_path, "d:date")


def test_serial_numbers_of_excel(tmp_path):
    assert column(["45347", "45352.5"], tmp_path, "d:date", date_format="excel")[1] == [DAYS[0], "2024-03-01 12:00:00"]


def test_a_wrong_format_is_refused():
    from spherevec.corpus.read.options import ReadOptions

    with pytest.raises(ConfigError, match="date_format must look like"):
        ReadOptions(date_format="DD.MM.YYYY")


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["3,14", "2", "1.234,5"], "number", ["3.14", "2.0", "1234.5"]),
        (["3.14", "1.234"], "number", ["3.14", "1.234"]),
        (["1,000", "1,000", "2,000"], "category", ["1,000", "1,000", "2,000"]),  # thousands, or decimals?
        (["1", "22"], "number", ["1", "22"]),
        (["1,000", "1,234.5"], "number", ["1000.0", "1234.5"]),
        (["1,000", "1,234,567"], "number", ["1000", "1234567"]),
        (["1,000", "2,5"], "number", ["1.0", "2.5"]),
        (["1.2.3", "1.234.567"], "text", ["1.2.3", "1.234.567"]),
        (["007", "007"], "category", ["007", "007"]),
    ],
)
def test_decimal_commas(tmp_path, cells, kind, values):
    assert column(cells, tmp_path) == (kind, values)


def test_commas_that_may_part_thousands_must_be_declared(tmp_path):
    with pytest.raises(CorpusError, match="commas may part decimals or thousands; say decimal=','"):
        column(["1,000", "2,500"], tmp_path, "d:number")
    assert column(["1,000", "2,500"], tmp_path, "d:number", decimal=",") == ("number", ["1.0", "2.5"])
    assert column(["1,000", "2,500"], tmp_path, decimal=".") == ("number", ["1000", "2500"])


def test_a_given_decimal_sign_is_for_texts_of_a_data_frame_and_leaves_its_numbers_alone(tmp_path):
    rows = [{"text": "some words", "price": f"{i},5", "weight": i + 0.5} for i in range(3)]
    options = {"text_field": "text", "keep": ["price", "weight"], "min_count": 1, "decimal": ","}
    with encode(rows, tempfile.mkdtemp(dir=tmp_path), **options) as corpus:
        table = DocumentTable(corpus.document_columns)
    assert table.fields == {"price": "number", "weight": "number"}
    assert table.column("price").tolist() == table.column("weight").tolist() == [0.5, 1.5, 2.5]


def kept(values, tmp_path, keep="d", **options):
    """A kept field of records: its kind and its cells."""
    rows = [{"text": "some words", "d": value} for value in values]
    options = {"text_field": "text", "keep": [keep], "min_count": 1, **options}
    with encode(rows, tempfile.mkdtemp(dir=tmp_path), **options) as corpus:
        table = DocumentTable(corpus.document_columns)
        return table.fields["d"], [str(cell) for cell in table.column("d").tolist()]


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
@pytest.mark.parametrize("keep", ["d", "d:date"])
def test_dates_of_numpy_are_dates_in_any_unit(tmp_path, unit, keep):
    days = np.array(["2024-02-25", "2024-03-01", "NaT"], f"datetime64[{unit}]")
    assert kept(days, tmp_path, keep) == ("date", [*DAYS, "None"])
    rows = [{"text": "some words", "d": day} for day in days[:2]]
    with encode(rows, tmp_path / "ids", text_field="text", id_field="d", title_field="d", min_count=1) as corpus:
        table = DocumentTable(corpus.document_columns)
        assert [id[:10] for id in table.ids] == ["2024-02-25", "2024-03-01"]
        assert table.title(0) == table.ids[0]


def test_times_of_numpy_are_read_as_those_of_python(tmp_path):
    assert kept(np.array([5_000_000_000], "timedelta64[ns]"), tmp_path)[1] == ["0:00:05"]
    far = [np.datetime64("20000-01-01", "s")]
    assert kept(far, tmp_path) == ("text", ["20000-01-01T00:00:00"])
    with pytest.raises(CorpusError, match="field 'd': '20000-01-01T00:00:00' is not a date"):
        kept(far, tmp_path, "d:date")


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1.50", "2", "-1E-7"], ["1.5", "2.0", "-1e-07"]),
        (["1", "20"], ["1", "20"]),
        (["1" * 40, "NaN"], [str(float("1" * 40)), "nan"]),
    ],
)
@pytest.mark.parametrize("keep", ["d", "d:number"])
@pytest.mark.parametrize("decimal", [None, ","])
def test_decimals_are_numbers(tmp_path, cells, values, keep, decimal):
    assert kept(map(Decimal, cells), tmp_path, keep, decimal=decimal) == ("number", values)


def test_decimals_of_data_frames_and_files_are_numbers(tmp_path):
    polars = pytest.importorskip("polars")
    table = pyarrow.table({"text": ["some words"] * 3, "d": [Decimal("1.50"), None, Decimal("2.00")]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for source in (table, polars.from_arrow(table), table.to_pandas(), tmp_path / "t.parquet"):
        with encode(source, tempfile.mkdtemp(dir=tmp_path), text_field="text", keep=["d"], min_count=1) as corpus:
            found = DocumentTable(corpus.document_columns)
            assert found.fields == {"d": "number"}
            assert found.column("d").tolist()[::2] == [1.5, 2.0] and np.isnan(found.column("d")[1])


@pytest.mark.parametrize("value", ["Infinity", "-Infinity", "1E+400"])
def test_decimals_that_no_column_holds_are_refused(tmp_path, value):
    with pytest.raises(CorpusError, match=r"field 'd': .* is no number that can be kept"):
        kept([Decimal(value)], tmp_path)


@pytest.mark.parametrize("keep", ["d", "d:number"])
def test_numbers_with_exponents_are_not_read_by_a_given_decimal_sign(tmp_path, keep):
    numbers = [0.00001, 1.5e-300, -2.5e22, 1e308, 5e-324, 1500, 1.5]
    assert kept(numbers, tmp_path, keep, decimal=",") == ("number", [str(float(number)) for number in numbers])


def test_numbers_of_fields_that_hold_none_are_not_written_by_a_given_decimal_sign(tmp_path):
    assert kept([1.5], tmp_path, "d:text", decimal=",") == ("text", ["1.5"])
    days = kept([45347.5], tmp_path, "d:date", decimal=",", date_format="excel")
    assert days == ("date", ["2024-02-25 12:00:00"])


@pytest.mark.parametrize("cells", [[1.234, "1,5"], ["1,5", 1.234]])
def test_a_number_with_decimals_beside_texts_with_commas_is_not_read_as_thousands(tmp_path, cells):
    with pytest.raises(CorpusError, match=r"document 1, field 'd': .* is not a number"):
        kept(cells, tmp_path, "d:number")
    assert kept(cells, tmp_path, "d:number", decimal=",")[1] == [str(cell).replace(",", ".") for cell in cells]


@pytest.mark.parametrize(
    "value",
    [b"x", bytearray(b"x"), memoryview(b"x"), ["x"], ("x",), {"x": 1}, {"x"}, frozenset("x"), np.eye(2)],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_cell_is_refused_in_every_column(tmp_path, value):
    kind = type(value).__name__
    with pytest.raises(CorpusError, match=f"document 0, field 'd': holds {kind} .*; keep a field of texts, numbers"):
        kept([value], tmp_path)
    rows = [{"text": "some words", "d": value}]
    for options, message in [
        ({"title_field": "d"}, f"record 0, field 'd': holds {kind} .*, not text; choose another field"),
        ({"id_field": "d"}, "document 0: .* is not a valid id"),
    ]:
        with pytest.raises(CorpusError, match=f"^{message}.*\\Z"):
            encode(rows, tmp_path / "c", text_field="text", min_count=1, **options)


def test_titles_that_are_missing_in_the_way_of_numpy(tmp_path):
    rows = [{"text": "some words", "d": value} for value in (np.float32("nan"), np.datetime64("NaT", "ns"))]
    with encode(rows, tmp_path / "c", text_field="text", title_field="d", min_count=1) as corpus:
        assert [DocumentTable(corpus.document_columns).title(row) for row in range(2)] == ["some words"] * 2


class TestExtremes:
    def test_ends_of_the_calendar_are_kept(self):
        first, last = as_microseconds("0001-01-01"), as_microseconds("9999-12-31T23:59:59.999999")
        assert as_microseconds("0001-01-01T00:00:00+01:00") == first
        assert as_microseconds("9999-12-31T23:59:59-01:00") == last

    @pytest.mark.parametrize("text", ["9" * 400, "1e999", "-" + "9" * 5000])
    def test_numbers_that_no_column_holds_are_none(self, text, tmp_path):
        assert as_number(text) is None
        assert column([text, text, "5"], tmp_path)[0] == "category"
        with pytest.raises(CorpusError, match=r"line 2, field 'd': .* is not a number"):
            column([text], tmp_path, "d:number")

    def test_large_whole_numbers_are_floats(self, tmp_path):
        assert column([str(2**63)], tmp_path) == ("number", [str(float(2**63))])


@pytest.mark.parametrize("text", ["31.02.2024", "99/99/2024", "1 Foo 2024", "2024", "25.02.24", "x", "1/2/3"])
def test_what_is_no_date(text):
    assert date_as(text, DAY_FIRST) is date_as(text, MONTH_FIRST) is None


PRICES = [f"{price},5" for price in range(60)]
DATES = [f"{1 + day % 28}.02.2024" for day in range(60)]


@pytest.mark.parametrize(
    ("cells", "options", "wanted"),
    [
        (
            [*PRICES, "", "n/a", "?"],
            {},
            r"text: 60 of 62 values are numbers, but 'n/a' \(.*t.csv, line 63\).* empty such",
        ),
        (["-", *PRICES], {}, r"text: 60 of 61 values are numbers, but '-' \(.*line 2\)"),
        (["1", "2"] * 30 + ["n/a"], {}, r"category: 60 of 61 values are numbers, but 'n/a' \(.*line 62\)"),
        (
            PRICES,
            {"decimal": "."},
            r"text: 60 of 60 values are numbers, but '0,5' \(.*line 2\) does not fit; .*\(decimal=X\)",
        ),
        ([*DATES, "31.02.2024"], {}, r"category: 60 of 61 values are dates, but '31.02.2024' \(.*line 62\)"),
    ],
)
def test_a_few_cells_that_keep_a_field_from_being_numbers_or_dates_are_named(tmp_path, cells, options, wanted):
    (warning,) = summary(cells, tmp_path, **options).warnings
    assert re.match(f"field 'd' is kept as {wanted}", warning) and warning.endswith("(keep d:text)")
    assert not summary(cells, tmp_path, "d:text", **options).warnings


@pytest.mark.parametrize(
    "cells", [[*PRICES, *["n/a"] * 4], [*PRICES[:18], "n/a"], [*PRICES, ""], [f"name {n}" for n in range(60)]]
)
def test_many_odd_cells_few_cells_and_empty_ones_are_no_mistake(tmp_path, cells):
    assert not summary(cells, tmp_path).warnings


def test_texts_of_a_source_with_types_are_no_numbers(tmp_path):
    rows = [{"text": f"word more{n}", "d": f"4{n}"} for n in range(60)]
    with encode(rows, tmp_path / "c", text_field="text", keep=["d"], min_count=1) as corpus:
        assert not corpus.summary.warnings


@pytest.mark.parametrize(
    ("cells", "options", "kind"),
    [
        (PRICES, {}, "number, decimal comma"),
        (["1.5", "2"], {}, "number"),
        (DATES, {}, "date, day first"),
        (["2/25/2024"], {}, "date, month first"),
        (["2024-02-25"], {}, "date"),
        (["240225"], {"keep": "d:date", "date_format": "%y%m%d"}, "date, %y%m%d"),
        (["a", "b"] * 9, {}, "category"),
    ],
)
def test_the_summary_names_the_kinds_of_kept_fields(tmp_path, cells, options, kind):
    found = summary(cells, tmp_path, **options)
    assert found.fields == (f"d ({kind})",) and f"fields: d ({kind})" in str(found).splitlines()


def test_a_cell_that_is_no_number_is_refused_with_a_remedy(tmp_path):
    with pytest.raises(
        CorpusError, match="line 3, field 'd': 'abc' is not a number; correct or empty the cell, or keep"
    ):
        column(["1", "abc"], tmp_path, "d:number")
    with pytest.raises(CorpusError, match=r"line 2, field 'd': '1,5' is not a number with decimal='\.'; correct"):
        column(["1,5"], tmp_path, "d:number", decimal=".")


def test_readings_are_narrowed_by_every_value():
    finder = KindFinder(None)
    for text in ("02/03/2024", "25/03/2024"):
        finder.text_of(text, True)
    assert finder.kind == "date"
    assert finder.date("02/03/2024") == date_as("2024-03-02", ISO)
    assert np.datetime64(finder.date("02/03/2024"), "us") == np.datetime64("2024-03-02")


def test_a_year_of_a_column_with_gaps_is_a_year(tmp_path):
    """pandas writes whole numbers as 2008.0 where others are missing."""
    assert column(["2008.0", "", "2009"], tmp_path, "d:date")[1] == [
        "2008-01-01 00:00:00",
        "None",
        "2009-01-01 00:00:00",
    ]
    assert column(["2008.0", "", "2009.0"], tmp_path)[0] == "number"
    with pytest.raises(CorpusError, match=r"'2008.5' is not a date"):
        column(["2008.5"], tmp_path, "d:date")
    assert made_table(2, fields={"day": ["2008-05-01", "2009-01-01"]}).rows_where({"day": "2008.0"}).tolist() == [0]
