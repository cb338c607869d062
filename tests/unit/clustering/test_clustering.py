"""Spherical k-means and von Mises–Fisher mixtures, against slow twins and against samples of known mixtures."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ive, logsumexp
from scipy.stats import vonmises_fisher
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from spherevec.clustering import SphericalKMeans, VonMisesFisherMixture, name_clusters
from spherevec.clustering._base import sliced
from spherevec.clustering.kmeans import first_centers, spread_seeds
from spherevec.errors import ConfigError, SpherevecError
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.sphere import normalize


@dataclass
class Sample:
    rows: np.ndarray
    labels: np.ndarray
    directions: np.ndarray
    concentrations: np.ndarray
    weights: np.ndarray


def draw_mixture(dim, concentrations, n_rows, seed=0, weights=None):
    random = np.random.default_rng(seed)
    k = len(concentrations)
    weights = np.full(k, 1 / k) if weights is None else np.asarray(weights)
    directions = normalize(random.standard_normal((k, dim)))
    labels = random.choice(k, n_rows, p=weights)
    rows = np.empty((n_rows, dim))
    for c in range(k):
        n = int((labels == c).sum())
        rows[labels == c] = vonmises_fisher(directions[c], concentrations[c]).rvs(n, random_state=random)
    return Sample(rows, labels, directions, np.asarray(concentrations, float), weights)


def blurred_rows(n_rows, dim, seed=0):
    """Overlapping clusters, on which k-means takes many iterations."""
    random = np.random.default_rng(seed)
    centers = normalize(random.standard_normal((12, dim)))
    return normalize(centers[random.integers(0, 12, n_rows)] + 0.4 * random.standard_normal((n_rows, dim)))


def matched(found, true):
    """For each true direction, the index of the nearest found one."""
    order = (true @ np.asarray(found, float).T).argmax(axis=1)
    assert sorted(order) == list(range(len(true)))
    return order


# --- slow twins ---


def naive_kmeans(rows, centers, max_iter):
    """Plain Lloyd iterations; assumes that no cluster empties."""
    centers = centers.copy()
    for _ in range(max_iter):
        labels = (rows @ centers.T).argmax(axis=1)
        moved = np.array([rows[labels == c].sum(axis=0) for c in range(len(centers))])
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        if np.allclose(moved, centers, rtol=0, atol=1e-14):
            break
        centers = moved
    cosines = rows @ centers.T
    return cosines.argmax(axis=1), centers, float((1 - cosines.max(axis=1)).sum())


def naive_seeds(rows, n_clusters, random):
    """Greedy k-means++: of a few rows sampled by distance, the one that leaves the smallest sum of distances."""
    seeds = [random.randint(len(rows))]
    nearest = 1 - rows @ rows[seeds[0]]
    while len(seeds) < n_clusters:
        nearest[seeds] = 0
        cumulated = np.cumsum(nearest)
        drawn = np.searchsorted(cumulated, random.uniform(size=2 + int(np.log(n_clusters))) * cumulated[-1])
        after = [np.minimum(nearest, 1 - rows @ rows[row]) for row in drawn]
        best = int(np.argmin([distances.sum() for distances in after]))
        nearest = after[best]
        seeds.append(int(drawn[best]))
    return seeds


def naive_log_normalizer(kappa, dim):
    nu = dim / 2 - 1
    return nu * np.log(kappa) - dim / 2 * np.log(2 * np.pi) - np.log(ive(nu, kappa)) - kappa


def naive_concentration(rbar, dim):
    return brentq(lambda k: ive(dim / 2, k) / ive(dim / 2 - 1, k) - rbar, 1e-6, 1e5, xtol=1e-12, rtol=1e-14)


def naive_em(rows, centers, max_iter, hard=False, tied=False):
    n, dim = rows.shape
    k = len(centers)
    responsibilities = np.eye(k)[(rows @ centers.T).argmax(axis=1)]
    for _ in range(max_iter + 1):
        sizes = responsibilities.sum(axis=0)
        sums = responsibilities.T @ rows
        lengths = np.linalg.norm(sums, axis=1)
        weights, directions = sizes / n, sums / lengths[:, None]
        if tied:
            kappa = np.full(k, naive_concentration(lengths.sum() / n, dim))
        else:
            kappa = np.array([naive_concentration(r, dim) for r in lengths / sizes])
        logs = np.array(
            [
                np.log(weights[c]) + naive_log_normalizer(kappa[c], dim) + kappa[c] * rows @ directions[c]
                for c in range(k)
            ]
        ).T
        if hard:
            responsibilities = np.eye(k)[logs.argmax(axis=1)]
        else:
            responsibilities = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    objective = (logs.max(axis=1) if hard else logsumexp(logs, axis=1)).mean()
    return weights, directions, kappa, objective


# --- spherical k-means ---


@pytest.mark.parametrize("max_iter", [1, 2, 5, 300])
def test_kmeans_agrees_with_its_slow_twin(max_iter):
    rows = blurred_rows(5000, 20)
    start = rows[:10].copy()
    model = SphericalKMeans(10, init=start, max_iter=max_iter, tol=0).fit(rows)
    labels, centers, inertia = naive_kmeans(rows, start, max_iter)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-12)
    assert model.inertia_ == pytest.approx(inertia, rel=1e-12)
    if max_iter == 300:
        assert 10 < model.n_iter_ < 300  # rows were left alone in most of these iterations


def test_kmeans_recovers_a_known_mixture():
    sample = draw_mixture(50, [100.0] * 6, 3000, weights=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    model = SphericalKMeans(6, n_init=10, random_state=0).fit(sample.rows)
    assert adjusted_rand_score(sample.labels, model.labels_) > 0.99
    found = model.cluster_centers_[matched(model.cluster_centers_, sample.directions)]
    assert (found * sample.directions).sum(axis=1).min() > 0.99
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1, atol=1e-12)


def test_kmeans_objective_never_rises():
    rows = blurred_rows(2000, 16)
    inertias = [SphericalKMeans(8, init=rows[:8], max_iter=i, tol=0).fit(rows).inertia_ for i in range(1, 15)]
    assert np.all(np.diff(inertias) <= 1e-9)
    assert inertias[-1] < inertias[0]


def test_kmeans_stays_in_float32():
    rows = blurred_rows(3000, 30)
    wide = SphericalKMeans(5, init=rows[:5]).fit(rows)
    narrow = SphericalKMeans(5, init=rows[:5]).fit(rows.astype(np.float32))
    assert narrow.cluster_centers_.dtype == narrow.transform(rows.astype(np.float32)).dtype == np.float32
    assert adjusted_rand_score(wide.labels_, narrow.labels_) > 0.99
    assert narrow.inertia_ == pytest.approx(wide.inertia_, rel=1e-4)


def test_kmeans_fits_rows_of_any_length_as_their_directions():
    rows = blurred_rows(500, 8)
    lengths = np.random.default_rng(1).uniform(0.1, 1000, (500, 1))
    unit = SphericalKMeans(4, random_state=0).fit(rows)
    long = SphericalKMeans(4, random_state=0).fit(rows * lengths)
    np.testing.assert_array_equal(unit.labels_, long.labels_)


def test_distances_predictions_and_score_agree():
    rows = blurred_rows(700, 12)
    model = SphericalKMeans(6, random_state=0).fit(rows)
    distances = model.transform(rows)
    np.testing.assert_allclose(distances, 1 - rows @ model.cluster_centers_.T, atol=1e-12)
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    assert model.score(rows) == pytest.approx(-model.inertia_)
    assert model.inertia_ == pytest.approx(distances.min(axis=1).sum())


def test_an_empty_cluster_restarts_at_the_farthest_row():
    rows = blurred_rows(300, 6)
    mean = normalize(rows.mean(axis=0))
    # Seven directions on one side of a cap, and one that nothing is near to.
    rows = normalize(rows + 3 * mean)
    start = np.vstack([rows[:3], -mean])
    farthest = (rows @ start[:3].T).max(axis=1).argmin()
    once = SphericalKMeans(4, init=start, max_iter=1, tol=0).fit(rows)
    np.testing.assert_allclose(once.cluster_centers_[3], rows[farthest], atol=1e-12)
    assert len(np.unique(SphericalKMeans(4, init=start).fit(rows).labels_)) == 4


def test_fewer_distinct_rows_than_clusters():
    rows = np.repeat(np.eye(4)[:3], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="only 3 of 5 clusters"):
        model = SphericalKMeans(5, random_state=0).fit(rows)
    assert model.inertia_ == pytest.approx(0, abs=1e-9)
    assert adjusted_rand_score(np.repeat([0, 1, 2], 10), model.labels_) == 1
    assert np.isfinite(model.cluster_centers_).all()


def test_rows_that_cancel_out_leave_a_centre_in_place():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    model = SphericalKMeans(1, init=[[0.0, 1.0]]).fit(rows)
    np.testing.assert_array_equal(model.cluster_centers_, [[0.0, 1.0]])


@pytest.mark.parametrize("n_rows", [300, 9000])
def test_seeds_agree_with_their_slow_twin(n_rows):
    rows = blurred_rows(n_rows, 10)
    with sliced(n_rows, 2) as map_slices:
        for seed in range(5):
            found = spread_seeds(rows, np.ones(len(rows)), 8, np.random.RandomState(seed), map_slices)
            assert list(found) == naive_seeds(rows, 8, np.random.RandomState(seed))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_seeds_are_spread_out():
    sample = draw_mixture(20, [500.0] * 10, 2000, seed=3)
    hit = {"k-means++": 0, "random": 0}
    for init in hit:
        for seed in range(10):
            model = SphericalKMeans(10, init=init, n_init=1, max_iter=1, random_state=seed).fit(sample.rows)
            hit[init] += adjusted_rand_score(sample.labels, model.labels_) > 0.99
    assert hit["k-means++"] >= 9
    assert hit["random"] <= 3


@pytest.mark.parametrize("kind", [SphericalKMeans, VonMisesFisherMixture])
def test_the_best_of_several_runs_is_kept(kind):
    rows = blurred_rows(600, 10)
    random = np.random.RandomState(0)
    settings = {"init": "random", "max_iter": 300}
    single = [kind(8, n_init=1, random_state=random, **settings).fit(rows) for _ in range(4)]
    best = kind(8, n_init=4, random_state=0, **settings).fit(rows)
    if kind is SphericalKMeans:
        values = [model.inertia_ for model in single]
        assert best.inertia_ == min(values)
        assert max(values) > min(values)
    else:
        values = [model.score(rows) for model in single]
        assert best.score(rows) == pytest.approx(max(values), abs=1e-3)
        assert max(values) > min(values) + 2e-3


# --- mixtures ---


@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("max_iter", [1, 7])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mixture_agrees_with_its_slow_twin(assignment, tied, max_iter):
    rows = draw_mixture(10, [20.0, 40.0, 10.0], 800, seed=2).rows
    start = rows[:3]
    model = VonMisesFisherMixture(
        3, assignment=assignment, tied=tied, init=start, max_iter=max_iter, tol=0, concentration_prior=0
    ).fit(rows)
    weights, directions, kappa, objective = naive_em(rows, start, max_iter, assignment == "hard", tied)
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-8)
    np.testing.assert_allclose(model.cluster_centers_, directions, atol=1e-8)
    np.testing.assert_allclose(model.concentrations_, kappa, rtol=1e-8)
    assert model.lower_bound_ == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_mixture_recovers_directions_concentrations_and_weights(assignment):
    sample = draw_mixture(20, [30.0, 100.0, 300.0, 60.0], 8000, seed=1, weights=[0.4, 0.1, 0.2, 0.3])
    model = VonMisesFisherMixture(4, assignment=assignment, n_init=3, random_state=0).fit(sample.rows)
    order = matched(model.cluster_centers_, sample.directions)
    assert adjusted_rand_score(sample.labels, model.labels_) > 0.97
    np.testing.assert_allclose(model.concentrations_[order], sample.concentrations, rtol=0.06)
    np.testing.assert_allclose(model.weights_[order], sample.weights, atol=0.02)
    assert (model.cluster_centers_[order] * sample.directions).sum(axis=1).min() > 0.998


def test_learned_concentrations_tell_apart_what_kmeans_cannot():
    """A tight component inside a wide one: the angle alone cannot separate them."""
    random = np.random.default_rng(0)
    centre = np.eye(10)[0]
    rows = np.vstack(
        [
            vonmises_fisher(centre, 2000.0).rvs(1000, random_state=random),
            vonmises_fisher(centre, 5.0).rvs(1000, random_state=random),
        ]
    )
    truth = np.repeat([0, 1], 1000)
    mixture = VonMisesFisherMixture(2, random_state=0, max_iter=500).fit(rows)
    assert adjusted_rand_score(truth, mixture.labels_) > 0.95
    assert adjusted_rand_score(truth, SphericalKMeans(2, random_state=0).fit(rows).labels_) < 0.6


@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mixture_objective_never_falls(assignment, tied):
    rows = blurred_rows(600, 8)
    bounds = [
        VonMisesFisherMixture(5, assignment=assignment, tied=tied, init=rows[:5], max_iter=i, tol=0)
        .fit(rows)
        .lower_bound_
        for i in range(1, 15)
    ]
    assert np.all(np.diff(bounds) >= -1e-9)
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("dim", "kappa"), [(300, 1e5), (1000, 1e6), (3, 1e5), (300, 50.0), (1000, 500.0)])
def test_mixture_is_safe_at_extremes(dim, kappa, dtype):
    sample = draw_mixture(dim, [kappa, kappa * 2, kappa / 2], 600, seed=5)
    rows = sample.rows.astype(dtype)
    model = VonMisesFisherMixture(3, n_init=2, random_state=0).fit(rows)
    proba = model.predict_proba(rows)
    assert np.isfinite(model.score_samples(rows)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)
    assert model.cluster_centers_.dtype == dtype
    if kappa >= 500:
        order = matched(model.cluster_centers_, sample.directions)
        # 200 rows say little about a concentration in 3 dimensions, and overstate one far below the dimension.
        tolerance = 0.2 if dim == 3 else 0.08 if kappa < dim else 0.03
        np.testing.assert_allclose(model.concentrations_[order], sample.concentrations, rtol=tolerance)
        assert adjusted_rand_score(sample.labels, model.labels_) > 0.99


def test_log_densities_are_those_of_scipy():
    sample = draw_mixture(8, [15.0, 60.0], 400, seed=4)
    model = VonMisesFisherMixture(2, random_state=0).fit(sample.rows)
    parts = [
        np.log(w) + vonmises_fisher(mu, kappa).logpdf(sample.rows)
        for w, mu, kappa in zip(model.weights_, model.cluster_centers_, model.concentrations_, strict=True)
    ]
    expected = logsumexp(parts, axis=0)
    np.testing.assert_allclose(model.score_samples(sample.rows), expected, rtol=1e-9)
    assert model.score(sample.rows) == pytest.approx(expected.mean())
    np.testing.assert_allclose(model.predict_proba(sample.rows), np.exp(parts - expected).T, atol=1e-9)


def test_a_component_on_few_rows_stays_finite():
    random = np.random.default_rng(0)
    rows = np.vstack([vonmises_fisher(np.eye(50)[0], 200.0).rvs(200, random_state=random), -np.eye(50)[:1]])
    model = VonMisesFisherMixture(2, random_state=0).fit(rows)
    assert sorted(np.bincount(model.labels_)) == [1, 200]
    lone = model.weights_.argmin()
    # One row, and one imagined row as spread out as the rest: about twice as sharp.
    assert model.concentrations_[lone] < 4 * model.concentrations_[1 - lone]
    without = VonMisesFisherMixture(2, random_state=0, concentration_prior=0).fit(rows)
    assert without.concentrations_.max() == 1e7


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("concentration_prior", [0, 1])
def test_mixture_of_fewer_distinct_rows_than_components(assignment, concentration_prior):
    rows = np.repeat(np.eye(4)[:3], 10, axis=0)
    model = VonMisesFisherMixture(
        5, assignment=assignment, random_state=0, concentration_prior=concentration_prior
    ).fit(rows)
    assert adjusted_rand_score(np.repeat([0, 1, 2], 10), model.labels_) == 1
    assert np.isfinite(model.concentrations_).all()
    assert np.isfinite(model.score_samples(rows)).all()
    assert model.weights_.sum() == pytest.approx(1)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_an_empty_component_restarts(assignment):
    sample = draw_mixture(10, [80.0] * 4, 800, seed=6)
    start = np.vstack([sample.directions[:3], -normalize(sample.directions.sum(axis=0))])
    start[3] = -start[0]  # nearest to nothing
    model = VonMisesFisherMixture(4, assignment=assignment, init=start, max_iter=300).fit(sample.rows)
    assert adjusted_rand_score(sample.labels, model.labels_) > 0.95


def test_bic_finds_the_number_of_components():
    rows = draw_mixture(10, [60.0] * 4, 1500, seed=7).rows
    scores = {k: VonMisesFisherMixture(k, n_init=5, random_state=0).fit(rows).bic(rows) for k in range(2, 8)}
    assert min(scores, key=scores.get) == 4


def test_a_sample_of_the_mixture_has_its_parameters():
    sample = draw_mixture(12, [40.0, 200.0], 3000, weights=[0.7, 0.3])
    model = VonMisesFisherMixture(2, random_state=0).fit(sample.rows)
    rows, labels = model.sample(4000, random_state=1)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(np.bincount(labels) / 4000, model.weights_, atol=0.03)
    again = VonMisesFisherMixture(2, random_state=0).fit(rows)
    order = matched(again.cluster_centers_, model.cluster_centers_)
    np.testing.assert_allclose(again.concentrations_[order], model.concentrations_, rtol=0.06)
    assert (model.predict(rows) == labels).mean() > 0.98


# --- both ---

both = pytest.mark.parametrize("model", [SphericalKMeans(5), VonMisesFisherMixture(5, max_iter=20)])


@both
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_the_result(model, dtype):
    rows = blurred_rows(9000, 10).astype(dtype)  # several slices
    fits = [clone(model).set_params(n_jobs=t, random_state=3).fit(rows) for t in (1, 2, 5)]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].cluster_centers_, other.cluster_centers_)
        np.testing.assert_array_equal(fits[0].labels_, other.labels_)


@both
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_seed_gives_the_same_result(model):
    rows = blurred_rows(500, 10)
    first, second, other = (clone(model).set_params(random_state=s).fit(rows) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.cluster_centers_, second.cluster_centers_)
    assert not np.array_equal(first.cluster_centers_, other.cluster_centers_)


@both
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_weight_counts_like_as_many_rows(model):
    rows = blurred_rows(300, 6)
    weights = np.random.default_rng(4).integers(0, 4, size=len(rows))
    start = rows[np.flatnonzero(weights)[:5]]
    weighted = clone(model).set_params(init=start).fit(rows, sample_weight=weights)
    repeated = clone(model).set_params(init=start).fit(np.repeat(rows, weights, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-9)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    if isinstance(model, SphericalKMeans):
        assert weighted.inertia_ == pytest.approx(repeated.inertia_)
        assert weighted.score(rows, sample_weight=weights) == pytest.approx(-weighted.inertia_)
    else:
        np.testing.assert_allclose(weighted.concentrations_, repeated.concentrations_, rtol=1e-9)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_rows_without_weight_are_no_seeds(init):
    rows = blurred_rows(200, 6)
    weights = np.zeros(len(rows))
    weights[:40] = 1
    for seed in range(10):
        with sliced(len(rows), 1) as map_slices:
            seeds = first_centers(rows, weights, 5, init, np.random.RandomState(seed), map_slices)
        assert (rows[:40, None] == seeds).all(axis=2).any(axis=0).all()


@both
def test_weights_are_checked(model):
    for weights, message in ((-np.ones(50), "Negative values"), (np.ones(49), "shape"), (np.zeros(50), "non-zero")):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(blurred_rows(50, 4), sample_weight=weights)


@both
def test_given_directions_are_run_once(model, monkeypatch):
    rows = blurred_rows(60, 4)
    runs = []
    module = "kmeans" if isinstance(model, SphericalKMeans) else "mixture"
    original = __import__(f"spherevec.clustering.{module}", fromlist=["run_kmeans"]).run_kmeans
    monkeypatch.setattr(
        f"spherevec.clustering.{module}.run_kmeans", lambda *a, **k: runs.append(1) or original(*a, **k)
    )
    clone(model).set_params(init=rows[:5], n_init=7).fit(rows)
    assert len(runs) == 1


@both
def test_a_zero_row_is_named(model):
    rows = blurred_rows(50, 4)
    rows[17] = 0
    with pytest.raises(SpherevecError, match="row 17 is zero"):
        clone(model).fit(rows)


@both
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": 0}, "Got 0 instead"),
        ({"count": 51}, "=51 is more than n_samples=50; ask for fewer"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"tol": -1}, "tol"),
        ({"n_jobs": "two"}, "n_jobs"),
        ({"init": "best"}, "'best'"),
        ({"init": np.ones((3, 4))}, "one row for each of 5"),
        ({"init": np.ones((5, 3))}, "3 columns, the data 4"),
    ],
)
def test_wrong_settings_are_quoted(model, settings, message):
    count = "n_components" if isinstance(model, VonMisesFisherMixture) else "n_clusters"
    settings = {count if name == "count" else name: value for name, value in settings.items()}
    with pytest.raises(ValueError, match=message) as caught:
        clone(model).set_params(**settings).fit(blurred_rows(50, 4))
    assert "\n" not in str(caught.value)


def test_wrong_settings_of_a_mixture_are_quoted():
    for settings in ({"assignment": "firm"}, {"concentration_prior": -1}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            VonMisesFisherMixture(2, **settings).fit(blurred_rows(50, 4))


@both
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pandas_in_and_out(model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(blurred_rows(60, 4), columns=list("abcd"), index=range(100, 160))
    fitted = clone(model).set_output(transform="pandas").fit(frame)
    distances = fitted.transform(frame)
    assert list(fitted.feature_names_in_) == list("abcd")
    assert list(distances.columns) == [f"{type(model).__name__.lower()}{i}" for i in range(5)]
    assert list(distances.index) == list(range(100, 160))
    assert fitted.fit_transform(frame).equals(fitted.transform(frame))


@both
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_works_in_a_pipeline(model):
    rows = blurred_rows(200, 6)
    labels = make_pipeline(StandardScaler(), clone(model)).fit_predict(rows)
    assert set(labels) == set(range(5))


# Each of scikit-learn's checks must pass, but for these.
EXPECTED_FAILURES = {
    # As for scikit-learn's own k-means: seeds are sampled from other rows when rows are repeated or left out.
    "check_sample_weight_equivalence_on_dense_data": "seeds are sampled from other rows",
    "check_estimators_dtypes": "rounds its rows to integers, which makes one zero: it has no direction",
}


def sklearn_checks():
    for model in (SphericalKMeans(), VonMisesFisherMixture(), VonMisesFisherMixture(assignment="hard", tied=True)):
        for estimator, check in estimator_checks_generator(model):
            name = f"{type(estimator).__name__}-{getattr(estimator, 'assignment', '')}-{check.func.__name__}"
            expected = EXPECTED_FAILURES.get(check.func.__name__)
            failures = (ValueError, AssertionError)
            marks = [pytest.mark.xfail(reason=expected, raises=failures, strict=True)] if expected else []
            yield pytest.param(estimator, check, id=name, marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(sklearn_checks()))
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@both
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_types_of_rows(model, dtype):
    """What the check that is expected to fail would have checked, on rows that have directions."""
    rows = (20 * blurred_rows(60, 4)).astype(dtype)
    rows[:, 0] += 1 + np.abs(rows[:, 0])
    fitted = clone(model).fit(rows)
    assert fitted.predict(rows).shape == (60,)
    assert fitted.transform(rows).dtype == (np.float32 if dtype is np.float32 else np.float64)


# --- names ---


@dataclass
class Words:
    vectors: np.ndarray
    index_to_key: list[str]


def test_clusters_are_named_by_their_nearest_words():
    random = np.random.default_rng(0)
    words = Words(normalize(random.standard_normal((40_000, 8))).astype(np.float32), [f"w{i}" for i in range(40_000)])
    centers = random.standard_normal((3, 8))
    cosines = normalize(centers) @ words.vectors.T
    expected = [[f"w{i}" for i in np.argsort(-row)[:7]] for row in cosines]
    assert name_clusters(centers, words, topn=7) == expected


def test_distinctive_names_leave_out_words_near_every_cluster():
    words = Words(np.array([[1, 1, 0.1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float), ["both", "left", "right", "far"])
    centers = np.array([[1.0, 0.6, 0], [0.6, 1.0, 0]])
    assert name_clusters(centers, words, topn=2) == [["both", "left"], ["both", "right"]]
    assert name_clusters(centers, words, topn=1, distinctive=True) == [["left"], ["right"]]
    assert name_clusters(centers[:1], words, topn=9, distinctive=True) == [["both", "left", "right", "far"]]


def test_vectors_with_names_are_refused():
    with pytest.raises(ConfigError, match=r"give their rows, such as model\.docs\.vectors"):
        SphericalKMeans(2).fit(KeyedVectors(list("abc"), np.eye(3)))


def test_names_refuse_words_of_another_dimension():
    with pytest.raises(ConfigError, match="the words have 3 columns"):
        name_clusters(np.eye(2), Words(np.eye(3), list("abc")))
    with pytest.raises(ConfigError, match="topn"):
        name_clusters(np.eye(3), Words(np.eye(3), list("abc")), topn=0)
