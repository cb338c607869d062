"""Term frequency times inverse document frequency, reduced by a truncated singular value decomposition."""

from __future__ import annotations

from spherevec.corpus.encoded import EncodedCorpus
from spherevec.evaluation.baselines.averaging import document_counts
from spherevec.evaluation.baselines.base import Fitted, Progress, Texts, document_rows, report
from spherevec.keyed_vectors import KeyedVectors


def fit_tfidf_svd(
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
    """As scikit-learn's guide recommends for documents, with logarithmic counts. `epochs` and `window` have no say."""
    import sklearn
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from threadpoolctl import threadpool_limits

    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(document_counts(corpus))
    report(progress, 0.2)
    with threadpool_limits(threads):
        documents = TruncatedSVD(min(dim, *weighted.shape), random_state=seed).fit_transform(weighted)
    report(progress, 1.0)
    settings = {
        "package": f"scikit-learn {sklearn.__version__}",
        "vector_size": documents.shape[1],
        "weighting": "TfidfTransformer(sublinear_tf=True)",
        "reduction": "TruncatedSVD, randomized, 5 iterations",
    }
    return Fitted(None, document_rows(documents), settings, [])
