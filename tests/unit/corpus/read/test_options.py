"""Reading options are declared once: checks, signatures, the command line and the table of documents follow."""

import inspect
from dataclasses import dataclass

import pytest

import spherevec
from spherevec.cli.commands.training import train as command
from spherevec.corpus import encode
from spherevec.corpus.read.options import PUBLIC, ROLES, ReadOptions, option
from spherevec.corpus.table import records
from spherevec.errors import ConfigError
from spherevec.model import documents

PYTHON_ONLY = {"ids"}


def test_train_shows_every_option():
    parameters = inspect.signature(spherevec.train).parameters
    for spec in PUBLIC:
        assert parameters[spec.name].default == spec.default
        assert f"    {spec.name}: {spec.metadata['help']}\n" in inspect.getdoc(spherevec.train)


def test_the_command_line_has_every_option():
    flags = {flag for param in command.params for flag in param.opts}
    assert {f"--{spec.name.replace('_', '-')}" for spec in PUBLIC if spec.name not in PYTHON_ONLY} <= flags
    assert "--ids" not in flags


def test_options_come_by_name_or_as_one_object():
    reading, others = ReadOptions.split({"text_field": "body", "epochs": 3})
    assert (reading, others) == (ReadOptions(text_field="body"), {"epochs": 3})
    assert ReadOptions.split({"reading": reading, "keep": ["team"]})[0].names == ["body", "team"]


def test_only_what_is_not_the_default_was_given():
    reading = ReadOptions(text_field="body", ragged="error", ids=["a"])
    assert reading.given == {"text_field": "body", "ids": ["a"]}
    assert reading.remembered == {"text_field": "body"}
    assert reading.text_only() == ReadOptions(text_field="body", keep_text=0)


@pytest.mark.parametrize("spec", [spec for spec in PUBLIC if spec.metadata["choices"]], ids=lambda spec: spec.name)
def test_choices_are_checked(spec):
    with pytest.raises(ConfigError, match=f"{spec.name} must be one of .*, not 'odd'"):
        ReadOptions(**{spec.name: "odd"})


@pytest.mark.parametrize("form", ["%Y%Y", "%z%z", "%Q", "100%", "%G-W%V", "%Q\n", "%Y\ud800", "Y-m-d"])
def test_formats_that_fit_no_date_are_refused(form):
    with pytest.raises(ConfigError, match=r"^date_format [^\n]*'%d/%m/%Y'[^\n]*$"):
        ReadOptions(date_format=form)


def test_formats_of_dates():
    for form in (
        "excel",
        "%d/%m/%Y",
        "%c",
        "%x %X",
        "%b %d",
        "%I:%M %p %j",
        "%Y-%m-%dT%H:%M:%S.%f%z",
        "%Z%%",
        "%G %V %u",
    ):
        assert ReadOptions(date_format=form).date_format == form


def test_a_role_is_one_field(tmp_path, monkeypatch):
    @dataclass(frozen=True)
    class WithAuthors(ReadOptions):
        author_field: str | None = option(None, "Column that holds authors.", metavar="NAME", role="author")

    for module in (records, documents):
        monkeypatch.setattr(module, "ROLES", (*ROLES, "author"))
        monkeypatch.setattr(module, "TABLE_ROLES", (*ROLES, "author", "text", "field"))
    rows = [{"body": "one two", "name": "a", "by": "Ida"}, {"body": "two one", "name": "b", "by": ""}]
    reading = WithAuthors(text_field="body", id_field="name", author_field="by")
    corpus = encode(rows, tmp_path / "corpus", min_count=1, reading=reading)
    table = documents.DocumentTable.of_columns(corpus.document_columns, tmp_path)
    assert table.record(0) == {"id": "a", "title": "one two", "author": "Ida"}
    again = documents.DocumentTable.concatenate([table, table.with_ids(["c", "d"])])
    assert [again.record(row)["author"] for row in range(4)] == ["Ida", "", "Ida", ""]


def test_a_text_of_several_names_is_answered_with_the_list():
    with pytest.raises(ConfigError, match=r"write keep=\['team', 'price'\]"):
        ReadOptions(keep="team, price")
