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

from experiments.peers.averaging import document_averages
from experiments.peers.base import Fitted, Task, document_rows, word_vectors
from experiments.peers.cooccurrence import count_cooccurrences
from spherevec.corpus.count.encoded import EncodedCorpus
from spherevec.errors import ConfigError, TrainingError

# The authors' values: 100 for billions of words, 10 in their example on 17 million.
LARGEST_COUNT, LARGEST_COUNT_SMALL, SMALL_CORPUS = 100.0, 10.0, 100_000_000
POWER = 0.75
RATE = 0.05
POINCARE_SPREAD = 1e-3  # points start this close to the origin

_PARTS_PER_THREAD = 16  # of an epoch, so that threads end together


def fit_glove(task: Task) -> Fitted:
    """GloVe with its authors' settings; documents are the plain average of its unit word vectors."""
    rng = np.random.default_rng(task.seed)
    size, dim = len(task.corpus.vocabulary), task.vector_size
    tables = [_table([_start(rng, size, dim, 0.5 / dim)]) for _ in range(2)]
    squares = [_table([np.zeros((size, dim), np.float32)]) for _ in range(2)]
    losses = _train("train_glove", task, tables, squares, rng)
    return _averaged(task, tables[0][:, :dim] + tables[1][:, :dim], losses, {})


def fit_poincare_glove(task: Task) -> Fitted:
    """Poincaré GloVe in dim/2 disks; documents are the plain average of its unit word vectors."""
    if task.vector_size % 2:
        raise ConfigError(f"Poincaré GloVe needs an even dimension, not {task.vector_size}")
    rng = np.random.default_rng(task.seed)
    size, disks = len(task.corpus.vocabulary), task.vector_size // 2
    tables = [_table([_start(rng, size, disks, POINCARE_SPREAD) for _ in "xy"]) for _ in range(2)]
    squares = [_table([np.zeros((size, disks), np.float32)]) for _ in range(2)]
    losses = _train("train_poincare", task, tables, squares, rng)
    vectors = seen_from_origin(*(_points(table, disks) for table in tables))
    return _averaged(task, vectors, losses, {"space": f"{disks} Poincaré disks, h = cosh²"})


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
    task: Task,
    tables: list[NDArray[np.float32]],
    squares: list[NDArray[np.float32]],
    rng: np.random.Generator,
) -> list[float]:
    """Count, then train words and contexts in place; returns the mean loss of a cell, each epoch."""
    from experiments.peers import glove_kernel as kernel

    cells = count_cooccurrences(task.corpus, task.window, task.threads)
    train: Callable[..., float] = getattr(kernel, kernel_name)
    for table in squares:
        table += 1  # AdaGrad's sums start at 1, as the authors have them
    arguments = (tables[0], squares[0], tables[1], squares[1], _largest(task.corpus), POWER, np.float32(RATE))
    runs = np.arange(-(-len(cells.columns) // kernel.RUN))
    losses = []
    with ThreadPoolExecutor(task.threads) as pool:
        for epoch in range(task.epochs):
            rng.shuffle(runs)
            parts = np.array_split(runs, task.threads * _PARTS_PER_THREAD)
            trained = [
                pool.submit(train, cells.row_starts, cells.columns, cells.counts, part, *arguments) for part in parts
            ]
            loss = sum(part.result() for part in trained)
            if not np.isfinite(loss):
                raise TrainingError(f"GloVe diverged in epoch {epoch + 1}: its loss is {loss}")
            losses.append(loss / len(cells.columns))
    return losses


def _averaged(task: Task, vectors: NDArray[np.float32], losses: list[float], own: dict[str, Any]) -> Fitted:
    import spherevec

    words = word_vectors(task.corpus, vectors)
    settings = {
        "package": f"spherevec {spherevec.__version__}",
        "vector_size": task.vector_size,
        "epochs": task.epochs,
        "window": task.window,
        **own,
        "x_max": _largest(task.corpus),
        "power": POWER,
        "alpha": RATE,
        "optimiser": "AdaGrad",
        "weights of neighbours": "1/distance",
    }
    return Fitted(words, document_rows(document_averages(task.corpus, words)), settings, losses)


def _largest(corpus: EncodedCorpus) -> float:
    return LARGEST_COUNT_SMALL if corpus.n_tokens < SMALL_CORPUS else LARGEST_COUNT


def _start(rng: np.random.Generator, words: int, width: int, spread: float) -> NDArray[np.float32]:
    """Uniform numbers in [-spread, spread), shape (words, width)."""
    return (rng.random((words, width), np.float32) * 2 - 1) * np.float32(spread)


def _table(parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """A kernel's table: each part (words, width) padded with zeros to whole lanes, then lanes that begin with the bias.

    Its rows start on cache lines.
    """
    from experiments.peers.glove_kernel import LANES
    from spherevec.engine.cpu.vector_ops import padded_rows

    words, width = parts[0].shape
    stride = -(-width // LANES) * LANES
    table: NDArray[np.float32] = padded_rows(words, stride * len(parts) + LANES)
    for number, part in enumerate(parts):
        table[:, stride * number : stride * number + width] = part
    return table


def _points(table: NDArray[np.float32], disks: int) -> NDArray[np.float32]:
    """The points of a kernel's table, shape (words, disks, 2)."""
    from experiments.peers.glove_kernel import LANES

    second = (table.shape[1] - LANES) // 2
    return np.stack([table[:, :disks], table[:, second : second + disks]], axis=-1)
