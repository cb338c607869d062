"""Compiled loops over the neighbour graph: the nearest columns of a block of cosines, and moves between communities."""

from __future__ import annotations

import numpy as np

from spherevec.compiling import njit


@njit(cache=True, nogil=True)
def nearest_columns(cosines, first_row, columns, values):
    """Write the largest entries of each row of `cosines` (b, n), without the row itself, in falling order.

    columns (b, k) int32 and values (b, k) float32 are filled; equal cosines keep the lower column. A graph of all rows
    needs no more than float32; `spherevec.search.neighbors` answers queries as float64 does.
    """
    n_rows, n_columns = cosines.shape
    k = columns.shape[1]
    for i in range(n_rows):
        filled = 0
        lowest = np.float32(-2.0)
        for j in range(n_columns):
            value = cosines[i, j]
            if (filled == k and value <= lowest) or j == first_row + i:
                continue
            # The place from the end: later columns stand behind earlier ones of the same cosine.
            place = filled if filled < k else k - 1
            while place > 0 and values[i, place - 1] < value:
                values[i, place] = values[i, place - 1]
                columns[i, place] = columns[i, place - 1]
                place -= 1
            values[i, place] = value
            columns[i, place] = j
            if filled < k:
                filled += 1
            lowest = values[i, filled - 1]


@njit(cache=True, nogil=True)
def move_nodes(starts, neighbors, weights, degrees, resolution, order, labels):
    """Move nodes to the neighbouring community of the highest modularity, until none gains; returns the moves.

    The graph is symmetric: node i has the edges starts[i] : starts[i + 1] of `neighbors` and `weights`. `degrees` (n,)
    are the sums of a node's weights, its own loop counted; `labels` (n,) are changed in place. `order` (n,) is the
    order of the first visits; a node is visited again when a neighbour has moved away from its community.
    """
    n = len(labels)
    total = degrees.sum()
    volume = np.zeros(n)
    for i in range(n):
        volume[labels[i]] += degrees[i]
    queue = np.empty(n, np.int64)
    waiting = np.ones(n, np.bool_)
    for i in range(n):
        queue[i] = order[i]
    head, length, moves = 0, n, 0
    links = np.zeros(n)
    touched = np.empty(n, np.int64)
    while length > 0:
        node = queue[head]
        head = (head + 1) % n
        length -= 1
        waiting[node] = False
        old = labels[node]
        n_touched = 0
        for e in range(starts[node], starts[node + 1]):
            other = neighbors[e]
            if other == node:
                continue
            community = labels[other]
            if links[community] == 0.0:
                touched[n_touched] = community
                n_touched += 1
            links[community] += weights[e]
        volume[old] -= degrees[node]
        share = resolution * degrees[node] / total
        best, best_gain = old, links[old] - share * volume[old]
        for t in range(n_touched):
            community = touched[t]
            gain = links[community] - share * volume[community]
            if gain > best_gain + 1e-12:
                best, best_gain = community, gain
        for t in range(n_touched):
            links[touched[t]] = 0.0
        volume[best] += degrees[node]
        if best != old:
            labels[node] = best
            moves += 1
            for e in range(starts[node], starts[node + 1]):
                other = neighbors[e]
                if not waiting[other] and labels[other] != best:
                    waiting[other] = True
                    queue[(head + length) % n] = other
                    length += 1
    return moves
