"""Term frequency times inverse document frequency, reduced by a truncated singular value decomposition."""

from __future__ import annotations

from experiments.peers.averaging import document_counts
from experiments.peers.base import Fitted, Task, document_rows


def fit_tfidf_svd(task: Task) -> Fitted:
    """As scikit-learn's guide recommends for documents, with logarithmic counts. It reads the text once."""
    import sklearn
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from threadpoolctl import threadpool_limits

    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(document_counts(task.corpus))
    with threadpool_limits(task.threads):
        documents = TruncatedSVD(min(task.vector_size, *weighted.shape), random_state=task.seed).fit_transform(weighted)
    settings = {
        "package": f"scikit-learn {sklearn.__version__}",
        "vector_size": documents.shape[1],
        "weighting": "TfidfTransformer(sublinear_tf=True)",
        "reduction": "TruncatedSVD, randomized, 5 iterations",
    }
    return Fitted(None, document_rows(documents), settings)
