"""Ten answers to each query of a task by bm25s, with its own tokenizer and settings.

    python bm25s_answers.py FOLDER/search_snippets.json FOLDER/search_snippets.bm25s.json

Runs in an environment of its own (pip install bm25s); `run.py` measures what it finds there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import bm25s


def main(task_file: str, out: str) -> None:
    task = json.loads(Path(task_file).read_text(encoding="utf-8"))
    index = bm25s.BM25()
    index.index(bm25s.tokenize(task["documents"], show_progress=False), show_progress=False)
    answers: dict[str, list[list[int]]] = {}
    for name in ("class_queries", "item_queries"):
        answers[name] = []
        if task[name]:
            rows, scores = index.retrieve(bm25s.tokenize(task[name], show_progress=False), k=10, show_progress=False)
            answers[name] = [
                [int(row) for row, score in zip(own, reached, strict=True) if score > 0]
                for own, reached in zip(rows, scores, strict=True)
            ]
    Path(out).write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
