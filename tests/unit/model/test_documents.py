"""The table of documents, the words of each, and what damaged files do."""

import json

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.tables import made_table
from spherevec.engine.cuda.counting import count_words
from spherevec.errors import ConfigError, FormatError
from spherevec.model.documents import DocumentTable, UnknownDocumentError
from spherevec.search import terms as document_terms
from spherevec.search.terms import DocumentTerms, count_terms
from spherevec.storage.tensors import read_tensors, write_tensors
from spherevec.storage.text_column import TextColumn

TABLE = {
    "ids": ["a", "b", "c", "d"],
    "titles": ["Alpha", "", "Gamma", "Delta"],
    "texts": ["first text", "second " * 50, "", "fourth"],
    "fields": {
        "team": ["x", "y", "x", None],
        "size": [1, 2.5, None, 4],
        "day": ["2024-01-05", "2024-02-01T12:00:00+02:00", None, "2024-02-03"],
        "note": ["one", "two", "three", "four"],
    },
}


@pytest.fixture
def table():
    return made_table(4, **TABLE)


def test_what_a_table_says(table):
    assert table.fields == {"team": "category", "size": "number", "day": "date", "note": "text"}
    assert [table.title(row) for row in range(4)][2:] == ["Gamma", "Delta"]
    assert table.title(1).startswith("second second") and table.title(1).endswith("second …")
    assert len(table.snippet(1)) <= 200 and table.snippet(2) == ""
    assert table.record(1)["day"] == "2024-02-01T10:00:00"
    assert table.record(3)["team"] is None
    assert table.column("size").tolist()[:2] == [1, 2.5]
    assert table.column("day").dtype == "datetime64[us]" and np.isnat(table.column("day")[2])
    codes, names = table.codes("team")
    assert (codes.tolist(), names) == ([0, 1, 0, -1], ["x", "y"])
    assert [table.row_of(id) for id in "abcd"] == [0, 1, 2, 3]
    assert "Gamma" in table._repr_html_()


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ({}, [0, 1, 2, 3]),
        ({"team": "x"}, [0, 2]),
        ({"team": ["x", "y"]}, [0, 1, 2]),
        ({"team!=": "x"}, [1, 3]),
        ({"team": None}, [3]),
        ({"team": "nobody"}, []),
        ({"size>": 2}, [1, 3]),
        ({"size": "2.5"}, [1]),
        ({"size": None}, [2]),
        ({"size": "2..4"}, [1, 3]),
        ({"size": ["0..1", "4"]}, [0, 3]),
        ({"size": "2.5.."}, [1, 3]),
        ({"size": "..2.5"}, [0, 1]),
        ({"day": "2024-02-01.."}, [1, 3]),
        ({"day": "..2024-02-01"}, [0, 1]),
        ({"day": 2024}, [0, 1, 3]),
        ({"day": np.int64(2023)}, []),
        ({"day>=": 2024}, [0, 1, 3]),
        ({"day>": 2024}, []),
        ({"day": "05.01.2024"}, [0]),
        ({"day": "5 Jan 2024..1.2.2024"}, [0, 1]),
        ({"day>=": "2024-02"}, [1, 3]),
        ({"day": "2024-02-01"}, [1]),
        ({"day<": "2024-02-02", "team": "x"}, [0]),
        ({"note": "two"}, [1]),
        ({"id": ["a", "d"]}, [0, 3]),
        ({"id!=": "a"}, [1, 2, 3]),
    ],
)
def test_filters(table, where, rows):
    assert table.rows_where(where).tolist() == rows


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"colour": "red"}, "no field 'colour' was kept; there are 'team', 'size'"),
        ({"size>": "many"}, "field 'size' holds numbers, and 'many' is not one: write 10.5 or 10..20"),
        ({"size": ".."}, "field 'size' holds numbers, and '' is not one"),
        ({"size": "4..2"}, "the range '4..2' of field 'size' is reversed; write the lower end first"),
        ({"day": "2024-02..2024-01"}, "the range '2024-02..2024-01' of field 'day' is reversed"),
        ({"day": ".."}, "field 'day' holds dates, and '' is not one"),
        ({"day": 24}, "field 'day' holds dates, and 24 is not one"),
        ({"day>": "yesterday"}, "field 'day' holds dates, and 'yesterday' is not one"),
        ({"day": "1/2/2024"}, "'1/2/2024' is not one, or may be read in two ways: write 2024-11-30, or 2024-11 for a"),
        ({"day": "..".join(["2024"] * 1200)}, "field 'day' holds dates, and '2024..2024"),
        ({"size": 10**5000}, "the number for field 'size' has over 1,000 digits"),
        ({1: 2}, "conditions name fields, such as {'team': 'billing'}, not int"),
        ({"team>": "x"}, "field 'team' is a category, which > cannot compare"),
        ("team=x", "conditions come as a dict such as {'team': 'billing'}, not 'team=x'"),
        ({"id<": "x"}, "ids are compared with = and !="),
    ],
)
def test_filters_that_make_no_sense(table, where, message):
    with pytest.raises(ConfigError) as caught:
        table.rows_where(where)
    assert message in str(caught.value)


