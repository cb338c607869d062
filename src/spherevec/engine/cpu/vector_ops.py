"""The arithmetic of a batch, written as LLVM vectors: a few anchor rows against a few target rows.

Numba's own loops over rows of run-time length spend most of their time on alias checks and remainders. Here rows are
read `LANES` numbers at a time, straight from the matrices, and every loaded number is used several times from a
register: four anchors against three targets. For that the rows of all matrices start on a cache line and are padded
with zeros to `stride`, a multiple of `LANES` (see `padded_rows`). Rows are handed over by their addresses, since the
rows of a batch come from three matrices.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16  # numbers handled at once: one AVX-512 register, two of AVX2, four of NEON
LINE = 64  # bytes of a cache line
ANCHOR_TILE = 4
TARGET_TILE = 3

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_INT = ir.IntType(64)
_FAST = ("nsz", "arcp", "contract", "afn", "reassoc")


def padded_width(width: int) -> int:
    """The stride of rows of so many numbers."""
    return -(-width // LANES) * LANES


def padded_rows(rows: int, width: int) -> np.ndarray:
    """A zero float32 matrix whose rows start on cache lines; columns from `width` on are padding and stay zero."""
    stride = padded_width(width)
    buffer = np.zeros(rows * stride + LINE // 4, np.float32)
    start = -buffer.ctypes.data % LINE // 4
    return buffer[start : start + rows * stride].reshape(rows, stride)


def _data(context, builder, array_type, array):
    return context.make_array(array_type)(context, builder, array).data


def _constant(number):
    return ir.Constant(_INT, number)


def _read_addresses(builder, addresses, first, count):
    """Pointers to the rows whose addresses stand at [first, first + count)."""
    slots = [builder.gep(addresses, [builder.add(first, _constant(i))]) for i in range(count)]
    return [builder.inttoptr(builder.load(slot), _FLOAT.as_pointer()) for slot in slots]


def _block_rows(builder, data, first, stride, count):
    """Pointers to `count` consecutive rows of a scratch block."""
    return [builder.gep(data, [builder.mul(builder.add(first, _constant(i)), stride)]) for i in range(count)]


def _lanes(builder, row, index):
    return builder.bitcast(builder.gep(row, [index]), _VECTOR.as_pointer())


def _load(builder, row, index, align=LINE):
    return builder.load(_lanes(builder, row, index), align=align)


def _store(builder, vector, row, index, align=LINE):
    builder.store(vector, _lanes(builder, row, index), align=align)


def _splat(builder, scalar):
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _multiply_add(builder, x, y, total):
    return builder.fadd(total, builder.fmul(x, y, flags=_FAST), flags=_FAST)


def _fused(builder, x, y, total):
    """x * y + total, rounded once where the processor can; never in another order."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32")
    return builder.call(function, [x, y, total])


def _sum_lanes(builder, vector):
    signature = ir.FunctionType(_FLOAT, [_FLOAT, _VECTOR])
    function = cgutils.get_or_insert_function(builder.module, signature, f"llvm.vector.reduce.fadd.v{LANES}f32")
    return builder.call(function, [ir.Constant(_FLOAT, 0.0), vector], fastmath=_FAST)


def _accumulators(builder, count):
    slots = [cgutils.alloca_once(builder, _VECTOR) for _ in range(count)]
    for slot in slots:
        builder.store(ir.Constant(_VECTOR, [0.0] * LANES), slot)
    return slots


def _over_lanes(builder, count):
    return cgutils.for_range_slice(builder, _constant(0), count, _constant(LANES))


def _scores_code(anchor_count, target_count):
    """Code that multiplies `anchor_count` rows with `target_count` rows."""

    def code(context, builder, signature, arguments):
        _, first_anchor, _, first_target, _, score_stride, stride = arguments
        anchors, targets, scores = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 4))
        anchor_rows = _read_addresses(builder, anchors, first_anchor, anchor_count)
        target_rows = _read_addresses(builder, targets, first_target, target_count)
        sums = _accumulators(builder, anchor_count * target_count)
        with _over_lanes(builder, stride) as (index, _):
            right = [_load(builder, row, index) for row in target_rows]
            for a, row in enumerate(anchor_rows):
                left = _load(builder, row, index)
                for t in range(target_count):
                    slot = sums[a * target_count + t]
                    builder.store(_multiply_add(builder, left, right[t], builder.load(slot)), slot)
        for a in range(anchor_count):
            row = builder.mul(builder.add(first_anchor, _constant(a)), score_stride)
            for t in range(target_count):
                cell = builder.add(builder.add(row, first_target), _constant(t))
                total = _sum_lanes(builder, builder.load(sums[a * target_count + t]))
                builder.store(total, builder.gep(scores, [cell]))
        return context.get_dummy_value()

    return code


