"""Every input that people have, or a refusal that says what to do."""

import io
import json
import mailbox
import sys
from email.message import EmailMessage
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet
import pytest

from spherevec.cli import main
from spherevec.corpus import encode, read_documents
from spherevec.corpus.read.markup import html_text
from spherevec.corpus.read.readers import open_source
from spherevec.errors import ConfigError, CorpusError
from spherevec.model.documents import DocumentTable

RECORDS = [
    {"ticket": "T-1", "subject": "Refund", "body": "money back please", "team": "billing", "created": "2024-01-05"},
    {"ticket": "T-2", "subject": "", "body": "cannot log in", "team": "login", "created": "2024-02-01"},
    {"ticket": "T-3", "subject": "Invoice", "body": "", "team": "billing", "created": None},
    {"ticket": "T-4", "subject": "Again", "body": "log in fails", "team": "login", "created": "2024-02-03"},
]
FIELDS = {"text_field": "body", "id_field": "ticket", "title_field": "subject", "keep": ["team", "created"]}


def written(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def read(source, **options):
    return list(read_documents(source, **options))


def table_of(source, tmp_path, **options):
    corpus = encode(source, tmp_path / "encoded", min_count=1, **options)
    return DocumentTable(corpus.document_columns)


def notes(source, **options):
    from spherevec.corpus.read.options import ReadOptions

    opened = open_source(source, ReadOptions(**options))
    list(opened.all())
    return opened.notes


def delimited(delimiter):
    rows = [list(RECORDS[0]), *([cell or "" for cell in record.values()] for record in RECORDS)]
    return "".join(delimiter.join(row) + "\n" for row in rows)


class TestTablesOfRecords:
    @pytest.mark.parametrize("kind", ["csv", "tsv", "semicolon", "jsonl", "ndjson", "json", "parquet", "pandas",
                                      "polars", "pyarrow", "records"])  # fmt: skip
    def test_the_same_table_from_every_source(self, tmp_path, kind):
        if kind in ("csv", "tsv"):
            source = written(tmp_path / f"t.{kind}", delimited("," if kind == "csv" else "\t"))
        elif kind == "semicolon":
            source = written(tmp_path / "t.csv", delimited(";"))
        elif kind in ("jsonl", "ndjson"):
            source = written(tmp_path / f"t.{kind}", "\n".join(map(json.dumps, RECORDS)))
        elif kind == "json":
            source = written(tmp_path / "t.json", json.dumps(RECORDS))
        elif kind == "parquet":
            source = tmp_path / "t.parquet"
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(RECORDS), source)
        elif kind == "pandas":
            source = pandas.DataFrame(RECORDS)
        elif kind == "polars":
            source = pytest.importorskip("polars").DataFrame(RECORDS)
        elif kind == "pyarrow":
            source = pyarrow.Table.from_pylist(RECORDS)
        else:
            source = RECORDS
        assert read(source, text_field="body") == [record["body"] for record in RECORDS]
        table = table_of(source, tmp_path, **FIELDS)
        assert table.ids == ["T-1", "T-2", "T-3", "T-4"]
        assert [table.title(row) for row in range(4)] == ["Refund", "cannot log in", "Invoice", "Again"]
        assert table.fields == {"team": "category", "created": "date"}
        assert table.record(3) == {"id": "T-4", "title": "Again", "team": "login", "created": "2024-02-03"}
        assert table.record(2)["created"] is None
        assert table.row_of("T-3") == 2

    def test_kinds_may_be_named(self, tmp_path):
        source = written(tmp_path / "t.csv", "text,code,size\na,0123,1\nb,0456,2.5\n")
        table = table_of(source, tmp_path, text_field="text", keep=["code", "size:text"])
        assert table.fields == {"code": "text", "size": "text"}
        with pytest.raises(CorpusError, match=r"t.csv, line 2, field 'code': '0123' is not a date"):
            encode(source, tmp_path / "other", text_field="text", keep=["code:date"])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"id_field": "nr"}, "no field 'nr'; choose id_field=NAME among 'ticket', 'subject'"),
            ({"keep": ["colour"]}, "no field 'colour'; choose keep=NAME among"),
            ({"title_field": "name"}, "no field 'name'; choose title_field=NAME among"),
            ({"id_field": "team"}, "'billing' is the id of two documents, 0 and 2 (counted from 0)"),
            ({"id_field": "created"}, "t.csv, line 4: field 'created' is empty; every document needs an id"),
        ],
    )
    def test_ids_and_fields_that_are_wrong(self, tmp_path, options, message):
        source = written(tmp_path / "t.csv", delimited(","))
        with pytest.raises(CorpusError) as caught:
            encode(source, tmp_path / "out", min_count=1, text_field="body", **options)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_json_field_that_no_record_has(self, tmp_path):
        source = written(tmp_path / "t.jsonl", '{"a": "x", "b": 1}\n')
        with pytest.raises(CorpusError, match="no record has a field 'c'; the first has 'a', 'b'"):
            encode(source, tmp_path / "out", text_field="a", keep=["c"])

    def test_blank_rows_keep_their_place(self, tmp_path):
        assert read(written(tmp_path / "one.csv", "text\na\n\nb\n\n"), text_field="text") == ["a", "", "b", ""]
        assert read(written(tmp_path / "two.csv", "x,text\n1,a\n\n2,b\n\n"), text_field="text") == ["a", "", "b"]

    def test_delimiters_are_found_and_said(self, tmp_path):
        source = written(tmp_path / "t.csv", delimited(";"))
        assert notes(source, text_field="body") == [f"{source}: cells are separated by a semicolon"]
        assert read(source, text_field="body", delimiter=";") == [record["body"] for record in RECORDS]
        with pytest.raises(CorpusError, match="no field 'body'"):
            read(source, text_field="body", delimiter=",")
        with pytest.raises(ConfigError, match="delimiter must be one character"):
            read(source, text_field="body", delimiter="::")

    def test_json_arrays(self, tmp_path):
        assert read(written(tmp_path / "a.json", '[\n "one", "two [x]"\n]')) == ["one", "two [x]"]
        assert read(written(tmp_path / "b.json", '{"t": "x"}\n{"t": "y"}\n'), text_field="t") == ["x", "y"]
        long = [{"t": "x" * size, "n": [{"deep": "]"}]} for size in (1, 5_000, 3_000_000, 2)]
        assert read(written(tmp_path / "c.json", json.dumps(long)), text_field="t") == [one["t"] for one in long]
        for data, message in [
            ('[{"t": "x"} {"t": "y"}]', "record 1: not followed by a comma or ]"),
            ('[{"t": "x"}, {"t"', "record 2: not JSON"),
            ('[{"t": "x"}] more', "after the end of the array"),
            ('{"data": [\n{"t": "x"}]}', "neither an array of records"),
            ('[{"t": "x"}, 5]', "record 2: not a record with fields"),
        ]:
            with pytest.raises(CorpusError) as caught:
                read(written(tmp_path / "bad.json", data), text_field="t")
            assert message in str(caught.value)


