"""An update reads the columns that the model was trained from, without being told."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pytest

import spherevec
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.readers import open_source
from spherevec.errors import ConfigError, CorpusError

SETTINGS = {"vector_size": 8, "epochs": 1, "min_count": 1, "threads": 1, "progress": False}
COLUMNS = {"text_field": "body", "id_field": "no", "title_field": "head", "keep": ["created:date", "team"]}


def rows(first, count=30, **more):
    words = np.random.default_rng(first).choice(["sea", "ship", "sail", "bank", "loan", "rate"], (count, 12))
    return [
        {"no": f"n{first + at}", "head": f"Head {first + at}", "body": " ".join(words[at]), "created": "2024-02-03",
         "team": "ab"[at % 2], **more}
        for at in range(count)
    ]  # fmt: skip


def table(path, records):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


@pytest.fixture(scope="module")
def model():
    return spherevec.train(rows(0), **COLUMNS, **SETTINGS)


@pytest.mark.parametrize("form", ["records", "csv", "frame"])
@pytest.mark.parametrize("add_only", [False, True])
def test_an_update_reads_the_columns_of_the_model(model, tmp_path, form, add_only):
    new = rows(25)  # five of them are in the model already
    if form == "csv":
        new = table(tmp_path / "new.csv", new)
    if form == "frame":
        new = pytest.importorskip("pandas").DataFrame(new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grown = model.update(new, add_only=add_only, threads=1, progress=False)
    assert grown.documents.fields == model.documents.fields == {"created": "date", "team": "category"}
    assert len(grown.docs) == 55 and grown.documents.title(54) == "Head 54"
    assert len(grown.documents.rows_where({"created": "2024-02-03"})) == 55
    saved = grown.update(rows(60, 3), add_only=True, threads=1, progress=False)  # and so does the next one
    assert saved.documents.title(57) == "Head 62" and len(saved.docs) == 58


def test_replayed_text_has_its_titles(model):
    text = open_source(rows(0, 2), ReadOptions(**COLUMNS).text_only())
    assert [document.split()[:2] for document in text.all()] == [["Head", "0"], ["Head", "1"]]
    grown = model.update(rows(30), replay=iter(rows(0)), threads=1, progress=False)
    assert len(grown.docs) == 60


def test_a_saved_model_knows_its_columns(model, tmp_path):
    model.save(tmp_path / "m")
    grown = spherevec.load(tmp_path / "m").update(rows(30), add_only=True, progress=False)
    assert grown.documents.fields == model.documents.fields and len(grown.docs) == 60


@pytest.mark.parametrize("missing", ["body", "no", "head", "team"])
def test_a_missing_column_is_refused_before_anything_is_trained(model, tmp_path, missing):
    new = [{name: value for name, value in row.items() if name != missing} for row in rows(30)]
    for source in (new, table(tmp_path / "new.csv", new)):
        with pytest.raises(CorpusError, match=f"field '{missing}'"):
            model.update(source, progress=False)


def test_new_columns_are_named_and_kept_on_request(model):
    with pytest.warns(UserWarning, match=r"new columns are left out: 'office', 'stars'; name them to keep them"):
        grown = model.update(rows(30, office="Rome", stars=3), add_only=True, progress=False)
    assert grown.documents.fields == model.documents.fields
    with pytest.warns(UserWarning, match=r"new columns are left out: 'office'"):
        grown = model.update(rows(30, office="Rome", stars=3), add_only=True, keep=["stars"], progress=False)
    assert grown.documents.fields == {**model.documents.fields, "stars": "number"}


def test_texts_without_fields_are_added_with_a_warning(model, tmp_path):
    (tmp_path / "new.txt").write_text("sea ship\nloan rate\n")
    for source in (["sea ship", "loan rate"], tmp_path / "new.txt"):
        with pytest.warns(UserWarning, match=r"no fields: 'created', 'team' will be empty"):
            grown = model.update(source, add_only=True, progress=False)
        assert len(grown.docs) == 32 and grown.documents.fields == model.documents.fields
    with pytest.warns(UserWarning, match="no fields"):
        grown = model.update([("n3", "sea ship"), ("x", "loan")], add_only=True, progress=False)
    assert len(grown.docs) == 31 and "x" in grown.documents.ids


def test_titles_are_read_as_in_training(model):
    """A title is part of the text: where the model's text has none, an update's must not have any, either."""
    bare = spherevec.train(rows(0), text_field="body", id_field="no", **SETTINGS)
    with pytest.raises(ConfigError, match="must have none: leave title_field 'head' out"):
        bare.update(rows(40), title_field="head", progress=False)
    new = [{**row, "head": "Sea ship"} for row in rows(40)]
    both = spherevec.train(rows(0), text_field=["head", "body"], id_field="no", **SETTINGS)
    for start, options, words in ((bare, {}, 12), (both, {"title_field": "head"}, 14), (model, {}, 14)):
        grown = start.update(new, **options, add_only=True, progress=False)
        assert grown.document_terms[[33]].sum() == words
        assert grown.documents.title(33).startswith("Sea ship") == (words == 14)