def _combine_code(rows, tile):
    """Code that adds weighted rows to `rows` rows at once, one tile after another; sums stay in registers."""

    def code(context, builder, signature, arguments):
        own, first, keep, other, others, weights, own_step, other_step, new, squares, stride = arguments
        own, keep, other, weights, new, squares = (
            _data(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 3, 5, 8, 9)
        )
        places = [builder.add(first, _constant(r)) for r in range(rows)]
        starts = [builder.gep(weights, [builder.mul(place, own_step)]) for place in places]
        keeps = [_splat(builder, builder.load(builder.gep(keep, [place]))) for place in places]
        own_rows = _read_addresses(builder, own, first, rows)
        new_rows = _block_rows(builder, new, first, stride, rows)
        norms, sums = _accumulators(builder, rows), _accumulators(builder, rows)

        def tile_at(at, index):
            """The numbers of a tile's rows, and their weights for each row that they are added to."""
            numbers = [_load(builder, row, index) for row in _read_addresses(builder, other, at, tile)]
            cells = [builder.mul(builder.add(at, _constant(o)), other_step) for o in range(tile)]
            spread = [[_splat(builder, builder.load(builder.gep(start, [cell]))) for cell in cells] for start in starts]
            return numbers, spread

        with _over_lanes(builder, stride) as (index, _):
            for r in range(rows):
                builder.store(builder.fmul(keeps[r], _load(builder, own_rows[r], index)), sums[r])
            with cgutils.for_range_slice(builder, _constant(0), others, _constant(tile)) as (at, _):
                numbers, spread = tile_at(at, index)
                for r in range(rows):
                    total = builder.load(sums[r])
                    for weight, number in zip(spread[r], numbers, strict=True):
                        total = _fused(builder, weight, number, total)
                    builder.store(total, sums[r])
            for r in range(rows):
                total = builder.load(sums[r])
                _store(builder, total, new_rows[r], index)
                builder.store(_multiply_add(builder, total, total, builder.load(norms[r])), norms[r])
        for r in range(rows):
            builder.store(_sum_lanes(builder, builder.load(norms[r])), builder.gep(squares, [places[r]]))
        return context.get_dummy_value()

    return code


def _inverse_roots_code(context, builder, signature, arguments):
    values, count = arguments
    values = _data(context, builder, signature.args[0], values)
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    root = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f32")
    one = ir.Constant(_VECTOR, [1.0] * LANES)
    with _over_lanes(builder, count) as (index, _):
        roots = builder.call(root, [_load(builder, values, index, align=4)])
        _store(builder, builder.fdiv(one, roots), values, index, align=4)
    return context.get_dummy_value()


def _logistic_code(context, builder, signature, arguments):
    *arrays, alpha, count = arguments
    scores, real, kappas, biases, weights = (
        _data(context, builder, kind, array) for kind, array in zip(signature.args[:5], arrays, strict=True)
    )
    one, half, inner = (ir.Constant(_VECTOR, [value] * LANES) for value in (1.0, 0.5, 1.0 / 1024))
    alphas = _splat(builder, alpha)
    with _over_lanes(builder, count) as (index, _):
        score, label, kappa, bias = (_load(builder, row, index, align=4) for row in (scores, real, kappas, biases))
        # exp(x) = exp(x / 1024) ** 1024: the inner one by its first three terms, the power by ten squarings.
        distance = builder.fsub(bias, builder.fmul(kappa, score, flags=_FAST), flags=_FAST)
        x = builder.fmul(distance, inner, flags=_FAST)
        power = _multiply_add(builder, _multiply_add(builder, half, x, one), x, one)
        for _ in range(10):
            power = builder.fmul(power, power, flags=_FAST)
        likely = builder.fdiv(one, builder.fadd(one, power, flags=_FAST), flags=_FAST)
        error = builder.fsub(label, likely, flags=_FAST)
        step = builder.fmul(builder.fmul(alphas, kappa, flags=_FAST), error, flags=_FAST)
        _store(builder, step, weights, index, align=4)
    return context.get_dummy_value()


def _address_code(context, builder, signature, arguments):
    matrix, row = arguments
    array = context.make_array(signature.args[0])(context, builder, matrix)
    width = cgutils.unpack_tuple(builder, array.shape, 2)[1]
    return builder.ptrtoint(builder.gep(array.data, [builder.mul(row, width)]), _INT)


