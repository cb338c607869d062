"""JSON from strangers is looked at before anything is made of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spherevec.storage import checksums, schema

OTHERS = {"x": schema.number, "s": schema.text, "o": schema.optional(schema.text)}
ROW = schema.record({"n": schema.whole(0, 9)}, OTHERS)


@pytest.mark.parametrize("good", [{"n": 0}, {"n": 9, "x": 1.5, "s": "é", "o": None}])
def test_what_fits_passes(good):
    ROW(good, "it")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ([], "it must be an object, not list"),
        ({}, "it lacks 'n'"),
        ({"n": 10}, "it.n must be a whole number from 0 to 9, not int 10"),
        ({"n": True}, "it.n must be a whole number"),
        ({"n": 1.0}, "it.n must be a whole number"),
        ({"n": 10**5000}, "not int of many digits"),
        ({"n": 1, "x": "1"}, "it.x must be a finite number, not str '1'"),
        ({"n": 1, "x": float("nan")}, "it.x must be a finite number"),
        ({"n": 1, "s": 1}, "it.s must be a text"),
        ({"n": 1, "y": 1}, "it holds 'y', which is unknown"),
    ],
)
def test_what_does_not_is_told_by_its_place(bad, says):
    with pytest.raises(ValueError) as caught:
        ROW(bad, "it")
    assert str(caught.value).startswith("it") and says in str(caught.value)


def test_tables_are_even():
    schema.table([{"a": 1}, {"a": None}], "record")
    for uneven in ([{"a": 1}, {"b": 1}], [{"a": 1}, {}], [{}], [1], {"a": 1}):
        with pytest.raises(ValueError, match="record"):
            schema.table(uneven, "record")


def test_depth_and_constants_are_bounded():
    deep: object = 1
    for _ in range(50):
        deep = [deep]
    with pytest.raises(ValueError, match="levels deep"):
        schema.plain(deep, "it")
    for text in (b"NaN", b"[Infinity]", b"[" * 100_000, b"1" * 5000, b"\xff"):
        with pytest.raises(ValueError):
            schema.parsed(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON, max_size=4).filter(lambda one: "checksum" not in one))
def test_a_seal_survives_json_and_nothing_else(description):
    read = json.loads(json.dumps(checksums.with_checksum(description), indent=1))
    assert checksums.checksum_matches(read)
    read["new"] = [read.get("new")]
    assert not checksums.checksum_matches(read)


def test_samples_see_the_ends_and_the_middle(tmp_path):
    path = tmp_path / "large"
    content = bytearray(range(256)) * (1 << 14)  # 4 MB
    path.write_bytes(content)
    with path.open("rb") as file:
        entry = checksums.entry(file)
        assert checksums.fault(file, entry, whole=False) is None is checksums.fault(file, entry, whole=True)
    for place in (0, len(content) - 1, 32 * (len(content) - 4096) // 63):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with path.open("rb") as file:
            assert "corrupt" in checksums.fault(file, entry, whole=False)
    path.write_bytes(content[:-1])
    with path.open("rb") as file:
        assert "truncated" in checksums.fault(file, entry, whole=False)
