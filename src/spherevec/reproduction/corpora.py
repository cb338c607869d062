"""The texts of a run, encoded once and kept in its cache, in the order of the file and in others."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus, encode, encoded, read_documents
from spherevec.errors import CorpusError
from spherevec.evaluation import LabelledTexts, load_labelled, wiki_path
from spherevec.reproduction.methods import METHODS
from spherevec.reproduction.plan import NEWS, REVIEWS, WIKI, Cell, Scale

ORDER_SEED = 7  # of the one order in which every peer is fed shuffled documents

_WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")
TOKENIZATION = {
    WIKI: "words, lower-cased",
    NEWS: "words and single punctuation marks, lower-cased",
    REVIEWS: "as its authors split them",
}


def words_and_marks(text: str) -> list[str]:
    """Lower-cased words and single punctuation marks."""
    return _WORDS_AND_MARKS.findall(text.lower())


TOKENIZERS: dict[str, str | Callable[[str], list[str]]] = {WIKI: "words", NEWS: words_and_marks, REVIEWS: "whitespace"}


def available(data: Path | None) -> dict[str, str]:
    """The data sets that are there, with what the others lack: name → "" or the reason."""
    found = {}
    for name in (WIKI, NEWS, REVIEWS):
        try:
            if name == WIKI:
                wiki_path(data)
            else:
                labelled(name, data, every=1)
            found[name] = ""
        except CorpusError as error:
            found[name] = str(error)
    return found


@cache
def labelled(name: str, data: Path | None, every: int) -> LabelledTexts:
    """A labelled set, or one document in `every` of it."""
    whole = load_labelled(name, data, download=True)
    split = None if whole.split is None else whole.split[::every]
    return LabelledTexts(name, whole.texts[::every], whole.labels[::every], split, whole.classes)


@cache
def checksum(name: str, data: Path | None) -> str:
    """Of everything in a data set that a result can depend on."""
    digest = hashlib.sha256()
    if name == WIKI:
        with wiki_path(data).open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    else:
        whole = labelled(name, data, 1)
        for text in whole.texts:
            digest.update(text.encode() + b"\n")
        digest.update(whole.labels.astype("<i8").tobytes())
        digest.update(" ".join([] if whole.split is None else whole.split.tolist()).encode())
    return digest.hexdigest()[:16]


def texts_of(name: str, data: Path | None, scale: Scale) -> Iterator[str]:
    """The documents of a data set, in the order of its file."""
    if name != WIKI:
        yield from labelled(name, data, scale.every[name]).texts
        return
    words = 0
    for paragraph in read_documents(wiki_path(data)):
        assert isinstance(paragraph, str)
        if scale.wiki_words is not None and words >= scale.wiki_words:
            return
        words += paragraph.count(" ") + 1
        yield paragraph


def places_of(cell: Cell, documents: int, scale: Scale) -> NDArray[np.intp]:
    """Which of the data set's documents a cell trains on, and in which order it is fed them.

    spherevec is fed the file and shuffles by itself; some of the file's documents may have been moved before.
    """
    method = METHODS[cell.method]
    if cell.kind == "time":
        count = min(documents, scale.sampled) if method.reads_text else documents // 2
        return document_order(documents, "shuffled")[:count]
    return document_order(documents, "file" if method.recipe else cell.order, cell.share)


def document_order(documents: int, order: str, share: float | None = None) -> NDArray[np.intp]:
    """The file's order, shuffled, or with a `share` of the documents moved to random places.

    Moved documents trade places among themselves, so that a share of 0 is the file's order and one of 1 is shuffled.
    """
    places = np.arange(documents)
    rng = np.random.default_rng(ORDER_SEED)
    if order == "shuffled":
        return rng.permutation(documents)
    if share:
        moved = np.sort(rng.permutation(documents)[: round(share * documents)])
        places[moved] = rng.permutation(moved)
    return places


class Corpora:
    """Encoded corpora in a folder; made when first asked for.

    Args:
        folder: where they are kept.
        data: the folder of the data sets, as `find_data` takes it.
    """

    def __init__(self, folder: Path, data: Path | None, scale: Scale, threads: int) -> None:
        self.folder, self.data, self.scale, self.threads = folder, data, scale, threads

    def of(self, cell: Cell) -> Path:
        """The folder of the encoded corpus that a cell trains on."""
        whole = self.whole(cell.data)
        with EncodedCorpus.open(whole) as corpus:
            places = places_of(cell, corpus.n_documents, self.scale)
            if np.array_equal(places, np.arange(corpus.n_documents)):
                return whole
            code = hashlib.sha256(places.astype("<i8").tobytes()).hexdigest()[:12]
            return _made(whole.with_name(f"{whole.name}-{code}"), lambda place: _write_chosen(corpus, places, place))

    def whole(self, name: str) -> Path:
        """The folder of a data set in the order of its file."""

        def make(place: Path) -> None:
            texts = texts_of(name, self.data, self.scale)
            min_count, tokenizer = self.scale.min_count[name], TOKENIZERS[name]
            encode(texts, place, min_count=min_count, tokenizer=tokenizer, threads=self.threads).close()

        return _made(self.folder / f"{name}-{self.identity(name)}", make)

    def identity(self, name: str) -> str:
        """What an encoded corpus depends on, in a few letters."""
        about = {
            "checksum": checksum(name, self.data),
            "tokens": TOKENIZATION[name],
            "min_count": self.scale.min_count[name],
            "kept": self.scale.wiki_words if name == WIKI else self.scale.every[name],
        }
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]


def write_first(corpus: EncodedCorpus, documents: int, folder: Path) -> EncodedCorpus:
    """A corpus of no more than so many documents."""
    _write_chosen(corpus, np.arange(min(documents, corpus.n_documents)), folder)
    return EncodedCorpus.open(folder)


def _made(folder: Path, make: Callable[[Path], None]) -> Path:
    """`folder`, made beside it and moved there when it is complete."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder.parent) as beside:
            place = Path(beside) / folder.name
            make(place)
            try:
                place.rename(folder)
            except OSError:
                # Another run on the same folder was quicker; anything else is a fault of the disk.
                if not folder.exists():
                    raise
    return folder


