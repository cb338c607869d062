"""Measure one cell in a process of its own: its memory is its own, and its end harms no other.

    python -m spherevec.reproduction.worker REQUEST.json

Shares of the work that is done go to standard output, one a line; the figures go to the file that the request names.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spherevec.errors import SpherevecError
from spherevec.reproduction.plan import Cell, Scale

_REPORT_EVERY = 0.5  # seconds


@dataclass(frozen=True)
class Request:
    """What to measure, and where things are.

    Attributes:
        corpus: folder of the encoded corpus.
        data: folder of the data sets.
        given: file of the word vectors that the cell needs.
        figures: file to write the figures to.
        words: file to write word vectors to, where another cell needs them.
    """

    cell: Cell
    scale: Scale
    corpus: Path
    data: Path | None
    threads: int
    figures: Path
    given: Path | None = None
    words: Path | None = None

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), default=str), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Request:
        values: dict[str, Any] = json.loads(path.read_text("utf-8"))
        scale: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values["scale"].items()
        }
        paths = {
            name: None if values[name] is None else Path(values[name])
            for name in ("corpus", "data", "figures", "given", "words")
        }
        return cls(**{**values, **paths, "cell": Cell.from_dict(values["cell"]), "scale": Scale(**scale)})


def serve(request: Request) -> None:
    from spherevec.reproduction.machine import surroundings
    from spherevec.reproduction.measure import Surroundings, measure
    from spherevec.reproduction.words_file import load_words, save_words

    around = Surroundings(request.scale, request.corpus, request.data, request.threads)
    given = None if request.given is None else load_words(request.given)
    outcome = measure(request.cell, around, given, _reporter())
    if request.words is not None and outcome.words is not None:
        save_words(outcome.words, request.words)
    figures = outcome.figures | {"measured": surroundings()}
    request.figures.write_text(json.dumps(figures), "utf-8")


def _reporter() -> Any:
    last = 0.0

    def report(share: float, *_: object) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _REPORT_EVERY:
            last = now
            sys.stdout.write(f"{float(share):.4f}\n")
            sys.stdout.flush()

    return report


def _end_with_parent() -> None:
    """Standard input ends when the parent is gone, however that came about."""
    sys.stdin.read()
    os._exit(1)


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interruption means
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        serve(Request.read(Path(sys.argv[1])))
    except (SpherevecError, MemoryError, OSError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
