"""Where a row is: in its table, or in a copy of it that one thread or one shard has for itself.

The kernels ask through the functions below. Whether a table is a plain matrix, `OwnRows` or an `Overlay` is known when
a kernel is compiled, so none pays for the others. Written in LLVM, because Numba counts references for
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
    _accumulators,
    _address_code,
    _constant,
    _load,
    _multiply_add,
    _over_lanes,
    _prefetch_code,
    _splat,
    _store,
    _sum_lanes,
)

_SHORT = ir.IntType(32)
OWN_STEPS = 16  # of a thread's copy of a frequent row, between two visits to the table


class Overlay(NamedTuple):
    """A table of R rows as one shard of a round sees it: some rows are its own, of others it makes copies, C at most.

    A row whose mark is `own` no other shard of the round touches: it is trained in place.
    """

    table: NDArray[np.float32]  # (R, stride)
    marks: NDArray[np.uint8]  # (R,)
    own: int
    slots: NDArray[np.int32]  # (R,) place of the copy, -1 where there is none
    touched: NDArray[np.int32]  # (C,) row behind each copy
    moves: NDArray[np.int32]  # (C,) steps that each copy has taken
    copies: NDArray[np.float32]  # (C, stride)
    used: NDArray[np.int64]  # (1,) copies so far


class OwnRows(NamedTuple):
    """A table of R rows as one thread sees it: of the first H rows, those of the most frequent words, it has copies.

    All threads write these rows all the time, and would wait for each other's cache lines. So a thread moves its own
    copy and brings what it learned to the table after every `OWN_STEPS` steps, where it also sees what others did.
    """

    table: NDArray[np.float32]  # (R, stride), shared by all threads
    own: NDArray[np.float32]  # (H, stride)
    start: NDArray[np.float32]  # (H, stride) each copy as it was when it was last brought together with the table
    moves: NDArray[np.int32]  # (H,) steps that it has taken since
    share: float  # of what a copy has learned that it brings to the table


class _View:
    """The fields of an overlay, taken apart without touching their reference counts."""

    table: Any
    marks: Any
    own: Any
    slots: Any
    touched: Any
    moves: Any
    copies: Any
    used: Any

    def __init__(self, context, builder, overlay_type, overlay):
        self.builder: Any = builder
        for index, field in enumerate(Overlay._fields):
            value = builder.extract_value(overlay, index)
            if field == "own":
                self.own = value
                continue
            array = context.make_array(overlay_type.types[index])(context, builder, value)
            setattr(self, field, array.data)
            if field == "table":
                self.stride = cgutils.unpack_tuple(builder, array.shape, 2)[1]

    def slot(self, row):
        """Place of the copy of a row, as 64 bits."""
        return self.builder.sext(self.builder.load(self.builder.gep(self.slots, [row])), _INT)

    def set_short(self, data, index, value):
        self.builder.store(self.builder.trunc(value, _SHORT), self.builder.gep(data, [index]))

    def row(self, data, index):
        return self.builder.gep(data, [self.builder.mul(index, self.stride)])

    def place(self, row, slot):
        """Where the shard has a row: in the place of its copy, or in the table."""
        table, copy = self.row(self.table, row), self.row(self.copies, slot)
        return self.builder.select(_is_negative(self.builder, slot), table, copy)

    def is_copied(self, row):
        mark = self.builder.zext(self.builder.load(self.builder.gep(self.marks, [row])), _INT)
        return self.builder.icmp_signed("!=", mark, self.own)

    def touch(self, row):
        """Copy a row that is touched for the first time; returns the place of the copy."""
        builder = self.builder
        slot = builder.load(self.used)
        builder.store(builder.add(slot, _constant(1)), self.used)
        self.set_short(self.slots, row, slot)
        self.set_short(self.touched, slot, row)
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
    found = view.slot(row)
    slot = cgutils.alloca_once_value(builder, found)
    fresh = builder.and_(_is_negative(builder, found), view.is_copied(row))
    with builder.if_then(fresh, likely=False):
        builder.store(view.touch(row), slot)
    return builder.ptrtoint(view.place(row, builder.load(slot)), _INT)


def _peek_code(context, builder, signature, arguments):
    overlay, row = arguments
    view = _View(context, builder, signature.args[0], overlay)
    return builder.ptrtoint(view.place(row, view.slot(row)), _INT)


def _overlay_prefetch_code(context, builder, signature, arguments):
    overlay, row, stride = arguments
    view = _View(context, builder, signature.args[0], overlay)
    slot = view.slot(row)
    address = builder.ptrtoint(view.place(row, slot), _INT)
    # What is yet to be copied is only read: other threads have it in their caches, too.
    fresh = builder.and_(_is_negative(builder, slot), view.is_copied(row))
    with builder.if_else(fresh) as (read, written):
        with read:
            _prefetch_code(context, builder, signature, (address, stride))
        with written:
            _prefetch_code(context, builder, signature, (address, stride), for_writing=True)
    return context.get_dummy_value()


class _OwnView:
    """The fields of own rows, taken apart without touching their reference counts."""

    def __init__(self, context, builder, rows_type, rows):
        self.builder: Any = builder
        *arrays, share = (builder.extract_value(rows, index) for index in range(len(OwnRows._fields)))
        fields = [
            context.make_array(kind)(context, builder, array)
            for kind, array in zip(rows_type.types, arrays, strict=False)
        ]
        self.table, self.own, self.start, self.moves = (field.data for field in fields)
        self.share = builder.fptrunc(share, _FLOAT)
        self.stride = cgutils.unpack_tuple(builder, fields[0].shape, 2)[1]
        self.count = fields[3].nitems

    def has(self, row):
        return self.builder.icmp_signed("<", row, self.count)

    def row(self, data, row):
        return self.builder.gep(data, [self.builder.mul(row, self.stride)])

    def place(self, row):
        """Where the thread reads and writes a row."""
        return self.builder.select(self.has(row), self.row(self.own, row), self.row(self.table, row))

    def bring(self, row):
        """table, own, start = the direction of table + share * (own - start)."""
        builder = self.builder
        table, own, start = (self.row(data, row) for data in (self.table, self.own, self.start))
        (squares,) = _accumulators(builder, 1)
        share = _splat(builder, self.share)
        with _over_lanes(builder, self.stride) as (index, _):
            learned = builder.fsub(_load(builder, own, index), _load(builder, start, index))
            total = _multiply_add(builder, share, learned, _load(builder, table, index))
            _store(builder, total, own, index)
            builder.store(_multiply_add(builder, total, total, builder.load(squares)), squares)
        square = _sum_lanes(builder, builder.load(squares))
        root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_FLOAT, [_FLOAT]), "llvm.sqrt.f32")
        scale = _splat(builder, builder.fdiv(ir.Constant(_FLOAT, 1.0), builder.call(root, [square])))
        with _over_lanes(builder, self.stride) as (index, _):
            scaled = builder.fmul(scale, _load(builder, own, index))
            for row_ in (table, own, start):
                _store(builder, scaled, row_, index)


def _own_row_code(context, builder, signature, arguments):
    rows, row = arguments
    return builder.ptrtoint(_OwnView(context, builder, signature.args[0], rows).place(row), _INT)


def _own_prefetch_code(context, builder, signature, arguments):
    rows, row, stride = arguments
    place = _OwnView(context, builder, signature.args[0], rows).place(row)
    return _prefetch_code(context, builder, signature, (builder.ptrtoint(place, _INT), stride), for_writing=True)


def _own_count_code(context, builder, signature, arguments):
    rows, row = arguments
    view = _OwnView(context, builder, signature.args[0], rows)
    with builder.if_then(view.has(row)):
        place = builder.gep(view.moves, [row])
        moves = builder.add(builder.load(place), ir.Constant(_SHORT, 1))
        builder.store(moves, place)
        with builder.if_then(builder.icmp_signed(">=", moves, ir.Constant(_SHORT, OWN_STEPS)), likely=False):
            view.bring(row)
            builder.store(ir.Constant(_SHORT, 1), place)  # batches count a step before they take it
    return context.get_dummy_value()


def _own_together_code(context, builder, signature, arguments):
    rows, row = arguments
    view = _OwnView(context, builder, signature.args[0], rows)
    place = builder.gep(view.moves, [row])
    moved = builder.icmp_signed(">", builder.load(place), ir.Constant(_SHORT, 0))
    with builder.if_else(moved) as (learned, untouched):
        with learned:
            view.bring(row)
            builder.store(ir.Constant(_SHORT, 0), place)
        with untouched, _over_lanes(builder, view.stride) as (index, _):
            numbers = _load(builder, view.row(view.table, row), index)
            for data in (view.own, view.start):
                _store(builder, numbers, view.row(data, row), index)
    return context.get_dummy_value()


def _table_prefetch_code(context, builder, signature, arguments):
    table, row, stride = arguments
    address = _address_code(context, builder, signature, (table, row))
    return _prefetch_code(context, builder, signature, (address, stride), for_writing=True)


def _count_code(context, builder, signature, arguments):
    overlay, row = arguments
    view = _View(context, builder, signature.args[0], overlay)
    slot = view.slot(row)
    with builder.if_then(builder.not_(_is_negative(builder, slot))):
        place = builder.gep(view.moves, [slot])
        builder.store(builder.add(builder.load(place), ir.Constant(_SHORT, 1)), place)
    return context.get_dummy_value()


def _nothing_code(context, builder, signature, arguments):
    return context.get_dummy_value()


def _code_for(table, plain, own, overlay):
    """The code for a kind of table."""
    if isinstance(table, types.Array):
        return plain
    return own if table.instance_class is OwnRows else overlay


@intrinsic
def row_of(typing, table, row):
    """Address of a row, to read and to write; a shard's copy is made when it is asked for first."""
    return types.int64(table, types.int64), _code_for(table, _address_code, _own_row_code, _row_code)


@intrinsic
def peek_row(typing, table, row):
    """Address of a row, to read only."""
    return types.int64(table, types.int64), _code_for(table, _address_code, _own_row_code, _peek_code)


@intrinsic
def prefetch_row(typing, table, row, stride):
    """Ask for the cache lines of a row of words or contexts before it is needed, to write to them.

    A line that is only read would be asked for twice where another thread wrote to it last.
    """
    code = _code_for(table, _table_prefetch_code, _own_prefetch_code, _overlay_prefetch_code)
    return types.void(table, types.int64, types.int64), code


@intrinsic
def count_move(typing, table, row):
    """Note that a row takes a step, in a copy of it; a thread's own is brought to the table now and then."""
    return types.void(table, types.int64), _code_for(table, _nothing_code, _own_count_code, _count_code)


@intrinsic
def bring_together(typing, rows, row):
    """Bring what a thread's own copy has learned to the table, and what the table has learned to the copy."""
    return types.void(rows, types.int64), _own_together_code
