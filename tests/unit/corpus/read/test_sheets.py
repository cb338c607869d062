"""Spreadsheets as office programs write them, and as an attacker would."""

import datetime
import zipfile

import pytest

from spherevec.corpus import encode, read_documents
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.readers import open_source
from spherevec.errors import CorpusError, MissingExtraError
from spherevec.model.documents import DocumentTable

pytest.importorskip("python_calamine")
openpyxl = pytest.importorskip("openpyxl")
odf = pytest.importorskip("odf.opendocument")
pytestmark = pytest.mark.process

DAY, MOMENT = datetime.date(2024, 2, 25), datetime.datetime(2024, 3, 1, 12, 30)
ROWS = [
    ["name", "text", "when", "score", "team", 2024],
    ["a", "One of two", DAY, 1.5, "red", None],
    ["b", 42, MOMENT, 2, "blue", None],
    [],
    ["c", "naïve – 日本", None, None, "red", None],
]
ODS_CELLS = {
    str: lambda value: {"valuetype": "string"},
    int: lambda value: {"valuetype": "float", "value": value},
    float: lambda value: {"valuetype": "float", "value": value},
    datetime.date: lambda value: {"valuetype": "date", "datevalue": value.isoformat()},
    datetime.datetime: lambda value: {"valuetype": "date", "datevalue": value.isoformat()},
    type(None): lambda value: {},
}


