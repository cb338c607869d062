"""The compiled loops of the map: steps of points on the globe.

Every loop gathers: a row of the result is written by one thread, from inputs that nobody writes meanwhile. So the
result is the same to the last bit for any number of threads.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import math

import numpy as np

from spherevec.compiling import njit

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"nsz", "arcp", "contract", "afn", "reassoc"})

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled
def scramble(x):
    """A 64-bit hash of 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def random_row(key, number, count):
    """One of `count` rows, by a hash of `key` and `number`."""
    high = scramble(key + np.uint64(number) * _GOLDEN) >> np.uint64(32)
    return np.int64((high * np.uint64(count)) >> np.uint64(32))


@compiled
def voxel_of(x, y, z, side, across):
    """The number of the voxel of a point: space is cut into `across` ** 3 cubes of this side."""
    a = np.int64((x + np.float32(1.0)) / side)
    b = np.int64((y + np.float32(1.0)) / side)
    c = np.int64((z + np.float32(1.0)) / side)
    return (min(a, across - 1) * across + min(b, across - 1)) * across + min(c, across - 1)


@compiled
def sort_into_voxels(places, count, side, across, starts, filled, sorted_places, sorted_rows):
    """Sort the first `count` places by their voxel, by counting.

    Args:
        starts: (across ** 3 + 1,) where each voxel begins, written; filled: (across ** 3,) scratch.
        sorted_places: (count, 3) and sorted_rows: (count,), written.
    """
    for cell in range(starts.size):
        starts[cell] = 0
    for i in range(count):
        starts[voxel_of(places[i, 0], places[i, 1], places[i, 2], side, across) + 1] += 1
    for cell in range(starts.size - 1):
        filled[cell] = starts[cell]
        starts[cell + 1] += starts[cell]
    for i in range(count):
        cell = voxel_of(places[i, 0], places[i, 1], places[i, 2], side, across)
        to = filled[cell]
        filled[cell] += 1
        sorted_rows[to] = i
        for d in range(3):
            sorted_places[to, d] = places[i, d]


@compiled
def move_points(
    old, new, pace, affinity, starts, links,
    voxels, side, across, sorted_places, sorted_rows, samples,
    scale, mean_affinity, repulsion, rate, momentum, key, first, last,
):  # fmt: skip
    """One step of the points [first, last) on the globe, all of them from the same old places.

    With the affinity q(x, y) = 1 / (1 + ‖x − y‖² / scale²), the links of a point draw it by the mean of q (y − x), and
    all n points push it away by the sum of q² (x − y) / Σ q: the gradient of t-SNE's objective. The sum over all points
    is estimated from two samples, one of the points in the 27 voxels around, one of all others. The force is projected
    to the tangent plane at the point, and the point returns to the globe by normalising.

    Args:
        old, new: (m, 3) places before and after; pace: (m, 3) the last step of each point, updated.
        affinity: (m,) estimate of the mean of q(x, y) over all points y, written.
        starts, links: the graph in CSR form, (m + 1,) and (e,).
        voxels, side, across, sorted_places, sorted_rows: the n points that push, see `sort_into_voxels`.
        samples: size of each of the two samples.
        mean_affinity: mean of q over all pairs, from the last step.
        repulsion: weight of the push; rate: length of a step; momentum: share of the last step that is added.
        key: uint64 hash of the seed and of this step.
    """
    unit = np.float32(1.0)
    inverse = unit / (scale * scale)
    longest = np.float32(3.0) * scale
    n = sorted_rows.size
    begins, ends = np.empty(27, np.int64), np.empty(27, np.int64)
    for i in range(first, last):
        x, y, z = old[i, 0], old[i, 1], old[i, 2]
        gx, gy, gz = np.float32(0.0), np.float32(0.0), np.float32(0.0)
        share = unit / np.float32(max(starts[i + 1] - starts[i], 1))
        for place in range(starts[i], starts[i + 1]):
            j = links[place]
            dx, dy, dz = old[j, 0] - x, old[j, 1] - y, old[j, 2] - z
            pull = share / (unit + (dx * dx + dy * dy + dz * dz) * inverse)
            gx += pull * dx
            gy += pull * dy
            gz += pull * dz

        # The voxels around, those that hold a point.
        home = voxel_of(x, y, z, side, across)
        a, b, c = home // (across * across), (home // across) % across, home % across
        near, cells = 0, 0
        for u in range(max(a - 1, 0), min(a + 2, across)):
            for v in range(max(b - 1, 0), min(b + 2, across)):
                low = (u * across + v) * across + max(c - 1, 0)
                high = (u * across + v) * across + min(c + 2, across)
                # Three voxels in a row lie side by side in memory.
                if voxels[high] > voxels[low]:
                    begins[cells], ends[cells] = voxels[low], voxels[high]
                    near += voxels[high] - voxels[low]
                    cells += 1

        mine = scramble(key ^ np.uint64(i))
        sum_q, px, py, pz = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        taken = min(near, samples)
        begin = random_row(mine, 0, max(near, 1))
        for t in range(taken + (samples if n > near else 0)):
            if t < taken:
                # Evenly spaced from a random start: every near point has the same chance, and few are seen twice.
                weight = np.float32(near) / np.float32(taken)
                at, cell = (begin + (t * near) // taken) % near, 0
                while at >= ends[cell] - begins[cell]:
                    at -= ends[cell] - begins[cell]
                    cell += 1
                at += begins[cell]
                skipped = sorted_rows[at] == i
            else:
                # Points of the near voxels are left out: the sampled points stand for all n, so their part is dropped.
                weight = np.float32(n) / np.float32(samples)
                at, skipped = random_row(mine, t - taken + 1, n), False
                for cell in range(cells):
                    skipped |= begins[cell] <= at < ends[cell]
            if skipped:
                continue
            dx, dy, dz = x - sorted_places[at, 0], y - sorted_places[at, 1], z - sorted_places[at, 2]
            q = unit / (unit + (dx * dx + dy * dy + dz * dz) * inverse)
            sum_q += weight * q
            push = weight * q * q
            px += push * dx
            py += push * dy
            pz += push * dz
        affinity[i] = sum_q / np.float32(n)
        strength = repulsion / (mean_affinity * np.float32(n))
        gx += strength * px
        gy += strength * py
        gz += strength * pz

        along = gx * x + gy * y + gz * z
        sx = rate * (gx - along * x) + momentum * pace[i, 0]
        sy = rate * (gy - along * y) + momentum * pace[i, 1]
        sz = rate * (gz - along * z) + momentum * pace[i, 2]
        length = np.float32(math.sqrt(sx * sx + sy * sy + sz * sz))
        if length > longest:
            cut = longest / length
            sx *= cut
            sy *= cut
            sz *= cut
        pace[i, 0], pace[i, 1], pace[i, 2] = sx, sy, sz
        x += sx
        y += sy
        z += sz
        back = unit / np.float32(math.sqrt(x * x + y * y + z * z))
        new[i, 0], new[i, 1], new[i, 2] = x * back, y * back, z * back
