"""A tour in a minute: train, then look at neighbours of words and documents, at clusters and at topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spherevec.cli import display
from spherevec.demo.docstrings import collect_docstrings
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.terminal import visible

if TYPE_CHECKING:
    from spherevec.model import Model
    from spherevec.topics import Topics

EXAMPLE_WORDS = ("array", "file", "thread", "distribution", "matrix", "socket")
EXAMPLE_DOCUMENT = "scipy.stats.pearsonr"

_GROUPS = 12  # that a typical document is looked for in
_FEWEST_DOCUMENTS = 4  # for topics
_WIDTH = 80  # where there is no terminal
_WORDS_SHOWN = 6
_DOCUMENTS_SHOWN = 5
# What is shown is looked for among words that readers know; examples are even more frequent.
_SHOWN_RANKS = 4000
_EXAMPLE_RANKS = 1000

# Near neighbours tell more about words in a small text. Fewer, longer steps keep the tour of docstrings short.
_DOCSTRING_SETTINGS = {"window": 5, "min_count": 10, "epochs": 15, "alpha": 0.02}
_SMALL_TEXT = 20 * 2**20
_SMALL_TEXT_SETTINGS = {"window": 5, "min_count": 3}


@dataclass(frozen=True)
class Tour:
    """A trained model and what there is to show of it; `labels` hold the package of each document, if known.

    `topics` are None where there are too few documents for any.
    """

    model: Model
    topics: Topics | None
    example_words: Sequence[str]
    example_document: int
    labels: NDArray[np.str_] | None = None
    texts: Sequence[str] = ()
    source: Path | None = None
    options: str = ""  # that reading the source takes


def tour(
    corpus: Path | None = None,
    quiet: bool = False,
    out: Path | None = None,
    open_page: bool = False,
    text_field: str | None = None,
) -> None:
    """Train on docstrings, or on the user's own text, print what was learned, and write its map.

    Args:
        text_field: the column of a table that holds the text.
        out: the page of the map; by default in a new temporary folder.
        open_page: show the page in a browser.
    """
    found = tour_of_docstrings(quiet) if corpus is None else tour_of_text(corpus, quiet, text_field)
    show(found)
    page = write_map(found, out)
    if open_page:
        import webbrowser

        webbrowser.open(page.absolute().as_uri())
    if not quiet:
        display.tell(f"{page}: the map of it all{'' if open_page else '; open it in a browser, or ask for --open'}")


def tour_of_docstrings(quiet: bool) -> Tour:
    if not quiet:
        display.tell("collecting the docstrings of Python, numpy, scipy and scikit-learn")
    found = collect_docstrings()
    texts = [one.text for one in found]
    packages = np.array([one.package for one in found])
    if not quiet:
        parts = ", ".join(f"{package} {count:,}" for package, count in Counter(packages.tolist()).most_common())
        display.tell(f"{len(found):,} documents: {parts}")
    model = _train(texts, quiet, _DOCSTRING_SETTINGS)
    assert model.docs is not None and model.documents is not None
    names = [one.name for one in found]
    model = model.replace(docs=KeyedVectors(names, model.docs.vectors), documents=model.documents.with_ids(names))
    assert model.docs is not None
    document = model.docs.position(EXAMPLE_DOCUMENT) if EXAMPLE_DOCUMENT in model.docs else _typical(model.docs)
    known = [word for word in EXAMPLE_WORDS if word in model.words]
    return Tour(model, _topics(model, quiet), known, document, packages, texts)


def tour_of_text(corpus: Path, quiet: bool, text_field: str | None = None) -> Tour:
    settings = _SMALL_TEXT_SETTINGS if _size(corpus) < _SMALL_TEXT else {}
    model = _train(corpus, quiet, {**settings, "text_field": text_field})
    assert model.docs is not None
    options = "" if text_field is None else f" --text-field {text_field}"
    words, document = _content_words(model), _typical(model.docs)
    return Tour(model, _topics(model, quiet), words, document, source=corpus, options=options)


def show(tour: Tour) -> None:
    """Print the tour on standard output."""
    assert tour.model.docs is not None

    def section(title: str, *parts: Any) -> None:
        display.show(f"\n{visible(title)}", style="bold")
        display.show(*parts, width=_WIDTH)

    section("Nearest words", _word_table(tour.model, tour.example_words))
    if len(tour.model.docs) > 1:
        section("Nearest documents", _document_table(tour))
    if tour.labels is not None:
        section("Clusters against packages", *_package_table(tour.model, tour.labels))
    if tour.topics is not None:
        section("Topics", _topic_table(tour.topics))
    if tour.source is None:
        ending = ["Now with your own text:", "  spherevec demo --corpus FILE"]
    else:
        ending = ["To keep a model:", f"  spherevec train {tour.source}{tour.options} --out MODEL"]
        ending += ["and its topics, with a report:", "  spherevec topics MODEL --keep --out FOLDER"]
    for line in ("", *ending):
        display.echo(line)


def write_map(tour: Tour, out: Path | None) -> Path:
    """Write the page of the tour's model; an old one is replaced."""
    import tempfile
    from dataclasses import replace

    from spherevec.explore import page_data, save_page
    from spherevec.explore.data import Field

    path = Path(tempfile.mkdtemp(prefix="spherevec-")) / "map.html" if out is None else out
    data = page_data(tour.model, topics=tour.topics)
    if tour.labels is not None and tour.model.docs is not None:
        packages, codes = np.unique(tour.labels, return_inverse=True)
        data = replace(
            data,
            title="The docstrings of Python, numpy, scipy and scikit-learn",
            ids=list(tour.model.docs.names or []),
            titles=list(tour.model.docs.names or []),
            snippets=[_beginning(text) for text in tour.texts],
            fields=[Field("package", "category", codes.astype(np.int32), packages.tolist())],
        )
    return save_page(data, path, overwrite=True)


