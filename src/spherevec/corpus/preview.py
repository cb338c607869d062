"""What a tokenizer makes of a text, before any training."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from spherevec.config import default_min_count
from spherevec.corpus.count.encoder import encode
from spherevec.corpus.tokenize import characters as ch
from spherevec.corpus.tokenize.tokenizer import Tokenizer, TokenizerLike, tokenize, tokenizer_of

_LOOKED_AT = 1000  # documents in which to look for what is left out
_EXAMPLES = 8
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,60}>|&#?\w{1,31};")
# What a joined word looks like; the first that fits is its kind.
_JOINED = {
    "phrases": re.compile(r".+ .+"),
    "addresses": re.compile(r".*(?:@.+\..|://|\w\.[a-z]{2,}$).*"),
    "tags and mentions": re.compile(r"[#@]\w"),
    "symbols": re.compile(r".*(?:\+\+|#)|\.\w"),
    "abbreviations": re.compile(r"(?:\w\.){2,}$"),
    "numbers": re.compile(r".*\d[.,]\d"),
    "hyphens": re.compile(r".*\w-\w"),
    "emoji": re.compile(r"[^\w']"),
}


def preview(
    texts: Iterable[Any],
    tokenizer: TokenizerLike = "words",
    *,
    phrases: bool = False,
    min_count: int | None = None,
    top: int = 50,
) -> dict[str, Any]:
    """What becomes of texts: counts, the most frequent words, examples of what was joined and what was left out.

    Example:
        >>> found = preview(["COVID-19 in the U.S. (see http://x.org)", "covid-19 again"], top=1)
        >>> found["tokens"], found["top"], found["joined"]["hyphens"]
        (8, [('covid-19', 2)], ['covid-19'])
    """
    chosen = tokenizer_of(tokenizer)
    seen: list[str] = []

    def passed_on() -> Iterator[Any]:
        for text in texts:
            if isinstance(text, str) and len(seen) < _LOOKED_AT:
                seen.append(text)
            yield text

    with (
        tempfile.TemporaryDirectory(prefix="spherevec-") as folder,
        encode(
            passed_on(), Path(folder, "corpus"), min_count=1, tokenizer=chosen, phrases=phrases, keep_text=0
        ) as corpus,
    ):
        words, counts = corpus.vocabulary.words, corpus.vocabulary.counts
        least = default_min_count(corpus.raw_tokens) if min_count is None else min_count
        joined: dict[str, list[str]] = {}
        for word in words:
            kind = next((kind for kind, form in _JOINED.items() if form.match(word)), None)
            if kind and len(joined.setdefault(kind, [])) < _EXAMPLES:
                joined[kind].append(word)
        return {
            "tokenizer": str(corpus.tokenizer),
            "documents": corpus.n_documents,
            "empty": corpus.summary.empty,
            "tokens": corpus.raw_tokens,
            "words": len(words),
            "min_count": least,
            "rare": int((counts < least).sum()),
            "top": list(zip(words[:top], counts[:top].tolist(), strict=True)),
            "joined": joined,
            "left_out": _left_out(seen, chosen),
            "warnings": list(corpus.summary.warnings),
        }


def _left_out(texts: Iterable[str], tokenizer: Tokenizer) -> list[tuple[str, int]]:
    """Markup and signs that are no part of any word, the most frequent first."""
    found = Counter[str]()
    cleans = bool(tokenizer.description().get("options", {}).get("html"))
    for text in texts:
        if cleans:
            found.update(_MARKUP.findall(text))
            text = _MARKUP.sub(" ", text)
        signs = Counter(sign for sign in text if ch.kind_of(sign) == ch.OTHER)
        found.update(signs - Counter(sign for word in tokenize(text, tokenizer) for sign in word))
    return found.most_common(2 * _EXAMPLES)
