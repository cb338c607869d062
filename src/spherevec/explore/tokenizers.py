"""What the page must know of a model's tokenizer to split a typed sentence as training did."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from spherevec.corpus import characters
from spherevec.corpus.phrases import LONGEST
from spherevec.corpus.tokenizer import WHITESPACE, WORDS, WORDS_01, Tokenizer

_RANGES = {
    "unspaced": characters.UNSPACED_RANGES,
    "emoji": characters.EMOJI_RANGES,
    "symbols": characters.SYMBOL_RANGES,
    "variation": characters.VARIATION_SELECTORS,
}


def description(tokenizer: Tokenizer, phrases: bool) -> dict[str, Any]:
    """The tokenizer for the page.

    `exact` says whether the page can do as training did. It cannot call a function of the user's, nor look words of
    unspaced scripts up in a dictionary; then it uses the nearest that it has.

    Args:
        phrases: whether entries of several words are phrases, to be found in every text.
    """
    options = None if tokenizer.options is None else asdict(tokenizer.options)
    exact = tokenizer.name in (WORDS, WORDS_01, WHITESPACE)
    if options is not None and options["unspaced"] == "segment":
        options["unspaced"] = "bigrams"
    return {
        "name": tokenizer.name,
        "exact": exact,
        "options": options,
        "ranges": None if options is None else _RANGES,
        "longest": LONGEST if phrases else 1,
    }
