"""`spherevec demo`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import output
from spherevec.cli.console import Console
from spherevec.cli.options import PATH, force_option, output_options


@click.command()
@click.option("--corpus", type=PATH, help="Use your own text instead: a file, a folder or a table.")
@click.option("--text-field", metavar="NAME", help="Column of a table that holds the text.")
@click.option("--out", type=PATH, metavar="PAGE.html", help="File for the map. Default: in a temporary folder.")
@click.option("--open", "open_page", is_flag=True, help="Show the map in a browser.")
@force_option
@output_options
def demo(
    corpus: Path | None, text_field: str | None, out: Path | None, open_page: bool, force: bool, console: Console
) -> None:
    """Train, then show neighbours, topics and a map, without any download.

    The text is the docstrings of Python, numpy, scipy and scikit-learn, found on this machine.
    """
    import tempfile

    from spherevec.cli.tour import print_tour, tour_as_dict, tour_of_docstrings, tour_of_text
    from spherevec.explore import write_page

    with nullcontext() if out is None else output(out, force):
        tour = tour_of_docstrings(console) if corpus is None else tour_of_text(corpus, text_field, console)
        page = Path(tempfile.mkdtemp(prefix="spherevec-")) / "map.html" if out is None else out
        title = "The docstrings of Python, numpy, scipy and scikit-learn" if corpus is None else None
        write_page(tour.model, page, topics=tour.topics, title=title, overwrite=True)
    if console.as_json:
        display.print_json(tour_as_dict(tour, page))
    else:
        print_tour(tour)
        _print_ending(corpus, text_field)
    console.tell(f"{page}: the map{'' if open_page else '; open it in a browser, or use --open'}")
    if open_page:
        click.launch(str(page.absolute()))


def _print_ending(corpus: Path | None, text_field: str | None) -> None:
    if corpus is None:
        lines = ["Now with your own text:", "  spherevec demo --corpus FILE"]
    else:
        options = "" if text_field is None else f" --text-field {text_field}"
        lines = ["To keep a model:", f"  spherevec train {corpus}{options} --out MODEL"]
        lines += ["and its topics, with a report:", "  spherevec topics MODEL --keep --out FOLDER"]
    for line in ("", *lines):
        display.echo(line)
