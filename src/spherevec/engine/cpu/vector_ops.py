"""The arithmetic of a batch, written as LLVM vectors: a few anchor rows against a few target rows.

Numba's own loops over rows of run-time length spend most of their time on alias checks and remainders. Here rows are
read `LANES` numbers at a time, straight from the matrices, and every loaded number is used several times from a
register: four anchors against three targets. For that the rows of all matrices start on a cache line and are padded
with zeros to `stride`, a multiple of `LANES` (see `padded_rows`). Rows are handed over by their addresses, since the
rows of a batch come from three matrices.
"""

from __future__ import annotations

from functools import wraps

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

LANES = 16  # numbers handled at once: one AVX-512 register, two of AVX2, four of NEON
LINE = 64  # bytes of a cache line
ANCHOR_TILE = 4
TARGET_TILE = 3
CELLS = LANES // ANCHOR_TILE  # of an anchor in a tile: its targets, and what is left of a quarter of a vector

FLOAT = ir.FloatType()
INT = ir.IntType(64)
ZERO = ir.Constant(INT, 0)
_VECTOR = ir.VectorType(FLOAT, LANES)
_BYTE, _SHORT = ir.IntType(8), ir.IntType(32)
_WHOLE = ir.VectorType(_SHORT, LANES)
# NaN and infinity stay visible: no "nnan", no "ninf".
FASTMATH = ("nsz", "arcp", "contract", "afn", "reassoc")


def padded_width(width: int) -> int:
    """The stride of rows of so many numbers."""
    return -(-width // LANES) * LANES


def padded_rows(rows: int, width: int) -> NDArray[np.float32]:
    """A zero float32 matrix whose rows start on cache lines; columns from `width` on are padding and stay zero."""
    stride = padded_width(width)
    buffer = np.zeros(rows * stride + LINE // 4, np.float32)
    start = -buffer.ctypes.data % LINE // 4
    return buffer[start : start + rows * stride].reshape(rows, stride)


class Code:
    """Writes the code of an operation: pointers to rows, and arithmetic on the vectors that they consist of."""

    def __init__(self, context, builder, kinds):
        self.context, self.builder, self.kinds = context, builder, kinds

    def at(self, data, first, plus=0):
        """Pointer to the number at place `first + plus`."""
        return self.builder.gep(data, [self.builder.add(first, ir.Constant(INT, plus)) if plus else first])

    def row(self, data, number, stride):
        """Pointer to a row of a matrix."""
        return self.at(data, self.builder.mul(number, stride))

    def pointer(self, address):
        return self.builder.inttoptr(address, FLOAT.as_pointer())

    def rows_at(self, addresses, first, count):
        """Pointers to the rows whose addresses stand at [first, first + count)."""
        return [self.pointer(self.builder.load(self.at(addresses, first, i))) for i in range(count)]

    def over(self, count, step=LANES):
        """A loop over [0, count)."""
        return cgutils.for_range_slice(self.builder, ZERO, count, ir.Constant(INT, step))

    def load(self, row, index, align=LINE):
        place = self.at(row, index)
        kind = _VECTOR if place.type.pointee == FLOAT else _WHOLE
        return self.builder.load(self.builder.bitcast(place, kind.as_pointer()), align=align)

    def constant(self, number):
        return ir.Constant(_VECTOR, [number] * LANES)

    def splat(self, scalar):
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        one = self.builder.insert_element(undefined, scalar, ir.Constant(_SHORT, 0))
        return self.builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_SHORT, LANES), [0] * LANES))

    def splat_at(self, data, first, plus=0):
        return self.splat(self.builder.load(self.at(data, first, plus)))

    def times(self, x, y):
        return self.builder.fmul(x, y, flags=FASTMATH)

    def minus(self, x, y):
        return self.builder.fsub(x, y, flags=FASTMATH)

    def multiply_add(self, x, y, total):
        return self.builder.fadd(total, self.times(x, y), flags=FASTMATH)

    def call(self, name, *vectors):
        """What one of LLVM's own functions makes of some vectors."""
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(vectors))
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.{name}.v{LANES}f32")
        return self.builder.call(function, vectors)

    def sums(self, count):
        """Places of so many vectors, zero at first."""
        slots = [cgutils.alloca_once(self.builder, _VECTOR) for _ in range(count)]
        for slot in slots:
            self.builder.store(self.constant(0.0), slot)
        return slots

    def accumulate(self, x, y, slot):
        self.builder.store(self.multiply_add(x, y, self.builder.load(slot)), slot)

    def sum_lanes(self, slot):
        kind = ir.FunctionType(FLOAT, [FLOAT, _VECTOR])
        name = f"llvm.vector.reduce.fadd.v{LANES}f32"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, [ir.Constant(FLOAT, 0.0), self.builder.load(slot)], fastmath=FASTMATH)

    def folded(self, x, y, places, apart):
        """Numbers at some places of x and y, counted through both, plus those `apart` places behind them."""
        kind = ir.VectorType(_SHORT, len(places))
        first, second = (
            self.builder.shuffle_vector(x, y, ir.Constant(kind, [place + plus for place in places]))
            for plus in (0, apart)
        )
        return self.builder.fadd(first, second)

    def quarters(self, a, b, c, d):
        """Four vectors folded into the quarters of one."""
        left, right = (self.folded(x, y, [*range(8), *range(16, 24)], 8) for x, y in ((a, b), (c, d)))
        return self.folded(left, right, [*range(4), *range(8, 12), *range(16, 20), *range(24, 28)], 4)

    def columns(self, vectors):
        """In each quarter, side by side, the sums over that quarter of up to four vectors."""
        a, b, c, d = [*vectors, *vectors[-1:] * 3][:4]
        starts = range(0, LANES, 4)
        in_turn = [place for i in starts for place in (i, i + LANES, i + 1, i + LANES + 1)]
        in_pairs = [place for i in starts for place in (i, i + 1, i + LANES, i + LANES + 1)]
        return self.folded(self.folded(a, b, in_turn, 2), self.folded(c, d, in_turn, 2), in_pairs, 2)

    def some(self, vector, places):
        """The numbers at some places of a vector."""
        kind = ir.VectorType(_SHORT, len(places))
        return self.builder.shuffle_vector(vector, vector, ir.Constant(kind, list(places)))

    def store(self, vector, row, index, align=LINE):
        """Write a vector to places of a row from `index` on."""
        self.builder.store(vector, self.builder.bitcast(self.at(row, index), vector.type.as_pointer()), align=align)

    def store_over_quarters(self, vector, count, target):
        """Write the first `count` sums over the four quarters of a vector."""
        half = self.folded(vector, vector, range(8), 8)
        self.store(self.some(self.folded(half, half, range(4), 4), range(count)), target, ZERO, align=4)

    def fetch(self, row, stride, *, for_writing):
        kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer()] + [_SHORT] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        how = [ir.Constant(_SHORT, n) for n in (int(for_writing), 3, 1)]  # to stay in the data cache
        with self.over(stride) as (index, _):
            self.builder.call(function, [self.builder.bitcast(self.at(row, index), _BYTE.as_pointer()), *how])


