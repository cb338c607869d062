"""The graph of nearest neighbours among documents, and its communities."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from spherevec.topics import _graph_kernel as kernel

Labels = NDArray[np.int64]

_BLOCK = 512


def neighbor_graph(rows, n_neighbors, threads=1):
    n = len(rows)
    k = min(n_neighbors, n - 1)
    columns = np.zeros((n, k), np.int32)
    values = np.zeros((n, k), np.float32)

    def fill(low):
        high = min(low + _BLOCK, n)
        kernel.nearest_columns(rows[low:high] @ rows.T, low, columns[low:high], values[low:high])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, n, _BLOCK)))
    starts = np.arange(0, n * k + 1, k)
    directed = csr_array((np.maximum(values, 0).ravel().astype(np.float64), columns.ravel(), starts), shape=(n, n))
    return (directed + directed.T).tocsr(), columns, values


def communities(graph, resolution, rng):
    labels = np.arange(graph.shape[0])
    level = graph
    while True:
        degrees = np.asarray(level.sum(axis=1)).ravel()
        own = np.arange(level.shape[0])
        moves = kernel.move_nodes(level.indptr, level.indices, level.data, degrees, resolution, rng.permutation(len(own)), own)
        if not moves:
            return labels
        own = np.unique(own, return_inverse=True)[1]
        labels = own[labels]
        level = aggregated(level, own)


def polish(graph, labels, resolution, rng):
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    labels = labels.copy()
    kernel.move_nodes(graph.indptr, graph.indices, graph.data, degrees, resolution, rng.permutation(len(labels)), labels)
    return np.unique(labels, return_inverse=True)[1]


def aggregated(graph, labels):
    n = int(labels.max()) + 1
    member = csr_array((np.ones(len(labels)), labels, np.arange(len(labels) + 1)), shape=(len(labels), n))
    return (member.T @ graph @ member).tocsr()
