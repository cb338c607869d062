"""Word2Vec, FastText and Doc2Vec as gensim trains them.

gensim's own loss is summed in single precision by threads that overwrite each other, and stands still on corpora of
this size; it is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.encoded import EncodedCorpus
from spherevec.evaluation.baselines.averaging import document_averages
from spherevec.evaluation.baselines.base import (
    Fitted,
    Progress,
    Texts,
    document_rows,
    needs_extra,
    report,
    word_vectors,
)
from spherevec.keyed_vectors import KeyedVectors

# gensim's defaults where the peers' authors give no other, spelt out so that the report shows them.
_SAMPLING: dict[str, Any] = {"negative": 5, "sample": 1e-3, "alpha": 0.025, "min_alpha": 1e-4, "ns_exponent": 0.75}
_SUBWORDS: dict[str, Any] = {"min_n": 3, "max_n": 6, "bucket": 2_000_000}


class Sentences:
    """The documents as lists of words, again at each iteration, in pieces no longer than gensim reads.

    gensim leaves out what goes beyond 10,000 words; a longer document comes as several pieces.
    """

    def __init__(self, corpus: EncodedCorpus, passes: int, progress: Progress | None) -> None:
        self._corpus = corpus
        self._words = np.array(corpus.vocabulary.words, object)
        self._to_come = max(1, passes * corpus.n_tokens)
        self._told = 0
        self._progress = progress

    def __len__(self) -> int:
        """How many pieces there are."""
        from gensim.models.word2vec import MAX_WORDS_IN_BATCH

        lengths = np.diff(self._corpus.offsets)
        return int(np.maximum(-(-lengths // MAX_WORDS_IN_BATCH), 1).sum())

    def __iter__(self) -> Iterator[list[str]]:
        for _, piece in self.numbered():
            yield piece

    def numbered(self) -> Iterator[tuple[int, list[str]]]:
        """Each piece with the number of its document."""
        from gensim.models.word2vec import MAX_WORDS_IN_BATCH

        ids, offsets = self._corpus.ids, self._corpus.offsets
        for document in range(self._corpus.n_documents):
            start, end = int(offsets[document]), int(offsets[document + 1])
            for first in range(start, end, MAX_WORDS_IN_BATCH) or (start,):
                piece = self._words[ids[first : min(first + MAX_WORDS_IN_BATCH, end)]].tolist()
                yield document, piece
                self._told += len(piece)
            if document % 256 == 0:
                report(self._progress, self._told / self._to_come)


class TaggedSentences(Sentences):
    """The same pieces as `Sentences`, each tagged with its document."""

    def __iter__(self) -> Iterator[Any]:
        from gensim.models.doc2vec import TaggedDocument

        for document, piece in self.numbered():
            yield TaggedDocument(piece, [document])


def fit_word2vec(
    corpus: EncodedCorpus,
    *,
    dim: int,
    epochs: int,
    window: int,
    threads: int,
    seed: int,
    texts: Texts | None = None,
    words: KeyedVectors | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Skip-gram with five negatives; documents are the plain average of its unit word vectors."""
    with needs_extra("Word2Vec", "baselines"):
        from gensim.models import Word2Vec
    settings = {"vector_size": dim, "epochs": epochs, "window": window, "sg": 1, "hs": 0, **_SAMPLING}
    model = Word2Vec(min_count=1, workers=threads, seed=seed, **settings)
    return _averaged(corpus, model, settings, progress)


def fit_fasttext(
    corpus: EncodedCorpus,
    *,
    dim: int,
    epochs: int,
    window: int,
    threads: int,
    seed: int,
    texts: Texts | None = None,
    words: KeyedVectors | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Skip-gram over words and their character n-grams; documents are the plain average of its unit word vectors."""
    with needs_extra("FastText", "baselines"):
        from gensim.models import FastText
    settings = {"vector_size": dim, "epochs": epochs, "window": window, "sg": 1, "hs": 0, **_SAMPLING, **_SUBWORDS}
    model = FastText(min_count=1, workers=threads, seed=seed, **settings)
    return _averaged(corpus, model, settings, progress)


def fit_doc2vec_dbow(
    corpus: EncodedCorpus,
    *,
    dim: int,
    epochs: int,
    window: int,
    threads: int,
    seed: int,
    texts: Texts | None = None,
    words: KeyedVectors | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Each document predicts its words; word vectors are not trained (`dbow_words=0`)."""
    settings = {"vector_size": dim, "epochs": epochs, "window": window, "dm": 0, "dbow_words": 0, "hs": 0, **_SAMPLING}
    return _doc2vec(corpus, settings, threads, seed, progress)


def fit_doc2vec_dm(
    corpus: EncodedCorpus,
    *,
    dim: int,
    epochs: int,
    window: int,
    threads: int,
    seed: int,
    texts: Texts | None = None,
    words: KeyedVectors | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """The mean of a document and the words around predicts the word between."""
    settings = {"vector_size": dim, "epochs": epochs, "window": window, "dm": 1, "dm_mean": 1, "hs": 0, **_SAMPLING}
    return _doc2vec(corpus, settings, threads, seed, progress)


def _averaged(corpus: EncodedCorpus, model: Any, settings: dict[str, Any], progress: Progress | None) -> Fitted:
    """Train a gensim model of words on the corpus, and average its vectors."""
    vocabulary = corpus.vocabulary
    model.build_vocab_from_freq(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
    sentences = Sentences(corpus, model.epochs, progress)
    model.train(sentences, total_examples=len(sentences), epochs=model.epochs)
    words = word_vectors(corpus, _rows(model.wv, vocabulary.words))
    report(progress, 1.0)
    return Fitted(words, document_rows(document_averages(corpus, words)), _named(settings), [])


def _doc2vec(
    corpus: EncodedCorpus, settings: dict[str, Any], threads: int, seed: int, progress: Progress | None
) -> Fitted:
    with needs_extra("Doc2Vec", "baselines"):
        from gensim.models import Doc2Vec
    model = Doc2Vec(min_count=1, workers=threads, seed=seed, **settings)
    model.build_vocab(TaggedSentences(corpus, 1, None))
    sentences = TaggedSentences(corpus, model.epochs, progress)
    model.train(sentences, total_examples=len(sentences), epochs=model.epochs)
    report(progress, 1.0)
    return Fitted(None, document_rows(model.dv.vectors), _named(settings), [])


def _rows(vectors: Any, words: list[str]) -> NDArray[np.float32]:
    """gensim's rows in the order of `words`, shape (words, dim)."""
    rows: NDArray[np.float32] = vectors.vectors[[vectors.key_to_index[word] for word in words]]
    return rows


def _named(settings: dict[str, Any]) -> dict[str, Any]:
    import gensim

    return {"package": f"gensim {gensim.__version__}", **settings}
