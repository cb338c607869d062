"""What an approximate index finds after ten updates, beside one that is built anew.

    python -m experiments.update.index_recall MODEL [--queries N] [--threads N]

Nine tenths of a model's documents are indexed; ten updates add a hundredth each, take out half a hundredth and replace
as many. Prints JSON lines: the share of the ten nearest documents that is found, and the seconds that it took.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import spherevec
from spherevec.model.index import GrowingIndex
from spherevec.search.neighbors import nearest_neighbors

Floats = NDArray[np.float32]


def recall(index: GrowingIndex, vectors: Floats, queries: Floats, threads: int) -> float:
    exact, _ = nearest_neighbors(queries, vectors, 10)
    found, _ = index.search(queries, 10, threads)
    return float(np.mean([len({*a} & {*b}) / 10 for a, b in zip(exact.tolist(), found.tolist(), strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    docs = spherevec.load(given.model).docs
    assert docs is not None
    rng = np.random.default_rng(1)
    order = rng.permutation(len(docs))
    everything = np.asarray(docs.vectors)[order]
    step = len(order) // 100
    queries = everything[rng.permutation(len(order))[: given.queries]]

    def tell(name: str, index: GrowingIndex, vectors: Floats, begun: float) -> None:
        seconds = round(time.process_time() - begun, 2)
        line = {"index": name, "documents": len(vectors), "seconds": seconds}
        print(json.dumps(line | {"recall": round(recall(index, vectors, queries, given.threads), 4)}), flush=True)

    begun = time.process_time()
    vectors = everything[: 90 * step]
    index = GrowingIndex.build(vectors, given.threads)
    tell("built", index, vectors, begun)
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for update in range(10):
            rows = np.arange(len(vectors))
            gone = rng.permutation(len(vectors))[:step]
            origin = np.delete(rows, gone[: step // 2])
            replaced = np.isin(origin, gone[step // 2 :])
            fresh = everything[(90 + update) * step : (91 + update) * step]
            moved = vectors[origin]
            # A changed document goes elsewhere: it takes the vector of one that was taken out.
            moved[replaced] = vectors[gone[: np.count_nonzero(replaced)]]
            origin[replaced] = -1
            vectors = np.concatenate([moved, fresh])
            index = index.moved(vectors, np.concatenate([origin, np.full(len(fresh), -1)]), given.threads)
            # As a model does it: saved, and mapped when it is opened again.
            index.save(Path(folder) / f"{update}")
            index = GrowingIndex.load(Path(folder) / f"{update}", index.slots)
        tell("after ten updates", index, vectors, begun)
    begun = time.process_time()
    tell("built anew", GrowingIndex.build(vectors, given.threads), vectors, begun)


if __name__ == "__main__":
    main()
