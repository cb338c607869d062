"""The systems that people would pick instead, behind one signature: same words, same dimension, same epochs.

    fitted = PEERS["doc2vec-dbow"](Task(corpus, vector_size=100, epochs=10, window=10, threads=2, seed=1))

`pip install -r experiments/requirements.txt` installs their packages; each is imported when its peer is run. Every peer
trains on documents in the order of the corpus: to shuffle, encode a shuffled text.
"""

from __future__ import annotations

from importlib import import_module

from experiments.peers.base import Fit, Fitted, Task

__all__ = ["PEERS", "Fit", "Fitted", "Task"]


def _later(module: str, name: str) -> Fit:
    """`name` of a module of this folder, imported when it is called."""

    def fit(task: Task) -> Fitted:
        run: Fit = getattr(import_module(f"{__name__}.{module}"), name)
        return run(task)

    return fit


PEERS: dict[str, Fit] = {
    "word2vec": _later("gensim_models", "fit_word2vec"),
    "fasttext": _later("gensim_models", "fit_fasttext"),
    "glove": _later("glove", "fit_glove"),
    "poincare-glove": _later("glove", "fit_poincare_glove"),
    "doc2vec-dbow": _later("gensim_models", "fit_doc2vec_dbow"),
    "doc2vec-dm": _later("gensim_models", "fit_doc2vec_dm"),
    "sif": _later("sif", "fit_sif"),
    "tfidf-svd": _later("tfidf_svd", "fit_tfidf_svd"),
    "minilm": _later("minilm", "fit_minilm"),
}