def operation(returns=types.void):
    """An operation for compiled code, from a function that writes its `Code`.

    That gets arrays as pointers to their data, whole numbers as 64 bits and other numbers as float32.
    """

    def decorate(write):
        @wraps(write)
        def typed(typing, *given):
            kinds = [
                kind if isinstance(kind, types.Array | types.BaseTuple)
                else types.int64 if isinstance(kind, types.Integer)
                else types.float32
                for kind in given
            ]  # fmt: skip

            def code(context, builder, signature, values):
                data = [
                    context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
                    for kind, value in zip(kinds, values, strict=True)
                ]
                result = write(Code(context, builder, kinds), *data)
                return context.get_dummy_value() if result is None else result

            return returns(*kinds), code

        return intrinsic(typed)

    return decorate


@intrinsic
def row_address(typing, matrix, row):
    """Address of a row of a C-contiguous matrix."""

    def code(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = cgutils.unpack_tuple(builder, array.shape, 2)[1]
        return builder.ptrtoint(builder.gep(array.data, [builder.mul(arguments[1], width)]), INT)

    return types.int64(matrix, types.int64), code


@operation()
def prefetch(code, address, stride):
    """Ask for the cache lines of a row before it is needed."""
    code.fetch(code.pointer(address), stride, for_writing=False)


def _scores(anchor_count):
    @operation()
    def scores(code, anchors, first_anchor, targets, first_target, scores, tile, stride):
        """The products of anchors and targets, for one tile of both: cells of tile number `tile`, see `cell_of`."""
        anchor_rows = code.rows_at(anchors, first_anchor, anchor_count)
        target_rows = code.rows_at(targets, first_target, TARGET_TILE)
        sums = code.sums(anchor_count * TARGET_TILE)
        with code.over(stride) as (index, _):
            right = [code.load(row, index) for row in target_rows]
            for a, row in enumerate(anchor_rows):
                left = code.load(row, index)
                for t in range(TARGET_TILE):
                    code.accumulate(left, right[t], sums[a * TARGET_TILE + t])
        cells = code.row(scores, tile, ir.Constant(INT, LANES))
        sums = [code.builder.load(slot) for slot in sums]
        if anchor_count == 1:
            code.store_over_quarters(code.columns(sums), TARGET_TILE, cells)
        else:
            by_target = [code.quarters(*sums[t::TARGET_TILE]) for t in range(TARGET_TILE)]
            # One vector, written and read as a whole: the weights need not wait until small parts are in the cache.
            code.store(code.columns(by_target), cells, ZERO, align=4)

    return scores


def _combine(rows, tile, row_step, other_step):
    @operation()
    def combine(code, own, first, keep, other, tiles, weights, first_tile, tile_step, new, squares, stride):
        """Add weighted rows to `rows` rows at once, whole tiles of them, and note the squared norms of what results.

        new[r] = keep[r] * own[r] + the sum over the rows o of all `tiles` tiles of others of weight[r, o] * other[o];
        squares[r] = |new[r]|². Weights are cells of the tiles first_tile, first_tile + tile_step, ….
        """
        builder = code.builder
        places = [builder.add(first, ir.Constant(INT, r)) for r in range(rows)]
        keeps = [code.splat_at(keep, place) for place in places]
        own_rows = code.rows_at(own, first, rows)
        new_rows = [code.row(new, place, stride) for place in places]
        norms, sums = code.sums(rows), code.sums(rows)
        with code.over(stride) as (index, _):
            for r in range(rows):
                builder.store(builder.fmul(keeps[r], code.load(own_rows[r], index)), sums[r])
            with code.over(tiles, 1) as (number, _):
                others = code.rows_at(other, builder.mul(number, ir.Constant(INT, tile)), tile)
                numbers = [code.load(row, index) for row in others]
                at = builder.add(first_tile, builder.mul(number, tile_step))
                cells = code.row(weights, at, ir.Constant(INT, LANES))
                for r in range(rows):
                    total = builder.load(sums[r])
                    for o in range(tile):
                        weight = code.splat_at(cells, ZERO, r * row_step + o * other_step)
                        # Rounded once where the processor can; never in another order.
                        total = code.call("fmuladd", weight, numbers[o], total)
                    builder.store(total, sums[r])
            for r in range(rows):
                total = builder.load(sums[r])
                code.store(total, new_rows[r], index)
                code.accumulate(total, total, norms[r])
        code.store_over_quarters(code.columns([builder.load(norm) for norm in norms]), rows, code.at(squares, first))

    return combine


# A tile of anchors and a tile of targets; one anchor and a tile of targets.
tile_scores, row_scores = _scores(ANCHOR_TILE), _scores(1)
# Anchors step towards all targets, targets towards all anchors, one anchor towards all targets.
combine_anchors, combine_targets = (
    _combine(ANCHOR_TILE, TARGET_TILE, CELLS, 1),
    _combine(TARGET_TILE, ANCHOR_TILE, 1, CELLS),
)
combine_row = _combine(1, TARGET_TILE, CELLS, 1)


def _remainders(rows, parts):
    @operation()
    def remainders(code, scores, weights, first_tile, tile_step, tiles, keep, first):
        """keep[first + r] = 1 - the sum of weight * score over the cells of row r of all tiles."""
        builder = code.builder
        (total,) = code.sums(1)
        with code.over(tiles, 1) as (number, _):
            cell = builder.mul(builder.add(first_tile, builder.mul(number, tile_step)), ir.Constant(INT, LANES))
            code.accumulate(code.load(scores, cell, align=4), code.load(weights, cell, align=4), total)
        rest = ir.Constant(ir.VectorType(FLOAT, rows), [1.0] * rows)
        for places in parts:
            rest = builder.fsub(rest, code.some(builder.load(total), places))
        code.store(rest, keep, first, align=4)

    return remainders


# What the steps of anchors leave of themselves, over all targets; and those of targets, over all anchors.
keep_anchors = _remainders(ANCHOR_TILE, [range(t, LANES, CELLS) for t in range(TARGET_TILE)])
keep_targets = _remainders(TARGET_TILE, [range(a * CELLS, a * CELLS + TARGET_TILE) for a in range(ANCHOR_TILE)])


@operation()
def inverse_roots(code, values, count):
    """values = 1 / sqrt(values), in place, for `count` rounded up to whole LANES."""
    with code.over(count) as (index, _):
        roots = code.call("sqrt", code.load(values, index, align=4))
        code.store(code.builder.fdiv(code.constant(1.0), roots), values, index, align=4)


@operation()
def logistic_weights(code, scores, real, kappas, biases, weights, alpha, count):
    """weights = alpha * kappas * (real - sigmoid(kappas * scores - biases)), to 3e-5 of alpha * kappas.

    For the first `count` cells of all arrays, rounded up to whole LANES.
    """
    one, half, inner = (code.constant(number) for number in (1.0, 0.5, 1.0 / 1024))
    alphas = code.splat(alpha)
    with code.over(count) as (index, _):
        score, label, kappa, bias = (code.load(row, index, align=4) for row in (scores, real, kappas, biases))
        # exp(x) = exp(x / 1024) ** 1024: the inner one by its first three terms, the power by ten squarings.
        x = code.times(code.minus(bias, code.times(kappa, score)), inner)
        power = code.multiply_add(code.multiply_add(half, x, one), x, one)
        for _ in range(10):
            power = code.times(power, power)
        likely = code.builder.fdiv(one, code.builder.fadd(one, power, flags=FASTMATH), flags=FASTMATH)
        step = code.times(code.times(alphas, kappa), code.minus(label, likely))
        code.store(step, weights, index, align=4)


@operation()
def store_scaled(code, source, source_row, scale, address, stride):
    """Write scale * source[source_row] to the row at `address`."""
    row, target, scales = code.row(source, source_row, stride), code.pointer(address), code.splat(scale)
    with code.over(stride) as (index, _):
        code.store(code.times(scales, code.load(row, index)), target, index)


@operation(types.float32)
def blend_rows(code, address, stay, along, new, row, stride):
    """new[row] = stay * (the row at `address`) + along * new[row]; returns its squared norm."""
    old_row, new_row = code.pointer(address), code.row(new, row, stride)
    stays, alongs = code.splat(stay), code.splat(along)
    (square,) = code.sums(1)
    with code.over(stride) as (index, _):
        stepped = code.times(alongs, code.load(new_row, index))
        moved = code.multiply_add(stays, code.load(old_row, index), stepped)
        code.store(moved, new_row, index)
        code.accumulate(moved, moved, square)
    return code.sum_lanes(square)


@operation(types.float32)
def add_whole(code, copy, start, total, row, unit, stride):
    """total[row] += (the row at `copy`) - (the row at `start`), in whole `unit`s; returns the difference's square."""
    copy_row, start_row, total_row = code.pointer(copy), code.pointer(start), code.row(total, row, stride)
    units = code.splat(code.builder.fdiv(ir.Constant(FLOAT, 1.0), unit))
    (square,) = code.sums(1)
    with code.over(stride) as (index, _):
        learned = code.builder.fsub(code.load(copy_row, index), code.load(start_row, index))
        code.accumulate(learned, learned, square)
        whole = code.builder.fptosi(code.call("nearbyint", code.builder.fmul(units, learned)), _WHOLE)
        code.store(code.builder.add(code.load(total_row, index), whole), total_row, index)
    return code.sum_lanes(square)


@operation(types.float32)
def take_whole(code, address, weight, total, total_row, new, row, stride):
    """new[row] = the row at `address` + weight * total[total_row]; zeros the latter, returns the former's square."""
    old_row, taken_row, new_row = code.pointer(address), code.row(total, total_row, stride), code.row(new, row, stride)
    weights = code.splat(weight)
    (square,) = code.sums(1)
    with code.over(stride) as (index, _):
        learned = code.builder.sitofp(code.load(taken_row, index), _VECTOR)
        moved = code.builder.fadd(code.load(old_row, index), code.builder.fmul(weights, learned))
        code.store(moved, new_row, index)
        code.store(ir.Constant(_WHOLE, [0] * LANES), taken_row, index)
        code.accumulate(moved, moved, square)
    return code.sum_lanes(square)


@operation(types.float32)
def row_product(code, left, right, stride):
    """The product of the rows at two addresses."""
    rows = code.pointer(left), code.pointer(right)
    (total,) = code.sums(1)
    with code.over(stride) as (index, _):
        code.accumulate(*(code.load(row, index) for row in rows), total)
    return code.sum_lanes(total)


@operation()
def triple_gram(code, word, negative, anchor, gram, stride):
    """All products of the rows u, n, v at three addresses: gram = u·u, n·n, v·v, u·v, n·v, u·n."""
    rows = [code.pointer(address) for address in (word, negative, anchor)]
    pairs = [(0, 0), (1, 1), (2, 2), (0, 2), (1, 2), (0, 1)]
    sums = code.sums(len(pairs))
    with code.over(stride) as (index, _):
        numbers = [code.load(row, index) for row in rows]
        for slot, (i, j) in zip(sums, pairs, strict=True):
            code.accumulate(numbers[i], numbers[j], slot)
    for i, slot in enumerate(sums):
        code.builder.store(code.sum_lanes(slot), code.at(gram, ZERO, i))


@operation()
def triple_step(code, word, negative, anchor, weights, stride):
    """u = w0 u + w1 v, n = w2 n + w3 v and v = w4 v + w5 (u - n), each from the old rows."""
    rows = [code.pointer(address) for address in (word, negative, anchor)]
    spread = [code.splat_at(weights, ZERO, i) for i in range(6)]
    with code.over(stride) as (index, _):
        u, n, v = (code.load(row, index) for row in rows)
        others = v, v, code.minus(u, n)
        for i, (row, own, other) in enumerate(zip(rows, (u, n, v), others, strict=True)):
            kept = code.times(spread[2 * i], own)
            code.store(code.multiply_add(spread[2 * i + 1], other, kept), row, index)
