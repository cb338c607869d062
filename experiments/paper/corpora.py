"""The texts of a cell: which documents, in which order, in which tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import LabelledTexts, load_labelled, wiki_path
from experiments.paper.plan import METHODS, NEWS, REVIEWS, WIKI, Cell, Scale
from spherevec.corpus import EncodedCorpus, encode, read_documents

ORDER_SEED = 7  # of the one order in which every peer is fed shuffled documents
FOLDERS = {WIKI: ("wiki", "wordsim"), NEWS: (NEWS,), REVIEWS: (REVIEWS,)}  # of the data that a result depends on
# Runs of letters and digits, as the paper's files are split.
_PLAIN_WORDS = (
    "words:hyphens=split,numbers=off,symbols=off,abbreviations=off,tags=off,emoji=off,urls=split,emails=split,html=off,"
    "unspaced=whole"
)
TOKENIZERS = {WIKI: _PLAIN_WORDS, REVIEWS: "whitespace"}
_WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")  # how 20 Newsgroups is split: words and single punctuation marks


def labelled(name: str, data: Path, scale: Scale) -> LabelledTexts:
    """A labelled set, or one document in so many of it."""
    whole, step = load_labelled(name, data), scale.every[name]
    split = None if whole.split is None else whole.split[::step]
    return LabelledTexts(name, whole.texts[::step], whole.labels[::step], split, whole.classes)


def documents_of(name: str, data: Path, scale: Scale) -> list[str]:
    """The documents of a data set, in the order of its file."""
    if name != WIKI:
        return labelled(name, data, scale).texts
    texts: list[str] = []
    words = 0
    for paragraph in read_documents(wiki_path(data)):
        if scale.wiki_words is not None and words >= scale.wiki_words:
            break
        texts.append(str(paragraph))
        words += texts[-1].count(" ") + 1
    return texts


def places_of(cell: Cell, documents: int, scale: Scale) -> NDArray[np.intp]:
    """Which of the data set's documents a cell trains on, and in which order it is fed them.

    spherevec is fed the file and shuffles by itself; kind "order" moves a share of the file's documents beforehand.
    """
    if cell.kind == "time":
        count = min(documents, scale.sampled) if METHODS[cell.method].reads_text else documents // 2
        return document_order(documents, 1.0)[:count]
    shuffled = cell.order == "shuffled" and not cell.method.startswith("spherevec")
    return document_order(documents, 1.0 if shuffled else cell.share)


def document_order(documents: int, share: float) -> NDArray[np.intp]:
    """A `share` of the documents trade places among themselves: 0 is the file's order, 1 is shuffled."""
    places = np.arange(documents)
    rng = np.random.default_rng(ORDER_SEED)
    moved = np.sort(rng.permutation(documents)[: round(share * documents)])
    places[moved] = rng.permutation(moved)
    return places


def encoded(name: str, texts: Iterable[str], folder: Path, scale: Scale, threads: int) -> EncodedCorpus:
    """The texts in the data set's tokens, lower-cased."""
    min_count = scale.min_count[name]
    if name == NEWS:
        tokens = (_WORDS_AND_MARKS.findall(text.lower()) for text in texts)
        return encode(tokens, folder, min_count=min_count, threads=threads)
    return encode(texts, folder, min_count=min_count, tokenizer=TOKENIZERS[name], threads=threads)
