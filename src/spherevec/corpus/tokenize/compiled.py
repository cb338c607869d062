"""The compiled side of each tokenizer: what is done to a block of text, and which kernel cuts it into words."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spherevec.corpus.tokenize import words_01
from spherevec.corpus.tokenize.characters import character_tables
from spherevec.corpus.tokenize.cleaning import clean_block, normalise_block
from spherevec.corpus.tokenize.options import CHOICES, TokenizerOptions
from spherevec.corpus.tokenize.segmentation import segmented_block
from spherevec.errors import ConfigError


class BlockTokenizer(Protocol):
    """Cuts blocks of UTF-8 into words."""

    def prepared(self, block: bytes) -> bytes:
        """The block as the kernel wants it, with the same newlines."""

    def run(self, data: npt.NDArray[np.uint8], *table: Any) -> bool:
        """Feed `data` to a table of words; false if the table is full. See the kernel for the arguments."""


class ByteTokenizer:
    """The tokenizers of release 0.1, each a table of byte classes."""

    def __init__(self, tables: words_01.ByteTables) -> None:
        self._tables = tables

    def prepared(self, block: bytes) -> bytes:
        return block

    def run(self, data: npt.NDArray[np.uint8], *table: Any) -> bool:
        from spherevec.corpus.tokenize import tokenizer_kernel as kernel

        return bool(kernel.tokenize_block(data, *self._tables, *table))


class ScanningTokenizer:
    """The tokenizer with options: cleaned, normalised, divided, scanned."""

    def __init__(self, options: TokenizerOptions) -> None:
        self._options = options
        whole = options.unspaced != "bigrams"
        self._tables = character_tables(options.lowercase, options.emoji, whole)
        self._rules = np.array(
            [
                CHOICES["hyphens"].index(options.hyphens),
                options.numbers,
                options.symbols,
                options.abbreviations,
                options.tags,
                CHOICES["urls"].index(options.urls),
                CHOICES["emails"].index(options.emails),
            ],
            np.int64,
        )

    def prepared(self, block: bytes) -> bytes:
        if self._options.html:
            block = clean_block(block)
        block = normalise_block(block)
        return segmented_block(block) if self._options.unspaced == "segment" else block

    def run(self, data: npt.NDArray[np.uint8], *table: Any) -> bool:
        from spherevec.corpus.tokenize import scanner_kernel as kernel

        return bool(kernel.scan_block(data, *self._tables, self._rules, *table))


def block_tokenizer(name: str, options: TokenizerOptions | None) -> BlockTokenizer:
    """The compiled tokenizer of that name."""
    if options is not None:
        return ScanningTokenizer(options)
    if name == "words-0.1":
        return ByteTokenizer(words_01.word_tables())
    if name == "whitespace":
        return ByteTokenizer(words_01.whitespace_tables())
    raise ConfigError(f"the tokenizer {name!r} has no compiled form")
