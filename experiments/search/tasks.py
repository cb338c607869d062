"""Search tasks made of labelled corpora: queries, and the documents that answer them.

Two tasks share one collection of documents:
  class       the query is the subject of a post, or the first five words of a text, that is not in the collection;
              a document of the same class answers it; a text without classes has no such queries
  known item  the query is a sentence, or six words in a row, that was cut out of a document of the collection;
              that document answers it
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

QUERIES = 500
LONG_TEXT = 50  # words in the mean from which on sentences are cut out, not six words
PARAGRAPHS = 10_000  # of the encyclopedia
_SUBJECT = re.compile(r"Subject: (?:Re: )*(.+?) (?=[A-Z][A-Za-z-]+: )")
_SENTENCE = re.compile(r"[^.!?]{30,250}[.!?]")


@dataclass
class Task:
    """A collection and its queries. `targets[i]` is the row that query i was cut out of."""

    name: str
    documents: list[str]
    labels: list[str]
    class_queries: list[str]
    class_labels: list[str]
    item_queries: list[str]
    targets: list[int]


def make(name: str, data: Path, seed: int = 1) -> Task:
    """The tasks of one data set under `data`; the same seed gives the same tasks."""
    texts, labels = texts_of(name, data)
    rng = np.random.default_rng(seed)
    if name == "20news":
        split = np.array((data / name / "split.txt").read_text(encoding="utf-8").split())
        held, rows = np.flatnonzero(split == "test"), np.flatnonzero(split == "train")
    else:
        order = rng.permutation(len(texts))
        held, rows = order[: len(texts) // 5], np.sort(order[len(texts) // 5 :])
    sentences = sum(len(text.split()) for text in texts[:1000]) >= LONG_TEXT * min(len(texts), 1000)
    documents = [texts[row] for row in rows]
    class_queries: list[str] = []
    class_labels: list[str] = []
    for row in rng.permutation(held) if len(set(labels)) > 1 else ():
        query = _subject(texts[row]) if name == "20news" else " ".join(texts[row].split()[:5])
        if query and len(class_queries) < QUERIES:
            class_queries.append(query)
            class_labels.append(labels[row])
    item_queries: list[str] = []
    targets: list[int] = []
    for row in rng.permutation(len(documents)):
        cut = _cut_out(documents[row], sentences, 3 if name == "20news" else 0, rng)
        if cut and len(item_queries) < QUERIES:
            query, documents[row] = cut
            item_queries.append(query)
            targets.append(int(row))
    return Task(name, documents, [labels[row] for row in rows], class_queries, class_labels, item_queries, targets)


def texts_of(name: str, data: Path) -> tuple[list[str], list[str]]:
    """The texts of a data set and their classes."""
    if name == "sotu":  # the year is the class
        with (data / "sotu" / "sotu.csv").open(encoding="utf-8", newline="") as file:
            speeches = list(csv.DictReader(file))
        return [row["text"] for row in speeches], [row["date"][:4] for row in speeches]
    with gzip.open(
        data / name / ("wiki20m.txt.gz" if name == "wiki" else "text.txt.gz"), "rt", encoding="utf-8"
    ) as file:
        texts = [line.rstrip("\n") for line in file]
    if name == "wiki":
        some = texts[:: len(texts) // PARAGRAPHS]
        return some, [""] * len(some)
    return texts, (data / name / "label.txt").read_text(encoding="utf-8").split("\n")[: len(texts)]


def subset(task: Task, documents: int, queries: int, seed: int = 1) -> Task:
    """A smaller collection with fewer queries: the documents that these were cut out of, and others at random."""
    rng = np.random.default_rng(seed)
    targets = task.targets[:queries]
    rest = np.setdiff1d(np.arange(len(task.documents)), task.targets)
    chosen = rng.choice(rest, documents - len(targets), replace=False)
    rows = np.sort(np.concatenate([np.array(targets, np.intp), chosen]))
    place = {int(row): number for number, row in enumerate(rows)}
    return Task(
        f"{task.name}, {documents:,} documents",
        [task.documents[row] for row in rows],
        [task.labels[row] for row in rows],
        task.class_queries[:queries],
        task.class_labels[:queries],
        task.item_queries[:queries],
        [place[target] for target in targets],
    )


def _subject(text: str) -> str:
    found = _SUBJECT.search(text)
    return found[1].strip() if found and len(found[1]) < 120 else ""


def _cut_out(text: str, sentences: bool, head: int, rng: np.random.Generator) -> tuple[str, str] | None:
    """A part of a text behind so many sentences of its head, and the text without it."""
    if sentences:
        found = list(_SENTENCE.finditer(text))[head:]
        if len(found) < 3:
            return None
        chosen = found[int(rng.integers(len(found)))]
        return chosen[0].strip(), text[: chosen.start()] + " " + text[chosen.end() :]
    words = text.split()
    if len(words) < 14:
        return None
    start = int(rng.integers(len(words) - 6))
    return " ".join(words[start : start + 6]), " ".join(words[:start] + words[start + 6 :])


def save(task: Task, path: Path) -> None:
    path.write_text(json.dumps(asdict(task), ensure_ascii=False), encoding="utf-8")


def load(path: Path) -> Task:
    return Task(**json.loads(path.read_text(encoding="utf-8")))