class TestFiles:
    def test_several_files_and_patterns(self, tmp_path):
        a, b = written(tmp_path / "a.txt", "one\ntwo\n"), written(tmp_path / "b.txt", "three\n")
        assert read([a, b]) == ["one", "two", "three"]
        assert read(str(tmp_path / "*.txt")) == ["one", "two", "three"]
        table = table_of([a, b], tmp_path)
        assert list(table.ids) == [f"{a}:1", f"{a}:2", f"{b}:1"]
        assert [table.row_of(id) for id in table.ids] == [0, 1, 2]
        assert [table.title(row) for row in range(3)] == ["one", "two", "three"]
        with pytest.raises(CorpusError, match="given twice"):
            read([a, a])
        with pytest.raises(CorpusError, match="no file fits this pattern"):
            read(str(tmp_path / "*.nothing"))

    def test_ids_of_several_tables_count_documents_not_lines(self, tmp_path):
        a = written(tmp_path / "a.jsonl", '{"t": "one"}\n\n{"t": "two"}\n')
        b = written(tmp_path / "b.csv", "t,k\nthree,1\nskipped\n\nfour,2\n")
        table = table_of([a, b], tmp_path, text_field="t", ragged="skip")
        assert list(table.ids) == [f"{a}:1", f"{a}:2", f"{b}:1", f"{b}:2", f"{b}:3"]
        assert [table.row_of(id) for id in table.ids] == list(range(5))
        assert table.title(4) == "four"

    def test_a_single_text_file_counts_from_0(self, tmp_path):
        table = table_of(written(tmp_path / "a.txt", "one\n\n  two é words\n"), tmp_path, keep_text=5)
        assert list(table.ids) == ["0", "1", "2"]
        assert [table.snippet(row) for row in range(3)] == ["one", "", "two é"]
        assert not table.named

    @pytest.mark.parametrize("columns", [["text"], ["name", "text"], ["text", "name"]])
    def test_a_title_is_a_line_of_the_text_not_its_first_word(self, tmp_path, columns):
        texts = ["Boxes for tests", "", "and more"]
        rows = [{"name": "Boxes", "text": text} for text in texts]
        table = table_of(rows, tmp_path, text_field=columns, title_field="name")
        if columns[0] == "name" or len(columns) == 1:
            assert [table.snippet(row) for row in range(3)] == texts
        else:
            assert [table.snippet(row) for row in range(3)] == ["Boxes for tests Boxes", "", "and more Boxes"]

    @pytest.mark.parametrize("block_size", [1, 3, 1 << 20])
    def test_beginnings_do_not_depend_on_blocks(self, tmp_path, block_size):
        lines = ["", "short", "ä" * 300, "  tabs\tand spaces ", "x" * 199 + "é" * 3, "last"]
        source = written(tmp_path / "a.txt", "\n".join(lines))
        table = table_of(source, tmp_path, block_size=block_size)
        assert [table._roles["text"][row] for row in range(6)] == [
            line.lstrip().replace("\t", " ")[:200] for line in lines
        ]

    def test_carriage_returns(self, tmp_path):
        source = written(tmp_path / "mac.txt", "one\rtwo\rthree\r")
        assert read(source) == ["one", "two", "three"]
        assert notes(source) == [f"{source}: lines end with a carriage return (CR)"]
        assert read(written(tmp_path / "dos.txt", "one\r\ntwo\r\n")) == ["one\r", "two\r"]
        assert read(written(tmp_path / "mac.csv", "id,text\r1,a\r2,b"), text_field="text") == ["a", "b"]

    def test_standard_input(self, monkeypatch):
        def given(data):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.encode())))

        given("one\ntwo\n")
        assert read("-") == ["one", "two"]
        given('{"t": "x"}\n{"t": "y"}\n')
        assert read(Path("-"), text_field="t") == ["x", "y"]
        given("id;t\n1;x\n")
        assert read("-", text_field="t") == ["x"]

    @pytest.mark.parametrize("name", ["a.pdf", "b.docx", "c.xls", "d.zip", "e.pkl"])
    def test_refused_by_name(self, tmp_path, name):
        path = written(tmp_path / "in" / name, b"\0")
        written(tmp_path / "in" / "good.txt", "text")
        for source in (path, tmp_path / "in"):
            with pytest.raises(CorpusError, match=rf"{name}: \{Path(name).suffix} files are not read; "):
                read(source)

    def test_a_pdf_under_another_name(self, tmp_path):
        with pytest.raises(CorpusError, match="a PDF file; extract its text first"):
            read(written(tmp_path / "report.txt", b"%PDF-1.7 ..."))

    def test_text_and_tables_in_one_folder(self, tmp_path):
        written(tmp_path / "in" / "a.txt", "x")
        written(tmp_path / "in" / "b.csv", "x")
        with pytest.raises(CorpusError, match=r"holds both text files and tables such as b\.csv"):
            read(tmp_path / "in")


