"""A large text that is made up: words as often as in a language, documents with topics, a vocabulary that grows.

Needs no data set, so that benchmarks run on any machine. The same seed makes the same text.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.storage.text_column import TextColumn
from spherevec.threads import in_order

CHUNK = 1 << 20  # words made in one go
VOCABULARY = 1_500_000  # words there are; as many of them occur as the length of the text allows
COMMON, UNCOMMON = 200_000, 0.03  # words that make up the text, but for a share of it, in which all words occur
TOPICS, TOPICAL = 50, 0.4  # topics, and the share of a document's words that belong to its own
GENERAL = 200  # words at least, the most frequent ones, belong to no topic
LETTERS = b"etaoinsrhdlu"


def vocabulary(size: int = VOCABULARY) -> TextColumn:
    """Distinct words, the first ones short."""
    numbers = np.arange(size)
    digits = np.zeros((size, 7), np.uint8)
    lengths = np.zeros(size, np.int64)
    rest = numbers + 1
    for place in range(7):
        rest, digit = (rest - 1) // len(LETTERS), (rest - 1) % len(LETTERS)
        going = rest >= 0
        alive = lengths == place
        digits[:, place] = np.frombuffer(LETTERS, np.uint8)[digit]
        lengths[alive & going] += (numbers + 1 >= _first(place))[alive & going]
    kept = np.arange(7) < lengths[:, None]
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return TextColumn(offsets, digits[kept])


def _first(place: int) -> int:
    """The first number, counted from 1, with more than `place` letters."""
    return 1 + sum(int(len(LETTERS) ** power) for power in range(1, place + 1))


def word_numbers(words: int, length: int, seed: int) -> NDArray[np.int64]:
    """Words of a text, (words,), in documents of `length` words; topics make them worth training on."""
    rng = np.random.default_rng(seed)
    count = -(-words // length)
    topics = np.repeat(rng.integers(0, TOPICS, count), length)[:words]
    reach = np.where(rng.random(words) < UNCOMMON, VOCABULARY, COMMON).astype(np.float64)
    general = (reach ** rng.random(words)).astype(np.int64) - 1
    topical = (((COMMON - GENERAL) // TOPICS) ** rng.random(words)).astype(np.int64) - 1
    return np.where(rng.random(words) < TOPICAL, GENERAL + topical * TOPICS + topics, general)


def write_text(path: Path, words: int, length: int = 100, threads: int = 1, seed: int = 0) -> None:
    """Write a text of about so many words, one document of `length` words a line."""
    column = vocabulary()
    per_chunk = CHUNK // length * length

    def chunk(_: int, number: int) -> bytes:
        numbers = word_numbers(min(per_chunk, words - number * per_chunk), length, seed + number)
        starts, sizes = column.offsets[numbers], np.diff(column.offsets)[numbers] + 1
        ends = np.cumsum(sizes)
        text = np.full(int(ends[-1]), 0x20, np.uint8)
        text[ends[length - 1 :: length] - 1] = 0x0A
        letters = np.ones(len(text), bool)
        letters[ends - 1] = False
        begins = ends - sizes
        own = (np.repeat(starts - begins, sizes) + np.arange(len(text)))[letters]
        text[letters] = column.arena[own]
        return text.tobytes()

    with path.open("wb") as file:
        for text in in_order(range(-(-words // per_chunk)), chunk, threads):
            file.write(text)
