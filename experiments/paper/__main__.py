"""Measure what has not been measured yet, then write the page.

    python -m experiments.paper --data DIR --out DIR [--quick] [--seeds N] [--threads N] [--only words,documents,…]

Each cell is measured in a process of its own, so that its memory is its own and its end harms no other. A run that was
stopped goes on where it was when the same command is given again; OUT/results.jsonl holds all that was ever measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from string import Template
from typing import Any

from experiments.datasets import find_data
from experiments.paper.measure import measure
from experiments.paper.plan import FULL, KINDS, METHODS, QUICK, Cell, Scale, all_cells
from experiments.paper.results import Results, key_of
from spherevec.errors import SpherevecError

TEMPLATE = Path(__file__).parent / "page.md"
_PER_SET = ("epochs", "min_count")  # settings of a scale that are a number for each data set


def run(data: Path, out: Path, scale: Scale, threads: int, only: set[str] | None = None) -> dict[Cell, str]:
    """Measure the cells that are missing in `out`/results.jsonl, write the page, return the failures.

    Args:
        only: kinds and methods to measure now; the page shows everything that was ever measured.
    """
    cells = {cell: key_of(cell, scale, data, threads) for cell in all_cells(scale)}
    results = Results.read(out / "results.jsonl")
    done = results.complete()
    kinds, methods = (only or set()) & set(KINDS), (only or set()) & set(METHODS)
    chosen = [cell for cell in cells if cells[cell] not in done and _wanted(cell, kinds, methods)]
    failures: dict[Cell, str] = {}
    for number, cell in enumerate(chosen, 1):
        started = time.monotonic()
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                metrics = process.submit(measure, cell, scale, data, threads).result()
            results.append(cell, cells[cell], metrics)
            outcome = f"{time.monotonic() - started:.0f} s"
        except Exception as error:  # whatever a peer's package raises: the others go on
            outcome = failures[cell] = f"{type(error).__name__}: {error}"
        print(f"{number} of {len(chosen)}: {cell}: {outcome}", file=sys.stderr, flush=True)
    write_page(results.of(set(cells.values())), out, scale, len(cells), failures)
    return failures


def _wanted(cell: Cell, kinds: set[str], methods: set[str]) -> bool:
    return (not kinds or cell.kind in kinds) and (not methods or cell.method in methods)


def write_page(results: Results, out: Path, scale: Scale, planned: int, failures: dict[Cell, str]) -> None:
    """Fill the template, and write the figures beside it."""
    from experiments.paper.figures import FIGURES, all_figures
    from experiments.paper.tables import MISSING, all_tables

    figures = all_figures(results, scale)
    (out / "reproduction").mkdir(parents=True, exist_ok=True)
    for name, svg in figures.items():
        (out / "reproduction" / f"{name}.svg").write_text(svg, "utf-8")
    links = {
        f"figure_{name.replace('-', '_')}": f"![{name}](reproduction/{name}.svg)" if name in figures else MISSING
        for name in FIGURES
    }
    per_set = {name: ", ".join(f"{data} {count}" for data, count in getattr(scale, name).items()) for name in _PER_SET}
    fields: dict[str, Any] = (
        asdict(scale)
        | per_set
        | {
            "scale": "quick" if scale.every == QUICK.every else "full",
            "measured": len(results.complete()),
            "planned": planned,
            "failed": "\n".join(f"- {cell}: {reason}" for cell, reason in failures.items()) or "None.",
        }
    )
    text = Template(TEMPLATE.read_text("utf-8")).substitute(fields | links | all_tables(results, scale))
    (out / "reproduction.md").write_text(text, "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets; default: $SPHEREVEC_DATA")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results and the page")
    parser.add_argument("--quick", action="store_true", help="little text, few epochs, one seed: minutes")
    parser.add_argument("--seeds", type=int, help="trainings of each method that does not take minutes")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", help=f"measure only these now: {', '.join([*KINDS, *METHODS])}")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    only = set(filter(None, (arguments.only or "").split(",")))
    if unknown := only - {*KINDS, *METHODS}:
        parser.error(f"--only: unknown {', '.join(sorted(unknown))}")
    try:
        data = find_data(arguments.data)
    except SpherevecError as error:
        parser.error(str(error))
    scale = replace(scale, seeds=arguments.seeds or scale.seeds)
    failures = run(data, arguments.out, scale, arguments.threads, only)
    print(arguments.out / "reproduction.md")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