class TestMarkup:
    def test_pages(self, tmp_path):
        page = "<html><head><title>A &amp; B</title><style>p{}</style></head><body><p>One<p>tw<b>o</b><script>x<"
        written(tmp_path / "in" / "a.html", page)
        written(tmp_path / "in" / "b.htm", "<meta charset=latin-1><p>naïve".encode("latin-1"))
        written(tmp_path / "in" / "c.txt", "plain\ntext")
        assert read(tmp_path / "in") == ["A & B One two", "naïve", "plain text "]
        table = table_of(tmp_path / "in", tmp_path)
        assert table.ids == ["a.html", "b.htm", "c.txt"]
        assert [table.title(row) for row in range(3)] == ["A & B", "naïve", "plain text"]

    def test_text_of_a_page(self):
        assert html_text("a<br>b<!-- c --><td>d</td><td>e") == ("", "a b d e")
        assert html_text("<script>if (a<b) x()</script>y &lt;z&gt;") == ("", "y <z>")

    def test_mails(self, tmp_path):
        mail = EmailMessage()
        mail["Subject"], mail["From"] = "Grüße aus Köln", "Ann <ann@example.org>"
        mail["Date"] = "Tue, 05 Mar 2024 10:00:00 +0100"
        mail.set_content("Plain body é")
        mail.add_alternative("<p>Page body", subtype="html")
        written(tmp_path / "in" / "a.eml", mail.as_bytes())
        other = EmailMessage()
        other.set_content("<p>Only <b>a</b> page", subtype="html")
        written(tmp_path / "in" / "b.eml", other.as_bytes())
        assert read(tmp_path / "in") == ["Grüße aus Köln Plain body é ", "Only a page"]
        table = table_of(tmp_path / "in", tmp_path, keep=["from", "date"])
        assert table.record(0) == {
            "id": "a.eml", "title": "Grüße aus Köln", "from": "Ann <ann@example.org>", "date": "2024-03-05T09:00:00",
        }  # fmt: skip
        box = mailbox.mbox(tmp_path / "all.mbox")
        box.add(mail)
        box.add(other)
        box.close()
        assert read(tmp_path / "all.mbox") == ["Grüße aus Köln Plain body é ", "Only a page"]
        assert read(tmp_path / "all.mbox", title_field="from")
        with pytest.raises(CorpusError, match="no field 'colour'; choose keep=NAME among 'path', 'subject'"):
            read(tmp_path / "all.mbox", keep=["colour"])


