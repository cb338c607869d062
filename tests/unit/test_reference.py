"""The reference lists all that is public, and nothing public is without words."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import spherevec

REFERENCE = (Path(__file__).parents[2] / "docs/reference/python.md").read_text("utf-8")
PUBLIC = [name for name in spherevec.__all__ if not name.startswith("__")]


def test_the_reference_lists_every_public_name() -> None:
    listed = re.findall(r"^\.\. auto\w+:: spherevec\.(\w+)$", REFERENCE, re.MULTILINE)
    assert sorted(listed) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_explains_itself(name: str) -> None:
    thing = getattr(spherevec, name)
    assert inspect.getdoc(thing)
    if not inspect.isclass(thing):
        return
    for method, value in vars(thing).items():
        if not method.startswith("_") and (callable(value) or isinstance(value, property | classmethod)):
            assert inspect.getdoc(getattr(thing, method)), f"{name}.{method} has no docstring"
