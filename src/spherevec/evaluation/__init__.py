"""How good are the vectors? Word similarity, analogies, clustering and nearest-neighbour classification.

Every function takes arrays, or words with their vectors, and returns a small frozen dataclass.
"""

from spherevec.evaluation.analogy import AnalogyResult, SectionScore, evaluate_analogies
from spherevec.evaluation.classification import (
    ClassificationResult,
    cross_validated,
    given_split,
    knn_curve,
    random_splits,
)
from spherevec.evaluation.clustering import ClusteringResult, evaluate_clustering, purity
from spherevec.evaluation.datasets import (
    SIMILARITY_SETS,
    AnalogySection,
    LabelledTexts,
    find_data,
    labelled_sets,
    load_analogies,
    load_labelled,
    load_similarity,
    read_labels,
    read_split,
    wiki_path,
)
from spherevec.evaluation.similarity import SimilarityResult, evaluate_similarity
from spherevec.evaluation.spread import Spread

__all__ = [
    "SIMILARITY_SETS",
    "AnalogyResult",
    "AnalogySection",
    "ClassificationResult",
    "ClusteringResult",
    "LabelledTexts",
    "SectionScore",
    "SimilarityResult",
    "Spread",
    "cross_validated",
    "evaluate_analogies",
    "evaluate_clustering",
    "evaluate_similarity",
    "find_data",
    "given_split",
    "knn_curve",
    "labelled_sets",
    "load_analogies",
    "load_labelled",
    "load_similarity",
    "purity",
    "random_splits",
    "read_labels",
    "read_split",
    "wiki_path",
]