def _write_chosen(corpus: EncodedCorpus, places: NDArray[np.intp], folder: Path) -> None:
    """Some documents of a corpus, in any order; words that occur in none of them are left out."""
    offsets = np.concatenate([[0], np.cumsum(np.diff(corpus.offsets)[places])]).astype(encoded.OFFSET_TYPE)
    old_ids = np.concatenate([np.zeros(0, np.int32), *(corpus.document(place) for place in places.tolist())])
    counts = np.bincount(old_ids, minlength=len(corpus.vocabulary))
    words = corpus.vocabulary.words
    # The most frequent first, equal ones by their letters, as in any vocabulary.
    kept = sorted(np.flatnonzero(counts).tolist(), key=lambda word: (-counts[word], words[word]))
    numbers = np.full(len(words), -1, encoded.ID_TYPE)
    numbers[kept] = np.arange(len(kept))
    folder.mkdir()
    numbers[old_ids].tofile(folder / encoded.IDS)
    offsets.tofile(folder / encoded.OFFSETS)
    counts[kept].astype(encoded.OFFSET_TYPE).tofile(folder / encoded.COUNTS)
    (folder / encoded.WORDS).write_text(json.dumps([words[word] for word in kept], ensure_ascii=False), "utf-8")
    about = json.loads((corpus.folder / encoded.ABOUT).read_text("utf-8"))
    about |= {"n_documents": len(places), "n_tokens": int(offsets[-1])}
    (folder / encoded.ABOUT).write_text(json.dumps(about), "utf-8")
