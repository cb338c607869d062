"""The table of parts: a part that is added from outside is saved, checked, opened and carried over like any other."""

import numpy as np
import pytest

from spherevec import train
from spherevec.errors import ConfigError, FormatError
from spherevec.model import KeyedVectors, Model
from spherevec.model.document_edit import DocumentEdit
from spherevec.model.parts import PARTS, Part

TEXTS = ["the heron stands in the reeds", "the boat waits in the harbour", "the heron takes the fish"] * 10


class Ratings(Part):
    """Stars that readers gave to each document; 0 for one without any."""

    name, files = "ratings", ("ratings.safetensors",)

    def accept(self, value, given):
        if value is not None and len(value) != len(given["docs"]):
            raise FormatError(f"{len(value)} ratings do not fit {len(given['docs'])} documents")
        return value

    def save(self, value):
        return {self.files[0]: {"stars": value}}

    def open(self, contents, opened):
        return contents[self.files[0]]["stars"]

    def check(self, value):
        if value.max(initial=0) > 5:
            raise FormatError("ratings: more than five stars")

    def edit(self, value, edit, added, edited):
        return edit.join_rows(value, np.zeros(len(edit.order) - len(edit.kept), value.dtype))

    def describe(self, value):
        return {"rated": None if value is None else int(np.count_nonzero(value))}


@pytest.fixture
def rated(monkeypatch):
    """A model with a part that this file adds."""
    monkeypatch.setitem(PARTS, "ratings", Ratings())
    model = train(TEXTS, vector_size=8, epochs=1, min_count=1, threads=1)
    return model.replace(ratings=(np.arange(30) % 6).astype(np.int32))


def test_a_part_is_saved_and_opened(rated, tmp_path):
    rated.save(tmp_path / "m")
    again = Model.load(tmp_path / "m", verify=True)
    np.testing.assert_array_equal(again.ratings, rated.ratings)
    assert again.describe()["rated"] == 25


def test_damage_of_a_part_is_found(rated, tmp_path):
    rated.replace(ratings=np.full(30, 9, np.int32)).save(tmp_path / "m")
    Model.load(tmp_path / "m")
    with pytest.raises(FormatError, match="more than five stars"):
        Model.load(tmp_path / "m", verify=True)
    file = tmp_path / "m" / "ratings.safetensors"
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(FormatError, match=r"ratings\.safetensors: truncated"):
        Model.load(tmp_path / "m")
    with pytest.raises(FormatError, match="3 ratings do not fit 30 documents"):
        rated.replace(ratings=np.zeros(3, np.int32))


def test_a_part_follows_updates_and_removals(rated):
    more = rated.update(["the heron sleeps"], threads=1)
    np.testing.assert_array_equal(more.ratings, [*rated.ratings, 0])
    less = more.remove(["1", "2"])
    np.testing.assert_array_equal(less.ratings, [0, *rated.ratings[3:], 0])


def test_a_model_without_a_newer_part_opens(monkeypatch, tmp_path):
    words = KeyedVectors(["a", "b"], np.eye(2, dtype=np.float32))
    Model(words).save(tmp_path / "m")
    monkeypatch.setitem(PARTS, "ratings", Ratings())
    assert Model.load(tmp_path / "m", verify=True).ratings is None


def test_a_part_that_is_unknown_is_refused_by_its_name():
    with pytest.raises(ConfigError, match="no part 'ratings'; its parts are tokenizer, config,"):
        Model(KeyedVectors(["a"], np.eye(1, dtype=np.float32)), ratings=3)


def test_replaced_documents_keep_their_rows():
    edit = DocumentEdit.adding(4, np.array([2, -1, -1]))
    assert edit.kept.tolist() == [0, 1, 3]
    assert edit.origin.tolist() == [0, 1, -1, 3, -1, -1]
    assert edit.join_rows(np.array([10, 11, 12, 13]), np.array([90, 91, 93])).tolist() == [10, 11, 90, 13, 91, 93]
    assert DocumentEdit.removing(4, np.array([3, 1])).origin.tolist() == [0, 2]


def test_an_id_is_never_given_twice():
    model = train(TEXTS, vector_size=8, epochs=1, min_count=1, threads=1)
    less = model.remove(["29"]).remove(["28"])
    more = less.update(["the heron sleeps"], add_only=True, threads=1)
    assert more.documents.ids[-1] == "30" and len(more.docs) == 29
    again = more.remove(["30"]).update(["the fish sleeps"], add_only=True, threads=1)
    assert again.documents.ids[-1] == "31"


@pytest.mark.parametrize("ids", [None, 3, "29"])
def test_what_is_no_list_of_ids_is_refused(ids):
    model = Model(
        KeyedVectors(["a"], np.eye(1, dtype=np.float32)), docs=KeyedVectors(None, np.eye(1, dtype=np.float32))
    )
    with pytest.raises(ConfigError, match="ids must be a list of ids"):
        model.remove(ids)
