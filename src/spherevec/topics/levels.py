"""How many topics: the level of detail at which two halves of the documents agree best.

Two halves of the documents are clustered apart. Where the topics are real, the topics of one half and of the other
put the documents into the same groups; the adjusted Rand index measures it. A cloud without any topics, but with the
same covariance, shows how much agreement comes by itself at each number of groups. The gain over that cloud, as a
share of what can be gained, is compared over levels of detail from coarse to fine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spherevec.sphere import normalize
from spherevec.topics.components import mean_directions
from spherevec.topics.graph import Labels, Rows, communities, halves, in_parallel, neighbor_graph, sample_of

# Documents that the level is chosen by, at most; pairs of halves, more of them where documents are few, for so many
# rows in all; and of the cloud without topics.
_MOST_ROWS = 10_000
_FEWEST_REPEATS, _MOST_REPEATS, _ROWS_OF_ALL = 6, 40, 40_000
_CHANCE_REPEATS = 4
# From coarse to fine; a community must be so many times denser than chance.
_RESOLUTIONS = np.geomspace(0.08, 16, 17)
# Halves agree nearly as surely as about the best level within this much.
_NEARLY = 0.1
# Up to 20 broad topics are one of these numbers, or one that several levels of detail have: the gains of two trainings
# differ a little, and the number should not.
_FEW, _SAME_COUNT = (3, 4, 6, 9, 14, 20), 3
# Where halves agree less surely about every number than this, the gains tell none, and there are so many.
_SURE, _COUNT_IF_UNSURE = 0.48, 6
_SMOOTHING = (0.25, 0.5, 0.25)
# Halves agree clearly where the gain is so high, or this share of the best; and still agree where it is so high.
_CLEAR, _CLEAR_SHARE = 0.6, 0.75
_STILL, _STILL_SHARE = 0.54, 0.7
# There are so many times more finer topics than broad ones, and so many more, with so many documents each; a broader
# level is looked for where there are so many topics.
_LEAST_FINER, _MOST_FINER, _LEAST_MORE, _FEWEST_EACH, FEWEST_WITH_PARENTS = 1.5, 8, 3, 25, 6
# Two groups are no answer to "what is in it?".
_FEWEST = 2.5
# Below this many documents no two halves can be compared.
FEWEST_ROWS = 40


@dataclass(frozen=True)
class Level:
    """One level of detail."""

    resolution: float  # of the communities
    count: int  # of topics, the geometric mean of those of a half and of all documents looked at
    agreement: float  # adjusted Rand index between halves, the mean over repeats
    chance: float  # the same for a cloud without topics
    gain: float  # (agreement − chance) / (1 − chance)
    spread: float  # standard deviation of the gain over repeats


def measure_levels(rows: Rows, seed: int, threads: int = 0) -> list[Level]:
    """All levels of detail, from coarse to fine, with how well halves of the unit rows (n, d) agree."""
    if len(rows) < FEWEST_ROWS:
        return []
    rows = rows[sample_of(len(rows), _MOST_ROWS, seed)]
    random = np.random.default_rng([seed, 1])
    repeats = int(np.clip(_ROWS_OF_ALL // len(rows), _FEWEST_REPEATS, _MOST_REPEATS))
    clouds = [_cloud_like(rows, random) for _ in range(_CHANCE_REPEATS)]
    tasks = [(rows, seed + i) for i in range(repeats)] + [(cloud, seed + i) for i, cloud in enumerate(clouds)]
    found = in_parallel(lambda task: _agreement(*task), tasks, threads)
    counts, agreements = (np.array(part) for part in zip(*found, strict=True))
    # A half has fewer topics than the whole where these are small; the number that is meant lies between.
    whole = [int(labels.max()) + 1 for labels in _partitions(rows, seed)]
    mean_counts = np.exp(np.log(counts[:repeats]).mean(axis=0))
    chance = _chance_at(mean_counts, counts[repeats:], agreements[repeats:])
    gains = (agreements[:repeats] - chance) / (1.01 - chance)
    gains[:, mean_counts < _FEWEST] = -1.0
    return [
        Level(
            float(resolution),
            round(float(np.sqrt(mean_counts[i] * whole[i]))),
            float(agreements[:repeats, i].mean()),
            float(chance[i]),
            float(gains[:, i].mean()),
            float(gains[:, i].std()),
        )
        for i, resolution in enumerate(_RESOLUTIONS)
    ]


def choose_counts(
    levels: Sequence[Level],
    n_documents: int,
    k: int | None = None,
    holds: Callable[[int, int], bool] = lambda broad, finer: True,
) -> list[int]:
    """How many topics on each level, from broad to fine; one level where no broader one is worth showing.

    The broad level is the coarsest that halves agree about nearly as surely as about the best. The finer one has `k`
    topics, or is the finest that they still agree about clearly; on fine levels halves of short texts always agree a
    little, by single words, so it is not too far from the broad one, its topics have some documents, and it `holds`:
    so many topics inside so many broad ones are more than chance.
    """
    best = max((level.gain for level in levels), default=0.0)
    if best <= 0:
        return [k or 1]
    gains = np.array([level.gain for level in levels])
    measured = gains > -1

    def smoothed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gains are noisy: each level is judged with its neighbours."""
        summed, weight = (np.convolve(one, _SMOOTHING, "same") for one in (np.where(measured, values, 0), measured))
        return np.where(measured, summed / np.maximum(weight, _SMOOTHING[0]), -1)

    sureness = smoothed(gains - np.array([level.spread for level in levels]) / 2)
    broad = _broad_count(np.array([level.count for level in levels])[measured], sureness[measured])
    fewest = max(_LEAST_FINER * broad, broad + _LEAST_MORE)
    if k is not None:
        return [broad, k] if k >= fewest else [k]
    most = min(_MOST_FINER * broad, n_documents // _FEWEST_EACH)
    least = min(_CLEAR, _CLEAR_SHARE * float(smoothed(gains).max()))
    clear = {level.count for level in levels if level.gain >= least}
    for count in sorted(clear, reverse=True):
        if fewest <= count <= most and holds(broad, count):
            return [broad, count]
    return [broad]


def _broad_count(counts: NDArray[np.int64], sureness: NDArray[np.float64]) -> int:
    """The fewest topics that halves agree about nearly as surely as about the best; if few, the nearest of `_FEW`.

    `sureness` (n,) tells how surely halves agree about each of the `counts` (n,) of the levels, from coarse to fine.
    """
    nearly = sureness >= sureness.max() - _NEARLY
    several, repeats = np.unique(counts[nearly], return_counts=True)
    if repeats.max() >= _SAME_COUNT:
        return int(several[np.argmax(repeats >= _SAME_COUNT)])
    if sureness.max() < _SURE:
        return min(_COUNT_IF_UNSURE, int(counts.max()))
    coarsest = int(counts[np.argmax(nearly)])
    nearest = min(_FEW, key=lambda count: abs(np.log(count / coarsest)))
    return coarsest if coarsest > _FEW[-1] else int(np.clip(nearest, counts.min(), counts.max()))


def finest_stable(levels: Sequence[Level], k: int, n_documents: int) -> int | None:
    """A number of topics well above `k`, with some documents each, that halves of these still agree about; or None."""
    least = min(_STILL, _STILL_SHARE * max((level.gain for level in levels), default=0.0))
    most = min(2 * _LEAST_FINER * k, n_documents // _FEWEST_EACH)
    stable = [level.count for level in levels if level.gain >= least > 0]
    return max((count for count in stable if _LEAST_FINER * k <= count <= most), default=None)


def _partitions(rows: Rows, seed: int) -> list[Labels]:
    graph = neighbor_graph(rows, threads=1)
    return [communities(graph, resolution, seed) for resolution in _RESOLUTIONS]


def _agreement(rows: Rows, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Number of topics in a half, and agreement of two halves about all rows, at each resolution."""
    from sklearn.metrics import adjusted_rand_score

    counts, predictions = [], []
    for part in halves(len(rows), [seed, 2]):
        found = _partitions(rows[part], seed)
        counts.append([int(labels.max()) + 1 for labels in found])
        predictions.append([np.argmax(rows @ mean_directions(rows[part], labels).T, axis=1) for labels in found])
    agreements = [adjusted_rand_score(a, b) if a.any() or b.any() else 0.0 for a, b in zip(*predictions, strict=True)]
    return np.sqrt(np.prod(np.array(counts, np.float64), axis=0)), np.array(agreements)


def _cloud_like(rows: Rows, random: np.random.Generator) -> Rows:
    """Unit rows of a normal distribution with the covariance of `rows`: as stretched, but without topics."""
    values, vectors = np.linalg.eigh(np.cov(rows.T))
    drawn = random.standard_normal(rows.shape) * np.sqrt(np.maximum(values, 0))
    return np.asarray(normalize(drawn @ vectors.T), np.float32)


def _chance_at(
    counts: NDArray[np.float64], chance_counts: NDArray[np.float64], chance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Agreement by chance at these numbers of topics, from noisy figures at others: it falls as the number rises."""
    from sklearn.isotonic import IsotonicRegression

    several = chance_counts > 1.4
    if not several.any():
        return np.ones(len(counts))
    falling = IsotonicRegression(increasing=False, out_of_bounds="clip")
    falling.fit(np.log(chance_counts[several]), np.clip(chance[several], 0, 1))
    return np.asarray(falling.predict(np.log(counts)), np.float64)
