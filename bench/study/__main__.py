"""The study behind the default recipe: every setting alone, on data to search on and on other data to confirm.

    python -m bench.study --out study.jsonl [--seeds 3] [--device cpu|cuda] [--only TEXT ...] [--peers word2vec ...]
    python -m bench.study --out study.jsonl --table

Each run is one line of the file; runs that are in it already are not repeated. `--only` chooses runs whose data set or
variant contains one of the texts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.study.corpora import StudySet, study_sets
from bench.study.measure import measure, measure_peer
from bench.study.variants import VARIANTS

Key = tuple[str, str, int]


def finished(out: Path) -> dict[Key, dict[str, Any]]:
    if not out.exists():
        return {}
    runs = [json.loads(line) for line in out.read_text().splitlines()]
    return {(run["data"], run["variant"], run["seed"]): run for run in runs}


def wanted(arguments: argparse.Namespace, sets: dict[str, StudySet]) -> list[Key]:
    names = [*VARIANTS, *arguments.peers]
    runs = [(data, name, seed) for seed in range(1, arguments.seeds + 1) for data in sets for name in names]
    texts = arguments.only
    return [run for run in runs if not texts or any(text in run[0] or text == run[1] for text in texts)]


def study(arguments: argparse.Namespace) -> None:
    sets, done = study_sets(), finished(arguments.out)
    left = [run for run in wanted(arguments, sets) if run not in done]
    for data in dict.fromkeys(data for data, _, _ in left):
        with (
            tempfile.TemporaryDirectory() as folder,
            sets[data].encoded(Path(folder), arguments.threads) as corpus,
            arguments.out.open("a") as file,
        ):
            for _, name, seed in (run for run in left if run[0] == data):
                if name in VARIANTS:
                    settings = VARIANTS[name] | {"threads": arguments.threads}
                    found = measure(sets[data], corpus, settings, seed, arguments.device)
                else:
                    found = measure_peer(name, sets[data], corpus, seed, arguments.threads)
                file.write(json.dumps({"data": data, "variant": name, "seed": seed, **found}) + "\n")
                file.flush()
                print(f"{data} · {name} · seed {seed} · {found['seconds']:.0f} s", flush=True)


def table(out: Path) -> None:
    """Markdown: a section a data set, a row a variant and a form of the vectors, mean ± deviation over the seeds."""
    grouped: dict[str, dict[tuple[str, str], list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for (data, variant, _), run in finished(out).items():
        for form, scores in (run.get("words", {}) | run.get("documents", {})).items():
            grouped[data][variant, form].append(scores)
    for data, rows in grouped.items():
        columns = list(dict.fromkeys(name for runs in rows.values() for run in runs for name in run))
        print(f"\n## {data}\n\n| variant | vectors | runs | {' | '.join(columns)} |\n|{' --- |' * (3 + len(columns))}")
        for (variant, form), runs in rows.items():
            cells = []
            for column in columns:
                values = [run[column] for run in runs]
                spread = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
                cells.append(f"{np.mean(values):.3f}{spread}")
            print(f"| {variant} | {form} | {len(runs)} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--peers", nargs="*", default=[], help="word2vec, doc2vec-dbow, tfidf-svd, …")
    arguments = parser.parse_args()
    table(arguments.out) if arguments.table else study(arguments)


if __name__ == "__main__":
    main()