def _train(source: Any, quiet: bool, settings: dict[str, Any]) -> Model:
    from spherevec.training import train

    with display.progress_display(quiet) as progress:
        model = train(source, progress=progress, **settings)
    if not quiet:
        display.tell(display.summary(model))
    return model


def _word_table(model: Model, words: Sequence[str]) -> Any:
    """A column for each word: the words nearest to it."""
    table = _table()
    plain = _plain_words(model.words, _SHOWN_RANKS)
    columns = []
    for word in words:
        table.add_column(word, no_wrap=True)
        nearest = plain.similar_by_vector(model.words[word], _WORDS_SHOWN + 1)
        columns.append([str(key) for key, _ in nearest if key != word][:_WORDS_SHOWN])
    for row in zip_longest(*columns, fillvalue=""):
        table.add_row(*row)
    return table


def _document_table(tour: Tour) -> Any:
    """The example, then the documents nearest to it, with their cosines."""
    docs, example = tour.model.docs, tour.example_document
    assert docs is not None
    nearest = [(docs.position(key), cosine) for key, cosine in docs.most_similar(example, topn=_DOCUMENTS_SHOWN)]
    beginnings = _beginnings(tour, [example, *(row for row, _ in nearest)])

    def cells(row: int) -> tuple[Any, Any]:
        return str(docs.index_to_key[row]) if docs.named else f"number {row}", _cut_short(beginnings[row])

    table = _table()
    table.add_column("cosine", justify="right", no_wrap=True)
    table.add_column("document", no_wrap=True)
    table.add_column("how it begins")
    table.add_row("", *cells(example), style="bold")
    for row, cosine in nearest:
        table.add_row(f"{cosine:.3f}", *cells(row))
    return table


def _package_table(model: Model, labels: NDArray[np.str_]) -> tuple[Any, str]:
    """As many clusters as packages, how many documents of each package fall into each, and how well that matches."""
    from sklearn.metrics import normalized_mutual_info_score

    from spherevec.evaluation import purity

    sizes = Counter(labels.tolist()).most_common()
    clusters, names = _clusters(model, len(sizes))
    table = _table()
    for package, _ in sizes:
        table.add_column(package, justify="right", no_wrap=True)
    table.add_column("words nearest to the cluster")
    for cluster, words in enumerate(names):
        counts = Counter(labels[clusters == cluster].tolist())
        table.add_row(*(f"{counts[package]:,}" for package, _ in sizes), _cut_short(", ".join(words)))
    agreement, share = normalized_mutual_info_score(labels, clusters), sizes[0][1] / len(labels)
    return table, f"NMI {agreement:.2f}, purity {purity(labels, clusters):.2f}; all in one cluster: 0.00, {share:.2f}"


