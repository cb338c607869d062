"""GloVe, and Poincaré GloVe, which puts words into hyperbolic planes instead of flat space.

GloVe (Pennington et al., 2014) fits log X_ij by w_i·c_j + b_i + b'_j, squared errors weighted by min(1, X_ij/x_max)^¾,
with AdaGrad; the vector of a word is w + c.

Poincaré GloVe (Tifrea et al., 2019) replaces w_i·c_j by −cosh²(d(w_i, c_j)); points lie in a product of Poincaré disks
(fifty of dimension 2 for 100 numbers), and AdaGrad steps go along geodesics. The point of a word is the midpoint of w
and c. Its authors compare words by distance, or by cosine, in the ball; here every method is compared by cosine, so
the vector of a word is its midpoint seen from the origin (the logarithmic map of every disk, side by side).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.encoded import EncodedCorpus
from spherevec.errors import ConfigError, TrainingError
from spherevec.evaluation.baselines.averaging import document_averages
from spherevec.evaluation.baselines.base import Fitted, Progress, Texts, document_rows, report, word_vectors
from spherevec.evaluation.baselines.cooccurrence import count_cooccurrences
from spherevec.keyed_vectors import KeyedVectors

# The authors' values: 100 for billions of words, 10 in their example on 17 million.
LARGEST_COUNT, LARGEST_COUNT_SMALL, SMALL_CORPUS = 100.0, 10.0, 100_000_000
POWER = 0.75
RATE = 0.05
POINCARE_SPREAD = 1e-3  # points start this close to the origin

_SLICES_PER_THREAD = 16  # of an epoch: progress, and threads that end together


def fit_glove(
    corpus: EncodedCorpus,
    *,
    dim: int,
    epochs: int,
    window: int,
    threads: int,
    seed: int,
    texts: Texts | None = None,
    words: KeyedVectors | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """GloVe with its authors' settings; documents are the plain average of its unit word vectors."""
    rng = np.random.default_rng(seed)
    size = len(corpus.vocabulary)
    tables = [_table([_start(rng, size, dim, 0.5 / dim)]) for _ in range(2)]
    squares = [_table([np.zeros((size, dim), np.float32)]) for _ in range(2)]
    losses = _train("train_glove", corpus, tables, squares, epochs, window, threads, rng, progress)
    vectors = tables[0][:, :dim] + tables[1][:, :dim]
    return _averaged(corpus, vectors, losses, {"vector_size": dim, "epochs": epochs, "window": window})


