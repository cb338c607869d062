"""One run of expectation-maximisation for a mixture of von Mises–Fisher distributions. Arrays in, arrays out.

A component k has a weight w, a mean direction μ and a concentration κ; its density is c_d(κ) exp(κ μᵀx). All sums are
float64, all densities logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spherevec.clustering import kernels as kernel
from spherevec.clustering._lloyd import mean_directions
from spherevec.clustering._slices import SliceRunner
from spherevec.sphere import FloatArray, vmf_concentration, vmf_log_normalizer, vmf_mean_resultant

# Above this, float64 no longer tells apart the mean resultant lengths that two concentrations give.
MAX_CONCENTRATION = 1e7

# A component whose responsibilities sum to less than this many rows explains no row.
_EMPTY = 0.5


@dataclass(frozen=True)
class Mixture:
    """directions (k, d), unit rows; concentrations (k,); weights (k,), which sum to 1. All float64."""

    directions: NDArray[np.float64]
    concentrations: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def scaled_directions(self) -> NDArray[np.float64]:
        """κ μ, shape (k, d)."""
        return self.concentrations[:, None] * self.directions

    @property
    def offsets(self) -> NDArray[np.float64]:
        """log w + log c_d(κ), shape (k,)."""
        with np.errstate(divide="ignore"):  # the logarithm of a weight that reached 0 is meant
            return np.asarray(np.log(self.weights) + vmf_log_normalizer(self.concentrations, self.directions.shape[1]))


@dataclass(frozen=True)
class EMRun:
    """Where one run ended; labels (n,) are the likeliest components, objective is per row."""

    mixture: Mixture
    labels: NDArray[np.int32]
    objective: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class ConcentrationPrior:
    """`strength` rows of mean resultant length `resultant`, imagined in every component.

    They keep a component on a few rows from becoming infinitely sharp, which would be infinitely likely.
    """

    strength: float
    resultant: float

    def log_density(self, mixture: Mixture, tied: bool) -> float:
        kappa = mixture.concentrations[:1] if tied else mixture.concentrations
        terms = vmf_log_normalizer(kappa, mixture.directions.shape[1]) + kappa * self.resultant
        return self.strength * float(terms.sum())


def pooled_resultant(sums: NDArray[np.float64], total_weight: float) -> float:
    """Mean resultant length of rows about the mean direction of their own cluster, from the clusters' sums (k, d)."""
    return min(float(np.linalg.norm(sums, axis=1).sum()) / total_weight, 1.0)


def cluster_sums(
    rows: FloatArray, weights: NDArray[np.float64], labels: NDArray[np.int32], n_clusters: int
) -> NDArray[np.float64]:
    """Sum of the weighted rows (n, d) with each label, shape (k, d)."""
    from scipy.sparse import csr_array

    members = csr_array((weights, labels, np.arange(len(rows) + 1)), shape=(len(rows), n_clusters))
    return np.asarray(members.T @ rows, np.float64)


def maximize(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    directions: NDArray[np.float64],
    prior: ConcentrationPrior,
    tied: bool,
) -> Mixture:
    """The M-step: the likeliest mixture, under the prior, given rows weighed by responsibility.

    sums (k, d) and sizes (k,): responsibilities times rows, and alone, summed over the rows; directions (k, d): what a
    component keeps whose rows cancel out.
    """
    lengths = np.linalg.norm(sums, axis=1)
    if tied:
        resultants = np.full(
            len(sizes), (lengths.sum() + prior.strength * prior.resultant) / (sizes.sum() + prior.strength)
        )
    else:
        rows_seen = sizes + prior.strength
        resultants = np.divide(
            lengths + prior.strength * prior.resultant, rows_seen, out=np.zeros(len(sizes)), where=rows_seen > 0
        )
    dim = sums.shape[1]
    highest = float(vmf_mean_resultant(MAX_CONCENTRATION, dim))
    concentrations = np.where(
        resultants < highest, vmf_concentration(np.minimum(resultants, highest), dim), MAX_CONCENTRATION
    )
    unit = np.asarray(mean_directions(sums, sizes, directions), np.float64)
    return Mixture(unit, np.minimum(concentrations, MAX_CONCENTRATION), sizes / sizes.sum())


def run_em(
    rows: FloatArray,
    weights: NDArray[np.float64],
    mixture: Mixture,
    prior: ConcentrationPrior,
    runner: SliceRunner,
    *,
    hard: bool,
    tied: bool,
    max_iter: int,
    tol: float,
) -> EMRun:
    """Alternate E- and M-steps until the objective per row gains less than `tol`.

    The objective is the log-likelihood (with `hard`, that of the rows together with their labels) plus the log-density
    of the prior. It never falls, except where a component without rows starts again at the row explained worst.
    """
    n_rows, shape, total_weight = len(rows), mixture.directions.shape, float(weights.sum())
    labels = np.empty(n_rows, np.int32)
    log_densities = np.empty(n_rows)
    weighted_sums = np.empty((runner.n_slices, *shape))
    cluster_sizes = np.empty((runner.n_slices, shape[0]))

    def expect() -> float:
        scaled, offsets = mixture.scaled_directions, mixture.offsets
        runner.run(
            kernel.expect, rows, weights, scaled, offsets, labels, log_densities, weighted_sums, cluster_sizes, hard
        )
        return (float((weights * log_densities).sum()) + prior.log_density(mixture, tied)) / total_weight

    objective = expect()
    restarts_left = shape[0]
    for n_iter in range(1, max_iter + 1):
        sums, sizes = weighted_sums.sum(axis=0), cluster_sizes.sum(axis=0)
        empty = np.flatnonzero(sizes < _EMPTY)[:restarts_left]
        restart_components(rows, weights, log_densities, labels, empty, sums, sizes)
        restarts_left -= len(empty)
        mixture = maximize(sums, sizes, mixture.directions, prior, tied)
        before, objective = objective, expect()
        if abs(objective - before) < tol:
            return EMRun(mixture, labels, objective, n_iter, True)
    return EMRun(mixture, labels, objective, max_iter, False)


def restart_components(
    rows: FloatArray,
    weights: NDArray[np.float64],
    log_densities: NDArray[np.float64],
    labels: NDArray[np.int32],
    empty: NDArray[np.intp],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    """Give each component in `empty` one of the rows explained worst, taken from the row's own; changes sums, sizes."""
    worst = np.argsort(log_densities, kind="stable")[: len(empty)]
    for component, row in zip(empty, worst, strict=True):
        owner = labels[row]
        if weights[row] == 0 or sizes[owner] < weights[row] + _EMPTY:
            continue
        sums[owner] -= weights[row] * rows[row]
        sizes[owner] -= weights[row]
        sums[component] = weights[row] * rows[row]
        sizes[component] = weights[row]
