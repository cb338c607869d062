"""Targets: what people give to topics, to the page, to an update and to a search."""

from __future__ import annotations

import base64
import gzip
import html.parser
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.base import JSON_WORDS, TENSOR_WORDS, Target, cached, files_of, write

_SETTINGS: dict[str, Any] = {"vector_size": 4, "min_count": 1, "threads": 1, "epochs": 2, "window": 2}


def _a_model() -> Any:
    from spherevec import train

    halves = (("goal match team", "sport"), ("bank money rate", "finance"))
    records = [
        {"id": f"{kind}-{i}", "t": f"{words} {words.split()[i % 3]}", "kind": kind, "day": f"2024-0{i + 1}-01"}
        for words, kind in halves
        for i in range(6)
    ]
    return train(records, text_field="t", id_field="id", keep=["kind", "day:date"], **_SETTINGS)


# --- topics -----------------------------------------------------------------------------------------------------------

_NAMES = [
    b"sport: match, goal, -bank\nfinance: money\n",
    b"\xef\xbb\xbfsport\n  goal\n  team: team\n# no name\nbank:\n",
    b"a: match\r\nb: money, bank rate\r\n",
]


def _read_names(data: bytes, folder: Path) -> None:
    """A file of names, and the directions that they stand for."""
    from spherevec.topics.names import name_directions, read_names

    path = folder / "names.txt"
    path.write_bytes(data)
    names = read_names(path)
    model = cached("model-of-rooms", _a_model)
    vocabulary = {word: row for row, word in enumerate(model.words.names)}
    directions, owners, said = name_directions(
        names, vocabulary, np.asarray(model.inputs.vectors), np.ones(len(vocabulary)), {}
    )
    assert np.isfinite(directions).all() and owners.max() < len(names) and (said > 0).all()


def _topics_files() -> dict[str, bytes]:
    from spherevec.topics import find_topics
    from spherevec.topics.persistence import save_topics

    model = cached("model-of-rooms", _a_model)
    found = find_topics(model, names={"sport": ["match"], "finance": ["bank"]}, k=2, threads=1)
    with tempfile.TemporaryDirectory() as scratch:
        save_topics(found, Path(scratch) / "t", breakdowns=[found.by("kind")])
        return files_of(Path(scratch) / "t")


_TOPIC_FILES = ("topics.json", "components.safetensors")


def _topics_seeds() -> list[bytes]:
    files = cached("topics", _topics_files)
    return [bytes([number]) + files[name] for number, name in enumerate(_TOPIC_FILES)]


def _load_topics(data: bytes, folder: Path) -> None:
    """The first byte picks the file that the rest replaces. What is taken is described and shown."""
    from spherevec.explore.report import report_html
    from spherevec.topics.persistence import describe, load_topics

    place = folder / "topics"
    place.mkdir(exist_ok=True)
    files = {**cached("topics", _topics_files), _TOPIC_FILES[(data[0] if data else 0) % 2]: data[1:]}
    for name, content in files.items():
        write(place / name, content)
    model = cached("model-of-rooms", _a_model)
    with np.errstate(all="ignore"):
        found = load_topics(place, model)
        assert np.isfinite(found.probability).all()
        json.dumps(describe(found))
        report_html(found)


# --- pages ------------------------------------------------------------------------------------------------------------

_PAGE_TEXTS = [
    b"A title\0one\0two\0</script><script>alert(1)</script>",
    b"\xf0\x9f\x98\x80\0<!-- \0-->\0]]>\0&amp;\0\xe2\x80\xae\0\xed\xa0\x80",
]


class _Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.blocks: dict[str, bytes] = {}
        self._name = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._name = dict(attrs).get("data-name") or ""

    def handle_data(self, data: str) -> None:
        if self._name:
            self.blocks[self._name] = gzip.decompress(base64.b64decode(data))
            self._name = ""


def _texts_of(data: bytes) -> list[str]:
    texts = data.decode("utf-8", "surrogateescape").split("\0")
    return [texts[i % len(texts)] for i in range(12)]


def _write_page(data: bytes, folder: Path) -> None:
    """Texts in every place of a page that takes one: the tags stay what they are, and the data says what it was."""
    from spherevec.explore.data import Field, PageData, PageTopic
    from spherevec.explore.page import page_html

    one, two, *more = _texts_of(data)
    places = np.eye(3, dtype=np.float32)[:2]
    page = PageData(
        title=one, doc_places=places, doc_vectors=places, doc_topics=np.zeros(2, np.int32), ids=[one, two],
        titles=more[:2], snippets=more[2:4],
        fields=[Field(more[0], "category", np.zeros(2, np.int32), [more[1]]), Field(more[2], "text", [one, two])],
        topics=[PageTopic(more[3], [more[4], more[5]], 2)], topic_places=places[:1], topic_vectors=places[:1],
        words=more[6:8], word_vectors=places, word_counts=np.ones(2, np.int64),
        place_names=np.zeros(1, np.int32), word_places=places[:1],
        tokenizer={"name": more[8]}, fit=None, vocabulary=2, model_facts=[(one, two)], settings=[(more[0], more[1])],
    )  # fmt: skip
    text = page_html(page)
    text.encode("utf-8")
    found, plain = _Tags(), cached("tags-of-page", lambda: _plain_tags(page))
    found.feed(text)
    assert found.tags == plain, "a text has become a tag"
    assert json.loads(found.blocks["documents"])["ids"] == [_written(text) for text in (one, two)]