def _topics(model: Model, quiet: bool) -> Topics | None:
    from spherevec.topics import find_topics

    assert model.docs is not None
    if len(model.docs) < _FEWEST_DOCUMENTS:
        return None
    if not quiet:
        display.tell("looking for topics")
    return find_topics(model)


def _topic_table(topics: Topics) -> Any:
    """The topics, the largest first, with a document that stands for each."""
    table = _table()
    table.add_column("documents", justify="right", no_wrap=True)
    table.add_column("words", ratio=3)
    table.add_column("example", ratio=2)
    for topic in topics:
        example = topics.examples(topic.number, 1)
        shown = topics.document(example[0])[0 if topics.model.docs is not None and topics.model.docs.named else 1]
        table.add_row(f"{topic.size:,}", _cut_short(", ".join(topic.words[:_WORDS_SHOWN])), _cut_short(shown))
    return table


def _table() -> Any:
    from rich.table import Table

    return Table(header_style="cyan", box=None, padding=(0, 2, 0, 0), pad_edge=False)


def _cut_short(text: str) -> Any:
    """A cell that gives way before others do, and ends in … rather than on a second line."""
    from rich.text import Text

    return Text(visible(text), no_wrap=True, overflow="ellipsis")


def _clusters(model: Model, k: int) -> tuple[NDArray[np.int32], list[list[str]]]:
    """The cluster of each document, and the words that tell each cluster from the others."""
    from spherevec.clustering import SphericalKMeans, name_clusters

    assert model.docs is not None
    found = SphericalKMeans(k, n_init=3, random_state=1).fit(model.docs.vectors)
    words = _plain_words(model.inputs, _SHOWN_RANKS)
    return found.labels_, name_clusters(found.cluster_centers_, words, _WORDS_SHOWN, distinctive=True)  # type: ignore[arg-type]


def _content_words(model: Model) -> list[str]:
    """Frequent words that mean something: each tells one group of documents from the others."""
    from spherevec.clustering import SphericalKMeans, name_clusters

    assert model.docs is not None
    k = min(len(EXAMPLE_WORDS), len(model.docs))
    centers = SphericalKMeans(k, random_state=1).fit(model.docs.vectors).cluster_centers_
    named = name_clusters(centers, _plain_words(model.inputs, _EXAMPLE_RANKS), 1, distinctive=True)  # type: ignore[arg-type]
    return list(dict.fromkeys(words[0] for words in named))


def _plain_words(words: KeyedVectors, ranks: int) -> KeyedVectors:
    """The words among the most frequent ones that are made of three letters or more, or all if there are none."""
    names = (words.names or [])[:ranks]
    rows = [row for row, word in enumerate(names) if word.isalpha() and len(word) > 2] or list(range(len(names)))
    return KeyedVectors([names[row] for row in rows], words.vectors[rows])


def _typical(docs: KeyedVectors) -> int:
    """The document nearest to the centre of the largest cluster."""
    from spherevec.clustering import SphericalKMeans

    found = SphericalKMeans(min(_GROUPS, len(docs)), random_state=1).fit(docs.vectors)
    largest = np.bincount(found.labels_).argmax()
    return int(np.argmax(docs.vectors @ found.cluster_centers_[largest]))


def _beginnings(tour: Tour, rows: Sequence[int]) -> dict[int, str]:
    """The first words of some documents."""
    if tour.source is None:
        return {row: _beginning(tour.texts[row]) for row in rows}
    table = tour.model.documents
    return {row: "" if table is None else table.snippet(row) for row in rows}


def _beginning(text: str) -> str:
    return " ".join(text[:400].split())


def _size(corpus: Path) -> int:
    """Bytes of a file or of the files of a folder; what is missing is reported when it is read."""
    if corpus.is_dir():
        return sum(path.stat().st_size for path in corpus.rglob("*") if path.is_file())
    return corpus.stat().st_size if corpus.is_file() else 0
