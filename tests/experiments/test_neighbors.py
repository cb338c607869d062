"""Classification for every number of neighbours, with scikit-learn as the twin."""

import numpy as np
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier

from experiments.neighbors import knn_curve, majority
from method import random_directions
from spherevec.evaluation.documents import given_split, split_rows
from spherevec.sphere import normalize


def test_curve_is_scikit_learns_classifier_for_every_k():
    rng = np.random.default_rng(3)
    labels = rng.integers(6, size=400)
    vectors = normalize(random_directions(6, 12, rng)[labels] + 0.5 * rng.standard_normal((400, 12))).astype(np.float32)
    split = np.where(np.arange(400) % 3 == 0, "test", "train")
    train, test = split_rows(split)
    curve = knn_curve(vectors, labels, [(train, test)])
    assert [result.k for result in curve] == list(range(1, 11))
    for result in curve:
        predicted = KNeighborsClassifier(n_neighbors=result.k).fit(vectors[train], labels[train]).predict(vectors[test])
        assert result.macro_f1.mean == f1_score(labels[test], predicted, average="macro")
        assert result.micro_f1.mean == f1_score(labels[test], predicted, average="micro")
    assert given_split(vectors, labels, split) == curve[2]
    assert 0.3 < curve[2].micro_f1.mean < 0.99  # neither all right nor all wrong: the comparison can tell


def test_a_tied_vote_goes_to_the_smallest_label():
    assert majority(np.array([[9, 4, 4], [9, 4, 7], [7, 9, 9], [5, 5, 4]])).tolist() == [4, 4, 9, 5]
    assert majority(np.array([["b", "a"], ["b", "b"]])).tolist() == ["a", "b"]