def _written(text: str) -> str:
    cut = text if len(text) <= 200 else text[:199].rstrip() + "…"
    return cut.encode("utf-8", "replace").decode()


def _plain_tags(page: Any) -> list[str]:
    from dataclasses import replace

    from spherevec.explore.page import page_html

    found = _Tags()
    found.feed(page_html(replace(page, title="a title")))
    return found.tags


def _write_report(data: bytes, folder: Path) -> None:
    """The same for the printable report."""
    from spherevec.explore.report import report_html
    from spherevec.topics import find_topics

    one, two, *_ = _texts_of(data)
    found = cached("topics-of-rooms", lambda: find_topics(cached("model-of-rooms", _a_model), k=2, threads=1))
    shown = found
    for number, title in zip(found.numbers, (one, two), strict=True):
        if title.strip():
            shown = shown.rename(number, title)
    text = report_html(shown, one)
    text.encode("utf-8")
    tags, plain = _Tags(), _Tags()
    tags.feed(text)
    plain.feed(report_html(found, "a title"))
    assert tags.tags == plain.tags, "a text has become a tag"


# --- more documents, and questions ------------------------------------------------------------------------------------

_MORE = [
    b'{"id": "sport-0", "t": "match goal other", "kind": "sport", "day": "2024-05-01"}\n{"id": "n", "t": "bank"}\n',
    b'{"id": 7, "t": null, "kind": 1}\n',
    b'{"id": "x", "t": "goal match team goal", "day": "nothing"}\n',
]


def _update(data: bytes, folder: Path) -> None:
    """Documents that are added, or take the place of others; all that was known keeps its bits."""
    from spherevec.training.update import update

    path = folder / "more.jsonl"
    path.write_bytes(data)
    model = cached("model-of-rooms", _a_model)
    reading: dict[str, Any] = {"text_field": "t", "id_field": "id", "keep": ["kind", "day:date"]}
    grown = update(model, path, add_only=True, workdir=folder, threads=1, **reading)
    assert np.array_equal(grown.words.vectors, model.words.vectors)
    assert grown.docs is not None and grown.documents is not None and grown.terms is not None
    assert len(set(grown.documents.ids)) == len(grown.docs) == len(grown.documents) >= len(model.docs)
    grown.docs.check()
    assert np.isfinite(grown.docs.vectors).all()
    for id in model.documents.ids:
        grown.documents.row_of(id)
    assert grown.terms.n_documents == len(grown.docs)


def _search(data: bytes, folder: Path) -> None:
    """A question with conditions, as the command line takes them: `text NUL condition NUL condition`."""
    from spherevec.cli.commands.search import _condition

    text, *conditions = data.decode("utf-8", "surrogateescape").split("\0")
    model = cached("model-of-rooms", _a_model)
    where = dict(_condition(one) for one in conditions[:3] if _is_condition(one))
    for among in ("docs", "words"):
        results = model.search(text, among, 5, where=where if among == "docs" and where else None)
        for result in (results,) if hasattr(results, "hits") else results:
            json.dumps(result.as_dict())
            assert all(np.isfinite(hit.score) for hit in result)


def _is_condition(text: str) -> bool:
    import click

    from spherevec.cli.commands.search import _condition

    try:
        _condition(text)
    except click.UsageError:
        return False
    return True


_QUESTIONS = [b"goal match\0kind=sport|finance", b"unheard\0day>=2024-02-01", "İ ’ 日本".encode(), b"bank\0id!=sport-1"]
_CONDITION_WORDS = (b"\0", b"kind", b"day", b"id", b">=", b"!=", b"=", b"|", b"2024-13-01", b"9" * 30, b"nan", b"1e999")
_MARKUP = (b"<", b">", b"&", b'"', b"'", b"</script>", b"<!--", b"-->", b"{{script}}", b"\xe2\x80\xae", b"\xed\xa0\x80")

ROOMS: dict[str, Target] = {
    "names": Target(
        lambda: _NAMES, _read_names, words=(b":", b",", b"-", b"\n  ", b"#", b"match", b"bank", b"\xef\xbb\xbf")
    ),
    "topics": Target(
        _topics_seeds, _load_topics, 4096, (*TENSOR_WORDS, b'"number"', b'"title"', b'"given"', b'"levels"')
    ),
    "page": Target(lambda: _PAGE_TEXTS, _write_page, 256, _MARKUP),
    "report": Target(lambda: _PAGE_TEXTS, _write_report, 256, _MARKUP),
    "update": Target(lambda: _MORE, _update, words=(*JSON_WORDS, b'"id"', b'"t"', b'"day"', b'"sport-1"', b"\n")),
    "search": Target(lambda: _QUESTIONS, _search, 160, _CONDITION_WORDS),
}