class TestObjects:
    def test_pairs(self, tmp_path):
        assert read([("a", "one"), ("b", "two")], ids=True) == ["one", "two"]
        table = table_of([(7, ["one", "two"]), (8, ["three"])], tmp_path, ids=True)
        assert table.ids == ["7", "8"]
        assert table.title(0) == "one two"

    def test_ids_beside_the_texts(self, tmp_path):
        assert table_of(["one", "two"], tmp_path, ids=["x", "y"]).ids == ["x", "y"]
        for ids, message in [(["x"], "there are 1 ids and more documents"), ("xyz", "more ids than the 2 documents")]:
            with pytest.raises(CorpusError, match=message):
                read(["one", "two"], ids=list(ids))

    def test_a_column_of_a_frame(self):
        assert read(pandas.DataFrame(RECORDS)["body"]) == [record["body"] for record in RECORDS]

    @pytest.mark.parametrize(
        ("source", "options", "message"),
        [
            (pandas.DataFrame({"a": ["x"]}), {}, "the pandas DataFrame: say which field holds the text"),
            (pandas.DataFrame({"a": ["x"]}), {"text_field": "b"}, "no field 'b'; choose text_field=NAME among 'a'"),
            (pandas.DataFrame({"a": [1]}), {"text_field": "a"}, "0) 0, field 'a': holds int '1', not text"),
            ({"a": "x"}, {}, "a dict is not a list of documents; give list(d.items()) with ids=True"),
            ([("a", "x")], {}, "is a tuple, ('a', 'x'); give (id, text) pairs with ids=True"),
            ([{"a": "x"}], {}, "is a record; say which field holds its text (text_field=NAME), one of 'a'"),
            (["a.txt", "b.txt"], {}, "the documents look like paths, such as 'a.txt'"),
            ([__file__], {}, "the documents look like paths"),
            ([1, 2], {}, "document 0 (counted from 0) must be a text or a list of words, not int 1"),
            ([None], {}, "not NoneType None; make it '' if it is empty"),
            (["a", None], {}, "document 1 (counted from 0) must be a string like the first, not NoneType None"),
            (None, {}, "not NoneType None"),
            (5, {}, "a corpus is a path, or an iterable"),
            (b"text", {}, "bytes are no corpus; decode them"),
            ({"a", "b"}, {}, "a set has no order"),
            ([("a", "x", "y")], {"ids": True}, "document 0 (counted from 0) must be a pair (id, text)"),
            (["x", "y"], {"ids": {"a", "b"}}, "ids must be a list of ids, one a document, or True where"),
            (["x", "y"], {"ids": pandas.DataFrame({"a": [1], "b": [2]})}, "an id and a text; not of type DataFrame"),
            (["x"], {"ids": {"a": 1}}, "not of type dict"),
            (["x"], {"ids": "a"}, "not of type str"),
            (["x"], {"ids": 0}, "not of type int"),
            (
                pandas.DataFrame([["x", 1, 2]], columns=["a", "b", "b"]),
                {"text_field": "a"},
                "the pandas DataFrame: Expected unique column names, got: - 'b' 2 times; rename columns, or drop them",
            ),
            (
                pyarrow.table({"a": ["x"], "b": pyarrow.array([10**15], pyarrow.timestamp("s"))}),
                {"text_field": "a", "keep": ["b"]},
                "the pyarrow Table: holds a value that Python cannot hold (Python int too large",
            ),
            (["x"], {"id_field": "a"}, "id_field 'a' needs records with fields"),
            ([("a", "x")], {"title_field": "a"}, "title_field 'a' needs records with fields"),
        ],
    )  # fmt: skip
    def test_refused_with_a_way_out(self, source, options, message):
        with pytest.raises(CorpusError) as caught:
            read(source, **options)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("keep", [[1], ["a", None], 5, (name for name in "ab")])
    def test_fields_to_keep_are_a_list_of_names(self, keep):
        with pytest.raises(ConfigError, match="keep must be a list of field names as texts, such as"):
            read([{"a": "x", 1: "y"}], text_field="a", keep=keep)

    def test_words_with_dots_are_texts(self):
        assert read(["hello.", "e.g. this"]) == ["hello.", "e.g. this"]


