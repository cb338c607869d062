"""`spherevec explore` and `spherevec demo`: the map of a model, and a tour that ends with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.commands.topics import print_topics
from spherevec.cli.display import Console
from spherevec.cli.options import (
    flag,
    force_option,
    model_argument,
    number,
    output_options,
    path_option,
    threads_option,
)
from spherevec.cli.outputs import load_model, outputs
from spherevec.html import check_page_name
from spherevec.search.results import SearchResults
from spherevec.terminal import number_of

if TYPE_CHECKING:
    from spherevec.model import Model
    from spherevec.topics import Topics

_open_option = flag("--open", "open_page", help="Show the page in a browser.")


@click.command()
@model_argument
@path_option("--out", required=True, metavar="PAGE.html", help="File to write the page to.")
@number("--words", type=click.IntRange(0), help="Words to search with. Default: as many as fit into 6 MB.")
@click.option("--title", help="Title of the page.")
@number("--seed", type=click.IntRange(0), default=1, help="Random seed.")
@threads_option
@_open_option
@force_option
@output_options
def explore(folder: Path, out: Path, open_page: bool, force: bool, console: Console, **options: Any) -> None:
    """Write the map of a model as one page.

    Documents, words and topics on one globe. Open the page by double click; it needs no server and no network.
    """
    with outputs(force, out):
        model = load_model(folder)

        from spherevec.explore import write_page

        write_page(model, out, overwrite=force, **options)
    size = out.stat().st_size
    console.written(f"{out}: {size / 1e6:.1f} MB, open it in a browser", {"file": str(out), "bytes": size})
    if open_page:
        click.launch(str(out.absolute()))


_QUERIES = ("wait until all threads have finished", "test whether two samples have the same mean")
_WORDS = ("file", "thread", "probability", "matrix", "socket", "date")
_FEWEST_DOCUMENTS = 4  # for topics
_SHOWN, _WORDS_SHOWN = 5, 6  # answers to a query and to a word; words
_TITLE = "Python and its libraries"
_LEVELS = (10, 40)  # broad and finer topics of it: as many as can be read at a glance


@click.command()
@path_option("--corpus", help="Use your own text instead: a file, a folder or a table.")
@click.option("--text-field", metavar="NAME", help="Column of a table that holds the text.")
@path_option("--out", metavar="PAGE.html", help="File for the map. Default: in a temporary folder.")
@_open_option
@force_option
@output_options
def demo(
    corpus: Path | None, text_field: str | None, out: Path | None, open_page: bool, force: bool, console: Console
) -> None:
    """Train, then search, show topics and words, and draw a map, without any download.

    The text is the documentation of Python, numpy, scipy and scikit-learn, found on this machine.
    """
    import tempfile

    from spherevec.explore import write_page
    from spherevec.topics import find_topics
    from spherevec.training import train

    own_text = corpus is not None
    if out is not None:
        check_page_name(out, "map")
    with outputs(force, out):
        source, options = (corpus, {"text_field": text_field}) if own_text else _documentation(console)
        with console.progress() as progress:
            model = train(source, progress=progress, **options)
        console.tell(display.summary(model))
        topics = None
        if len(model.docs or ()) >= _FEWEST_DOCUMENTS:
            console.tell("looking for topics")
            topics = find_topics(model, levels=None if own_text else _LEVELS)
        page = Path(tempfile.mkdtemp(prefix="spherevec-")) / "map.html" if out is None else out
        write_page(model, page, topics=topics, title=None if own_text else _TITLE, overwrite=True)
    _show_tour(model, topics, own_text, page, console)
    if own_text:
        field = "" if text_field is None else f" --text-field {text_field}"
        console.tell(f"To keep a model: spherevec train {corpus}{field} --out MODEL")
    else:
        console.tell("Now with your own text: spherevec demo --corpus FILE")
    console.tell(f"{page}: the map{'' if open_page else '; open it in a browser, or use --open'}")
    if open_page:
        click.launch(str(page.absolute()))


def _documentation(console: Console) -> tuple[Any, dict[str, Any]]:
    """The text that every machine has, and how to read it."""
    from spherevec.demo.docstrings import collect_docstrings

    console.tell("collecting the documentation of Python, numpy, scipy and scikit-learn")
    found = [{**one._asdict(), "title": one.title} for one in collect_docstrings()]
    console.tell(number_of(len(found), "document"))
    columns = {"text_field": "text", "id_field": "name", "title_field": "title", "keep": ["package", "module"]}
    return found, {**columns, "keep_text": 500}  # enough for the passages that answer a query


def _show_tour(model: Model, topics: Topics | None, own_text: bool, page: Path, console: Console) -> None:
    """Answers to queries, topics and words: those of the demonstration, or such as stand for the largest topics."""
    from spherevec.topics.persistence import describe

    queries, words = list(_QUERIES), list(_WORDS)
    if own_text:
        named = [topic for topic in topics or () if topic.words]
        queries = [" ".join(topic.words[:3]) for topic in named[:1]]
        words = [topic.words[0] for topic in named] or list(model.words.names or ())
    results = model.search(queries, topn=_SHOWN) if queries else SearchResults()
    known = [word for word in dict.fromkeys(words) if word in model.words]
    near = {
        word: [str(family.key) for family in model.words.most_similar(word, topn=_SHOWN, families=True)]
        for word in known[:_WORDS_SHOWN]
    }
    breakdowns = [] if own_text or topics is None else [topics.by("package")]

    def show() -> None:
        for result in results:
            display.echo(f"Search: {result.query}")
            display.print_hits([result])
            display.echo()
        if topics is not None:
            display.echo("Topics")
            print_topics(topics, breakdowns)
            display.echo()
        display.echo("Similar words")
        display.print_table([(word, ", ".join(others)) for word, others in near.items()])

    found = {"search": [result.as_dict() for result in results], "similar_words": near}
    described = {} if topics is None else {**describe(topics), "by": [one.as_dict() for one in breakdowns]}
    console.result({**found, **described, "page": str(page)}, show)