def test_long_names_of_fields_are_cut():
    with pytest.raises(ConfigError) as caught:
        made_table(2, fields={"q" * 10_000: ["a", "b"]}).rows_where({"team": "x"})
    assert len(str(caught.value)) < 120


def test_an_unknown_id(table):
    with pytest.raises(UnknownDocumentError, match="no document has the id 'z'; ids are such as 'a', 'b', 'c'"):
        table.row_of("z")
    for row in (-1, len(table)):
        with pytest.raises(UnknownDocumentError, match=f"no document has the row {row}; there are {len(table)}, count"):
            table.record(row)
    with pytest.raises(UnknownDocumentError, match="ids are from 0 to 2"):
        made_table(3).row_of("3")
    with pytest.raises(UnknownDocumentError, match="no document has the id '999"):
        made_table(3).rows_where({"id": "9" * 5000})


def test_saved_and_loaded(table, tmp_path):
    table.save(tmp_path / "t")
    for memory_map in (True, False):
        again = DocumentTable.open(tmp_path / "t", memory_map=memory_map)
        pandas.testing.assert_frame_equal(again.to_pandas(), table.to_pandas())
        assert again.fields == table.fields


def test_taken_and_joined(table):
    some = table.take(np.array([3, 0]))
    assert some.ids == ["d", "a"] and some.record(1) == table.record(0)
    other = made_table(1, ids=["e"], fields={"size": [7], "new": ["n"]})
    both = DocumentTable.concatenate([table, other])
    assert both.ids == [*"abcde"] and both.title(2) == "Gamma"
    assert both.column("size")[4] == 7 and both.record(4)["team"] is None and both.record(0)["new"] is None
    with pytest.raises(ConfigError, match="'a' is the id of two documents"):
        DocumentTable.concatenate([table, table])


@settings(max_examples=60)
@given(st.lists(st.text(max_size=6), max_size=30), st.text(max_size=6))
def test_columns_of_text(texts, wanted):
    column = TextColumn.of(texts)
    assert list(column) == texts == column[:] and column == texts
    assert column.find(wanted) == (texts.index(wanted) if wanted in texts else None)
    twins = [(texts.index(text), row) for row, text in enumerate(texts) if texts.index(text) != row]
    assert column.first_duplicate() == (twins[0] if twins else None)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("held", [1, 7, 1 << 26])
