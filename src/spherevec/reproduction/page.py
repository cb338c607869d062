"""The finished page: sections in order, written as Markdown and as HTML."""

from __future__ import annotations

from pathlib import Path

from spherevec.io.files import atomic_file
from spherevec.reproduction import plots, sentences, tables
from spherevec.reproduction.blocks import Block, Bullets, Drawing, Heading, Paragraph
from spherevec.reproduction.markup import as_html, as_markdown
from spherevec.reproduction.plan import NEWS, REVIEWS, WIKI
from spherevec.reproduction.queue import Run
from spherevec.reproduction.results import Results

TITLE = "spherevec beside the paper and its peers"
NAME = "reproduction"


def write_page(run: Run) -> Path:
    """Write NAME.html, NAME.md and the plots that the latter shows; returns the path of the first."""
    results = Results(run)
    blocks = sections(results)
    for block in blocks:
        if isinstance(block, Drawing):
            _write(run.out / NAME / f"{block.name}.svg", block.svg)
    _write(run.out / f"{NAME}.md", as_markdown(TITLE, blocks, NAME))
    page = run.out / f"{NAME}.html"
    _write(page, as_html(TITLE, blocks))
    return page


def sections(results: Results) -> list[Block]:
    """The whole page; what belongs to a data set that is absent is left out."""
    blocks: list[Block] = [Paragraph(sentences.opening(results)), Heading("In short")]
    blocks.append(Bullets(sentences.in_short(results)))
    for data, part in ((WIKI, _about_words), (NEWS, _about_order), (NEWS, _about_clusters)):
        blocks += [] if data in results.run.absent else part(results)
    blocks += _about_neighbours(results)
    blocks += [] if NEWS in results.run.absent else _about_time(results)
    blocks += [Heading("Learning curves"), *plots.drawings(results, [plots.learning_curves])]
    blocks += [Heading("Maps"), *plots.drawings(results, [plots.document_map, plots.word_map])]
    blocks += [Heading("What was run"), Bullets(sentences.what_was_run(results)), tables.settings_table(results)]
    missing = sentences.not_measured(results)
    return [*blocks, Heading("Not measured"), Bullets(missing)] if missing else blocks


def _about_words(results: Results) -> list[Block]:
    return [
        Heading("1. Word similarity and analogies"),
        Paragraph(sentences.about_words(results)),
        tables.similarity_table(results),
        *plots.drawings(results, [plots.similarity_scatter]),
    ]


def _about_order(results: Results) -> list[Block]:
    return [
        Heading("Why each document table has two columns"),
        Paragraph(sentences.about_order(results)),
        *plots.drawings(results, [plots.sortedness]),
    ]


def _about_clusters(results: Results) -> list[Block]:
    return [
        Heading("2. Document clustering"),
        Paragraph(sentences.about_clustering(results)),
        *(tables.clustering_table(results, clusterer) for clusterer in tables.CLUSTERER_TITLES),
        *plots.drawings(results, [plots.clustering_bars]),
    ]


def _about_neighbours(results: Results) -> list[Block]:
    present = [data for data in (NEWS, REVIEWS) if data not in results.run.absent]
    if not present:
        return []
    return [
        Heading("3. Nearest-neighbour classification"),
        Paragraph(sentences.about_classification(results)),
        *(tables.classification_table(results, data) for data in present),
        *plots.drawings(results, [plots.news_bars, plots.review_bars, plots.neighbour_curves]),
    ]


def _about_time(results: Results) -> list[Block]:
    return [
        Heading("4. Training time and memory"),
        Paragraph(sentences.about_time(results)),
        tables.time_table(results),
        *plots.drawings(results, [plots.quality_against_time]),
    ]


def _write(path: Path, text: str) -> None:
    with atomic_file(path, overwrite=True) as file:
        file.write_text(text, "utf-8")
