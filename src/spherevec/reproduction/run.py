"""A whole run: what is still to be measured is measured, what there is becomes the page."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from spherevec.config import TrainConfig
from spherevec.errors import ConfigError, CorpusError, MissingExtraError, SpherevecError
from spherevec.evaluation import find_data
from spherevec.reproduction.corpora import Corpora, available
from spherevec.reproduction.machine import version_of
from spherevec.reproduction.methods import METHODS
from spherevec.reproduction.plan import FULL, KINDS, Cell, Scale, all_cells
from spherevec.reproduction.queue import Run, Watcher, measure_missing
from spherevec.reproduction.store import Store


@dataclass(frozen=True)
class Selection:
    """The part of a run to measure now; the page shows all that has ever been measured.

    Attributes:
        methods: names, all when empty.
        kinds: of cells, all when empty.
    """

    methods: Collection[str] = ()
    kinds: Collection[str] = ()

    def __post_init__(self) -> None:
        for given, known, what in ((self.methods, METHODS, "method"), (self.kinds, KINDS, "kind of measurement")):
            for name in given:
                if name not in known:
                    raise ConfigError(f"unknown {what} {name!r}; known: {', '.join(known)}")

    def holds(self, cell: Cell) -> bool:
        return (not self.methods or cell.method in self.methods) and (not self.kinds or cell.kind in self.kinds)


def reproduce(
    data: Path | None,
    out: Path,
    *,
    scale: Scale = FULL,
    seeds: int | None = None,
    threads: int = 0,
    jobs: int = 1,
    selection: Selection | None = None,
    watcher: Watcher,
) -> Path:
    """Measure what has not been measured yet, and write the page; returns the path of the HTML file.

    Args:
        data: folder of the data sets; what SPHEREVEC_DATA names when None.
        out: folder of the report, new or begun by an earlier run.
        seeds: trainings of each method, the scale's own number when None; methods that take minutes are trained once.
        threads: for training, all cores when 0.
        jobs: cells measured at the same time, times aside.
    """
    from spherevec.reproduction.page import write_page

    run = prepare(data, out, scale, seeds or scale.seeds, threads)
    for reason in run.absent.values():
        watcher.notes(f"left out: {reason}")
    asked = selection or Selection()
    measure_missing(run, [cell for cell in run.cells if asked.holds(cell)], jobs, watcher)
    page = write_page(run)
    if run.failures:
        cell, reason = next(iter(run.failures.items()))
        raise SpherevecError(
            f"{len(run.failures)} of {len(run.cells)} measurements failed, first {cell.title}: {reason}; "
            f"{page} shows the others, run again to retry"
        )
    return page


def prepare(data: Path | None, out: Path, scale: Scale, seeds: int, threads: int) -> Run:
    """Check everything that can be checked before hours of work."""
    if data is not None:
        find_data(data)
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file; name a folder for the report with --out")
    if version_of("matplotlib") == "":
        raise MissingExtraError("drawing the plots of a report", "baselines")
    found = available(data)
    absent = {name: reason for name, reason in found.items() if reason}
    if len(absent) == len(found):
        raise CorpusError(next(iter(absent.values())))
    threads = TrainConfig(threads=threads).thread_count
    corpora = Corpora(out / "cache" / "corpora", data, scale, threads)
    cells = all_cells(scale, seeds, tuple(name for name in found if name not in absent))
    store = Store(out, corpora, scale, threads)
    return Run(out, data, scale, seeds, threads, cells, absent, corpora, store)
