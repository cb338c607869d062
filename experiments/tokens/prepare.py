"""Encode each labelled set with each tokenizer: `python -m experiments.tokens.prepare OUT SET=VARIANT…`.

OUT gets one encoded corpus a folder, named `set,variant`, with the labels beside it.
"""

from __future__ import annotations

import gzip
import shutil
import sys
from pathlib import Path

import numpy as np

from spherevec.corpus import encode
from spherevec.evaluation import find_data

VARIANTS: dict[str, dict[str, object]] = {
    "0.1": {"tokenizer": "words-0.1"},
    "default": {"tokenizer": "words"},
    "phrases": {"tokenizer": "words", "phrases": True},
    "hyphens-split": {"tokenizer": "words:hyphens=split"},
    "hyphens-join": {"tokenizer": "words:hyphens=join"},
    "addresses-split": {"tokenizer": "words:urls=split,emails=split"},
    "addresses-keep": {"tokenizer": "words:urls=keep,emails=keep"},
    "addresses-drop": {"tokenizer": "words:urls=drop,emails=drop"},
    "numbers-off": {"tokenizer": "words:numbers=off"},
    "abbreviations-off": {"tokenizer": "words:abbreviations=off"},
}


def main(out: Path, wanted: list[str]) -> None:
    for pair in wanted:
        name, _, variant = pair.partition("=")
        place = find_data() / name
        with gzip.open(place / "text.txt.gz", "rt", encoding="utf-8") as file:
            texts = [line.rstrip("\n") for line in file]
        labels = np.array((place / "label.txt").read_text().split())
        split = np.array((place / "split.txt").read_text().split())
        folder = out / f"{name},{variant}"
        shutil.rmtree(folder, ignore_errors=True)
        with encode(texts, folder, keep_text=0, **VARIANTS[variant]) as corpus:  # type: ignore[arg-type]
            print(name, variant, corpus.n_tokens, len(corpus.vocabulary), corpus.raw_tokens)
        (folder / "documents.safetensors").unlink(missing_ok=True)
        np.savez_compressed(folder / "labels.npz", labels=labels, split=split)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
