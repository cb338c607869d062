"""The functions of `method.py` behind the interface of a backend, so that the kernels can be compared with them.

Only what is random must be as in the kernels (order, kept words, windows, negatives): that is restated here in plain
integers.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import method
from spherevec.config import TrainConfig
from spherevec.engine.base import (
    DAMPING,
    LEARNED_TOKENS,
    LOSS_EVERY,
    NEGATIVES_AHEAD,
    PIECE,
    Block,
    Floats,
    OneByOne,
    TrainingData,
)
from spherevec.engine.figures import Sums
from spherevec.engine.fit import FitPlan, exponents
from spherevec.engine.schedule import random_rows

Array = NDArray[np.float64]
Row = tuple[str, int]  # a table, and a row of it

_GOLDEN = 0x9E3779B97F4A7C15
_64_BITS = 2**64 - 1


# --- randomness -------------------------------------------------------------------------------------------------------


def mix(x: int) -> int:
    """Scramble 64 bits."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return x ^ (x >> 31)


def visited_unit(position: int, count: int, key: int) -> int:
    """The unit at `position` of a random order: Feistel rounds on two halves, again until the result is a unit."""
    half = 1
    while 4**half < count:
        half += 1
    while True:
        left, right = divmod(position, 2**half)
        for turn in range(4):
            left, right = right, left ^ mix((right + key + turn * _GOLDEN) & _64_BITS) % 2**half
        position = left * 2**half + right
        if position < count:
            return position


