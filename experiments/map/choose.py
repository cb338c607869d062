"""The constants of the globe, one changed at a time, on corpora that the reported tables do not use.

    python -m experiments.map.choose FOLDER biomedical google_news dblp --out experiments/map/results/choice.json

FOLDER holds NAME.npy (document vectors) and NAME.labels (classes, one a line) of each corpus.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.map.measure import measures
from spherevec.explore import layout, place_on_globe

VARIANTS: dict[str, tuple[float, ...]] = {
    "CLOSEST": (1.4, 2.0, 4.0),
    "REPULSION": (0.6, 1.5),
    "ANNEALED": (0.3, 0.8),
    "NEIGHBOURS": (10, 25),
    "WIDEST": (0.15, 0.6),
}


def settings() -> list[dict[str, float]]:
    """What is there now, then each change alone."""
    return [{}, *({name: value} for name, values in VARIANTS.items() for value in values)]


def measured(folder: Path, corpora: list[str], changes: dict[str, float], seeds: list[int]) -> list[dict[str, Any]]:
    """Figures of each corpus and seed with some constants changed for the moment."""
    before = {name: getattr(layout, name) for name in changes}
    rows = []
    try:
        for name, value in changes.items():
            setattr(layout, name, value)
        for corpus in corpora:
            vectors = np.load(folder / f"{corpus}.npy")
            classes = np.loadtxt(folder / f"{corpus}.labels", dtype=np.int64)
            for seed in seeds:
                figures = measures(vectors, place_on_globe(vectors, seed=seed).docs, classes)
                rows.append({"changes": changes, "corpus": corpus, "seed": seed, **figures})
    finally:
        for name, value in before.items():
            setattr(layout, name, value)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for changes in settings():
        rows += measured(arguments.folder, arguments.corpora, changes, arguments.seeds)
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
        of = [row for row in rows if row["changes"] == changes]
        means = {
            name: round(float(np.mean([row[name] for row in of])), 4)
            for name in ("trustworthiness", "preservation", "accuracy")
        }
        print(changes or "as it is", means, flush=True)


if __name__ == "__main__":
    main()