def test_pairs_named_by_id_field(tmp_path):
    pairs = [("x1", "some words"), ("x2", "more words")]
    with encode(pairs, tmp_path / "c", id_field="ticket", min_count=1) as corpus:
        assert list(DocumentTable.of_columns(corpus.document_columns, corpus.folder).ids) == ["x1", "x2"]


def test_the_command_line_spells_options_its_own_way(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("no;body\n1;some words\n")
    line = ["train", str(tmp_path / "t.csv"), "--out", str(tmp_path / "m"), "--quiet"]
    assert main(line) == 2
    assert "(--text-field NAME); there are 'no', 'body'" in capsys.readouterr().err
    assert main([*line, "--text-field", "body", "--id-field", "nr"]) == 2
    assert "choose --id-field NAME among 'no', 'body'" in capsys.readouterr().err
    assert main([*line, "--text-field", "body", "--keep", "no:colour"]) == 2
    assert "a kept field is one of text, number, date, category, not 'colour'" in capsys.readouterr().err
    assert main([*line, "--text-field", "body", "--delimiter", ","]) == 2
    assert "among 'no;body'; if ';' separates the cells, say so (--delimiter X)" in capsys.readouterr().err


class TestSummary:
    def test_a_column_of_numbers_is_told(self, tmp_path):
        with encode(["1 2", "3 x"], tmp_path / "c", min_count=1) as corpus:
            assert corpus.summary.warnings == ("75% of the words have no letter; is this the right field?",)

    def summary(self, source, tmp_path, **options):
        return encode(source, tmp_path / "summary", **options).summary

    def test_counts(self, tmp_path):
        found = self.summary(["a a b", "", "c", "a b"], tmp_path, min_count=2, threads=2, block_size=2)
        assert (found.documents, found.empty, found.unknown_documents) == (4, 1, 1)
        assert (found.tokens, found.dropped_tokens, found.distinct_words, found.kept_words) == (6, 1, 3, 2)
        assert str(found).startswith("4 documents, 1 of them empty; 6 tokens; 3 distinct words, 2 kept; min_count 2")
        assert found.warnings == ()

    def test_warnings(self, tmp_path):
        assert "only one document" in self.summary(["a b a b"], tmp_path / "1", min_count=1).warnings[0]
        chinese = self.summary(
            ["天空很蓝 今天", "大海很深 今天"], tmp_path / "2", min_count=1, tokenizer="words:unspaced=whole"
        )
        assert "in a script without spaces" in chinese.warnings[0]
        texts = ["天空很蓝 今天", "大海很深 今天"]
        pairs = self.summary(texts, tmp_path / "pairs", min_count=1, tokenizer="words:unspaced=bigrams")
        assert "divided into pairs of characters; pip install 'spherevec[cjk]'" in pairs.warnings[0]
        long = self.summary(["a b " + "x" * 120, "a b"], tmp_path / "3", min_count=1)
        assert "1 word of 100 characters or more" in long.warnings[0]
        empty = self.summary(["", "", "", "a b"], tmp_path / "4", min_count=1)
        assert "3 of 4 documents are empty" in empty.warnings[0]