def fit_poincare_glove(
    corpus: EncodedCorpus,
    *,
    dim: int,
    epochs: int,
    window: int,
    threads: int,
    seed: int,
    texts: Texts | None = None,
    words: KeyedVectors | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Poincaré GloVe in dim/2 disks; documents are the plain average of its unit word vectors."""
    if dim % 2:
        raise ConfigError(f"Poincaré GloVe needs an even dimension, not {dim}")
    rng = np.random.default_rng(seed)
    size, disks = len(corpus.vocabulary), dim // 2
    tables = [_table([_start(rng, size, disks, POINCARE_SPREAD) for _ in "xy"]) for _ in range(2)]
    squares = [_table([np.zeros((size, disks), np.float32)]) for _ in range(2)]
    losses = _train("train_poincare", corpus, tables, squares, epochs, window, threads, rng, progress)
    vectors = seen_from_origin(*(_points(table, disks) for table in tables))
    settings = {"vector_size": dim, "epochs": epochs, "window": window, "space": f"{disks} Poincaré disks, h = cosh²"}
    return _averaged(corpus, vectors, losses, settings)


def seen_from_origin(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float32]:
    """The midpoints of two sets of points in disks, shape (n, disks, 2), by the logarithmic map at 0: (n, 2 · disks).

    The midpoint is half (the map's scale, which cosines do not feel) of (γ² x + γ'² y) / (γ² + γ'² − 1) with
    γ² = 1 / (1 − |x|²).
    """
    x, y = first.astype(np.float64), second.astype(np.float64)
    weight, other = (1 / (1 - np.sum(p * p, axis=-1, keepdims=True)) for p in (x, y))
    middle = (weight * x + other * y) / (weight + other - 1)
    radius = np.sqrt(np.sum(middle * middle, axis=-1, keepdims=True))
    safe = np.maximum(radius, 1e-12)
    mapped = np.arctanh(np.minimum(safe, 1 - 1e-12)) / safe * middle
    return np.asarray(mapped.reshape(len(mapped), -1), np.float32)


def _train(
    kernel_name: str,
    corpus: EncodedCorpus,
    tables: list[NDArray[np.float32]],
    squares: list[NDArray[np.float32]],
    epochs: int,
    window: int,
    threads: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> list[float]:
    """Count, then train words and contexts in place; returns the mean loss of a cell, each epoch."""
    from spherevec.evaluation.baselines import _glove_kernel as kernel

    cells = count_cooccurrences(corpus, window, threads)
    train: Callable[..., float] = getattr(kernel, kernel_name)
    for table in squares:
        table += 1  # AdaGrad's sums start at 1, as the authors have them
    runs = np.arange(-(-len(cells.columns) // kernel.RUN))
    losses = []
    with ThreadPoolExecutor(threads) as pool:
        for epoch in range(epochs):
            rng.shuffle(runs)
            slices = np.array_split(runs, threads * _SLICES_PER_THREAD)
            arguments: tuple[Any, ...] = (
                tables[0],
                squares[0],
                tables[1],
                squares[1],
                _largest(corpus),
                POWER,
                np.float32(RATE),
            )
            trained = [
                pool.submit(train, cells.row_starts, cells.columns, cells.counts, part, *arguments) for part in slices
            ]
            loss = 0.0
            for done, part in enumerate(trained, 1):
                loss += part.result()
                report(progress, (epoch + done / len(trained)) / epochs)
            if not np.isfinite(loss):
                raise TrainingError(f"GloVe diverged in epoch {epoch + 1}: its loss is {loss}")
            losses.append(loss / len(cells.columns))
    return losses


def _averaged(
    corpus: EncodedCorpus, vectors: NDArray[np.float32], losses: list[float], settings: dict[str, Any]
) -> Fitted:
    import spherevec

    words = word_vectors(corpus, vectors)
    settings = {
        "package": f"spherevec {spherevec.__version__}",
        **settings,
        "x_max": _largest(corpus),
        "power": POWER,
        "alpha": RATE,
        "optimiser": "AdaGrad",
        "weights of neighbours": "1/distance",
    }
    return Fitted(words, document_rows(document_averages(corpus, words)), settings, losses)


def _largest(corpus: EncodedCorpus) -> float:
    return LARGEST_COUNT_SMALL if corpus.n_tokens < SMALL_CORPUS else LARGEST_COUNT


def _start(rng: np.random.Generator, words: int, width: int, spread: float) -> NDArray[np.float32]:
    """Numbers drawn evenly from [-spread, spread), shape (words, width)."""
    return (rng.random((words, width), np.float32) * 2 - 1) * np.float32(spread)


def _table(parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """A kernel's table: each part (words, width) padded with zeros to whole lanes, then lanes that begin with the bias.

    Its rows start on cache lines.
    """
    from spherevec.evaluation.baselines._glove_kernel import LANES
    from spherevec.training.backends._vector_ops import padded_rows

    words, width = parts[0].shape
    stride = -(-width // LANES) * LANES
    table: NDArray[np.float32] = padded_rows(words, stride * len(parts) + LANES)
    for number, part in enumerate(parts):
        table[:, stride * number : stride * number + width] = part
    return table


def _points(table: NDArray[np.float32], disks: int) -> NDArray[np.float32]:
    """The points of a kernel's table, shape (words, disks, 2)."""
    from spherevec.evaluation.baselines._glove_kernel import LANES

    second = (table.shape[1] - LANES) // 2
    return np.stack([table[:, :disks], table[:, second : second + disks]], axis=-1)
