"""The reference lists all that is public, and nothing public is without words."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import spherevec

REFERENCE = (Path(__file__).parents[2] / "docs/reference/python.md").read_text("utf-8")
LISTED = re.findall(r"^\.\. auto\w+:: spherevec\.([\w.]+)$", REFERENCE, re.MULTILINE)
# What methods of public classes return, or give to functions of users.
RETURNED = (
    "topics.Topics", "topics.Topic", "topics.breakdown.Breakdown", "topics.words.TopicContent",
    "search.results.SearchResult", "search.results.SearchResults", "search.results.Hit",
    "model.documents.DocumentTable",
)  # fmt: skip
PUBLIC = [name for name in spherevec.__all__ if not name.startswith("__")]


def test_the_reference_lists_every_public_name() -> None:
    assert sorted(name for name in LISTED if "." not in name) == sorted(PUBLIC)


def test_the_reference_lists_what_users_are_given() -> None:
    assert [name for name in RETURNED if name not in LISTED] == []


@pytest.mark.parametrize("name", LISTED)
def test_a_public_name_explains_itself(name: str) -> None:
    home, _, own = f"spherevec.{name}".rpartition(".")
    thing = getattr(import_module(home), own)
    assert inspect.getdoc(thing)
    if not inspect.isclass(thing):
        return
    for method, value in vars(thing).items():
        if not method.startswith("_") and (callable(value) or isinstance(value, property | classmethod)):
            assert inspect.getdoc(getattr(thing, method)), f"{name}.{method} has no docstring"
