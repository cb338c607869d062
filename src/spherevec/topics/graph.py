"""The graph of nearest neighbours among documents, and its communities. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spherevec.process import one_blas_thread, usable_cores
from spherevec.threads import in_order

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Labels = NDArray[np.int64]
Rows = NDArray[np.float32]
Item = TypeVar("Item")
Result = TypeVar("Result")

# Neighbours of a document in the graph.
NEIGHBORS = 15
# Rows whose cosines to all others are held at once, by each thread.
_BLOCK = 256


def in_parallel(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """`work` of each item, by several threads, with BLAS held to one thread so that no bit depends on their number."""
    with one_blas_thread():
        return list(in_order(items, lambda _, item: work(item), threads or usable_cores()))


def neighbor_graph(rows: Rows, neighbors: int = NEIGHBORS, threads: int = 0) -> csr_array:
    """The graph in which each unit row (n, d) is joined to its nearest others; see `graph_of`."""
    return graph_of(*nearest_rows(rows, rows, min(neighbors, len(rows) - 1), threads, own=True))


def graph_of(columns: NDArray[np.int32], cosines: Rows) -> csr_array:
    """The graph that joins each row to the rows `columns` (n, k); an edge weighs its cosine (n, k).

    The matrix (n, n) is symmetric: a pair of rows that are among each other's neighbours weighs twice. Cosines below 0
    weigh nothing.
    """
    from scipy.sparse import csr_array

    n = len(columns)
    weights = np.maximum(cosines, 0).ravel().astype(np.float64)
    directed = csr_array((weights, columns.ravel(), columns.shape[1] * np.arange(n + 1)), shape=(n, n))
    both: csr_array = (directed + directed.T).tocsr()
    both.sort_indices()
    return both


def nearest_rows(
    queries: Rows, rows: Rows, k: int, threads: int = 0, *, own: bool = False
) -> tuple[NDArray[np.int32], Rows]:
    """The `k` rows with the highest cosines to each query, and these, (q, k), nearest first; all in float32.

    Args:
        queries: (q, d) unit rows; rows: (n, d), at least `k`.
        own: the queries are the rows themselves, and no row is a neighbour of its own.
    """
    from spherevec.topics import kernels

    columns, cosines = np.zeros((len(queries), k), np.int32), np.zeros((len(queries), k), np.float32)

    def fill(low: int) -> None:
        here = slice(low, low + _BLOCK)
        kernels.nearest_columns(queries[here] @ rows.T, low if own else len(rows), columns[here], cosines[here])

    in_parallel(fill, range(0, len(queries), _BLOCK), threads)
    return columns, cosines


def communities(graph: csr_array, resolution: float, seed: int | Sequence[int]) -> Labels:
    """Communities of high modularity (the Louvain method), as numbers (n,) from 0.

    Nodes move to the community of their neighbours that raises modularity most; communities then become nodes, until
    none moves. In the end single nodes move once more.

    Args:
        graph: symmetric weights (n, n).
        resolution: how much denser than chance a community must be; higher gives more and smaller ones.
        seed: of the order in which nodes are visited.
    """
    random = np.random.default_rng(seed)
    labels = np.arange(graph.shape[0])
    level = graph
    while True:
        own = np.arange(level.shape[0])
        if not _move(level, resolution, random, own):
            break
        own = renumbered(own)
        labels = own[labels]
        level = aggregated(level, own)
    _move(graph, resolution, random, labels)
    return renumbered(labels)


def aggregated(graph: csr_array, labels: Labels) -> csr_array:
    """The graph whose nodes are the communities: weights between and, on the diagonal, within them."""
    members = membership(labels)
    summed: csr_array = (members.T @ graph @ members).tocsr()
    return summed


def membership(labels: Labels, n_groups: int | None = None, dtype: type = np.float64) -> csr_array:
    """The matrix (n, groups) with 1 where a row has the label of a group; a row with the label −1 is empty."""
    from scipy.sparse import csr_array

    known: NDArray[Any] = (labels >= 0).astype(dtype)
    shape = (len(labels), int(labels.max(initial=-1)) + 1 if n_groups is None else n_groups)
    return csr_array((known, np.maximum(labels, 0), np.arange(len(labels) + 1)), shape=shape)


def within(graph: csr_array, labels: Labels) -> csr_array:
    """The graph without the edges between different labels."""
    from scipy.sparse import csr_array

    edges = graph.tocoo()
    kept = labels[edges.row] == labels[edges.col]
    return csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=graph.shape)


def renumbered(labels: NDArray[Any]) -> Labels:
    """The same partition with numbers from 0 without gaps."""
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.int64)


def group_of_labels(labels: Labels, groups: Labels) -> Labels:
    """The group that each label is part of, (k,), by the label and the group of each row."""
    found = np.zeros(int(labels.max()) + 1, np.int64)
    found[labels] = groups
    return found


def sample_of(n: int, most: int, seed: int) -> NDArray[np.int64]:
    """At most so many of the numbers below `n`, drawn without replacement, in rising order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng([seed, n]).choice(n, most, replace=False))


def halves(n: int, seed: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers below `n` in two halves, drawn at random."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2], order[n // 2 :]


def _move(graph: csr_array, resolution: float, random: np.random.Generator, labels: Labels) -> int:
    from spherevec.topics import kernels

    degrees = np.asarray(graph.sum(axis=1), np.float64).ravel()
    if not degrees.any():
        return 0
    order = random.permutation(len(labels))
    starts, columns = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    moves: int = kernels.move_nodes(starts, columns, graph.data, degrees, resolution, order, labels)
    return moves
