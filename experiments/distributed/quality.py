"""Quality with 1, 2, 4 and 8 workers beside one machine: NMI and F1 on 20 Newsgroups, word similarity on Wikipedia.

    python -m experiments.distributed.quality 20news --workers 0 1 2 4 8 --seeds 1 2 3 --out results/20news.jsonl
    python -m experiments.distributed.quality wiki --documents 60000 …

0 workers is a plain deterministic run in this process. One line of JSON a run.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

import spherevec
from spherevec.corpus import encode
from spherevec.corpus.readers import read_documents
from spherevec.distributed.cluster import connected
from spherevec.evaluation import (
    evaluate_clustering,
    evaluate_similarity,
    find_data,
    given_split,
    load_labelled,
    load_similarity,
    wiki_path,
)
from spherevec.model import Model
from spherevec.storage.files import working_folder


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
    parser.add_argument("--exchange-tokens", type=int)
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
    settings: dict[str, Any] = {"deterministic": True, "progress": False}
    if arguments.epochs:
        settings["epochs"] = arguments.epochs
    with (
        working_folder(None) as folder,
        encode(source, folder) as corpus,
        connected("local", max(arguments.workers)),
        arguments.out.open("a") as lines,
    ):
        for seed in arguments.seeds:
            for workers in arguments.workers:
                where: dict[str, Any] = {"ray": "local", "workers": workers} if workers else {}
                if workers and arguments.exchange_tokens:
                    where["cluster"] = {"exchange_tokens": arguments.exchange_tokens}
                started = time.perf_counter()
                model = spherevec.train(corpus, seed=seed, **where, **settings)
                seconds = time.perf_counter() - started
                entry = {
                    "corpus": arguments.corpus,
                    "documents": corpus.n_documents,
                    "tokens": corpus.n_tokens,
                    "workers": workers,
                    "seed": seed,
                    "epochs": len(model.record),
                    "exchange_tokens": arguments.exchange_tokens,
                    "seconds": round(seconds, 1),
                    "loss": model.record[-1]["loss"],
                    **measure(model),
                }
                print(json.dumps(entry), file=lines, flush=True)
                print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
