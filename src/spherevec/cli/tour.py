"""A tour in a minute: train, then look at neighbours of words and documents, at topics and at the map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spherevec.cli import display
from spherevec.cli.console import Console

if TYPE_CHECKING:
    from spherevec.model import Model
    from spherevec.topics import Topics

EXAMPLE_WORDS = ("array", "file", "thread", "distribution", "matrix", "socket")
EXAMPLE_DOCUMENT = "scipy.stats.pearsonr"

_FEWEST_DOCUMENTS = 4  # for topics
_WORDS_SHOWN = 6
_DOCUMENTS_SHOWN = 5
_BEGINNING = 60  # characters of a document

# Near neighbours tell more about words in a small text. Fewer, longer steps keep the tour of docstrings short.
_DOCSTRING_SETTINGS = {"window": 5, "min_count": 10, "epochs": 15, "alpha": 0.02}


@dataclass(frozen=True)
class Tour:
    """A trained model and what to show of it; `topics` are None where there are too few documents for any."""

    model: Model
    topics: Topics | None
    words: list[str]
    document: int  # its row

    def nearest_words(self) -> dict[str, list[str]]:
        """The words nearest to each example."""
        words = self.model.words
        return {one: [str(key) for key, _ in words.most_similar(one, topn=_WORDS_SHOWN)] for one in self.words}

    def nearest_documents(self) -> list[tuple[float, str, str]]:
        """Cosine, id and beginning of the example and of the documents nearest to it."""
        docs, table = self.model.docs, self.model.documents
        assert docs is not None and table is not None
        near = docs.most_similar(self.document, topn=min(_DOCUMENTS_SHOWN, len(docs) - 1)) if len(docs) > 1 else []
        rows = [(self.document, 1.0), *((docs.position(key), cosine) for key, cosine in near)]
        return [(cosine, table.ids[row], " ".join(table.snippet(row).split())) for row, cosine in rows]


def tour_of_docstrings(console: Console) -> Tour:
    """Train on the docstrings of Python, numpy, scipy and scikit-learn, found on this machine."""
    from spherevec.demo.docstrings import collect_docstrings

    console.tell("collecting the docstrings of Python, numpy, scipy and scikit-learn")
    found = [one._asdict() for one in collect_docstrings()]
    console.tell(f"{len(found):,} documents")
    fields = {"text_field": "text", "id_field": "name", "title_field": "name", "keep": ["package"]}
    model = _train(found, console, {**_DOCSTRING_SETTINGS, **fields})
    tour = _tour(model, console)
    assert model.docs is not None
    words = [word for word in EXAMPLE_WORDS if word in model.words]
    document = model.docs.position(EXAMPLE_DOCUMENT) if EXAMPLE_DOCUMENT in model.docs else tour.document
    return Tour(model, tour.topics, words, document)


def tour_of_text(corpus: Path, text_field: str | None, console: Console) -> Tour:
    """Train on the user's own text."""
    return _tour(_train(corpus, console, {"text_field": text_field}), console)


def print_tour(tour: Tour) -> None:
    """Print the tour on standard output."""
    display.echo("Nearest words")
    display.print_columns([(word, ", ".join(near)) for word, near in tour.nearest_words().items()])
    documents = tour.nearest_documents()
    if len(documents) > 1:
        display.echo()
        display.echo("Nearest documents")
        display.print_columns([(f"{cosine:.3f}", name, text[:_BEGINNING]) for cosine, name, text in documents])
    if tour.topics is not None:
        from spherevec.cli.topics_table import print_topics

        display.echo()
        display.echo("Topics")
        print_topics(tour.topics, [])


def tour_as_dict(tour: Tour, page: Path) -> dict[str, Any]:
    """What `print_tour` prints, for programs."""
    from spherevec.topics.persistence import describe

    documents = [{"cosine": cosine, "id": name, "beginning": text} for cosine, name, text in tour.nearest_documents()]
    topics = {} if tour.topics is None else describe(tour.topics)
    return {"nearest_words": tour.nearest_words(), "nearest_documents": documents, **topics, "page": str(page)}


def _train(source: Any, console: Console, options: dict[str, Any]) -> Model:
    from spherevec.training import train

    with console.progress() as progress:
        model = train(source, progress=progress, **options)
    console.tell(display.summary(model))
    return model


def _tour(model: Model, console: Console) -> Tour:
    """The words and the document that stand for the topics."""
    from spherevec.topics import find_topics

    assert model.docs is not None
    if len(model.docs) < _FEWEST_DOCUMENTS:
        return Tour(model, None, [str(word) for word in model.words.index_to_key[:_WORDS_SHOWN]], 0)
    console.tell("looking for topics")
    topics = find_topics(model)
    words = [topic.words[0] for topic in topics if topic.words][:_WORDS_SHOWN]
    return Tour(model, topics, list(dict.fromkeys(words)), topics.examples(0, 1)[0])