def _scale_code(context, builder, signature, arguments):
    source, source_row, scale, address, stride = arguments
    row = _block_rows(builder, _data(context, builder, signature.args[0], source), source_row, stride, 1)[0]
    target = builder.inttoptr(address, _FLOAT.as_pointer())
    scales = _splat(builder, scale)
    with _over_lanes(builder, stride) as (index, _):
        _store(builder, builder.fmul(scales, _load(builder, row, index), flags=_FAST), target, index)
    return context.get_dummy_value()


def _blend_code(context, builder, signature, arguments):
    address, stay, along, new, row, stride = arguments
    old_row = builder.inttoptr(address, _FLOAT.as_pointer())
    new_row = _block_rows(builder, _data(context, builder, signature.args[3], new), row, stride, 1)[0]
    stays, alongs = _splat(builder, stay), _splat(builder, along)
    (square,) = _accumulators(builder, 1)
    with _over_lanes(builder, stride) as (index, _):
        stepped = builder.fmul(alongs, _load(builder, new_row, index), flags=_FAST)
        moved = _multiply_add(builder, stays, _load(builder, old_row, index), stepped)
        _store(builder, moved, new_row, index)
        builder.store(_multiply_add(builder, moved, moved, builder.load(square)), square)
    return _sum_lanes(builder, builder.load(square))


def _add_difference_code(context, builder, signature, arguments):
    copy, start, total, row, stride = arguments
    rows = [builder.inttoptr(address, _FLOAT.as_pointer()) for address in (copy, start)]
    total_row = _block_rows(builder, _data(context, builder, signature.args[2], total), row, stride, 1)[0]
    with _over_lanes(builder, stride) as (index, _):
        learned = builder.fsub(*(_load(builder, one, index) for one in rows))
        _store(builder, builder.fadd(_load(builder, total_row, index), learned), total_row, index)
    return context.get_dummy_value()


def _product_code(context, builder, signature, arguments):
    left, right, stride = arguments
    rows = [builder.inttoptr(address, _FLOAT.as_pointer()) for address in (left, right)]
    (total,) = _accumulators(builder, 1)
    with _over_lanes(builder, stride) as (index, _):
        numbers = [_load(builder, row, index) for row in rows]
        builder.store(_multiply_add(builder, *numbers, builder.load(total)), total)
    return _sum_lanes(builder, builder.load(total))


def _triple_gram_code(context, builder, signature, arguments):
    *addresses, gram, stride = arguments
    gram = _data(context, builder, signature.args[3], gram)
    rows = [builder.inttoptr(address, _FLOAT.as_pointer()) for address in addresses]
    pairs = [(0, 0), (1, 1), (2, 2), (0, 2), (1, 2), (0, 1)]
    sums = _accumulators(builder, len(pairs))
    with _over_lanes(builder, stride) as (index, _):
        numbers = [_load(builder, row, index) for row in rows]
        for slot, (i, j) in zip(sums, pairs, strict=True):
            builder.store(_multiply_add(builder, numbers[i], numbers[j], builder.load(slot)), slot)
    for i, slot in enumerate(sums):
        builder.store(_sum_lanes(builder, builder.load(slot)), builder.gep(gram, [_constant(i)]))
    return context.get_dummy_value()


def _triple_step_code(context, builder, signature, arguments):
    *addresses, weights, stride = arguments
    weights = _data(context, builder, signature.args[3], weights)
    word_row, negative_row, anchor_row = (builder.inttoptr(address, _FLOAT.as_pointer()) for address in addresses)
    spread = [_splat(builder, builder.load(builder.gep(weights, [_constant(i)]))) for i in range(6)]
    with _over_lanes(builder, stride) as (index, _):
        word, negative, anchor = (_load(builder, row, index) for row in (word_row, negative_row, anchor_row))
        apart = builder.fsub(word, negative, flags=_FAST)
        for row, own, other, stay, move in (
            (word_row, word, anchor, spread[0], spread[1]),
            (negative_row, negative, anchor, spread[2], spread[3]),
            (anchor_row, anchor, apart, spread[4], spread[5]),
        ):
            kept = builder.fmul(stay, own, flags=_FAST)
            _store(builder, _multiply_add(builder, move, other, kept), row, index)
    return context.get_dummy_value()


