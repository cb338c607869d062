"""Blocks of UTF-8 text as numbered words: what the compiled form of each tokenizer does to a block."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from spherevec.corpus.tokenize.characters import character_tables
from spherevec.corpus.tokenize.cleaning import clean_block, normalise_block, segmented_block
from spherevec.corpus.tokenize.options import TokenizerOptions
from spherevec.errors import ConfigError

# Set in an id where punctuation, or the beginning of a document, stands between a word and the one before.
BREAK_BIT = 1 << 30
ID_MASK = BREAK_BIT - 1


class TokenizedBlock(NamedTuple):
    """The words of one block, as numbers of a table."""

    ids: npt.NDArray[np.int32]  # (n,), with `BREAK_BIT` after punctuation
    ends: npt.NDArray[np.int64]  # (newlines,), how many ids came before each newline
    broken: bool  # whether punctuation stands behind the last word, or anywhere if there is no word


class BlockTokenizer(Protocol):
    """Cuts blocks of UTF-8 into words."""

    def prepared(self, block: bytes) -> bytes:
        """The block as the kernel wants it, with the same newlines."""

    def run(self, data: npt.NDArray[np.uint8], *table: Any) -> bool:
        """Feed `data` to a table of words; false if the table is full. See the kernel for the arguments."""


class WhitespaceTokenizer:
    """Whatever stands between ASCII white space, unchanged."""

    def prepared(self, block: bytes) -> bytes:
        return block

    def run(self, data: npt.NDArray[np.uint8], *table: Any) -> bool:
        from spherevec.corpus.tokenize import scanner_kernel as kernel

        return bool(kernel.split_block(data, *table))


class ScanningTokenizer:
    """The tokenizer with options: cleaned, normalised, divided, scanned."""

    def __init__(self, options: TokenizerOptions) -> None:
        self._options = options
        whole = options.unspaced != "bigrams"
        self._tables = character_tables(options.lowercase, options.emoji, whole)

    def prepared(self, block: bytes) -> bytes:
        if self._options.html:
            block = clean_block(block)
        block = normalise_block(block)
        return segmented_block(block) if self._options.unspaced == "segment" else block

    def run(self, data: npt.NDArray[np.uint8], *table: Any) -> bool:
        from spherevec.corpus.tokenize import scanner_kernel as kernel

        return bool(kernel.scan_block(data, *self._tables, self._rules(kernel.RULES), *table))

    def _rules(self, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
        choices = TokenizerOptions.choices()
        return np.array([choices[name].index(getattr(self._options, name)) for name in names], np.int64)


def block_tokenizer(name: str, options: TokenizerOptions | None) -> BlockTokenizer:
    """The compiled tokenizer of that name."""
    if options is not None:
        return ScanningTokenizer(options)
    if name == "whitespace":
        return WhitespaceTokenizer()
    raise ConfigError(f"the tokenizer {name!r} has no compiled form")
