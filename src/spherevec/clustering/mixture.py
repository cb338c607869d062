"""Mixtures of von Mises–Fisher distributions as a scikit-learn clusterer."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from spherevec.clustering._base import SphereClusterer
from spherevec.clustering._em import (
    ConcentrationPrior,
    EMRun,
    Mixture,
    cluster_sums,
    maximize,
    pooled_resultant,
    run_em,
)
from spherevec.clustering._lloyd import check_init, first_centers, run_kmeans, shift_tolerance
from spherevec.clustering._slices import slice_runner
from spherevec.sphere import FloatArray, normalize

# Rows whose densities under all components are held at once when a fitted mixture is applied.
_BLOCK_ROWS = 4096


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
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "assignment": [StrOptions({"soft", "hard"})],
        "tied": ["boolean"],
        "concentration_prior": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
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
        check_init(self.init, self.n_components)
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
        from scipy.special import softmax

        rows = self._known_rows(X)
        return np.concatenate([softmax(logs, axis=1) for logs in self._log_joint(rows)])

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log-density of each row under the mixture, shape (n_samples,)."""
        from scipy.special import logsumexp

        rows = self._known_rows(X)
        return np.concatenate([logsumexp(logs, axis=1) for logs in self._log_joint(rows)])

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
        from sklearn.utils.validation import check_is_fitted

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

    def _best_run(self, rows: FloatArray, row_weights: NDArray[np.float64]) -> EMRun:
        random = check_random_state(self.random_state)
        max_shift = shift_tolerance(rows, 1e-4)
        kmeans_iterations = 100 if isinstance(self.init, str) else 0
        prior: ConcentrationPrior | None = None
        best: EMRun | None = None
        with slice_runner(len(rows), self.n_jobs) as runner:
            # From given directions every run would be the same.
            for _ in range(self.n_init if isinstance(self.init, str) else 1):
                centers = first_centers(rows, row_weights, self.n_components, self.init, random, runner)
                start = run_kmeans(rows, row_weights, centers, runner, max_iter=kmeans_iterations, max_shift=max_shift)
                sums = cluster_sums(rows, row_weights, start.labels, self.n_components)
                sizes = np.bincount(start.labels, row_weights, self.n_components).astype(np.float64)
                if prior is None:  # the same for all runs, whose objectives are compared
                    prior = ConcentrationPrior(
                        self.concentration_prior, pooled_resultant(sums, float(row_weights.sum()))
                    )
                run = run_em(
                    rows,
                    row_weights,
                    maximize(sums, sizes, start.centers.astype(np.float64), prior, self.tied),
                    prior,
                    runner,
                    hard=self.assignment == "hard",
                    tied=self.tied,
                    max_iter=self.max_iter,
                    tol=self.tol,
                )
                if best is None or run.objective > best.objective:
                    best = run
        assert best is not None
        return best

    def _mixture(self) -> Mixture:
        directions = normalize(np.asarray(self.cluster_centers_, np.float64))
        return Mixture(np.asarray(directions), self.concentrations_, self.weights_)

    def _labels(self, rows: FloatArray) -> NDArray[np.int32]:
        return np.concatenate([logs.argmax(axis=1).astype(np.int32) for logs in self._log_joint(rows)])

    def _log_joint(self, rows: FloatArray) -> Any:
        """Yield log w_k + log c_d(κ_k) + κ_k μ_kᵀx, shape (block, n_components), for blocks of rows in turn."""
        mixture = self._mixture()
        scaled, offsets = mixture.scaled_directions.T, mixture.offsets
        for low in range(0, len(rows), _BLOCK_ROWS):
            block = normalize(rows[low : low + _BLOCK_ROWS].astype(np.float64))
            yield block @ scaled + offsets
