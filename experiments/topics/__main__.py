"""Topics of several programs on the same texts: python -m experiments.topics --data DIR --out RESULTS.jsonl …

    --answers FOLDER --minilm FOLDER --method TITLE=COMMAND … [--sets A,B] [--seeds 1,2,3] [--limit SECONDS]
    python -m experiments.topics --out RESULTS.jsonl --table

TITLE begins with a method of rivals.py ("bertopic", "spherevec 0.2"); COMMAND calls Python in its environment. Answers
are kept in a folder, so that an interrupted run continues; vectors of all-MiniLM-L6-v2 lie in a folder as SET.npy and
are made by the method `minilm`. RESULTS.jsonl is written anew from all answers: one line a set, method and seed, and
one a set and method with the agreement of the seeds. Seconds are those of the processor, since machines are shared.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from experiments.topics.corpora import SETS, load
from experiments.topics.measuring import quality, run_program
from spherevec.corpus.tokenize.tokenizer import tokenize

NO_CLASSES = 20  # topics asked for where there are no classes
COLUMNS = ("topics", "homogeneity", "completeness", "npmi", "diversity", "outliers", "agreement", "cpu_seconds")


def measure(name: str, seeds: list[int], args: Any) -> list[dict[str, Any]]:
    """The lines of one set."""
    texts, classes = load(name, args.data)
    tokens = [tokenize(text) for text in texts]
    k = NO_CLASSES if classes is None else len(np.unique(classes))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        held = Path(folder) / "texts.json"
        held.write_text(json.dumps({"texts": texts, "tokens": tokens}))
        for title, command in (one.split("=", 1) for one in args.method):
            kept, models = args.answers / f"{name}-{title}.jsonl", args.answers / f"models/{name}-{title}"
            arguments = [title.split()[0], str(held), str(k), str(args.minilm / f"{name}.npy"), str(models)]
            labels = defaultdict(list)
            for seed, answer in run_program(command, arguments, seeds, args.limit, kept).items():
                for level, topics in answer["topics"].items():
                    line = {"set": name, "method": title + level, "seed": seed, "cpu_seconds": answer["cpu_seconds"]}
                    lines.append({**line, **quality(topics["words"], topics["labels"], classes, tokens)})
                    labels[title + level].append(topics["labels"])
            for method, own in labels.items():
                agreement = [float(adjusted_rand_score(*pair)) for pair in combinations(own, 2)]
                lines.append({"set": name, "method": method, "agreement": agreement})
    return lines


def table(out: Path) -> None:
    """Means over the seeds, with the spread (largest less smallest) in brackets; processor seconds are medians."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in map(json.loads, out.read_text().splitlines()):
        for column in COLUMNS:
            if column in line:
                found[line["set"], line["method"]][column] += np.ravel(line[column]).tolist()
    print("| set | method | " + " | ".join(COLUMNS) + " |")
    print("| --- " * (len(COLUMNS) + 2) + "|")
    for (name, method), figures in found.items():
        print(f"| {name} | {method} | " + " | ".join(_shown(column, figures[column]) for column in COLUMNS) + " |")


def _shown(column: str, values: list[float]) -> str:
    if not values:
        return "–"
    if column == "cpu_seconds":
        return f"{np.median(values):.0f}"
    digits = 0 if column == "topics" else 3
    return f"{np.mean(values):.{digits}f} ({np.ptp(values):.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--answers", type=Path, metavar="FOLDER")
    parser.add_argument("--minilm", type=Path, metavar="FOLDER")
    parser.add_argument("--method", action="append", default=[], metavar="TITLE=COMMAND")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--limit", type=int, default=3600, help="seconds for all seeds of a method on a set")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        seeds = [int(seed) for seed in args.seeds.split(",")]
        lines = [line for name in args.sets.split(",") for line in measure(name, seeds, args)]
        args.out.write_text("".join(json.dumps(_rounded(line)) + "\n" for line in lines))
    table(args.out)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
