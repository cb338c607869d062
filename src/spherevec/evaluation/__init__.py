"""How good are the vectors? Word similarity, analogies, clustering and nearest-neighbour classification.

Every function takes arrays, or words with their vectors, and returns a small frozen dataclass.
"""

from spherevec.evaluation.analogy import AnalogyResult, SectionScore, evaluate_analogies
from spherevec.evaluation.classification import ClassificationResult, given_split, knn_curve, random_splits
from spherevec.evaluation.clustering import ClusteringResult, evaluate_clustering, purity
from spherevec.evaluation.files import AnalogySection, read_analogies, read_labels, read_pairs, read_split
from spherevec.evaluation.similarity import SimilarityResult, evaluate_similarity
from spherevec.evaluation.spread import Spread

__all__ = [
    "AnalogyResult",
    "AnalogySection",
    "ClassificationResult",
    "ClusteringResult",
    "SectionScore",
    "SimilarityResult",
    "Spread",
    "evaluate_analogies",
    "evaluate_clustering",
    "evaluate_similarity",
    "given_split",
    "knn_curve",
    "purity",
    "random_splits",
    "read_analogies",
    "read_labels",
    "read_pairs",
    "read_split",
]
