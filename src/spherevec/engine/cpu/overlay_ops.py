"""Where a row is: in its table, or in a shard's copy of it.

The kernels ask through the functions below. Whether a table is a plain matrix or an `Overlay` is known when a kernel is
compiled, so training without shards pays nothing for those with. Written in LLVM, because Numba counts references for
every array it takes out of a tuple, which costs more than all the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from spherevec.engine.cpu.vector_ops import (
    _FLOAT,
    _INT,
    _address_code,
    _constant,
    _load,
    _over_lanes,
    _prefetch_code,
    _store,
)

_SHORT = ir.IntType(32)


class Overlay(NamedTuple):
    """A table of R rows as one shard sees it: the rows it has touched, C at most, are copies of its own.

    Short documents belong to one shard alone and are trained in place. So an overlay of documents speaks of the long
    ones only, by their number among themselves; of words and contexts all rows are numbered.
    """

    table: NDArray[np.float32]  # (R, stride)
    numbers: NDArray[np.int32]  # (R,) number of a row, -1 if it is trained in place; (0,): the row itself
    slots: NDArray[np.int32]  # (numbered rows,) place of the copy, -1 where there is none
    touched: NDArray[np.int32]  # (C,) number of the row behind each copy
    moves: NDArray[np.int32]  # (C,) steps that each copy has taken
    copies: NDArray[np.float32]  # (C, stride)
    used: NDArray[np.int64]  # (1,) copies so far


class _View:
    """The fields of an overlay, taken apart without touching their reference counts."""

    table: Any
    numbers: Any
    slots: Any
    touched: Any
    moves: Any
    copies: Any
    used: Any

    def __init__(self, context, builder, overlay_type, overlay):
        self.builder: Any = builder
        for index, field in enumerate(Overlay._fields):
            value = builder.extract_value(overlay, index)
            array = context.make_array(overlay_type.types[index])(context, builder, value)
            setattr(self, field, array.data)
            if field == "numbers":
                self.counted = array.nitems
            if field == "table":
                self.stride = cgutils.unpack_tuple(builder, array.shape, 2)[1]

    def number(self, row):
        """Number of a row, as 64 bits."""
        builder = self.builder
        result = cgutils.alloca_once_value(builder, row)
        with builder.if_then(builder.icmp_signed(">", self.counted, _constant(0))):
            builder.store(self.short(self.numbers, row), result)
        return builder.load(result)

    def short(self, data, index):
        """A 32-bit number of an array, as 64 bits."""
        return self.builder.sext(self.builder.load(self.builder.gep(data, [index])), _INT)

    def set_short(self, data, index, value):
        self.builder.store(self.builder.trunc(value, _SHORT), self.builder.gep(data, [index]))

    def row(self, data, index):
        return self.builder.gep(data, [self.builder.mul(index, self.stride)])

    def touch(self, number, row):
        """Copy a row that is touched for the first time; returns the place of the copy."""
        builder = self.builder
        slot = builder.load(self.used)
        builder.store(builder.add(slot, _constant(1)), self.used)
        self.set_short(self.slots, number, slot)
        self.set_short(self.touched, slot, number)
        self.set_short(self.moves, slot, _constant(0))
        source, copy = self.row(self.table, row), self.row(self.copies, slot)
        with _over_lanes(builder, self.stride) as (index, _):
            _store(builder, _load(builder, source, index), copy, index)
        return slot


def _is_negative(builder, number):
    return builder.icmp_signed("<", number, _constant(0))


def _row_code(context, builder, signature, arguments):
    overlay, row = arguments
    view = _View(context, builder, signature.args[0], overlay)
    number = view.number(row)
    address = cgutils.alloca_once(builder, _FLOAT.as_pointer())
    with builder.if_else(_is_negative(builder, number), likely=False) as (in_place, copied):
        with in_place:
            builder.store(view.row(view.table, row), address)
        with copied:
            found = view.short(view.slots, number)
            slot = cgutils.alloca_once_value(builder, found)
            with builder.if_then(_is_negative(builder, found)):
                builder.store(view.touch(number, row), slot)
            builder.store(view.row(view.copies, builder.load(slot)), address)
    return builder.ptrtoint(builder.load(address), _INT)


def _overlay_prefetch_code(context, builder, signature, arguments):
    overlay, row, stride = arguments
    view = _View(context, builder, signature.args[0], overlay)
    slot = view.short(view.slots, row)
    fresh = _is_negative(builder, slot)
    start = builder.select(fresh, view.row(view.table, row), view.row(view.copies, slot))
    return _prefetch_code(context, builder, signature, (builder.ptrtoint(start, _INT), stride))


def _table_prefetch_code(context, builder, signature, arguments):
    table, row, stride = arguments
    address = _address_code(context, builder, signature, (table, row))
    return _prefetch_code(context, builder, signature, (address, stride))


def _count_code(context, builder, signature, arguments):
    overlay, row = arguments
    view = _View(context, builder, signature.args[0], overlay)
    number = view.number(row)
    with builder.if_then(builder.not_(_is_negative(builder, number))):
        slot = view.short(view.slots, number)
        view.set_short(view.moves, slot, builder.add(view.short(view.moves, slot), _constant(1)))
    return context.get_dummy_value()


def _nothing_code(context, builder, signature, arguments):
    return context.get_dummy_value()


@intrinsic
def row_of(typing, table, row):
    """Address of a row, to read and to write; a shard's copy is made when it is asked for first."""
    code = _address_code if isinstance(table, types.Array) else _row_code
    return types.int64(table, types.int64), code


@intrinsic
def prefetch_row(typing, table, row, stride):
    """Ask for the cache lines of a row of words or contexts before it is needed."""
    code = _table_prefetch_code if isinstance(table, types.Array) else _overlay_prefetch_code
    return types.void(table, types.int64, types.int64), code


@intrinsic
def count_move(typing, table, row):
    """Note that a row takes a step, in a shard's copy."""
    code = _nothing_code if isinstance(table, types.Array) else _count_code
    return types.void(table, types.int64), code