def sample_negative(random: int, share: NDArray[np.uint32], other: NDArray[np.int32]) -> int:
    """A word from the alias table: the upper 32 bits pick the slot, the lower ones decide within it."""
    slot = (random // 2**32 * len(share)) // 2**32
    return slot if random % 2**32 < int(share[slot]) else int(other[slot])


def sample_window(random: int, window: int, batch: int, extra: int) -> tuple[int, int]:
    """Context words before and after a word; after, where possible, such that before + after + extra fills batches."""
    before = 1 + random // 2**32 % window
    choices = [after for after in range(1, window + 1) if (before + after + extra) % batch == 0]
    choices = choices or list(range(1, window + 1))
    return before, choices[random % 2**32 % len(choices)]


def is_kept(word: int, place: int, key: int, keep_probability: NDArray[np.uint32]) -> bool:
    """Whether the token at `place` of the corpus survives the thinning of frequent words."""
    return mix((key + place * _GOLDEN) & _64_BITS) // 2**32 <= int(keep_probability[word])


class Randoms:
    """The random numbers of one unit, one after another."""

    def __init__(self, start: int, data: TrainingData, peer: Callable[[int], int] = lambda word: word) -> None:
        self.state = start
        self._data, self._peer = data, peer

    def number(self) -> int:
        self.state = (self.state + _GOLDEN) & _64_BITS
        return mix(self.state)

    def word(self) -> int:
        return self._peer(sample_negative(self.number(), self._data.alias_probability, self._data.alias_word))

    def words(self, count: int) -> list[int]:
        return [self.word() for _ in range(count)]


# --- the backend ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unit:
    """A document, or a piece of one."""

    document: int
    words: list[int]  # surviving words of the whole document
    centers: range  # places in `words` that belong to the piece
    tokens: int  # of the piece, before thinning


class OracleBackend:
    """One worker that trains by the definitions.

    Attributes:
        vectors: the tables, in float64.
        closest_call: smallest distance of any comparison from the margin. Where rounding exceeds it, another backend
            may rightly decide otherwise, and nothing can be compared any more.
    """

    workers = 1

    def __init__(self, data: TrainingData, config: TrainConfig) -> None:
        self._data, self._config = data, config
        documents = len(data.offsets) - 1 if config.documents else 1
        sizes = {"inputs": len(data.keep_probability), "contexts": len(data.keep_probability), "docs": documents}
        self.vectors: dict[str, Array] = {name: np.zeros((n, config.vector_size)) for name, n in sizes.items()}
        self.closest_call = math.inf
        self._back = method.exponential_map if config.step == "exponential" else method.retraction
        self._sums = {figure.name: 0.0 for figure in fields(Sums)}
        self._biases = {"contexts": 0.0, "docs": 0.0}  # of the likelihood, by the anchor's table

    def fill(self) -> None:
        for table, count in self._data.table_rows(self._config).items():
            for start, rows in random_rows(self._config, table, count):
                self.load(table, start, rows)

    def total(self, table: str) -> Array:
        return np.asarray(self.vectors[table].sum(axis=0))

    def load(self, table: str, start: int, rows: Floats) -> None:
        self.vectors[table][start : start + len(rows)] = rows

    def read(self, table: str, start: int, stop: int) -> Floats:
        return np.asarray(self.vectors[table][start:stop], np.float32)

    def warm_up(self) -> None:
        """Nothing to compile."""

    def sums(self) -> Sums:
        return Sums(**self._sums)

    def restore_sums(self, sums: Sums) -> None:
        self._sums = asdict(sums)

    def learned_biases(self) -> tuple[float, float]:
        return self._biases["contexts"], self._biases["docs"]

    def take(self) -> dict[str, Floats]:
        return {name: rows.astype(np.float32) for name, rows in self.vectors.items()}

    def begin(self, blocks: Sequence[Block]) -> OneByOne:
        return OneByOne(self, blocks)

    def train_block(
        self,
        block: Block,
        positions: Iterable[int] | None = None,
        peer: Callable[[int], int] = lambda word: word,
    ) -> None:
        """Train a block, or some of its units.

        Args:
            peer: gives the negative that is taken in place of one that was drawn.
        """
        config, before = self._config, self.sums()
        self._biases = {"contexts": block.word_bias, "docs": block.document_bias}
        for position in range(block.first, block.last) if positions is None else positions:
            done = (position - block.first) / (block.last - block.first)
            alpha = block.alpha_first + (block.alpha_last - block.alpha_first) * done
            number = visited_unit(position, self._data.units, block.order_key) if block.order_key else position
            unit = self._read_unit(number, block.sample_key)
            self._sums["tokens"] += unit.tokens
            self._sums["words"] += len(unit.centers)
            randoms = Randoms(mix(block.sample_key ^ ((number * _GOLDEN + 1) & _64_BITS)), self._data, peer)
            if config.objective == "joint":
                self._train_joint(unit, randoms, alpha)
            elif config.objective == "hinge" and config.batch == 1:
                self._train_triples(unit, randoms, alpha)
            else:
                self._train_batches(unit, randoms, alpha)
        if config.objective == "vmf":
            seen = self.sums() - before
            rate = DAMPING * config.concentration * seen.tokens / LEARNED_TOKENS
            self._biases["contexts"] -= rate * seen.word_cosine / max(seen.word_negatives, 1)
            self._biases["docs"] -= rate * seen.document_cosine / max(seen.document_negatives, 1)

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        """Documents against fixed words; by sampled steps, what is sampled depends on a document's text alone."""
        data, inputs = self._data, self.vectors["inputs"]
        for document, (start, stop) in enumerate(pairwise(data.offsets[first : last + 1].tolist()), first):
            words = data.ids[start:stop].tolist()
            if plan.tables is not None:
                fitted = fitted_document(data.ids[start:stop], inputs, plan)
                self.vectors["docs"][document] = self.vectors["docs"][document] if fitted is None else fitted
            elif words:
                shares = data.refit_keep_probability[words] / 2**32
                self.vectors["docs"][document] = method.normalize(shares @ inputs[words])
                self._refit_by_steps(document, words, plan)

    def _refit_by_steps(self, document: int, words: list[int], plan: FitPlan) -> None:
        data, config = self._data, plan.config
        epochs = max(config.epoch_count, math.ceil(plan.least_steps / len(words)))
        key = len(words)
        for word in words:
            key = mix(key ^ (word + _GOLDEN))
        randoms = Randoms(mix(key), data)
        following = randoms.words(config.negative)
        for visit in range(epochs * len(words)):
            epoch, place = divmod(visit, len(words))
            word = words[place]
            if not is_kept(word, place, mix((key + epoch * _GOLDEN) & _64_BITS), data.refit_keep_probability):
                continue
            negatives, following = following, randoms.words(config.negative)
            alpha = config.alpha * (1 - visit / (epochs * len(words)))
            rows: list[Row] = [("docs", document)]
            by_document, _, rate = self._gradients(rows, _targets(word, negatives), alpha, np.array([[plan.bias]]))
            method.move_rows(self.vectors, rows, by_document, rate, self._back)

    def _read_unit(self, number: int, key: int) -> Unit:
        data = self._data
        documents = len(data.offsets) - 1
        document = number if number < documents else int(data.pieces[number - documents, 0])
        opening, closing = int(data.offsets[document]), int(data.offsets[document + 1])
        start = opening if number < documents else int(data.pieces[number - documents, 1])
        stop = min(start + PIECE, closing)
        ids = data.ids[opening:closing].tolist()
        places = [
            place for place, word in enumerate(ids, opening) if is_kept(word, place, key, data.keep_probability)
        ]  # fmt: skip
        first, last = (sum(place < edge for place in places) for edge in (start, stop))
        return Unit(document, [ids[place - opening] for place in places], range(first, last), stop - start)

    # --- several anchors at once ------------------------------------------------------------------------------------

    def _train_batches(self, unit: Unit, randoms: Randoms, alpha: float) -> None:
        """Context vectors around a word, and its document's, a few at a time against the word and negatives."""
        config = self._config
        following = randoms.words(config.negative)
        for center in unit.centers:
            before, after = sample_window(randoms.number(), config.window, config.batch, int(config.documents))
            around = method.words_around(unit.words, center, before, after)
            anchors: list[Row] = [("contexts", word) for word in around]
            if config.documents:
                anchors.append(("docs", unit.document))
            self._sums["pairs"] += len(anchors)
            measured = (center - unit.centers.start) % LOSS_EVERY == 0
            for start in range(0, len(anchors), config.batch):
                negatives, following = following, randoms.words(config.negative)
                targets, rows = _targets(unit.words[center], negatives), anchors[start : start + config.batch]
                biases = np.array([[self._biases[table]] for table, _ in rows])
                if measured:
                    self._measure(rows, targets, biases)
                by_anchors, by_targets, rate = self._gradients(rows, targets, alpha, biases)
                method.move_rows(self.vectors, rows, by_anchors, rate, self._back)
                method.move_rows(self.vectors, targets, by_targets, rate, self._back)

    def _gradients(
        self, anchors: list[Row], targets: list[Row], alpha: float, biases: Array
    ) -> tuple[Array, Array, float]:
        """By the anchors and by the targets, and the rate of a step along them."""
        config, a, t = self._config, method.rows_of(self.vectors, anchors), method.rows_of(self.vectors, targets)
        if config.objective == "vmf":
            return *method.likelihood_gradients(a, t, config.concentration, biases), alpha
        self._watch(a @ t.T)
        rate = alpha * 2 / config.negative  # together as strong as two negatives
        return *method.hinge_gradients(a, t, config.margin, config.negative_rule), rate

    def _measure(self, anchors: list[Row], targets: list[Row], biases: Array) -> None:
        """Add the scores of anchors with the real word and the negatives to the sums."""
        config, scores = self._config, method.rows_of(self.vectors, anchors) @ method.rows_of(self.vectors, targets).T
        losses = method.hinge_losses(scores, config.margin)
        vmf = config.objective == "vmf"
        self._sums["loss"] += method.likelihood_loss(scores, config.concentration, biases) if vmf else losses.sum()
        self._sums["violated"] += (losses > 0).sum()
        self._sums["compared"] += losses.size
        for (table, _), cosines in zip(anchors, scores[:, 1:], strict=True):
            kind = "document" if table == "docs" else "word"
            self._sums[f"{kind}_cosine"] += cosines.sum()
            self._sums[f"{kind}_negatives"] += len(cosines)

    # --- one comparison at a time -----------------------------------------------------------------------------------

    def _train_triples(self, unit: Unit, randoms: Randoms, alpha: float) -> None:
        """The authors' way round: a word's context vector is the anchor of the words around it."""
        config = self._config
        ahead = deque(randoms.words(NEGATIVES_AHEAD))
        for center in unit.centers:
            word = unit.words[center]
            reach = 1 + randoms.number() // 2**32 % config.window
            around = method.words_around(unit.words, center, reach, reach)
            pairs: list[tuple[int, Row]] = [(target, ("contexts", word)) for target in around]
            if config.documents:
                pairs.append((word, ("docs", unit.document)))
            self._sums["pairs"] += len(pairs)
            for target, anchor in pairs:
                for _ in range(config.negative):
                    negative = ahead.popleft()
                    ahead.append(randoms.word())
                    if negative in (word, target):
                        continue
                    rows: list[Row] = [("inputs", target), ("inputs", negative)]
                    a, t = method.rows_of(self.vectors, [anchor]), method.rows_of(self.vectors, rows)
                    self._watch(a @ t.T)
                    loss = method.hinge_losses(a @ t.T, config.margin).item()
                    self._count_hinge(loss)
                    if loss > 0:
                        by_anchor, by_targets = method.hinge_gradients(a, t, config.margin, config.negative_rule)
                        method.move_rows(self.vectors, [anchor], by_anchor, alpha, self._back)
                        method.move_rows(self.vectors, rows, by_targets, alpha, self._back)

    def _train_joint(self, unit: Unit, randoms: Randoms, alpha: float) -> None:
        config = self._config
        for center in unit.centers:
            word = unit.words[center]
            reach = 1 + randoms.number() // 2**32 % config.window
            for context in method.words_around(unit.words, center, reach, reach):
                self._sums["pairs"] += 1
                for negative in randoms.words(config.negative):
                    if negative == word:
                        continue
                    rows = [("inputs", word), ("inputs", negative), ("contexts", context), ("docs", unit.document)]
                    u, n, v, d = method.rows_of(self.vectors, rows)
                    self._watch(np.array([[u @ (v + d), n @ (v + d)]]))
                    loss = float(method.joint_loss(u, n, v, d, config.margin))
                    self._count_hinge(loss)
                    if loss > 0:
                        gradients = np.stack(method.joint_gradients(u, n, v, d, config.negative_rule))
                        method.move_rows(self.vectors, rows, gradients, alpha, self._back)

    # --- what all share ---------------------------------------------------------------------------------------------

    def _watch(self, scores: Array) -> None:
        """Note how close negatives come to the margin."""
        gaps = np.abs(scores[:, :1] - scores[:, 1:] - self._config.margin)
        self.closest_call = min(self.closest_call, float(gaps.min(initial=math.inf)))

    def _count_hinge(self, loss: float) -> None:
        self._sums["compared"] += 1
        self._sums["violated"] += loss > 0
        self._sums["loss"] += loss


def _targets(word: int, negatives: list[int]) -> list[Row]:
    """A word and the negatives that count: one that happens to be the word does not."""
    return [("inputs", word), *(("inputs", negative) for negative in negatives if negative != word)]


def fitted_document(words: NDArray[np.int32], inputs: NDArray[np.floating], plan: FitPlan) -> Array | None:
    """As `method.fit_document`, for the word ids of a document and the tables of a fit."""
    assert plan.tables is not None
    tables, config = plan.tables, plan.config
    known, times = np.unique(words, return_counts=True)
    damping, sharpening = exponents(len(words), tables.by_length)
    pulls = tables.weights[known].astype(np.float64) ** sharpening * times**damping
    moments = tables.mean.astype(np.float64), tables.covariance.astype(np.float64)
    rows, passes = inputs[known].astype(np.float64), config.epoch_count
    fitted: Array | None = method.fit_document(
        rows, pulls, moments, config.concentration, plan.bias, config.negative, passes, config.alpha
    )
    return fitted
