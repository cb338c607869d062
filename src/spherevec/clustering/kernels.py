"""The compiled inner loops of spherical k-means.

Rows are cut into slices, slices into blocks. A slice sums into its own buffer and the buffers are added in the order
of the slices, so that a result does not depend on how many threads shared the slices. A block is as many rows as stay
in the cache between the matrix product that reads them and the sums that read them again. Scores are laid out as
(clusters, rows of the block): the search for the best cluster then runs along the rows in vector registers.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators

import numpy as np

from spherevec.compiling import njit

BLOCK_ROWS = 256


@njit(nogil=True, cache=True)
def best_two_in_columns(scores, best, winner, second):
    """For scores (clusters, rows): the highest of each column, the first cluster that reaches it, the second highest.

    The last is -inf where there is one cluster only.
    """
    n_clusters, n_rows = scores.shape
    for row in range(n_rows):
        best[row] = scores[0, row]
        winner[row] = 0
        second[row] = -np.inf
    for cluster in range(1, n_clusters):
        candidate = scores[cluster]
        for row in range(n_rows):
            better = candidate[row] > best[row]
            loser = best[row] if better else candidate[row]
            second[row] = loser if loser > second[row] else second[row]
            best[row] = candidate[row] if better else best[row]
            winner[row] = cluster if better else winner[row]


@njit(nogil=True, cache=True)
def assign(
    rows,
    weights,
    centers,
    travel,
    labels,
    cosines,
    safe_travel,
    moved_sums,
    moved_counts,
    moved_rows,
    cosine_error,
    first_slice,
    last_slice,
):
    """Give each row its nearest centre, and record what that changes in the clusters' sums.

    A row is left alone as long as its centre and any other have together come less far than the gap between its
    distances to the nearest and the second nearest: by the triangle inequality it would stay where it is.

    rows (n, d), weights (n,), centers (k, d); travel (k,): what each centre and the fastest of all have travelled since
    the start;
    updated: labels (n,), -1 where a row had none; cosines (n,) to the nearest centre when last looked at; safe_travel
    (n,): the travel of a row's centre up to which the row need not be looked at;
    overwritten: moved_sums (slices, k, d) and moved_counts (slices, k), what each slice adds to the clusters, and
    moved_rows (slices,), how many rows changed their cluster;
    cosine_error: how wrong a cosine may be.
    """
    n_rows, dim = rows.shape
    n_clusters = centers.shape[0]
    scratch = np.empty(n_clusters * BLOCK_ROWS, rows.dtype)
    gathered = np.empty((BLOCK_ROWS, dim), rows.dtype)
    pending = np.empty(BLOCK_ROWS, np.int64)
    winner = np.empty(BLOCK_ROWS, np.int32)
    best = np.empty(BLOCK_ROWS, rows.dtype)
    second = np.empty(BLOCK_ROWS, rows.dtype)
    for index in range(first_slice, last_slice):
        sums = moved_sums[index]
        counts = moved_counts[index]
        sums[:] = 0
        counts[:] = 0
        moved_rows[index] = 0
        row, end = n_rows * index // len(moved_sums), n_rows * (index + 1) // len(moved_sums)
        while row < end:
            n_pending = 0
            while row < end and n_pending < BLOCK_ROWS:
                if labels[row] < 0 or travel[labels[row]] >= safe_travel[row]:
                    pending[n_pending] = row
                    n_pending += 1
                row += 1
            if n_pending == 0:
                break
            low, high = pending[0], pending[n_pending - 1] + 1
            if high - low == n_pending:
                block = rows[low:high]
            else:
                block = gathered[:n_pending]
                for i in range(n_pending):
                    block[i] = rows[pending[i]]
            scores = scratch[: n_clusters * n_pending].reshape(n_clusters, n_pending)
            np.dot(centers, block.T, scores)
            best_two_in_columns(scores, best[:n_pending], winner[:n_pending], second[:n_pending])
            for i in range(n_pending):
                old, new = labels[pending[i]], winner[i]
                cosines[pending[i]] = best[i]
                nearest = np.sqrt(max(2 - 2 * (best[i] - cosine_error), 0.0))
                next_nearest = np.sqrt(max(2 - 2 * (second[i] + cosine_error), 0.0))
                safe_travel[pending[i]] = next_nearest - nearest + travel[new]
                if old == new:
                    continue
                weight = weights[pending[i]]
                labels[pending[i]] = new
                moved_rows[index] += 1
                counts[new] += 1
                for j in range(dim):
                    sums[new, j] += weight * block[i, j]
                if old >= 0:
                    counts[old] -= 1
                    for j in range(dim):
                        sums[old, j] -= weight * block[i, j]
