"""What the benchmarks share: 20 Newsgroups as words and punctuation marks, ratios with their range, and the command."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from experiments.datasets import find_data
from spherevec.corpus import EncodedCorpus, encode, read_documents

Report = dict[str, Any]
_WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")


def news_tokens() -> list[list[str]]:
    """20 Newsgroups, lower-cased, as words and single punctuation marks."""
    texts = read_documents(find_data() / "20news" / "text.txt.gz")
    return [_WORDS_AND_MARKS.findall(str(text).lower()) for text in texts]


@contextmanager
def encoded(texts: list[list[str]]) -> Iterator[EncodedCorpus]:
    """The texts as an encoded corpus in a folder that is removed in the end."""
    with tempfile.TemporaryDirectory() as folder, encode(texts, folder, threads=2) as corpus:
        yield corpus


def ratios(over: Sequence[float], under: Sequence[float]) -> dict[str, float]:
    """Median and range of the ratios turn by turn: what disturbed a turn disturbed both."""
    found = [a / b for a, b in zip(over, under, strict=True)]
    return {"median": statistics.median(found), "low": min(found), "high": max(found)}


def shown(spread: dict[str, float]) -> str:
    return f"{spread['median']:6.2f} ({spread['low']:.2f} to {spread['high']:.2f})"


def command(
    description: str | None, run: Callable[..., Report], show: Callable[[Report], None], **options: Any
) -> None:
    """Parse `options` (name and default), run the benchmark, print JSON or what `show` prints."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in options.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    arguments = vars(parser.parse_args())
    as_json = arguments.pop("json")
    report = run(**arguments)
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        show(report)
