"""The report of topics: one static page, text stays text."""

from __future__ import annotations

import html.parser

import pytest

from page_helpers import HOSTILE
from spherevec.explore.report import ReportData, ReportTopic, report_html


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


def read(data):
    reader = Reader()
    reader.feed(report_html(data))
    return reader


def data_of(texts, course=True):
    topics = [
        ReportTopic(n, text, [text, "word"], 10 + n, [(text, text, text)], [0.1 * n, 0.2, 0.0] if course else [])
        for n, text in enumerate(texts)
    ]
    return ReportData(texts[0], 100, topics, ["2001", "2002", texts[0]], texts[0], [texts[0]])


def test_sizes_words_examples_and_courses_are_there():
    page = read(data_of(["space", "cars"]))
    assert "10.0%" in page.text
    assert page.tags.count("section") == 2
    assert page.tags.count("polyline") == 2
    assert "at most 20.0%" in page.text


def test_hostile_text_is_text():
    plain, hostile = read(data_of(["a"] * len(HOSTILE))), read(data_of(HOSTILE))
    assert plain.tags == hostile.tags
    assert "script" not in hostile.tags
    assert HOSTILE[0] in hostile.text
    assert not [name for name, _ in hostile.attributes if name.startswith("on")]
    report_html(data_of(HOSTILE)).encode()


def test_nothing_comes_from_elsewhere():
    text = report_html(data_of(["a"]))
    assert "default-src 'none'; style-src 'sha256-" in text
    assert "script-src" not in text
    assert "http" not in text.replace("http-equiv", "")


@pytest.mark.parametrize("topics", [[], [ReportTopic(0, "all", [], 0)]])
def test_small_reports(topics):
    assert read(ReportData("t", 0, topics)).tags.count("section") == len(topics)


def test_a_course_without_periods_is_left_out():
    assert "polyline" not in read(data_of(["a"], course=False)).tags