def _prefetch_code(context, builder, signature, arguments, for_writing=False):
    address, stride = arguments
    byte = ir.IntType(8)
    start = builder.inttoptr(address, byte.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer()] + [ir.IntType(32)] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    how = [ir.Constant(ir.IntType(32), n) for n in (int(for_writing), 3, 1)]  # to stay in the data cache
    with _over_lanes(builder, stride) as (index, _):
        line = builder.gep(start, [builder.mul(index, _constant(LINE // LANES))])
        builder.call(function, [line, *how])
    return context.get_dummy_value()


@intrinsic
def row_address(typing, matrix, row):
    """Address of a row of a C-contiguous matrix."""
    return types.int64(matrix, types.int64), _address_code


@intrinsic
def prefetch(typing, address, stride):
    """Ask for the cache lines of a row before it is needed."""
    return types.void(types.int64, types.int64), _prefetch_code


def _scores_signature(anchors, targets, scores):
    i = types.int64
    return types.void(anchors, i, targets, i, scores, i, i)


@intrinsic
def tile_scores(typing, anchors, first_anchor, targets, first_target, scores, score_stride, stride):
    """scores[a, t] = anchor a · target t, for one tile of both."""
    return _scores_signature(anchors, targets, scores), _scores_code(ANCHOR_TILE, TARGET_TILE)


@intrinsic
def row_scores(typing, anchors, first_anchor, targets, first_target, scores, score_stride, stride):
    """As `tile_scores`, for one anchor."""
    return _scores_signature(anchors, targets, scores), _scores_code(1, TARGET_TILE)


def _combine_signature(own, keep, other, weights, new, squares):
    i = types.int64
    return types.void(own, i, keep, other, i, weights, i, i, new, squares, i)


@intrinsic
def combine_anchors(typing, own, first, keep, other, others, weights, own_step, other_step, new, squares, stride):
    """Step a tile of anchors towards all targets, whole tiles of them, and note the squared norms of what results.

    new[r] = keep[r] * own[r] + sum over o < others of weights[r * own_step + o * other_step] * other[o];
    squares[r] = |new[r]|².
    """
    return _combine_signature(own, keep, other, weights, new, squares), _combine_code(ANCHOR_TILE, TARGET_TILE)


@intrinsic
def combine_targets(typing, own, first, keep, other, others, weights, own_step, other_step, new, squares, stride):
    """As `combine_anchors`, with the roles exchanged."""
    return _combine_signature(own, keep, other, weights, new, squares), _combine_code(TARGET_TILE, ANCHOR_TILE)


@intrinsic
def combine_row(typing, own, first, keep, other, others, weights, own_step, other_step, new, squares, stride):
    """As `combine_anchors`, for one anchor."""
    return _combine_signature(own, keep, other, weights, new, squares), _combine_code(1, TARGET_TILE)


@intrinsic
def inverse_roots(typing, values, count):
    """values = 1 / sqrt(values), in place, for `count` rounded up to whole LANES."""
    return types.void(values, types.int64), _inverse_roots_code


@intrinsic
def logistic_weights(typing, scores, real, kappas, biases, weights, alpha, count):
    """weights = alpha * kappas * (real - sigmoid(kappas * scores - biases)), to 3e-5 of alpha * kappas.

    For the first `count` cells of all arrays, rounded up to whole LANES.
    """
    return types.void(scores, real, kappas, biases, weights, types.float32, types.int64), _logistic_code


@intrinsic
def store_scaled(typing, source, source_row, scale, address, stride):
    """Write scale * source[source_row] to the row at `address`."""
    return types.void(source, types.int64, types.float32, types.int64, types.int64), _scale_code


@intrinsic
def blend_rows(typing, address, stay, along, new, row, stride):
    """new[row] = stay * (the row at `address`) + along * new[row]; returns its squared norm."""
    return types.float32(types.int64, types.float32, types.float32, new, types.int64, types.int64), _blend_code


@intrinsic
def add_difference(typing, copy, start, total, row, stride):
    """total[row] += (the row at `copy`) - (the row at `start`)."""
    i = types.int64
    return types.void(i, i, total, i, i), _add_difference_code


@intrinsic
def row_product(typing, left, right, stride):
    """The product of the rows at two addresses."""
    i = types.int64
    return types.float32(i, i, i), _product_code


@intrinsic
def triple_gram(typing, word, negative, anchor, gram, stride):
    """All products of the rows u, n, v at three addresses: gram = u·u, n·n, v·v, u·v, n·v, u·n."""
    i = types.int64
    return types.void(i, i, i, gram, i), _triple_gram_code


@intrinsic
def triple_step(typing, word, negative, anchor, weights, stride):
    """u = w0 u + w1 v, n = w2 n + w3 v and v = w4 v + w5 (u - n), each from the old rows."""
    i = types.int64
    return types.void(i, i, i, weights, i), _triple_step_code
