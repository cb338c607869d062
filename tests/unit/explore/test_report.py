"""The report of topics: one static page, text stays text."""

from __future__ import annotations

import html.parser
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from page_helpers import HOSTILE
from spherevec.explore.report import report_html
from spherevec.topics.state import Topic


class Reader(html.parser.HTMLParser):
    """The tags of a page, its attributes, and its text."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


class Course(NamedTuple):
    """Topics over time."""

    groups: list[str]
    shares: np.ndarray
    field: str = "day:month"

    def rising(self):
        return self.groups

    def falling(self):
        return []


class StandIn:
    """What the report asks of topics, with the same texts wherever a corpus has some."""

    def __init__(self, texts, dates=3):
        self._all = [Topic(n, text, [text, "word"], 10 + n, False, n) for n, text in enumerate(texts)]
        self.parents, self.labels, self.n_unknown = self._all, np.zeros(100, int), 2
        fields = {texts[0]: "date"} if dates else {}
        documents = SimpleNamespace(fields=fields, snippet=lambda row, length: f"{texts[row % len(texts)]} and more")
        self.model = SimpleNamespace(documents=documents, version="0")
        self._course = Course([texts[0]] * dates, np.tile([[0.1], [0.2], [0.0]][:dates], (1, len(texts))))

    def __iter__(self):
        return iter(self._all)

    def __len__(self):
        return len(self._all)

    def place(self, number):
        return number

    def over(self, field, unit):
        return self._course._replace(field=f"{field}:{unit}")

    def examples(self, number, count):
        return [number] * count

    def document_in(self, row):
        return self._all[row].title, "a title", 1.0


def read(topics):
    reader = Reader()
    reader.feed(report_html(topics))
    return reader


def test_sizes_words_examples_and_courses_are_there():
    page = read(StandIn(["space", "cars"]))
    assert "10.0%" in page.text
    assert page.tags.count("section") == 2
    assert page.tags.count("polyline") == 2
    assert "at most 20.0%" in page.text


def test_a_text_that_begins_with_its_title_is_there():
    topics = StandIn(["space", "one two …"])
    topics.document_in = lambda row: ("id", ["space", "one two …"][row], 1.0)
    page = read(topics)
    assert page.tags.count("q") == 3 and page.text.count("space and more") == 3  # below its title
    assert page.text.count("one two … and more") == 3  # in place of its own beginning


def test_hostile_text_is_text():
    plain, hostile = read(StandIn([f"a{n}" for n in range(len(HOSTILE))])), read(StandIn(list(HOSTILE)))
    assert plain.tags == hostile.tags
    assert "script" not in hostile.tags
    assert HOSTILE[0] in hostile.text
    assert not [name for name, _ in hostile.attributes if name.startswith("on")]
    report_html(StandIn(list(HOSTILE)), HOSTILE[0]).encode()


def test_nothing_comes_from_elsewhere():
    text = report_html(StandIn(["a"]))
    assert "default-src 'none'; style-src 'sha256-" in text
    assert "script-src" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_heading_and_what_is_left_out_are_counted():
    page = read(StandIn([f"topic{n}" for n in range(8)]))
    assert "8 topics in 8 broad ones, 100 documents" in page.text
    topics = StandIn(["space", "cars"])
    topics._all = [replace(topic, parent=None) for topic in topics._all]
    topics._course = Course([f"group{n}" for n in range(8)], np.ones((8, 2)))
    page = read(topics)
    assert "2 topics, 100 documents" in page.text
    assert "Rising over time (5 of 8): group0; group1; group2; group3; group4." in page.text


def test_no_topics():
    topics = StandIn(["a"])
    topics._all = []
    assert read(topics).tags.count("section") == 0


def test_a_course_without_periods_is_left_out():
    assert "polyline" not in read(StandIn(["a"], dates=0)).tags
