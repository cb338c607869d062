"""Where a row is: in its table, or in a copy of it that one thread or one shard has for itself.

The kernels ask through the functions below. Whether a table is a plain matrix, `OwnRows` or an `Overlay` is known when
a kernel is compiled, so none pays for the others. Written in LLVM, because Numba counts references for
every array it takes out of a tuple, which costs more than all the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from spherevec.engine.cpu.vector_ops import INT, operation

_SHORT = ir.IntType(32)
COPIES_AHEAD = 4  # from asking for the room of a copy to needing it
# What a slot says of a row without a copy: a shard that may touch it has it for itself, or copies it before it moves.
IN_PLACE, SHARED = -1, -2


class Overlay(NamedTuple):
    """A table of R rows as a shard of a round sees it: some rows are its own, of others it makes copies, C at most."""

    table: NDArray[np.float32]  # (R, stride)
    copies: NDArray[np.float32]  # (C, stride)
    moves: NDArray[np.int32]  # (C + 1,) steps that each copy has taken, and rows without a copy
    slots: NDArray[np.int32]  # (R,) place of the copy, IN_PLACE, or SHARED
    touched: NDArray[np.int32]  # (C,) row behind each copy
    used: NDArray[np.int64]  # (1,) copies so far
    size: int  # C


class OwnRows(NamedTuple):
    """A table of R rows as one thread sees it: of the first C rows, those of the most frequent words, it has copies.

    All threads write these rows all the time, and would wait for each other's cache lines. So a thread moves its own
    copy and brings what it learned to the table now and then, where it also sees what others did: see
    `kernels.bring_together`.
    """

    table: NDArray[np.float32]  # (R, stride), shared by all threads
    copies: NDArray[np.float32]  # (C, stride)
    moves: NDArray[np.int32]  # (C + 1,) steps of each copy since it was last brought to the table; of all other rows
    start: NDArray[np.float32]  # (C, stride) each copy as it was then
    size: int  # C


def _view(code, table):
    """A table with pointers for its arrays, taken apart without touching their reference counts."""
    kind = code.kinds[0]
    if isinstance(kind, types.Array):
        return table
    values = (code.builder.extract_value(table, index) for index in range(len(kind.types)))
    return kind.instance_class(
        *(
            code.context.make_array(field)(code.context, code.builder, value).data
            if isinstance(field, types.Array)
            else value
            for field, value in zip(kind.types, values, strict=True)
        )
    )


def _copy_of(code, view, row):
    """The number of a row's copy, and whether there is one."""
    if isinstance(view, OwnRows):
        return row, code.builder.icmp_signed("<", row, view.size)
    slot = code.builder.sext(code.builder.load(code.at(view.slots, row)), INT)
    return slot, code.builder.icmp_signed(">=", slot, ir.Constant(INT, 0))


def _place(code, view, row, stride):
    """Pointer to where a row is read and written."""
    if not isinstance(view, tuple):
        return code.row(view, row, stride)
    copy, exists = _copy_of(code, view, row)
    return code.builder.select(exists, code.row(view.copies, copy, stride), code.row(view.table, row, stride))


def _is_fresh(code, view, row):
    """Whether a shard has to copy a row before it moves it."""
    return code.builder.icmp_signed("==", code.builder.load(code.at(view.slots, row)), ir.Constant(_SHORT, SHARED))


def _copy_row(code, view, row, stride):
    builder = code.builder
    copy = builder.load(view.used)
    builder.store(builder.add(copy, ir.Constant(INT, 1)), view.used)
    for data, index, value in ((view.slots, row, copy), (view.touched, copy, row)):
        builder.store(builder.trunc(value, _SHORT), code.at(data, index))
    builder.store(ir.Constant(_SHORT, 0), code.at(view.moves, copy))
    source, target = code.row(view.table, row, stride), code.row(view.copies, copy, stride)
    later = builder.add(copy, ir.Constant(INT, COPIES_AHEAD))
    code.fetch(code.row(view.copies, later, stride), stride, for_writing=True)
    with code.over(stride) as (index, _):
        code.store(code.load(source, index), target, index)


@operation(types.int64)
def row_of(code, table, row, stride):
    """Address of a row, to read and to write; a shard's copy is made when it is asked for first."""
    view = _view(code, table)
    if isinstance(view, Overlay):
        with code.builder.if_then(_is_fresh(code, view, row), likely=False):
            _copy_row(code, view, row, stride)
    return code.builder.ptrtoint(_place(code, view, row, stride), INT)


@operation(types.int64)
def peek_row(code, table, row, stride):
    """Address of a row, to read only."""
    return code.builder.ptrtoint(_place(code, _view(code, table), row, stride), INT)


@operation()
def prefetch_row(code, table, row, stride):
    """Ask for the cache lines of a row of words or contexts before it is needed, to write to them.

    A line that is only read would be asked for twice where another thread wrote to it last. A shard also asks for rows
    that it is yet to copy, which others read at the same time, and where it wrote last itself.
    """
    view = _view(code, table)
    code.fetch(_place(code, view, row, stride), stride, for_writing=not isinstance(view, Overlay))


@operation()
def count_move(code, table, row):
    """Note that a row, which `row_of` was asked for, takes a step; without a branch, which could not be foreseen."""
    view = _view(code, table)
    if isinstance(view, tuple):
        copy, _ = _copy_of(code, view, row)
        exists = code.builder.icmp_unsigned("<", copy, view.size)
        place = code.at(view.moves, code.builder.select(exists, copy, view.size))
        code.builder.store(code.builder.add(code.builder.load(place), ir.Constant(_SHORT, 1)), place)
