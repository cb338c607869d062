"""Spark MLlib's Word2Vec beside ours: the same words, as many passes, two cores; times and word similarity.

    python -m experiments.distributed.spark prepare --documents 10000 --tokens build/wiki.tokens
    python experiments/distributed/spark.py spark --tokens build/wiki.tokens --partitions 1     (needs pyspark and Java)
    python -m experiments.distributed.spark ours --tokens build/wiki.tokens --workers 2
    python -m experiments.distributed.spark score build/wiki.tokens.spark1.npz

`spark` imports nothing of ours, so that it runs in an environment of its own. Neither time has the start of its system:
with Spark it is that of `fit` on a cached data frame, which counts the words, too; with ours that of reading, counting
and training to the finished model, once worker processes have started (`seconds`), and with their start (`with_start`).
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

DIM, PASSES, LEAST = 100, 5, 5


def prepare(arguments: argparse.Namespace) -> None:
    from itertools import islice

    from experiments.datasets import wiki_path
    from spherevec.corpus.read.readers import read_documents
    from spherevec.corpus.tokenize import tokenize

    arguments.tokens.parent.mkdir(parents=True, exist_ok=True)
    texts = islice(read_documents(wiki_path()), arguments.documents)
    arguments.tokens.write_text("".join(" ".join(tokenize(str(text))) + "\n" for text in texts), "utf-8")


def spark(arguments: argparse.Namespace) -> dict[str, Any]:
    import sys

    import numpy as np

    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.ml.feature import Word2Vec
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import split

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    frame = session.read.text(str(arguments.tokens)).select(split("value", " ").alias("words")).cache()
    documents = frame.count()  # starts everything, and caches
    learner = Word2Vec(
        vectorSize=DIM, windowSize=5, minCount=LEAST, maxIter=arguments.passes, seed=1,
        numPartitions=arguments.partitions, inputCol="words", outputCol="vector", maxSentenceLength=10_000,
    )  # fmt: skip
    started = time.perf_counter()
    model = learner.fit(frame)
    seconds = time.perf_counter() - started
    rows = model.getVectors().collect()
    out = Path(f"{arguments.tokens}.spark{arguments.partitions}.npz")
    vectors = np.array([row["vector"].toArray() for row in rows], np.float32)
    np.savez(out, words=np.array([row["word"] for row in rows]), vectors=vectors)
    return {"system": f"Spark, {arguments.partitions} partitions", "documents": documents, "seconds": seconds}


def ours(arguments: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    import spherevec
    from spherevec.distributed.cluster import connected

    settings: dict[str, Any] = {
        "tokenizer": "whitespace", "vector_size": DIM, "window": 5, "min_count": LEAST, "epochs": arguments.passes,
        "progress": False, "seed": 1,
    }  # fmt: skip
    where: dict[str, Any] = {"ray": "local", "workers": arguments.workers} if arguments.workers else {}
    lines: Any = arguments.tokens
    begun: dict[str, float] = {}

    def note(progress: Any) -> None:
        begun.setdefault(progress.phase, time.perf_counter())

    with connected("local", max(1, arguments.workers)):
        spherevec.train(["a b c d"] * 200, **settings | {"min_count": 1}, **where)  # starts everything, and compiles
        started = time.perf_counter()
        model = spherevec.train(lines, **settings | {"progress": note}, **where)
        ended = time.perf_counter()
    out = Path(f"{arguments.tokens}.ours{arguments.workers}.npz")
    np.savez(out, words=np.array(model.words.index_to_key), vectors=model.words.vectors)
    epochs = sum(epoch["seconds"] for epoch in model.record)
    name = f"spherevec, {arguments.workers} workers" if arguments.workers else "spherevec, one process"
    times = {"seconds": ended - begun["reading"], "with_start": ended - started, "epochs": epochs}
    return {"system": name, "documents": model.provenance["documents"], **times}


def score(arguments: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    from experiments.datasets import SIMILARITY_SETS, load_similarity
    from spherevec.evaluation.words import evaluate_similarity
    from spherevec.model import KeyedVectors
    from spherevec.sphere import normalize

    with np.load(arguments.file) as stored:
        words = KeyedVectors(stored["words"].tolist(), normalize(stored["vectors"]))
    found = {name: evaluate_similarity(words, load_similarity(name)) for name in SIMILARITY_SETS}
    return {"file": arguments.file.name, **{name: [one.spearman, one.covered] for name, one in found.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("prepare", "spark", "ours"):
        command = commands.add_parser(name)
        command.add_argument("--tokens", type=Path, required=True)
        command.add_argument("--documents", type=int, default=10_000)
        command.add_argument("--partitions", type=int, default=1)
        command.add_argument("--workers", type=int, default=2)
        command.add_argument("--passes", type=int, default=PASSES)
    commands.add_parser("score").add_argument("file", type=Path)
    arguments = parser.parse_args()
    found = {"prepare": prepare, "spark": spark, "ours": ours, "score": score}[arguments.command](arguments)
    if found:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
