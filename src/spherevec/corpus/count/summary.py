"""What was read, in a few lines: counts, what was left out, what was found out, and what looks wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from spherevec.terminal import number_of

LONG_WORD = 100  # characters


@dataclass(frozen=True)
class CorpusSummary:
    """What a corpus holds, as far as reading tells."""

    documents: int  # how many there are
    empty: int  # documents without any word
    unknown_documents: int  # documents with words, but none that is kept or known
    tokens: int  # words, all occurrences counted
    dropped_tokens: int  # those of words that are too rare, or unknown to the model
    distinct_words: int | None = None  # different words; None where they were not counted
    kept_words: int | None = None  # different words that get a vector
    min_count: int | None = None  # how often a word must occur to be kept
    notes: Sequence[str] = ()  # what was found out about the source
    warnings: Sequence[str] = ()  # what looks wrong
    settings: Sequence[str] = ()  # what was chosen because of the text, and why
    fields: Sequence[str] = ()  # the kept fields with their kinds

    def with_(self, **changes: Any) -> CorpusSummary:
        """A copy with some parts changed."""
        return replace(self, **changes)

    @classmethod
    def total(cls, parts: Sequence[CorpusSummary], **others: Any) -> CorpusSummary:
        """The counts of several texts, added up."""
        names = ("documents", "empty", "unknown_documents", "tokens", "dropped_tokens")
        return cls(**{name: sum(getattr(part, name) for part in parts) for name in names} | others)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> CorpusSummary:
        """What `as_dict` gave."""
        known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        plain: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in known.items()}
        return cls(**plain)

    def __str__(self) -> str:
        empty = f", {self.empty:,} of them empty" if self.empty else ""
        parts = [f"{number_of(self.documents, 'document')}{empty}", f"{self.tokens:,} tokens"]
        if self.distinct_words is not None and self.kept_words is not None:
            parts.append(f"{self.distinct_words:,} distinct words, {self.kept_words:,} kept")
            share = self.dropped_tokens / max(self.tokens, 1)
            parts.append(f"min_count {self.min_count} drops {share:.1%} of the tokens")
        else:
            parts.append(f"{self.dropped_tokens / max(self.tokens, 1):.1%} of the tokens unknown to the model")
        lines = ["; ".join(parts)]
        lines += [
            *self.notes,
            *([f"fields: {', '.join(self.fields)}"] if self.fields else []),
            *self.settings,
            *(f"warning: {warning}" for warning in self.warnings),
        ]
        return "\n".join(lines)


def warnings_about(
    summary: CorpusSummary,
    *,
    long_words: int = 0,
    longest: str = "",
    unspaced: float = 0.0,
    divided: str = "given",
    numbers: float = 0.0,
) -> list[str]:
    """What looks wrong.

    Args:
        long_words: occurrences of words of `LONG_WORD` characters or more, such as `longest`.
        unspaced: the share of the text in scripts without spaces.
        divided: how a tokenizer of ours divides these: "segment", "bigrams" or "whole"; "given" by another.
        numbers: the share of words without any letter.
    """
    found = []
    if summary.documents == 1 and summary.distinct_words is not None:  # new documents may well come one by one
        found.append("there is only one document; in a text file each line is one, in a table each row")
    elif summary.empty * 2 > summary.documents:
        found.append(f"{summary.empty:,} of {summary.documents:,} documents are empty; is this the right field?")
    if long_words and long_words * 1000 > summary.tokens:
        found.append(f"{number_of(long_words, 'word')} of {LONG_WORD} characters or more, such as {longest[:40]!r}…")
    if numbers > 0.5:
        found.append(f"{numbers:.0%} of the words have no letter; is this the right field?")
    if unspaced > 0.01 and divided == "bigrams":
        found.append(
            f"{unspaced:.0%} of the text is in a script without spaces and was divided into pairs of characters; "
            "pip install 'spherevec[cjk]' divides it into words"
        )
    if unspaced > 0.5 and divided == "whole":
        found.append(
            f"{unspaced:.0%} of the text is in a script without spaces: split it into words first, "
            "or choose a tokenizer that does"
        )
    if summary.tokens and summary.dropped_tokens == summary.tokens:
        found.append("every word is unknown to the model; is this another language, or split in another way?")
    elif summary.tokens and summary.dropped_tokens * 2 > summary.tokens:
        why = f"are left out by min_count={summary.min_count} or max_vocab" if summary.min_count else "are unknown"
        found.append(f"{summary.dropped_tokens / summary.tokens:.0%} of the tokens {why}")
    return found