def test_terms_agree_with_plain_counting(tmp_path, monkeypatch, held, threads):
    monkeypatch.setattr(document_terms, "_PAIRS_SORTED", held)
    monkeypatch.setattr(document_terms, "_LEAST_SORTED", 1)
    monkeypatch.setattr(document_terms, "_TOKENS_COUNTED", max(held, 5))
    monkeypatch.setattr(document_terms, "_LEAST_COUNTED", 3)
    rng = np.random.default_rng(1)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 9, 40))])
    ids = rng.integers(0, 12, offsets[-1]).astype(np.int32)
    terms = count_terms(ids, offsets, np.bincount(ids, minlength=13), tmp_path, threads=threads)
    slow = np.zeros((40, 13), np.int32)
    np.add.at(slow, (np.repeat(np.arange(40), np.diff(offsets)), ids), 1)
    assert (terms.counts.toarray() == slow).all() and terms.counts.dtype == np.int32
    assert (np.diff(terms.counts.indices)[np.diff(np.repeat(np.arange(40), np.diff(terms.starts))) == 0] > 0).all()
    words, rows = np.nonzero(slow.T)
    assert terms.rows.tolist() == rows.tolist() and terms.often.tolist() == slow[rows, words].tolist()
    assert terms.places.tolist() == [0, *np.cumsum(np.bincount(words, minlength=13))]
    assert terms.lengths.tolist() == np.diff(offsets).tolist()
    write_tensors(tmp_path / "t", terms.tensors)
    assert (DocumentTerms(read_tensors(tmp_path / "t")).counts.toarray() == slow).all()


def test_words_counted_by_sorting_are_those_counted_by_the_processor(tmp_path):
    # What runs on a GPU, with NumPy in the place of CuPy.
    rng = np.random.default_rng(2)
    for words, longest in ((12, 9), (3, 2000)):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(0, longest, 40))])
        ids = rng.integers(0, words, offsets[-1]).astype(np.int32)
        slow = count_terms(ids, offsets, np.bincount(ids, minlength=words + 1), tmp_path)
        for name, array in count_words(np, ids, offsets, words + 1).items():
            assert array.dtype == slow.tensors[name].dtype and (array == slow.tensors[name]).all()
    assert slow.often.max() == 255


@settings(max_examples=150)
@given(data=st.data(), kind=st.sampled_from(["table", "terms"]))
def test_damage_raises_our_errors_or_nothing(tmp_path_factory, data, kind):
    folder = tmp_path_factory.mktemp("damage")
    if kind == "table":
        made_table(4, **TABLE).save(folder / "t")
    else:
        terms = count_terms(np.array([0, 1, 1], np.int32), np.array([0, 2, 3]), np.array([1, 2]), folder)
        write_tensors(folder / "t", terms.tensors)
    content = bytearray((folder / "t").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / "t").write_bytes(content)
    try:
        if kind == "table":
            damaged = DocumentTable.open(folder / "t")
            for row in range(min(len(damaged), 4)):
                json.dumps(damaged.record(row))
                damaged.snippet(row)
            damaged.rows_where({"note": "two", "team": "x"})
        else:
            from spherevec.search.lexical import LexicalIndex

            lexical = LexicalIndex(DocumentTerms(read_tensors(folder / "t")))
            lexical.scores(lexical.matches(np.array([0, 1], np.int32)))
    except (FormatError, ConfigError):
        pass


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ({"day": "2024"}, [1, 2, 3, 4]),
        ({"day": "2024-01"}, [1, 2, 3]),
        ({"day": "2024-01-31"}, [2, 3]),
        ({"day": "2024-01-31T18:00"}, [3]),
        ({"day!=": "2024"}, [0, 5, 6]),
        ({"day<": "2024-01"}, [0]),
        ({"day<=": "2024-01"}, [0, 1, 2, 3]),
        ({"day>": "2024-01"}, [4, 5]),
        ({"day>=": "2024-01"}, [1, 2, 3, 4, 5]),
        ({"day>": "2024"}, [5]),
        ({"day<=": "2024"}, [0, 1, 2, 3, 4]),
        ({"day": ["2023", "2024-12"]}, [0, 4]),
        ({"day": "2024-01-31..2024-12"}, [2, 3, 4]),
        ({"day": ""}, [6]),
    ],
)
def test_a_year_or_a_month_is_all_of_its_days(condition, rows):
    days = ["2023-12-31", "2024-01-01", "2024-01-31", "2024-01-31T18:00", "2024-12-31T23:59:59", "2025-01-01", ""]
    table = made_table(len(days), fields={"day": days})
    assert table.fields == {"day": "date"} and table.rows_where(condition).tolist() == rows
