"""Fixtures of the tests that need a browser."""

from __future__ import annotations

import pytest

from browser_helpers import started_browser
from page_helpers import small_page
from spherevec.explore.page import save_page


@pytest.fixture(scope="session")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def data():
    return small_page()


@pytest.fixture(scope="module")
def file(data, tmp_path_factory):
    return save_page(data, tmp_path_factory.mktemp("page") / "page.html")
