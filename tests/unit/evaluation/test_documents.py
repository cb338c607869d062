"""Clustering and nearest-neighbour classification of documents: hand-computed cases, and scikit-learn as the twin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import (
    adjusted_rand_score,
    f1_score,
    mutual_info_score,
    normalized_mutual_info_score,
)
from sklearn.metrics.cluster import contingency_matrix
from sklearn.neighbors import KNeighborsClassifier

from method import random_directions
from spherevec.errors import ConfigError
from spherevec.evaluation.documents import (
    Spread,
    evaluate_clustering,
    given_split,
    purity,
    random_rows,
    random_splits,
    split_rows,
)
from spherevec.sphere import normalize


def labelled_directions(n, classes, noise, seed, dim=12):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    centres = random_directions(classes, dim, rng)
    return normalize(centres[labels] + noise * rng.standard_normal((n, dim))).astype(np.float32), labels


# Spread


def test_spread_by_hand():
    spread = Spread.of([1.0, 2.0, 6.0])
    assert (spread.mean, spread.std) == (3.0, pytest.approx(math.sqrt(7)))
    assert spread.values == (1.0, 2.0, 6.0)
    assert Spread.of([5.0]).std == 0


# Purity


@pytest.mark.parametrize(
    ("classes", "clusters", "expected"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),  # names do not matter
        ([0, 0, 1, 1], [0, 0, 0, 0], 0.5),  # one cluster: the largest class
        ([0, 1, 2, 3], [7, 8, 9, 10], 1.0),  # one document a cluster
        # x x x x x o | x o o o o d | x x d d d: majorities 5, 4 and 3 of 17 (the textbook's example)
        (list("xxxxxo" + "xooood" + "xxddd"), [0] * 6 + [1] * 6 + [2] * 5, 12 / 17),
        ([0, 0, 0, 1, 1], [5, 5, -1, -1, -1], 4 / 5),
    ],
)
def test_purity_by_hand(classes, clusters, expected):
    assert purity(classes, clusters) == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(-2, 3), st.integers(0, 5)), min_size=1, max_size=40))
def test_purity_from_scikit_learns_contingency_table(pairs):
    classes, clusters = zip(*pairs, strict=True)
    assert purity(classes, clusters) == pytest.approx(
        contingency_matrix(classes, clusters).max(axis=0).sum() / len(pairs)
    )


@pytest.mark.parametrize(("classes", "clusters"), [([], []), ([0, 1], [0]), ([[0]], [[0]])])
def test_purity_refuses_what_it_cannot_compare(classes, clusters):
    with pytest.raises(ConfigError, match="cannot be compared"):
        purity(classes, clusters)


# Clustering


def test_clustering_repeats_scikit_learns_runs():
    vectors, labels = labelled_directions(200, 4, 0.35, seed=1)
    result = evaluate_clustering(vectors, labels, runs=3, seed=5)
    found = [KMeans(n_clusters=4, n_init=1, random_state=seed).fit_predict(vectors) for seed in (5, 6, 7)]
    assert result.k == 4
    assert result.mi.values == pytest.approx([mutual_info_score(labels, one) for one in found])
    assert result.nmi.values == pytest.approx([normalized_mutual_info_score(labels, one) for one in found])
    assert result.ari.values == pytest.approx([adjusted_rand_score(labels, one) for one in found])
    assert result.purity.values == pytest.approx([purity(labels, one) for one in found])
    assert len(set(result.nmi.values)) > 1


@pytest.mark.parametrize("method", ["kmeans", "skmeans"])
def test_well_separated_classes_are_found(method):
    vectors, labels = labelled_directions(150, 2, 0.02, seed=2)
    result = evaluate_clustering(vectors, labels, runs=2, method=method)
    assert result.purity.mean == result.nmi.mean == result.ari.mean == pytest.approx(1)
    assert result.mi.mean == pytest.approx(mutual_info_score(labels, labels))
    assert evaluate_clustering(vectors, labels, runs=1, method=method, k=5).k == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "dbscan"}, "method must be one of kmeans, skmeans, not 'dbscan'"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"k": 0}, "k must be between 1 and the 20 documents"),
        ({"k": 21}, "k must be between 1 and the 20 documents"),
    ],
)
def test_clustering_refuses_wrong_settings(options, message):
    vectors, labels = labelled_directions(20, 2, 0.1, seed=0)
    with pytest.raises(ConfigError, match=message):
        evaluate_clustering(vectors, labels, **options)


def test_arrays_that_do_not_fit_are_refused():
    vectors, labels = labelled_directions(20, 2, 0.1, seed=0)
    with pytest.raises(ConfigError, match=r"shape \(20, 12\) do not go with labels of shape \(19,\)"):
        evaluate_clustering(vectors, labels[1:])
    vectors[3, 1] = np.nan
    with pytest.raises(ConfigError, match="row 3 of the vectors is not finite"):
        random_splits(vectors, labels)


# Classification


def test_a_given_split_is_scikit_learns_classifier():
    vectors, labels = labelled_directions(400, 6, 0.5, seed=3)
    split = np.where(np.arange(400) % 3 == 0, "test", "train")
    train, test = split_rows(split)
    for k in (1, 3, 10):
        result = given_split(vectors, labels, split, k=k)
        predicted = KNeighborsClassifier(n_neighbors=k).fit(vectors[train], labels[train]).predict(vectors[test])
        assert result.macro_f1.mean == f1_score(labels[test], predicted, average="macro")
        assert result.micro_f1.mean == f1_score(labels[test], predicted, average="micro")
        assert 0.3 < result.micro_f1.mean < 0.99  # neither all right nor all wrong: the comparison can tell


def test_random_splits_repeat_and_vary_with_the_seed():
    vectors, labels = labelled_directions(300, 4, 0.4, seed=4)
    first, again, other = (random_splits(vectors, labels, seed=seed) for seed in (0, 0, 1))
    assert len(first.micro_f1.values) == 10 and first.k == 3
    assert first == again != other
    assert first.micro_f1.std > 0
    train, test = random_rows(300, 10, 0.2, 0)[-1]
    predicted = KNeighborsClassifier(3).fit(vectors[train], labels[train]).predict(vectors[test])
    assert first.macro_f1.values[-1] == f1_score(labels[test], predicted, average="macro")


def test_random_splits_have_the_share_asked_for():
    for train, test in random_rows(50, repeats=4, test_share=0.2, seed=1):
        assert (len(train), len(test)) == (40, 10)
        assert len({*train, *test}) == 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v, y: given_split(v, y, ["train"] * 30), "split must mark every document"),
        (lambda v, y: given_split(v, y, ["train", "test", "dev"] * 10), "split must mark every document"),
        (lambda v, y: given_split(v, y, ["train", "test"] * 15, k=16), "k must be between 1 and the 15 training"),
        (lambda v, y: given_split(v, y, ["train", "test"] * 15, k=0), "k must be between 1 and the 15 training"),
        (lambda v, y: random_splits(v, y, test_share=1.0), "test_share within"),
        (lambda v, y: random_splits(v, y, repeats=0), "repeats must be at least 1"),
    ],
)
def test_classification_refuses_wrong_settings(call, message):
    with pytest.raises(ConfigError, match=message):
        call(*labelled_directions(30, 2, 0.1, seed=0))