def write_xlsx(path, sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def write_ods(path, sheets, **repeated):
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    book = odf.OpenDocumentSpreadsheet()
    for name, rows in sheets.items():
        table = Table(name=name)
        book.spreadsheet.addElement(table)
        for row in rows:
            line = TableRow(**{key: value for key, value in repeated.items() if "rows" in key})
            table.addElement(line)
            for value in row:
                columns = {key: value for key, value in repeated.items() if "columns" in key}
                cell = TableCell(**ODS_CELLS[type(value)](value), **columns)
                if isinstance(value, str):
                    cell.addElement(P(text=value))
                line.addElement(cell)
    book.save(path)
    return path


WRITERS = {".xlsx": write_xlsx, ".ods": write_ods}


@pytest.fixture(params=list(WRITERS))
def written(request, tmp_path):
    return lambda sheets: WRITERS[request.param](tmp_path / f"table{request.param}", sheets)


def test_cells_keep_their_types(written, tmp_path):
    path = written({"posts": ROWS})
    reading = ReadOptions(text_field="text", id_field="name", keep=["when", "score", "team"])
    corpus = encode(path, tmp_path / "corpus", min_count=1, reading=reading)
    table = DocumentTable.of_columns(corpus.document_columns, path)
    assert table.fields == {"when": "date", "score": "number", "team": "category"}
    assert [table.record(row) for row in range(3)] == [
        {"id": "a", "title": "One of two", "when": "2024-02-25", "score": 1.5, "team": "red"},
        {"id": "b", "title": "42", "when": "2024-03-01T12:30:00", "score": 2.0, "team": "blue"},
        {"id": "c", "title": "naïve – 日本", "when": None, "score": None, "team": "red"},
    ]


def test_one_sheet_is_read(written):
    path = written({"first": [["text"], ["one"]], "second": [["text"], ["two"]]})
    source = open_source(path, ReadOptions(text_field="text"))
    assert list(source.all()) == ["one"]
    assert source.notes == [f"{path}: read its first sheet, 'first', not 'second'; name another to read it"]
    assert list(read_documents(path, text_field="text", sheet="second")) == ["two"]
    with pytest.raises(CorpusError, match="no sheet named 'third'; choose sheet=NAME among 'first', 'second'"):
        list(read_documents(path, text_field="text", sheet="third"))


def test_a_sheet_of_a_table_without_sheets_is_told(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"text": "one"}\n')
    source = open_source(path, ReadOptions(text_field="text", sheet="first", ragged="skip"))
    assert list(source.all()) == ["one"]
    assert source.notes == [
        f"{path}: sheet='first' is for .xlsx, .ods files: it has no effect",
        f"{path}: ragged='skip' is for .csv, .tsv, .tab, .psv files: it has no effect",
    ]


def test_a_column_that_is_not_there(written):
    with pytest.raises(CorpusError, match=r"no field 'body'; choose text_field=NAME among .*'text', .*'2024'"):
        list(read_documents(written({"posts": ROWS}), text_field="body"))


def test_an_empty_sheet(written):
    with pytest.raises(CorpusError, match="is empty; give a file with at least one document"):
        list(read_documents(written({"nothing": []}), text_field="text"))


def test_the_extra_is_named(written, monkeypatch):
    path = written({"posts": ROWS})
    monkeypatch.setattr("spherevec.corpus.read.tables.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"spherevec\[sheets\]"):
        list(read_documents(path, text_field="text"))


def far_cell(path):
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "text", "far"
    book.save(path)


def write_cells(path, cells):
    """Rows of further cells, as XML."""
    write_xlsx(path, {"posts": ROWS})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        text = archive.read("xl/worksheets/sheet1.xml").decode()
        rows = "".join(f'<row r="{number}">{cell}</row>' for number, cell in enumerate(cells, 9))
        archive.writestr("xl/worksheets/sheet1.xml", text.replace("</sheetData>", f"{rows}</sheetData>"))


def bomb(path):
    write_cells(path, [f'<c t="inlineStr"><is><t>x{" " * 40_000}x</t></is></c>'] * 2000)


def cut_short(path):
    write_xlsx(path, {"posts": ROWS})
    path.write_bytes(path.read_bytes()[:-300])


def damaged(path):
    write_xlsx(path, {"posts": ROWS})
    data = path.read_bytes()
    at = data.index(b"xl/worksheets/sheet1.xml") + 50
    path.write_bytes(data[:at] + bytes(100) + data[at + 100 :])


HOSTILE = {
    "far.xlsx": far_cell,
    "bomb.xlsx": bomb,
    "quoted.xlsx": lambda path: write_cells(path, [f'<c t="{"q" * 300_000}"><v>1</v></c>']),  # by a long error
    "cut.xlsx": cut_short,
    "damaged.xlsx": damaged,
    "text.xlsx": lambda path: path.write_text("id,text\n1,no spreadsheet\n"),
    "empty.ods": lambda path: path.write_bytes(b""),
    "columns.ods": lambda path: write_ods(path, {"s": [["text"]]}, numbercolumnsrepeated=1_000_000_000),
    "rows.ods": lambda path: write_ods(path, {"s": [["text"] * 200]}, numberrowsrepeated=1_000_000_000),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_give_one_line(tmp_path, name):
    HOSTILE[name](tmp_path / name)
    with pytest.raises(CorpusError) as refused:
        list(read_documents(tmp_path / name, text_field="text"))
    assert str(refused.value).startswith(str(tmp_path / name))
    assert "\n" not in str(refused.value)


def test_a_far_cell_is_named_as_what_may_take_the_memory(tmp_path):
    """As a .csv file, such a sheet would be thousands of times as long."""
    far_cell(tmp_path / "far.xlsx")
    with pytest.raises(CorpusError, match="remove cells that lie far from the table"):
        list(read_documents(tmp_path / "far.xlsx", text_field="text"))


@pytest.mark.parametrize("ending", WRITERS)
def test_a_million_empty_columns(tmp_path, ending):
    path = WRITERS[ending](tmp_path / f"wide{ending}", {"s": [["text", *[None] * 9000], ["one"], ["two"]]})
    assert list(read_documents(path, text_field="text")) == ["one", "two"]


def test_a_reader_that_never_ends_is_ended(tmp_path, monkeypatch):
    """As that of an .ods file whose cells break off; in less time here."""
    monkeypatch.setattr("spherevec.corpus.read.tables._SHEET_SECONDS", 1)
    write_ods(tmp_path / "whole.ods", {"s": [["text"], ["one"]]})
    with zipfile.ZipFile(tmp_path / "whole.ods") as whole, zipfile.ZipFile(tmp_path / "cut.ods", "w") as cut:
        for name in whole.namelist():
            cut.writestr(name, whole.read(name).partition(b"</table:table>")[0])
    with pytest.raises(CorpusError, match="needs more memory or time than its size allows"):
        list(read_documents(tmp_path / "cut.ods", text_field="text"))
