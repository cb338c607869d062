"""Quality with 1, 2, 4 and 8 workers beside one machine: NMI and F1 on 20 Newsgroups, word similarity on Wikipedia.

    python -m experiments.distributed.quality 20news --workers 0 1 2 4 8 --seeds 1 2 3 --out results/20news.jsonl
    python -m experiments.distributed.quality wiki --documents 60000 …

0 workers is a plain deterministic run. Workers take turns in this process, which gives the bits of as many workers on
Ray. One line of JSON a run; runs that the file has are not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

from experiments.datasets import find_data, load_labelled, load_similarity, wiki_path
from experiments.distributed.inline import inline_runtime
from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.corpus.read.readers import read_documents
from spherevec.evaluation.documents import evaluate_clustering, given_split
from spherevec.evaluation.words import evaluate_similarity
from spherevec.model import Model
from spherevec.storage.files import working_folder
from spherevec.training import train_corpus


def measured_on_20news(model: Model) -> dict[str, float]:
    labelled = load_labelled("20news")
    assert model.docs is not None and labelled.split is not None
    vectors = model.docs.vectors
    found = evaluate_clustering(vectors, labelled.labels, runs=5, method="skmeans")
    split = given_split(vectors, labelled.labels, labelled.split)
    return {"nmi": float(found.nmi.mean), "macro_f1": float(split.macro_f1.mean)}


def measured_on_words(model: Model) -> dict[str, float]:
    names = ("wordsim353", "men", "simlex999")
    return {name: float(evaluate_similarity(model.words, load_similarity(name)).spearman) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", choices=["20news", "wiki"])
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2, 4, 8])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--documents", type=int, default=60_000, help="of Wikipedia, from its beginning")
    parser.add_argument("--exchanges", type=int, help="of an epoch; by default as training chooses")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    find_data()
    measure = measured_on_20news if arguments.corpus == "20news" else measured_on_words
    source: Any = (
        load_labelled("20news").texts
        if arguments.corpus == "20news"
        else list(islice(read_documents(wiki_path()), arguments.documents))
    )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.touch()
    what = {name: getattr(arguments, name) for name in ("corpus", "documents", "epochs", "exchanges")}
    done = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    with working_folder(None) as folder, encode(source, folder) as corpus, arguments.out.open("a") as lines:
        for seed in arguments.seeds:
            for workers in arguments.workers:
                asked = {**what, "seed": seed, "workers": workers}
                if any(asked.items() <= entry.items() for entry in done):
                    continue
                config = TrainConfig.recipe("default", deterministic=True, seed=seed, epochs=arguments.epochs)
                started = time.perf_counter()
                steps = max(workers, 1) * (arguments.exchanges or 0)
                with inline_runtime(max(workers, 1), -(-corpus.n_tokens // steps) if steps else None) as runtime:
                    model = train_corpus(corpus, config, runtime=runtime if workers else None)
                entry = {
                    **asked,
                    "tokens": corpus.n_tokens,
                    "made": corpus.spread.get("exchanges"),
                    "seconds": round(time.perf_counter() - started, 1),
                    "loss": model.record[-1]["loss"],
                    **measure(model),
                }
                corpus.spread = {}
                print(json.dumps(entry), file=lines, flush=True)
                print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
