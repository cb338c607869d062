"""The study behind the default recipe: every setting alone, on data to search on and on other data to confirm.

    python -m experiments.recipe --out study.jsonl [--seeds 3] [--device cpu|cuda]
    python -m experiments.recipe --out study.jsonl --data confirm --rows default word2vec doc2vec-dbow
    python -m experiments.recipe --out study.jsonl --table

Each run is one line of the file; runs that are in it already are not repeated. `--data` chooses data sets whose names
contain one of the texts, `--rows` variants and peers by name; without it, all variants and no peer.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from experiments.peers import PEERS
from experiments.recipe.corpora import StudySet, study_sets
from experiments.recipe.measure import measure, measure_peer
from experiments.recipe.variants import VARIANTS
from spherevec.config import TrainConfig

Key = tuple[str, str, int]


def finished(out: Path) -> dict[Key, dict[str, Any]]:
    if not out.exists():
        return {}
    runs = [json.loads(line) for line in out.read_text().splitlines()]
    return {(run["data"], run["variant"], run["seed"]): run for run in runs}


def wanted(arguments: argparse.Namespace, sets: dict[str, StudySet]) -> list[Key]:
    chosen = [data for data in sets if any(text in data for text in arguments.data)]
    return [(data, row, seed) for seed in range(1, arguments.seeds + 1) for data in chosen for row in arguments.rows]


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
    parser.add_argument("--threads", type=int, default=TrainConfig().thread_count)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--data", nargs="*", default=[""], metavar="TEXT")
    parser.add_argument("--rows", nargs="*", default=list(VARIANTS), choices=[*VARIANTS, *PEERS], metavar="NAME")
    arguments = parser.parse_args()
    table(arguments.out) if arguments.table else study(arguments)


if __name__ == "__main__":
    main()
