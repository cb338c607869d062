"""Unknown words: what guesses from spelling are worth.

    python -m experiments.update.guesses CORPUS [--data DIR] [--vocabulary N]

CORPUS: a labelled corpus of the data folder, or a file of JSON lines with `label` and `text`. Nine tenths of the
documents train a model; the others are placed among them by `infer`. Prints JSON lines: the micro-F1 of the three
nearest documents for clean text, for text in which a fifth of the words is misspelled, and for a model of few words,
without and with guesses; misspelled words whose original is among the nearest five; the cosine of guesses with the
vectors of rare words that are held out; class names that are held out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spherevec
from experiments.datasets import find_data
from experiments.update.measure import read
from spherevec.corpus.tokenize import tokenize
from spherevec.model import Model
from spherevec.model.subwords import Spellings
from spherevec.search.neighbors import nearest_neighbors

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def misspelled(word: str, rng: np.random.Generator) -> str:
    """One slip of the hand: a letter left out, doubled, exchanged for another, or two in the wrong order."""
    if len(word) < 4:
        return word
    at = int(rng.integers(1, len(word) - 1))
    kind = rng.integers(4)
    if kind == 0:
        return word[:at] + word[at + 1 :]
    if kind == 1:
        return word[:at] + word[at] + word[at:]
    if kind == 2:
        return word[:at] + LETTERS[int(rng.integers(26))] + word[at + 1 :]
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def f1(vectors: NDArray[np.float32], model: Model, old: NDArray[Any], new: NDArray[Any]) -> float:
    """The share of documents whose class is that of most of the three nearest."""
    assert model.docs is not None
    rows, cosines = nearest_neighbors(vectors, np.asarray(model.docs.vectors), 3)
    right = 0
    for near, weights, label in zip(rows, cosines, new, strict=True):
        votes: dict[Any, float] = {}
        for row, weight in zip(near, weights, strict=True):
            votes[old[row]] = votes.get(old[row], 0.0) + 1 + 1e-3 * float(weight)
        right += max(votes, key=lambda one: votes[one]) == label
    return right / len(new)


def documents(model: Model, old: NDArray[Any], texts: list[str], labels: NDArray[Any], name: str) -> None:
    vectors, unknown = model.infer(texts, threads=1, return_unknown=True)
    line = {"text": name, "unknown": round(float(unknown.mean()), 3), "dropped": f1(vectors, model, old, labels)}
    line["guessed"] = f1(model.infer(texts, threads=1, subwords=True), model, old, labels)
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in line.items()}))


def words(model: Model, rng: np.random.Generator) -> None:
    """Misspellings of frequent words, and rare words held out."""
    counts, names = model.counts, list(model.words.names or ())
    assert counts is not None
    frequent = [row for row in np.flatnonzero(counts >= 20).tolist() if len(names[row]) >= 5 and names[row].isalpha()]
    frequent = sorted(rng.permutation(frequent)[:1000].tolist())
    known = set(names)
    slips = [(row, slip) for row in frequent if (slip := misspelled(names[row], rng)) not in known]
    spellings = Spellings(names)
    guesses = spellings.guess([slip for _, slip in slips], model.words.vectors)
    near, _ = nearest_neighbors(guesses, model.words.vectors, 5)
    found = np.mean([row in near[i] for i, (row, _) in enumerate(slips)])
    rare = [row for row in np.flatnonzero(counts < 10).tolist() if len(names[row]) >= 5 and names[row].isalpha()]
    rare = sorted(rng.permutation(rare)[:1000].tolist())
    kept = np.setdiff1d(np.arange(len(names)), rare)
    held = Spellings([names[row] for row in kept]).guess([names[row] for row in rare], model.words.vectors[kept])
    cosine = np.einsum("nd,nd->n", held, model.words.vectors[rare]).mean()
    other = np.einsum("nd,nd->n", held, np.roll(model.words.vectors[rare], 1, axis=0)).mean()
    print(
        json.dumps(
            {
                "misspellings": len(slips),
                "original among the nearest five": round(float(found), 4),
                "rare words": len(rare),
                "cosine with the held-out vector": round(float(cosine), 4),
                "with that of another rare word": round(float(other), 4),
            }
        )
    )


def queries(model: Model, rng: np.random.Generator, count: int = 200) -> None:
    """Documents searched by three of their words, none, one or all of them misspelled: the share found among ten."""
    terms, names, counts = model.document_terms, list(model.words.names or ()), model.counts
    assert counts is not None
    wanted: list[tuple[int, list[str]]] = []
    for row in rng.permutation(terms.shape[0]).tolist():
        own = [at for at in terms[[row]].indices if len(names[at]) >= 5 and names[at].isalpha() and counts[at] <= 200]
        if len(own) >= 3:
            wanted.append((row, [names[at] for at in rng.permutation(own)[:3]]))
        if len(wanted) == count:
            break
    for slips in (0, 1, 3):
        texts = [
            " ".join(misspelled(word, rng) if place < slips else word for place, word in enumerate(own))
            for _, own in wanted
        ]
        line: dict[str, Any] = {"queries of three words": len(texts), "misspelled": slips}
        for name, subwords in (("dropped", False), ("guessed", True)):
            found = model.search(texts, topn=10, subwords=subwords)
            hits = [row in [hit.row for hit in one] for (row, _), one in zip(wanted, found, strict=True)]
            line[name] = round(float(np.mean(hits)), 3)
        print(json.dumps(line))


def class_names(model: Model, name: str, data: Path, old: NDArray[Any]) -> None:
    """Documents sorted by the names of their classes, as the text has them, and with the words themselves held out."""
    file = data / name / "classes.txt"
    if not file.is_file():
        return
    assert model.docs is not None
    classes = [line.split() for line in file.read_text().splitlines()]
    inputs, names = model.inputs.vectors, list(model.words.names or ())
    at = {word: row for row, word in enumerate(names)}
    wanted = [[word for word in line if word in at] for line in classes]
    if not all(wanted):
        return
    gone = {word for line in wanted for word in line}
    kept = [row for row, word in enumerate(names) if word not in gone]
    spellings = Spellings([names[row] for row in kept])
    mean = np.asarray(model.docs.vectors).mean(axis=0)
    docs = np.asarray(model.docs.vectors) - mean
    found = {}
    for how in ("known", "guessed"):
        directions = []
        for line in wanted:
            rows = inputs[[at[word] for word in line]] if how == "known" else spellings.guess(line, inputs[kept])
            directions.append(rows.mean(axis=0))
        sorted_by = np.argmax(docs @ (np.array(directions) - np.mean(directions, axis=0)).T, axis=1)
        found[how] = round(float(np.mean(sorted_by == old)), 4)
    print(json.dumps({"classes": len(wanted), **found}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--data")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocabulary", type=int, default=2000, help="Words of the small model.")
    given = parser.parse_args()
    data = find_data(given.data)
    if given.corpus.endswith(".jsonl"):
        lines = [json.loads(line) for line in Path(given.corpus).read_text("utf-8").splitlines()]
        texts = [line["text"] for line in lines]
        labels = np.unique([line["label"] for line in lines], return_inverse=True)[1]
    else:
        corpus = read(given.corpus, data)
        texts, labels = corpus.texts, corpus.labels
    rng = np.random.default_rng(given.seed)
    order = rng.permutation(len(texts))[:12_000]
    cut = len(order) * 9 // 10
    old, new = order[:cut], order[cut:]
    how: dict[str, Any] = {"threads": 1, "seed": given.seed}
    model = spherevec.train([texts[i] for i in old], **how)
    print(json.dumps({"corpus": given.corpus, "documents": len(order), "words": len(model.words)}))
    later = [texts[i] for i in new]
    noisy = [
        " ".join(misspelled(word, rng) if rng.random() < 0.2 else word for word in tokenize(text, model.tokenizer))
        for text in later
    ]
    documents(model, labels[old], later, labels[new], "clean")
    documents(model, labels[old], noisy, labels[new], "a fifth misspelled")
    words(model, rng)
    queries(model, rng)
    class_names(model, given.corpus, data, labels[old])
    small = spherevec.train([texts[i] for i in old], max_vocab=given.vocabulary, **how)
    documents(small, labels[old], later, labels[new], f"{given.vocabulary} words")


if __name__ == "__main__":
    main()
