"""What the page must know of a model's tokenizer to split a typed sentence as training did."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from spherevec.corpus.tokenize import characters
from spherevec.corpus.tokenize.cleaning import TAG_NAMES
from spherevec.corpus.tokenize.phrases import LONGEST
from spherevec.corpus.tokenize.tokenizer import WHITESPACE, WORDS, Tokenizer

_RANGES = {
    "unspaced": characters.UNSPACED_RANGES,
    "emoji": characters.EMOJI_RANGES,
    "symbols": characters.SYMBOL_RANGES,
    "variation": characters.VARIATION_SELECTORS,
}


def description(tokenizer: Tokenizer, phrases: bool) -> dict[str, Any]:
    """The tokenizer for the page.

    `exact` says whether the page does as training did. It cannot call a function of the user's; then it splits at
    spaces and signs. Words of unspaced scripts are looked up in the browser's dictionary, which need not be the
    model's: the page says so where a text has such words.

    Args:
        phrases: whether entries of several words are phrases, to be found in every text.
    """
    options = None if tokenizer.options is None else asdict(tokenizer.options)
    return {
        "name": tokenizer.name,
        "exact": tokenizer.name in (WORDS, WHITESPACE),
        "options": options,
        "ranges": None if options is None else _RANGES,
        "tags": None if options is None else {name.decode(): shown.decode() for name, shown in TAG_NAMES.items()},
        "longest": LONGEST if phrases else 1,
    }
