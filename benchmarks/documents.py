"""A model of many documents: how fast it opens, and how fast and in how much memory every document is compared.

    python -m benchmarks.documents [--rows 10000000] [--dim 100] [--json]

The model is generated: random unit vectors, ids, titles and one category, written to a temporary folder (TMPDIR).
Ten million rows of dimension 100 take 4.6 GB of disk. A process of its own opens and searches it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.common import Report, command
from spherevec import KeyedVectors, Model
from spherevec.corpus.table.records import schema_array
from spherevec.model.documents import DocumentTable

WORDS = 20_000
TEAMS = 8
_AT_ONCE = 1 << 17


def generate(folder: Path, rows: int, dim: int) -> None:
    """A model folder of so many documents."""
    rng = np.random.default_rng(1)
    words = rng.standard_normal((WORDS, dim), dtype=np.float32)
    names = [f"word{number}" for number in range(WORDS)]
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        vectors = np.memmap(Path(scratch, "vectors"), np.float32, "w+", shape=(rows, dim))
        for start in range(0, rows, _AT_ONCE):
            block = rng.standard_normal((min(_AT_ONCE, rows - start), dim), dtype=np.float32)
            vectors[start : start + len(block)] = block / np.linalg.norm(block, axis=1, keepdims=True)
        words /= np.linalg.norm(words, axis=1, keepdims=True)
        model = Model(
            KeyedVectors(names, words, np.full(WORDS, 5)), docs=KeyedVectors(None, vectors), documents=table(rows)
        )
        model.save(folder)


def table(rows: int) -> DocumentTable:
    """Ids and titles of nine and sixteen characters, and a category."""
    digits = np.arange(rows)[:, None] // 10 ** np.arange(7, -1, -1) % 10 + ord("0")
    ids = np.concatenate([np.full((rows, 1), ord("d")), digits], axis=1).astype(np.uint8)
    titles = np.concatenate([np.tile(np.frombuffer(b"title of", np.uint8), (rows, 1)), ids[:, 1:]], axis=1)
    teams = [f"team{number}".encode() for number in range(TEAMS)]
    columns = [
        {"role": "id", "name": "id", "kind": "text"},
        {"role": "title", "name": "title", "kind": "text"},
        {"role": "field", "name": "team", "kind": "category"},
    ]
    return DocumentTable(
        {
            "schema": schema_array(rows, columns),
            "0.offsets": np.arange(rows + 1) * 9,
            "0.bytes": ids.reshape(-1),
            "1.offsets": np.arange(rows + 1) * 16,
            "1.bytes": titles.reshape(-1),
            "2.codes": (np.arange(rows) % TEAMS).astype(np.int32),
            "2.offsets": np.cumsum([0, *map(len, teams)]),
            "2.bytes": np.frombuffer(b"".join(teams), np.uint8),
        }
    )


MEASURED = """
import json, resource, sys, time
from pathlib import Path
import numpy as np
import spherevec

def own():
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) / 1024

def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result

figures = {}
figures["opening, s"], model = timed(lambda: spherevec.load(sys.argv[1]))
figures["own memory once open, MB"] = own()
figures["rows"] = len(model.documents)
model.search("word1", mode="dense", topn=1, where={"team": "team0"})  # compiles, and reads an eighth
figures["one query, first time, s"], found = timed(lambda: model.search("word3 word5", mode="dense", topn=10))
figures["one query, again, s"], _ = timed(lambda: model.search("word3 word5", mode="dense", topn=10))
many = [f"word{a} word{a + 7}" for a in range(16)]
figures["sixteen queries, s"], _ = timed(lambda: model.search(many, mode="dense", topn=10))
figures["one query where an eighth is asked for, s"], _ = timed(
    lambda: model.search("word3 word5", mode="dense", topn=10, where={"team": "team3"})
)
some = model.documents.ids[len(model.docs) // 2]
figures["a document by its id, s"], _ = timed(lambda: model.documents.row_of(some))
figures["own memory after that, MB"] = own()
query = model.infer(["word3 word5"])[0].astype(np.float64)
scores = np.concatenate(
    [model.docs.vectors[at : at + 100_000].astype(np.float64) @ query for at in range(0, len(model.docs), 100_000)]
)
best = np.argsort(-scores, kind="stable")[:10].tolist()
figures["same ten as by sorting all"] = float([hit.row for hit in found] == best)
print(json.dumps(figures))
"""


def run(rows: int = 10_000_000, dim: int = 100) -> Report:
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch, "model")
        start = time.perf_counter()
        generate(where, rows, dim)
        writing = time.perf_counter() - start
        told = subprocess.run(
            [sys.executable, "-c", MEASURED, str(where)], check=True, capture_output=True, text=True
        ).stdout
        size = sum(file.stat().st_size for file in where.iterdir()) / 1e9
    return {f"{rows:,} documents": {"writing, s": writing, "on disk, GB": size, **json.loads(told)}}


def show(figures: Report) -> None:
    for title, group in figures.items():
        print(title)
        for name, value in group.items():
            print(f"  {name:45} {value:12.3f}")


if __name__ == "__main__":
    command(__doc__, run, show, rows=10_000_000, dim=100)
