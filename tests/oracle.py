"""Training as a textbook writes it: slow and obvious, in float64. The compiled kernels are tested against it.

Every step is spelled out: the Euclidean gradient of a loss, its projection to the tangent space, the paper's multiplier
where the objective has one, and the way back to the sphere. Only what is random must be as in the kernels (order,
kept words, windows, negatives), so that is restated here in plain integers.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.engine.base import LOSS_EVERY, NEGATIVES_AHEAD, PIECE, Block, Floats, TrainingData
from spherevec.engine.figures import Sums
from spherevec.engine.fit import FitPlan, exponents
from spherevec.engine.initial import random_rows

Doubles = NDArray[np.float64]
Row = tuple[str, int]  # table, row

_GOLDEN = 0x9E3779B97F4A7C15
_64_BITS = 2**64 - 1

# How far a negative at cosine h is pushed away.
PUSHES: dict[str, Callable[[float], float]] = {"1+h": lambda h: 1 + h, "h": lambda h: h, "2h": lambda h: 2 * h}


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
    rounds = None

    def __init__(self, data: TrainingData, config: TrainConfig) -> None:
        self._data, self._config = data, config
        documents = len(data.offsets) - 1 if config.documents else 1
        sizes = {"inputs": len(data.keep_probability), "contexts": len(data.keep_probability), "docs": documents}
        self.vectors: dict[str, Doubles] = {name: np.zeros((n, config.vector_size)) for name, n in sizes.items()}
        self.closest_call = math.inf
        self._sums = {figure.name: 0.0 for figure in fields(Sums)}
        self._biases = {"contexts": 0.0, "docs": 0.0}  # of the likelihood, by the anchor's table

    def fill(self) -> None:
        for table, count in self._data.table_rows(self._config).items():
            for start, rows in random_rows(self._config, table, count):
                self.load(table, start, rows)

    def finite(self, table: str) -> bool:
        return bool(np.isfinite(self.vectors[table]).all())

    def load(self, table: str, start: int, rows: Floats) -> None:
        self.vectors[table][start : start + len(rows)] = rows

    def read(self, table: str, start: int, stop: int) -> Floats:
        return self.vectors[table][start:stop].astype(np.float32)

    def warm_up(self) -> None:
        """Nothing to compile."""

    def sums(self) -> Sums:
        return Sums(**self._sums)

    def restore_sums(self, sums: Sums) -> None:
        self._sums = asdict(sums)

    def learned_biases(self) -> None:
        """The trainer learns them."""

    def take(self) -> dict[str, Floats]:
        return {name: rows.astype(np.float32) for name, rows in self.vectors.items()}

    def train(
        self,
        worker: int,
        block: Block,
        positions: Iterable[int] | None = None,
        peer: Callable[[int], int] = lambda word: word,
    ) -> None:
        """Train a block, or some of its units.

        Args:
            peer: gives the negative that is taken in place of one that was drawn.
        """
        config = self._config
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

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        """Documents against fixed words, one word at a time; what is sampled depends on a document's text alone."""
        data, config, bias, least_steps = self._data, plan.config, plan.bias, plan.least_steps
        if plan.tables is not None:
            for document, (start, stop) in enumerate(pairwise(data.offsets[first : last + 1].tolist()), first):
                fitted = fitted_document(data.ids[start:stop], self.vectors["inputs"], plan)
                if fitted is not None:
                    self.vectors["docs"][document] = fitted
            return
        for document, (start, stop) in enumerate(pairwise(data.offsets[first : last + 1].tolist()), first):
            words = data.ids[start:stop].tolist()
            if words:
                shares = data.refit_keep_probability[words] / 2**32
                self.vectors["docs"][document] = sphere.normalize(shares @ self.vectors["inputs"][words])
            epochs = max(config.epoch_count, math.ceil(least_steps / max(len(words), 1)))
            key = len(words)
            for word in words:
                key = mix(key ^ (word + _GOLDEN))
            randoms = Randoms(mix(key), data)
            next_negatives = randoms.words(config.negative)
            for visit in range(epochs * len(words)):
                epoch, place = divmod(visit, len(words))
                word = words[place]
                if not is_kept(word, place, mix((key + epoch * _GOLDEN) & _64_BITS), data.refit_keep_probability):
                    continue
                negatives, next_negatives = next_negatives, randoms.words(config.negative)
                alpha = config.alpha * (1 - visit / (epochs * len(words)))
                vectors = self.vectors["docs"][[document]]
                targets, counts = self.vectors["inputs"][[word, *negatives]], _counting(word, negatives)
                if config.objective == "vmf":
                    steps, _ = self._vmf_steps(vectors, targets, counts, np.array([[bias]]), alpha)
                else:
                    steps, _ = self._hinge_steps(vectors, targets, counts, alpha * 2 / len(negatives))
                self.vectors["docs"][document] = self._moved(vectors[0], steps[0])

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
        next_negatives = randoms.words(config.negative)
        for center in unit.centers:
            before, after = sample_window(randoms.number(), config.window, config.batch, int(config.documents))
            anchors: list[Row] = [("contexts", word) for word in _around(unit.words, center, before, after)]
            if config.documents:
                anchors.append(("docs", unit.document))
            self._sums["pairs"] += len(anchors)
            measured = (center - unit.centers.start) % LOSS_EVERY == 0
            for start in range(0, len(anchors), config.batch):
                negatives, next_negatives = next_negatives, randoms.words(config.negative)
                self._train_batch(unit.words[center], negatives, anchors[start : start + config.batch], alpha, measured)

    def _train_batch(self, word: int, negatives: list[int], rows: list[Row], alpha: float, measured: bool) -> None:
        """All scores are taken before any vector moves; then each takes the sum of its steps at once."""
        config = self._config
        anchors = np.stack([self.vectors[table][row] for table, row in rows])  # (A, dim)
        targets = self.vectors["inputs"][[word, *negatives]]  # (1 + K, dim)
        counts = _counting(word, negatives)
        biases = np.array([[self._biases[table]] for table, _ in rows])  # (A, 1)
        if measured:
            for (table, _), scores, bias in zip(rows, anchors @ targets.T, biases, strict=True):
                self._measure("document" if table == "docs" else "word", scores[counts], float(bias[0]))
        if config.objective == "vmf":
            anchor_steps, target_steps = self._vmf_steps(anchors, targets, counts, biases, alpha)
        else:
            # Together as strong as two negatives.
            anchor_steps, target_steps = self._hinge_steps(anchors, targets, counts, alpha * 2 / len(negatives))
        for (table, row), anchor, step in zip(rows, anchors, anchor_steps, strict=True):
            self.vectors[table][row] = self._moved(anchor, step)
        for row, target, step, moves in zip([word, *negatives], targets, target_steps, counts, strict=True):
            if moves:
                self.vectors["inputs"][row] = self._moved(target, step)

    def _vmf_steps(
        self, anchors: Doubles, targets: Doubles, counts: NDArray[np.bool_], offsets: Doubles, alpha: float
    ) -> tuple[Doubles, Doubles]:
        """Down the gradient of −log σ(s) for the real word and −log(1 − σ(s)) for negatives, s = κ cos − bias."""
        kappa = self._config.concentration
        # σ(s) = exp(−log(1 + exp(−s))), which no s overflows.
        likely = np.exp(-np.logaddexp(0, offsets - kappa * anchors @ targets.T))  # (A, 1 + K)
        real = np.zeros(len(targets))
        real[0] = 1
        slopes = kappa * (likely - real) * counts  # of the loss, by the cosine
        return (
            -alpha * sphere.tangent_projection(anchors, slopes @ targets).astype(np.float64),
            -alpha * sphere.tangent_projection(targets, slopes.T @ anchors).astype(np.float64),
        )

    def _hinge_steps(
        self, anchors: Doubles, targets: Doubles, counts: NDArray[np.bool_], rate: float
    ) -> tuple[Doubles, Doubles]:
        """One hinge for each anchor and negative."""
        anchor_steps, target_steps = np.zeros_like(anchors), np.zeros_like(targets)
        for a, anchor in enumerate(anchors):
            for t in np.flatnonzero(counts)[1:].tolist():
                steps = self._triple_steps(targets[0], targets[t], anchor, rate)
                if steps is not None:
                    target_steps[0] += steps[0]
                    target_steps[t] += steps[1]
                    anchor_steps[a] += steps[2]
        return anchor_steps, target_steps

    def _measure(self, kind: str, scores: Doubles, bias: float) -> None:
        """Add one anchor's scores with the real word and the negatives."""
        config = self._config
        real, negatives = float(scores[0]), scores[1:]
        if config.objective == "vmf":
            losses = np.logaddexp(0, config.concentration * negatives - bias).sum()
            losses += np.logaddexp(0, bias - config.concentration * real)
        else:
            losses = np.maximum(0, config.margin - real + negatives).sum()
        self._sums["loss"] += float(losses)
        self._sums["violated"] += int((real - negatives < config.margin).sum())
        self._sums["compared"] += len(negatives)
        self._sums[f"{kind}_cosine"] += float(negatives.sum())
        self._sums[f"{kind}_negatives"] += len(negatives)

    # --- one triple at a time ---------------------------------------------------------------------------------------

    def _train_triples(self, unit: Unit, randoms: Randoms, alpha: float) -> None:
        """The authors' way round: a word's context vector is the anchor of the words around it."""
        config = self._config
        ahead = deque(randoms.words(NEGATIVES_AHEAD))
        for center in unit.centers:
            word = unit.words[center]
            reach = 1 + randoms.number() // 2**32 % config.window
            pairs: list[tuple[int, Row]] = [
                (target, ("contexts", word)) for target in _around(unit.words, center, reach, reach)
            ]
            if config.documents:
                pairs.append((word, ("docs", unit.document)))
            self._sums["pairs"] += len(pairs)
            for target, (table, row) in pairs:
                for _ in range(config.negative):
                    negatives = ahead.popleft()
                    ahead.append(randoms.word())
                    if negatives in (word, target):
                        continue
                    words, anchors = self.vectors["inputs"], self.vectors[table]
                    self._count_hinge(words[target] @ anchors[row] - words[negatives] @ anchors[row])
                    steps = self._triple_steps(words[target], words[negatives], anchors[row], alpha)
                    if steps is not None:
                        words[target] = self._moved(words[target], steps[0])
                        words[negatives] = self._moved(words[negatives], steps[1])
                        anchors[row] = self._moved(anchors[row], steps[2])

    def _triple_steps(
        self, word: Doubles, negative: Doubles, anchor: Doubles, rate: float
    ) -> tuple[Doubles, Doubles, Doubles] | None:
        """Tangent steps of one hinge, max(0, margin − f + h) with f = u·v and h = n·v; None where it holds.

        The multipliers are the authors': 1 − f for the word, `negative_rule` for the negative, and 1 − f + h for the
        anchor, which is the paper's but for the length of u − n.
        """
        f, h = float(word @ anchor), float(negative @ anchor)
        if not self._violates(f - h):
            return None
        return (
            self._tangent_step(word, -anchor, rate * (1 - f)),
            self._tangent_step(negative, anchor, rate * PUSHES[self._config.negative_rule](h)),
            self._tangent_step(anchor, negative - word, rate * (1 - f + h)),
        )

    # --- the paper's joint hinge ------------------------------------------------------------------------------------

    def _train_joint(self, unit: Unit, randoms: Randoms, alpha: float) -> None:
        """Eq. (3), max(0, m − u·v − u·d + n·v + n·d), each vector moved by Eq. (8)."""
        config = self._config
        words, contexts, documents = (self.vectors[table] for table in ("inputs", "contexts", "docs"))
        for center in unit.centers:
            word = unit.words[center]
            reach = 1 + randoms.number() // 2**32 % config.window
            for context in _around(unit.words, center, reach, reach):
                self._sums["pairs"] += 1
                for negative in randoms.words(config.negative):
                    if negative == word:
                        continue
                    places = ((words, word), (words, negative), (contexts, context), (documents, unit.document))
                    u, n, v, d = (table[row] for table, row in places)
                    gain = float(u @ v + u @ d - n @ v - n @ d)
                    self._count_hinge(gain)
                    if not self._violates(gain):
                        continue
                    push = PUSHES[config.negative_rule](float(n @ sphere.normalize(v + d)))
                    moved = [
                        self._moved(u, self._paper_step(u, -(v + d), alpha)),
                        self._moved(n, self._tangent_step(n, v + d, alpha * push)),
                        self._moved(v, self._paper_step(v, n - u, alpha)),
                        self._moved(d, self._paper_step(d, n - u, alpha)),
                    ]
                    for (table, row), vector in zip(places, moved, strict=True):
                        table[row] = vector

    def _paper_step(self, point: Doubles, gradient: Doubles, rate: float) -> Doubles:
        return self._tangent_step(point, gradient, rate * float(sphere.modified_gradient_multiplier(point, gradient)))

    # --- what all share ---------------------------------------------------------------------------------------------

    def _violates(self, gain: float) -> bool:
        self.closest_call = min(self.closest_call, abs(gain - self._config.margin))
        return gain < self._config.margin

    def _count_hinge(self, gain: Any) -> None:
        self._sums["compared"] += 1
        self._sums["violated"] += gain < self._config.margin
        self._sums["loss"] += max(0.0, self._config.margin - gain)

    @staticmethod
    def _tangent_step(point: Doubles, gradient: Doubles, rate: float) -> Doubles:
        return np.asarray(-rate * sphere.tangent_projection(point, gradient), np.float64)

    def _moved(self, point: Doubles, step: Doubles) -> Doubles:
        go = sphere.exponential_map if self._config.step == "exponential" else sphere.retraction
        return np.asarray(go(point, step), np.float64)


