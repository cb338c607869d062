"""`spherevec explore` and `spherevec demo`: the map of a model, and a tour that ends with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.commands.topics import print_topics
from spherevec.cli.display import Console
from spherevec.cli.options import PATH, force_option, model_argument, output_options, threads_option
from spherevec.cli.outputs import load_model, outputs

if TYPE_CHECKING:
    from spherevec.model import Model
    from spherevec.search.results import SearchResults
    from spherevec.topics import Topics

_open_option = click.option("--open", "open_page", is_flag=True, help="Show the page in a browser.")


@click.command()
@model_argument
@click.option("--out", required=True, type=PATH, metavar="PAGE.html", help="File to write the page to.")
@click.option(
    "--words", type=click.IntRange(0), metavar="N", help="Words to search with. Default: as many as fit into 6 MB."
)
@click.option("--title", help="Title of the page.")
@click.option("--seed", type=click.IntRange(0), metavar="N", default=1, show_default=True, help="Random seed.")
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
    console.tell(f"{out}: {size / 1e6:.1f} MB, open it in a browser")
    console.result({"file": str(out), "bytes": size}, lambda: None)
    if open_page:
        click.launch(str(out.absolute()))


_QUERIES = ("wait until all threads have finished", "test whether two samples have the same mean")
_WORDS = ("file", "thread", "probability", "matrix", "socket", "date")
_FEWEST_DOCUMENTS = 4  # for topics
_SHOWN, _WORDS_SHOWN = 5, 6  # answers to a query and to a word; words
_TITLE = "Python and its libraries"


@click.command()
@click.option("--corpus", type=PATH, help="Use your own text instead: a file, a folder or a table.")
@click.option("--text-field", metavar="NAME", help="Column of a table that holds the text.")
@click.option("--out", type=PATH, metavar="PAGE.html", help="File for the map. Default: in a temporary folder.")
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

    with outputs(force, out):
        model = _trained(corpus, text_field, console)
        topics = None
        if len(model.docs or ()) >= _FEWEST_DOCUMENTS:
            console.tell("looking for topics")
            topics = find_topics(model)
        page = Path(tempfile.mkdtemp(prefix="spherevec-")) / "map.html" if out is None else out
        write_page(model, page, topics=topics, title=_TITLE if corpus is None else None, overwrite=True)
    _show_tour(model, topics, corpus is None, page, console)
    if corpus is None:
        console.tell("Now with your own text: spherevec demo --corpus FILE")
    else:
        options = "" if text_field is None else f" --text-field {text_field}"
        console.tell(f"To keep a model: spherevec train {corpus}{options} --out MODEL")
    console.tell(f"{page}: the map{'' if open_page else '; open it in a browser, or use --open'}")
    if open_page:
        click.launch(str(page.absolute()))


def _trained(corpus: Path | None, text_field: str | None, console: Console) -> Model:
    from spherevec.training import train

    source: Any = corpus
    options: dict[str, Any] = {"text_field": text_field}
    if corpus is None:
        from spherevec.demo.docstrings import collect_docstrings

        console.tell("collecting the documentation of Python, numpy, scipy and scikit-learn")
        source = [{**one._asdict(), "title": one.title} for one in collect_docstrings()]
        console.tell(f"{len(source):,} documents")
        options = {"text_field": "text", "id_field": "name", "title_field": "title", "keep": ["package", "module"]}
    with console.progress() as progress:
        model = train(source, progress=progress, **options)
    console.tell(display.summary(model))
    return model


def _show_tour(model: Model, topics: Topics | None, own: bool, page: Path, console: Console) -> None:
    """Answers to queries, topics and words: those of the demonstration, or such as stand for the largest topics."""
    from spherevec.topics.persistence import describe

    queries, words = list(_QUERIES), [word for word in _WORDS if word in model.words]
    if not own:
        named = [topic for topic in topics or () if topic.words]
        queries = [" ".join(topic.words[:3]) for topic in named[:1]]
        words = list(dict.fromkeys(topic.words[0] for topic in named)) or list(model.words.names or ())
    results: SearchResults | list[Any] = model.search(queries, topn=_SHOWN) if queries else []
    near = {
        word: [str(family.key) for family in model.words.most_similar(word, topn=_SHOWN, families=True)]
        for word in words[:_WORDS_SHOWN]
    }
    breakdowns = [topics.by("package")] if own and topics is not None else []

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
        display.print_columns([(word, ", ".join(others)) for word, others in near.items()])

    found = {"search": [result.as_dict() for result in results], "similar_words": near}
    described = {} if topics is None else {**describe(topics), "by": [one.as_dict() for one in breakdowns]}
    console.result({**found, **described, "page": str(page)}, show)
