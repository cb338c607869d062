"""Ids with marks of punctuation, and what becomes of a block of text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Set in an id where punctuation, or the beginning of a document, stands between a word and the one before.
BREAK_BIT = 1 << 30
ID_MASK = BREAK_BIT - 1


class Fed(NamedTuple):
    """What became of one block."""

    ids: npt.NDArray[np.int32]  # (n,), with `BREAK_BIT` after punctuation
    ends: npt.NDArray[np.int64]  # (newlines,), how many ids came before each newline
    broken: bool  # whether punctuation stands behind the last word, or anywhere if there is no word
