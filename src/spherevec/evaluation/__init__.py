"""How good are the vectors? Word similarity, analogies, clustering, classification, and the words of topics."""

from spherevec.evaluation.documents import (
    ClassificationResult,
    ClusteringResult,
    Spread,
    evaluate_clustering,
    given_split,
    purity,
    random_splits,
)
from spherevec.evaluation.files import AnalogySection, read_analogies, read_labels, read_pairs, read_split
from spherevec.evaluation.topics import document_npmi, topic_diversity
from spherevec.evaluation.words import (
    SectionScore,
    SimilarityResult,
    evaluate_analogies,
    evaluate_similarity,
)

__all__ = [
    "AnalogySection",
    "ClassificationResult",
    "ClusteringResult",
    "SectionScore",
    "SimilarityResult",
    "Spread",
    "document_npmi",
    "evaluate_analogies",
    "evaluate_clustering",
    "evaluate_similarity",
    "given_split",
    "purity",
    "random_splits",
    "read_analogies",
    "read_labels",
    "read_pairs",
    "read_split",
    "topic_diversity",
]
