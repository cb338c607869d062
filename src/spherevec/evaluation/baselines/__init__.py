"""The systems that people would pick instead, behind one interface: same words, same dimension, same epochs.

    fitted = BASELINES["doc2vec-dbow"].fit(corpus, dim=100, epochs=10, window=10, threads=2, seed=1)

They need `pip install 'spherevec[baselines]'`, and the Transformer 'spherevec[transformer]'; a package is imported when
its peer is run. Every peer trains on documents in the order of the corpus: to shuffle, encode a shuffled text.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from spherevec.evaluation.baselines.base import Baseline, Fit, Fitted

__all__ = ["BASELINES", "Baseline", "Fit", "Fitted"]


def _later(module: str, name: str) -> Fit:
    """`name` of a module of this package, imported when it is called."""

    def fit(*arguments: Any, **settings: Any) -> Fitted:
        run: Fit = getattr(import_module(f"{__name__}.{module}"), name)
        return run(*arguments, **settings)

    return fit


BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {
        "word2vec": Baseline("Word2Vec", True, True, False, _later("gensim_models", "fit_word2vec")),
        "fasttext": Baseline("FastText", True, True, False, _later("gensim_models", "fit_fasttext")),
        "glove": Baseline("GloVe", True, True, False, _later("glove", "fit_glove")),
        "poincare-glove": Baseline("Poincaré GloVe", True, True, False, _later("glove", "fit_poincare_glove")),
        "doc2vec-dbow": Baseline("Doc2Vec, DBOW", False, True, False, _later("gensim_models", "fit_doc2vec_dbow")),
        "doc2vec-dm": Baseline("Doc2Vec, DM", False, True, False, _later("gensim_models", "fit_doc2vec_dm")),
        "sif": Baseline("SIF", False, True, False, _later("sif", "fit_sif")),
        "tfidf-svd": Baseline("tf-idf + SVD", False, True, False, _later("tfidf_svd", "fit_tfidf_svd")),
        "minilm": Baseline("MiniLM sentence encoder", False, True, True, _later("minilm", "fit_minilm")),
    }
)
