"""How the threads of a round wait for one another without the interpreter: counters that change as a whole."""

from __future__ import annotations

import sys

from numba import types
from numba.extending import intrinsic

from spherevec.compiling import njit

inner = njit(nogil=True, inner=True)

SPINS = 2000  # looks at a counter before the processor is offered to others
CELL = 16  # numbers from one counter to the next, so that each has cache lines of its own
ARRIVED, TURN = 0, CELL  # counters of a meeting; users have theirs behind them
CELLS_USED = 2 * CELL

_give_way = types.ExternalFunction("SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32())


def _cell(context, builder, signature, arguments):
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.gep(data, [arguments[1]])


def _add_code(context, builder, signature, arguments):
    return builder.atomic_rmw("add", _cell(context, builder, signature, arguments), arguments[2], "seq_cst")


def _look_code(context, builder, signature, arguments):
    return builder.load_atomic(_cell(context, builder, signature, arguments), "seq_cst", 8)


def _set_code(context, builder, signature, arguments):
    builder.store_atomic(arguments[2], _cell(context, builder, signature, arguments), "seq_cst", 8)
    return context.get_dummy_value()


@intrinsic
def add_to(typing, cells, cell, number):
    """Add to a counter; returns what it was before."""
    return types.int64(cells, types.int64, types.int64), _add_code


@intrinsic
def look_at(typing, cells, cell):
    return types.int64(cells, types.int64), _look_code


@intrinsic
def set_to(typing, cells, cell, number):
    return types.void(cells, types.int64, types.int64), _set_code


@inner
def meet(cells, workers):
    """Wait until all workers have come here. The last to come returns True at once: the others wait until it parts.

    What a worker wrote before, all see afterwards.
    """
    turn = look_at(cells, TURN)
    if add_to(cells, ARRIVED, 1) == workers - 1:
        return True
    looks = 0
    while look_at(cells, TURN) == turn:
        looks += 1
        if looks > SPINS:
            _give_way()
    return False


@inner
def part(cells):
    """Let those go on who wait in `meet`."""
    set_to(cells, ARRIVED, 0)
    add_to(cells, TURN, 1)


@inner
def meet_and_part(cells, workers):
    if meet(cells, workers):
        part(cells)