def _counting(word: int, negative: list[int]) -> NDArray[np.bool_]:
    """Which of a word and those negative count, (1 + K,): one negative that happens to be the word does not."""
    return np.array([True, *(other != word for other in negative)])


def _around(words: Sequence[int], center: int, before: int, after: int) -> list[int]:
    """The words at most `before` places before and `after` places after `center`."""
    return [*words[max(0, center - before) : center], *words[center + 1 : center + 1 + after]]


def fitted_document(words: NDArray[np.int32], inputs: NDArray[np.float64], plan: FitPlan) -> NDArray[np.float64] | None:
    """The vector of a document at the maximum of its expected likelihood; None where its words have no direction."""
    assert plan.tables is not None
    tables, config = plan.tables, plan.config
    kappa, bias = config.concentration, plan.bias
    known, times = np.unique(words, return_counts=True)
    damping, sharpening = exponents(len(words), tables.by_length)
    rows, weights = inputs[known].astype(np.float64), tables.weights[known].astype(np.float64) ** sharpening
    weights = weights * times**damping
    mean, covariance = tables.mean.astype(np.float64), tables.covariance.astype(np.float64)
    start = weights @ rows
    if np.linalg.norm(start) < 1e-6:
        return None
    vector: NDArray[np.float64] = start / np.linalg.norm(start)
    for _ in range(config.epoch_count):
        pull = (weights * _sigmoid(bias - kappa * rows @ vector)) @ rows
        spread = covariance @ vector
        variance = kappa**2 * vector @ spread
        root = np.sqrt(1 + np.pi / 8 * variance)
        likely = _sigmoid((kappa * mean @ vector - bias) / root)
        slope = likely * (1 - likely) / root
        negatives = weights.sum() * config.negative
        curvature = np.linalg.norm(pull) + negatives * slope * variance
        gradient = sphere.tangent_projection(vector, pull - negatives * (likely * mean + slope * kappa * spread))
        vector = vector + config.alpha * gradient / curvature
        vector /= np.linalg.norm(vector)
    return vector


def word_nearness(
    documents: list[list[int]], inputs: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How much nearer each word is to the rest of its documents than to all documents, and which words have a rest."""
    sums = [
        sum((weights[word] * inputs[word] for word in document), np.zeros(inputs.shape[1])) for document in documents
    ]
    common = np.mean([total / np.linalg.norm(total) for total in sums], axis=0)
    near: dict[int, list[float]] = {}
    for document, total in zip(documents, sums, strict=True):
        for word in set(document):
            rest = total - document.count(word) * weights[word] * inputs[word]
            if np.linalg.norm(rest) > 1e-6:
                near.setdefault(word, []).append(float(inputs[word] @ rest / np.linalg.norm(rest)))
    nearness = np.zeros(len(inputs))
    for word, cosines in near.items():
        nearness[word] = np.mean(cosines) - inputs[word] @ common
    return nearness, np.array([word in near for word in range(len(inputs))])


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))
