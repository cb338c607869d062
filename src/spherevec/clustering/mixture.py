"""Mixtures of von Mises–Fisher distributions as a scikit-learn clusterer.

A component k has a weight w, a mean direction μ and a concentration κ; its density is c_d(κ) exp(κ μᵀx). All sums are
float64, all densities logarithms.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from spherevec.clustering._base import AT_LEAST_ONE, BLOCK_ROWS, MapSlices, SphereClusterer, sliced
from spherevec.clustering.kmeans import first_centers, label_sums, mean_directions, run_kmeans
from spherevec.sphere import FloatArray, normalize, vmf_concentration, vmf_log_normalizer, vmf_mean_resultant

Floats = NDArray[np.float64]

# Above this, float64 no longer tells apart the mean resultant lengths that two concentrations give.
_MAX_CONCENTRATION = 1e7
_EMPTY = 0.5  # a component whose responsibilities sum to less than this many rows explains no row


class VonMisesFisherMixture(SphereClusterer):
    """A mixture of von Mises–Fisher distributions, fitted by expectation-maximisation.

    Each component is a direction and a concentration: how closely its rows gather around it. Rows of any length are
    put on the sphere first; a zero row raises an error that names it. Densities are logarithms in float64 throughout:
    dimension 1000 and concentrations up to 1e7, where they are cut off, are safe. Each run starts from a run of
    spherical k-means. A component that loses all its rows starts again at the row explained worst. The result does not
    depend on the number of threads.

    Args:
        n_components: how many components.
        assignment: "soft": a row belongs to every component, with its probability; "hard": to the likeliest alone.
        tied: learn one concentration that all components share, instead of one each.
        concentration_prior: each concentration is estimated as if this many more rows had been seen, as spread out as
            rows are on average about the centres of k-means; without any, a component on one row is infinitely sharp.
        init: seeds of the spherical k-means: "k-means++" or "random"; or an array (n_components, n_features) of
            directions that expectation-maximisation starts from, without k-means.
        n_init: how many runs; the likeliest is kept.
        max_iter: iterations of one run, at most.
        tol: stop when the log-likelihood per row gains less than this.
        random_state: seed or `RandomState`.
        n_jobs: threads; -1 = all cores.

    Attributes:
        cluster_centers_: (n_components, n_features), unit rows: the mean directions.
        concentrations_: (n_components,).
        weights_: (n_components,), the share of each component; they sum to 1.
        labels_: (n_samples,), the likeliest component of each row.
        lower_bound_: what was maximised, per row: log-likelihood (with "hard", of rows and labels) and prior.
        n_iter_: iterations of the best run.
        converged_: whether the best run ended by `tol`.
        n_features_in_: columns seen in `fit`.

    Example:
        >>> import numpy as np
        >>> rows = np.array([[1.0, 0.1], [1.0, 0.0], [0.0, 1.0], [0.1, 1.0]])
        >>> mixture = VonMisesFisherMixture(2, random_state=0).fit(rows)
        >>> mixture.predict_proba(rows).shape
        (4, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SphereClusterer._parameter_constraints,
        "n_components": [AT_LEAST_ONE],
        "assignment": [StrOptions({"soft", "hard"})],
        "tied": ["boolean"],
        "concentration_prior": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 8,
        *,
        assignment: str = "soft",
        tied: bool = False,
        concentration_prior: float = 1.0,
        init: str | ArrayLike = "k-means++",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_components = n_components
        self.assignment = assignment
        self.tied = tied
        self.concentration_prior = concentration_prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture to X (n_samples, n_features); `y` is ignored.

        Args:
            sample_weight: (n_samples,), how much each row counts; all alike by default.
        """
        self._validate_params()
        rows, weights = self._new_rows(X, sample_weight, "n_components")
        best = self._best_run(rows, weights)
        if not best.converged:
            warnings.warn(
                f"not converged after max_iter={self.max_iter} iterations; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.cluster_centers_ = best.mixture.directions.astype(rows.dtype)
        self.concentrations_ = best.mixture.concentrations
        self.weights_ = best.mixture.weights
        self.lower_bound_ = best.objective
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        # By the stored directions, which float32 may have rounded, so that `predict` repeats them.
        self.labels_ = self._labels(rows)
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The likeliest component of each row, shape (n_samples,)."""
        return self._labels(self._known_rows(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each component given each row, (n_samples, n_components); also after a "hard" fit."""
        return np.concatenate([softmax(logs, axis=1) for logs in self._log_joint(self._known_rows(X))])

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log-density of each row under the mixture, shape (n_samples,)."""
        return np.concatenate([logsumexp(logs, axis=1) for logs in self._log_joint(self._known_rows(X))])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of the rows."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on X, to choose `n_components`: lower is better."""
        log_densities = self.score_samples(X)
        n_components, dim = self.cluster_centers_.shape
        n_free = n_components * (dim - 1) + (1 if self.tied else n_components) + n_components - 1
        return float(n_free * np.log(len(log_densities)) - 2 * log_densities.sum())

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Rows sampled from the mixture, (n_samples, n_features), and the components (n_samples,) they come from.

        Without a `random_state`, that of the mixture is used.
        """
        from scipy.stats import vonmises_fisher

        check_is_fitted(self)
        random = check_random_state(self.random_state if random_state is None else random_state)
        mixture = self._mixture()
        counts = random.multinomial(n_samples, mixture.weights)
        labels = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        rows = np.empty((n_samples, mixture.directions.shape[1]))
        for component in np.flatnonzero(counts):
            # SciPy samples at concentrations above 0 only; this one is uniform for all purposes.
            kappa = max(float(mixture.concentrations[component]), 1e-9)
            sampled = vonmises_fisher(mixture.directions[component], kappa).rvs(
                int(counts[component]), random_state=random
            )
            rows[labels == component] = sampled
        order = random.permutation(n_samples)
        return rows[order], labels[order]

    def _best_run(self, rows: FloatArray, weights: Floats) -> EMRun:
        random = check_random_state(self.random_state)
        kmeans_iterations = 100 if isinstance(self.init, str) else 0
        prior: ConcentrationPrior | None = None
        runs = []
        with sliced(len(rows), self.n_jobs) as map_slices:
            for _ in range(self._runs()):
                centers = first_centers(rows, weights, self.n_components, self.init, random, map_slices)
                start = run_kmeans(rows, weights, centers, map_slices, max_iter=kmeans_iterations)
                sums = label_sums(rows, start.labels, weights, self.n_components, slice(None))
                sizes = np.asarray(np.bincount(start.labels, weights, self.n_components), np.float64)
                if prior is None:  # the same for all runs, whose objectives are compared
                    resultant = min(float(np.linalg.norm(sums, axis=1).sum() / weights.sum()), 1.0)
                    prior = ConcentrationPrior(self.concentration_prior, resultant, self.tied)
                mixture = prior.likeliest(sums, sizes, start.centers.astype(np.float64))
                hard = self.assignment == "hard"
                runs.append(run_em(rows, weights, mixture, prior, map_slices, hard, self.max_iter, self.tol))
        return max(runs, key=lambda run: run.objective)

    def _mixture(self) -> Mixture:
        directions = normalize(np.asarray(self.cluster_centers_, np.float64))
        return Mixture(np.asarray(directions), self.concentrations_, self.weights_)

    def _labels(self, rows: FloatArray) -> NDArray[np.int32]:
        return np.concatenate([logs.argmax(axis=1).astype(np.int32) for logs in self._log_joint(rows)])

    def _log_joint(self, rows: FloatArray) -> Iterator[Floats]:
        """What `Mixture.log_joint` gives for blocks of rows in turn."""
        mixture = self._mixture()
        for low in range(0, len(rows), BLOCK_ROWS):
            yield mixture.log_joint(_wide(rows[low : low + BLOCK_ROWS]))


@dataclass(frozen=True)
class Mixture:
    """directions (k, d), unit rows; concentrations (k,); weights (k,), which sum to 1. All float64."""

    directions: Floats
    concentrations: Floats
    weights: Floats

    @cached_property
    def _scaled_directions(self) -> Floats:
        """κ μ, shape (k, d)."""
        return self.concentrations[:, None] * self.directions

    @cached_property
    def _offsets(self) -> Floats:
        """log w + log c_d(κ), shape (k,)."""
        with np.errstate(divide="ignore"):  # the logarithm of a weight that reached 0 is meant
            return np.asarray(np.log(self.weights) + vmf_log_normalizer(self.concentrations, self.directions.shape[1]))

    def log_joint(self, rows: Floats) -> Floats:
        """log w_k + log c_d(κ_k) + κ_k μ_kᵀx for unit rows x, shape (rows, k)."""
        return np.asarray(rows @ self._scaled_directions.T + self._offsets)


def _wide(rows: FloatArray) -> Floats:
    """Rows in float64, without what float32 left of their norms' distance from 1.

    At concentration κ an error e in the norm is an error κ e in the log-density.
    """
    return np.asarray(normalize(rows.astype(np.float64)))


@dataclass(frozen=True)
class ConcentrationPrior:
    """`strength` rows of mean resultant length `resultant`, imagined in every component.

    They keep a component on a few rows from becoming infinitely sharp, which would be infinitely likely.
    """

    strength: float
    resultant: float
    tied: bool  # all components share one concentration

    def log_density(self, mixture: Mixture) -> float:
        kappa = mixture.concentrations[:1] if self.tied else mixture.concentrations
        terms = vmf_log_normalizer(kappa, mixture.directions.shape[1]) + kappa * self.resultant
        return self.strength * float(terms.sum())

    def likeliest(self, sums: Floats, sizes: Floats, directions: Floats) -> Mixture:
        """The M-step: the likeliest mixture, under the prior, given rows weighed by responsibility.

        sums (k, d) and sizes (k,): responsibilities times rows, and alone, summed over the rows; directions (k, d):
        what a component keeps whose rows cancel out.
        """
        lengths = np.linalg.norm(sums, axis=1)
        if self.tied:
            lengths, seen = np.full(len(sizes), lengths.sum()), np.full(len(sizes), sizes.sum())
        else:
            seen = sizes
        lengths, seen = lengths + self.strength * self.resultant, seen + self.strength
        resultants = np.divide(lengths, seen, out=np.zeros(len(sizes)), where=seen > 0)
        dim = sums.shape[1]
        highest = float(vmf_mean_resultant(_MAX_CONCENTRATION, dim))
        concentrations = np.where(
            resultants < highest, vmf_concentration(np.minimum(resultants, highest), dim), _MAX_CONCENTRATION
        )
        unit = np.asarray(mean_directions(sums, sizes, directions), np.float64)
        return Mixture(unit, np.minimum(concentrations, _MAX_CONCENTRATION), sizes / sizes.sum())


@dataclass(frozen=True)
class EMRun:
    """Where one run ended; objective is per row."""

    mixture: Mixture
    objective: float
    n_iter: int
    converged: bool


def run_em(
    rows: FloatArray,
    weights: Floats,
    mixture: Mixture,
    prior: ConcentrationPrior,
    map_slices: MapSlices,
    hard: bool,
    max_iter: int,
    tol: float,
) -> EMRun:
    """Alternate E- and M-steps until the objective per row gains less than `tol`.

    The objective is the log-likelihood (with `hard`, that of the rows together with their labels) plus the log-density
    of the prior. It never falls, except where a component without rows starts again at the row explained worst.
    """

    def expect() -> tuple[NDArray[np.int32], Floats, Floats, Floats, float]:
        parts = map_slices(lambda part: _expect(rows[part], weights[part], mixture, hard))
        labels, log_densities, sums, sizes = zip(*parts, strict=True)
        densities = np.concatenate(log_densities)
        objective = (float((weights * densities).sum()) + prior.log_density(mixture)) / float(weights.sum())
        return np.concatenate(labels), densities, np.sum(sums, axis=0), np.sum(sizes, axis=0), objective

    labels, log_densities, sums, sizes, objective = expect()
    restarts_left = len(mixture.directions)
    for n_iter in range(1, max_iter + 1):
        empty = np.flatnonzero(sizes < _EMPTY)[:restarts_left]
        restarts_left -= len(empty)
        # Each gets one of the rows explained worst, taken from the row's own component.
        worst = np.argsort(log_densities, kind="stable")[: len(empty)]
        for component, row in zip(empty, worst, strict=True):
            owner, weight = labels[row], weights[row]
            if weight > 0 and sizes[owner] >= weight + _EMPTY:
                sums[owner] -= weight * rows[row]
                sizes[owner] -= weight
                sums[component], sizes[component] = weight * rows[row], weight
        mixture, before = prior.likeliest(sums, sizes, mixture.directions), objective
        labels, log_densities, sums, sizes, objective = expect()
        if abs(objective - before) < tol:
            return EMRun(mixture, objective, n_iter, True)
    return EMRun(mixture, objective, max_iter, False)


def _expect(
    rows: FloatArray, weights: Floats, mixture: Mixture, hard: bool
) -> tuple[NDArray[np.int32], Floats, Floats, Floats]:
    """The E-step on n rows, together with the sums that the M-step needs.

    Returns labels (n,), the likeliest component; log-densities (n,), log Σ_k exp(log_joint) or, where `hard`, the
    largest of the terms; sums (k, d) and sizes (k,), the rows weighed by responsibility (1 for the likeliest, else 0,
    where `hard`) times weight.
    """
    labels, log_densities = np.empty(len(rows), np.int32), np.empty(len(rows))
    sums, sizes = np.zeros(mixture.directions.shape), np.zeros(len(mixture.directions))
    for low in range(0, len(rows), BLOCK_ROWS):
        here = slice(low, low + BLOCK_ROWS)
        block = _wide(rows[here])
        logs = mixture.log_joint(block)
        labels[here] = logs.argmax(axis=1)
        best = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - best) if not hard else np.equal(labels[here, None], np.arange(logs.shape[1]))
        total = shares.sum(axis=1, keepdims=True)
        log_densities[here] = (best + np.log(total))[:, 0]
        shares = shares * (weights[here, None] / total)
        sums += shares.T @ block
        sizes += shares.sum(axis=0)
    return labels, log_densities, sums, sizes
