"""Word2Vec, FastText and Doc2Vec as gensim trains them.

gensim's own loss is summed in single precision by threads that overwrite each other, and stands still on corpora of
this size; it is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.peers.averaging import document_averages
from experiments.peers.base import Fitted, Task, document_rows, required, word_vectors
from spherevec.corpus.count.encoded import EncodedCorpus

# gensim's defaults where the peers' authors give no other, spelt out so that the report shows them.
_SAMPLING: dict[str, Any] = {"negative": 5, "sample": 1e-3, "alpha": 0.025, "min_alpha": 1e-4, "ns_exponent": 0.75}
_SKIP_GRAM: dict[str, Any] = {"sg": 1, "hs": 0, **_SAMPLING}
_SUBWORDS: dict[str, Any] = {"min_n": 3, "max_n": 6, "bucket": 2_000_000}


class Sentences:
    """The documents as lists of words, again at each iteration, in pieces no longer than gensim reads.

    gensim leaves out what goes beyond 10,000 words; a longer document comes as several pieces.
    """

    def __init__(self, corpus: EncodedCorpus) -> None:
        self._corpus = corpus
        self._words = np.array(corpus.vocabulary.words, object)

    def __len__(self) -> int:
        """How many pieces there are."""
        from gensim.models.word2vec import MAX_WORDS_IN_BATCH

        lengths = np.diff(self._corpus.offsets)
        return int(np.maximum(-(-lengths // MAX_WORDS_IN_BATCH), 1).sum())

    def __iter__(self) -> Iterator[Any]:
        for _, piece in self.numbered():
            yield piece

    def numbered(self) -> Iterator[tuple[int, list[str]]]:
        """Each piece with the number of its document."""
        from gensim.models.word2vec import MAX_WORDS_IN_BATCH

        ids, offsets = self._corpus.ids, self._corpus.offsets
        for document in range(self._corpus.n_documents):
            start, end = int(offsets[document]), int(offsets[document + 1])
            for first in range(start, end, MAX_WORDS_IN_BATCH) or (start,):
                yield document, self._words[ids[first : min(first + MAX_WORDS_IN_BATCH, end)]].tolist()


class TaggedSentences(Sentences):
    """The same pieces as `Sentences`, each tagged with its document."""

    def __iter__(self) -> Iterator[Any]:
        from gensim.models.doc2vec import TaggedDocument

        for document, piece in self.numbered():
            yield TaggedDocument(piece, [document])


def fit_word2vec(task: Task) -> Fitted:
    """Skip-gram with five negatives; documents are the plain average of its unit word vectors."""
    with required("gensim"):
        from gensim.models import Word2Vec
    return _averaged(task, Word2Vec, _SKIP_GRAM)


def fit_fasttext(task: Task) -> Fitted:
    """Skip-gram over words and their character n-grams; documents are the plain average of its unit word vectors."""
    with required("gensim"):
        from gensim.models import FastText
    return _averaged(task, FastText, {**_SKIP_GRAM, **_SUBWORDS})


def fit_doc2vec_dbow(task: Task) -> Fitted:
    """Each document predicts its words; word vectors are not trained (`dbow_words=0`)."""
    return _doc2vec(task, {"dm": 0, "dbow_words": 0, "hs": 0, **_SAMPLING})


def fit_doc2vec_dm(task: Task) -> Fitted:
    """The mean of a document and the words around predicts the word between."""
    return _doc2vec(task, {"dm": 1, "dm_mean": 1, "hs": 0, **_SAMPLING})


def _averaged(task: Task, kind: Any, own: dict[str, Any]) -> Fitted:
    """Train a gensim model of words on the corpus, and average its vectors."""
    vocabulary = task.corpus.vocabulary
    settings = _shared(task) | own
    model = kind(min_count=1, workers=task.threads, seed=task.seed, **settings)
    model.build_vocab_from_freq(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
    sentences = Sentences(task.corpus)
    model.train(sentences, total_examples=len(sentences), epochs=model.epochs)
    rows = model.wv.vectors[[model.wv.key_to_index[word] for word in vocabulary.words]]
    words = word_vectors(task.corpus, rows)
    return Fitted(words, document_rows(document_averages(task.corpus, words)), _named(settings))


def _doc2vec(task: Task, own: dict[str, Any]) -> Fitted:
    with required("gensim"):
        from gensim.models import Doc2Vec
    settings = _shared(task) | own
    model = Doc2Vec(min_count=1, workers=task.threads, seed=task.seed, **settings)
    sentences = TaggedSentences(task.corpus)
    model.build_vocab(sentences)
    model.train(sentences, total_examples=len(sentences), epochs=model.epochs)
    return Fitted(None, document_rows(model.dv.vectors), _named(settings))


def _shared(task: Task) -> dict[str, Any]:
    return {"vector_size": task.vector_size, "epochs": task.epochs, "window": task.window}


def _named(settings: dict[str, Any]) -> dict[str, Any]:
    import gensim

    return {"package": f"gensim {gensim.__version__}", **settings}
