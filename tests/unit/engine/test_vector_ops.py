"""Every operation on LLVM vectors against the NumPy expression that it stands for.

The logistic function is compared where it is used, in test_kernel_oracle.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from spherevec.engine.cpu import vector_ops as ops
from spherevec.engine.cpu.kernels import cell_of

WIDTHS = (2, 3, 15, 16, 17, 100, 300)


# Not cached: a cache would not notice edits of the operations.
@njit
def scores_and_steps(anchors, targets, scores, pull, push, keep_anchor, keep_target, new_anchors, new_targets, squares):
    stride = new_anchors.shape[1]
    sides = anchors.size // ops.ANCHOR_TILE, targets.size // ops.TARGET_TILE
    for a in range(sides[0]):
        first, cells = a * ops.ANCHOR_TILE, a * sides[1]
        for t in range(sides[1]):
            ops.tile_scores(anchors, first, targets, t * ops.TARGET_TILE, scores, cells + t, stride)
        ops.keep_anchors(scores, pull, cells, 1, sides[1], keep_anchor, first)
        ops.combine_anchors(
            anchors, first, keep_anchor, targets, sides[1], pull, cells, 1, new_anchors, squares[0], stride
        )
    for t in range(sides[1]):
        first = t * ops.TARGET_TILE
        ops.keep_targets(scores, push, t, sides[1], sides[0], keep_target, first)
        ops.combine_targets(
            targets, first, keep_target, anchors, sides[0], push, t, sides[1], new_targets, squares[1], stride
        )


@njit
def row_scores_and_step(anchor, targets, scores, pull, keep, new, squares):
    stride, tiles = new.shape[1], targets.size // ops.TARGET_TILE
    for t in range(tiles):
        ops.row_scores(anchor, 0, targets, t * ops.TARGET_TILE, scores, t, stride)
    ops.keep_anchors(scores, pull, 0, 1, tiles, keep, 0)
    ops.combine_row(anchor, 0, keep, targets, tiles, pull, 0, 1, new, squares, stride)


@njit
def address(matrix, row):
    ops.prefetch(ops.row_address(matrix, row), matrix.shape[1])
    return ops.row_address(matrix, row)


@njit
def scaled(source, row, scale, target, target_row):
    ops.store_scaled(source, row, scale, ops.row_address(target, target_row), source.shape[1])


@njit
def blended(old, stay, along, new, row):
    return ops.blend_rows(ops.row_address(old, row), stay, along, new, row, new.shape[1])


@njit
def triple(rows, gram, weights):
    word, drawn, anchor = ops.row_address(rows, 0), ops.row_address(rows, 1), ops.row_address(rows, 2)
    ops.triple_gram(word, drawn, anchor, gram, rows.shape[1])
    ops.triple_step(word, drawn, anchor, weights, rows.shape[1])


@njit
def roots(values, count):
    ops.inverse_roots(values, count)


def addresses(rows):
    return np.array([row.ctypes.data for row in rows])


def random_rows(rng, rows, width):
    matrix = ops.padded_rows(rows, width)
    matrix[:, :width] = rng.standard_normal((rows, width))
    return matrix


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def cells(n_anchors, n_targets):
    """Where the figures of each pair stand."""
    return np.array([[cell_of(a, t, n_targets) for t in range(n_targets)] for a in range(n_anchors)])


def in_cells(figures):
    """Figures of anchors and targets as the operations want them; what belongs to no pair must not matter."""
    anchors = -(-len(figures) // ops.ANCHOR_TILE) * ops.ANCHOR_TILE
    flat = np.full(anchors // ops.ANCHOR_TILE * (figures.shape[1] // ops.TARGET_TILE) * ops.LANES, 7, np.float32)
    flat[cells(*figures.shape)] = figures
    return flat


@pytest.mark.parametrize(("rows", "width"), [(1, 1), (3, 16), (5, 17), (7, 300)])
def test_padded_rows_start_on_cache_lines_and_are_zero(rows, width):
    matrix = ops.padded_rows(rows, width)
    assert matrix.shape == (rows, -(-width // ops.LANES) * ops.LANES)
    assert matrix.dtype == np.float32
    assert not matrix.any()
    assert [address(matrix, row) % ops.LINE for row in range(rows)] == [0] * rows
    assert address(matrix, rows - 1) == matrix[rows - 1].ctypes.data


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("n_anchors", "n_targets"), [(4, 3), (4, 6), (8, 3), (12, 9)])
def test_scores_and_sums_of_steps(n_anchors, n_targets, width):
    rng = np.random.default_rng(width)
    anchors, targets = random_rows(rng, n_anchors, width), random_rows(rng, n_targets, width)
    pull, push = rng.standard_normal((2, n_anchors, n_targets)).astype(np.float32)
    keep_anchor, keep_target = (np.full(n, np.nan, np.float32) for n in (n_anchors, n_targets))
    scores = np.full_like(in_cells(pull), np.nan)
    # What a block held before must not matter.
    new_anchors, new_targets = random_rows(rng, n_anchors, width), random_rows(rng, n_targets, width)
    squares = np.full((2, max(n_anchors, n_targets)), np.nan, np.float32)
    scores_and_steps(
        addresses(anchors), addresses(targets), scores, in_cells(pull), in_cells(push), keep_anchor, keep_target,
        new_anchors, new_targets, squares,
    )  # fmt: skip
    products = anchors @ targets.T
    close(scores[cells(n_anchors, n_targets)], products)
    close(keep_anchor, 1 - (pull * products).sum(axis=1))
    close(keep_target, 1 - (push * products).sum(axis=0))
    close(new_anchors, keep_anchor[:, None] * anchors + pull @ targets)
    close(new_targets, keep_target[:, None] * targets + push.T @ anchors)
    close(squares[0, :n_anchors], (new_anchors**2).sum(axis=1))
    close(squares[1, :n_targets], (new_targets**2).sum(axis=1))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n_targets", [3, 9])
def test_scores_and_step_of_one_row(n_targets, width):
    rng = np.random.default_rng(width)
    anchor, targets, new = random_rows(rng, 1, width), random_rows(rng, n_targets, width), random_rows(rng, 1, width)
    pull = rng.standard_normal((1, n_targets)).astype(np.float32)
    scores, keep = np.full_like(in_cells(pull), np.nan), np.full(ops.ANCHOR_TILE, np.nan, np.float32)
    squares = np.full(1, np.nan, np.float32)
    row_scores_and_step(addresses(anchor), addresses(targets), scores, in_cells(pull), keep, new, squares)
    close(scores[cells(1, n_targets)], anchor @ targets.T)
    close(keep[0], 1 - (pull * (anchor @ targets.T)).sum())
    close(new, keep[0] * anchor + pull @ targets)
    close(squares, (new**2).sum(axis=1))


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_scaled_and_blended(width):
    rng = np.random.default_rng(width)
    source, target, new = (random_rows(rng, 3, width) for _ in range(3))
    before, before_new = target.copy(), new.copy()
    scaled(source, 2, np.float32(-0.7), target, 1)
    close(target[1], np.float32(-0.7) * source[2])
    square = blended(source, np.float32(0.3), np.float32(1.9), new, 1)
    close(new[1], 0.3 * source[1] + 1.9 * before_new[1])
    close(square, (new[1] ** 2).sum())
    for untouched in (0, 2):
        np.testing.assert_array_equal(target[untouched], before[untouched])
        np.testing.assert_array_equal(new[untouched], before_new[untouched])


@pytest.mark.parametrize("width", WIDTHS)
def test_triples(width):
    rng = np.random.default_rng(width)
    rows = random_rows(rng, 4, width)
    u, n, v, rest = rows.copy()
    w = rng.standard_normal(6).astype(np.float32)
    gram = np.zeros(ops.LANES, np.float32)
    triple(rows, gram, w)
    close(gram[:6], [u @ u, n @ n, v @ v, u @ v, n @ v, u @ n])
    close(rows, [w[0] * u + w[1] * v, w[2] * n + w[3] * v, w[4] * v + w[5] * (u - n), rest])


@pytest.mark.parametrize("count", [1, 4, 16, 17, 32])
def test_inverse_roots(count):
    values = np.linspace(0.01, 9, 48, dtype=np.float32)
    result = values.copy()
    roots(result, count)
    upper = -(-count // ops.LANES) * ops.LANES
    np.testing.assert_allclose(result[:upper], 1 / np.sqrt(values[:upper]), rtol=1e-6)
    np.testing.assert_array_equal(result[upper:], values[upper:])
