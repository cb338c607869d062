"""The topics of a model: what they are about, which documents belong to them, and what can be done with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, MissingExtraError
from spherevec.search.neighbors import check_finite
from spherevec.topics import wording
from spherevec.topics.components import Components
from spherevec.topics.fields import Breakdown, break_down, periods
from spherevec.topics.graph import Labels
from spherevec.topics.level import Level
from spherevec.topics.tree import cut, merge_order

if TYPE_CHECKING:
    from spherevec.model import Model

_WORDS_KEPT = 10
# Steps of the distribution of cosines that "none fits" is judged by.
_QUANTILES = np.linspace(0, 1, 101)
NONE = -1


@dataclass(frozen=True)
class Topic:
    """One topic.

    Attributes:
        number: stays when other topics are merged, split or renamed.
        title: short, from its words, or given.
        words: the best words, the best first.
        size: documents whose likeliest topic it is.
        given: whether the title was given by the user.
    """

    number: int
    title: str
    words: list[str]
    size: int
    given: bool


class Topics:
    """Topics found or named in a model's documents; `spherevec.topics.find_topics` makes them.

    Topics are numbered from 0 by size, the largest first; after changes by hand the others keep their numbers. All
    methods that change topics return new ones.

    Attributes:
        model: the model that they belong to.
        components: the directions that they are made of.
        numbers: the number of each topic.
        labels: (n,), for each document the position of its topic in `numbers`.
        probability: (n,), the probability of that topic.
        second: (n,), the position of the second likeliest topic, −1 where there is one topic only.
        levels: how well each number of topics was supported, if the number was chosen.
    """

    def __init__(
        self,
        model: Model,
        components: Components,
        *,
        numbers: Sequence[int] | None = None,
        titles: Sequence[str | None] | None = None,
        parents: Sequence[str] | None = None,
        levels: Sequence[Level] = (),
    ) -> None:
        if model.docs is None:
            raise ConfigError(
                "this model has no documents, hence no topics; train it with documents=True, or import their vectors"
            )
        self.model = model
        self.components = components
        self.numbers = list(range(components.n_topics)) if numbers is None else [int(number) for number in numbers]
        self._titles = [None] * len(self.numbers) if titles is None else list(titles)
        self.parents = [""] * len(self.numbers) if parents is None else list(parents)
        self.levels = list(levels)
        self.labels, self.probability, self.second = _likeliest(components, model.docs.vectors)

    @classmethod
    def sorted_by_size(
        cls, model: Model, components: Components, *, n_named: int = 0, titles: Sequence[str | None] = (), **more: Any
    ) -> Topics:
        """Topics numbered by size; the first `n_named` are the user's and keep their places."""
        assert model.docs is not None
        labels, _, _ = _likeliest(components, model.docs.vectors)
        sizes = np.bincount(labels, minlength=components.n_topics)
        found = np.arange(n_named, components.n_topics)
        found = found[np.argsort(-sizes[found], kind="stable")]
        found = found[sizes[found] > 0]
        order = np.concatenate([np.arange(n_named), found])
        place = np.full(components.n_topics, -1)
        place[order] = np.arange(len(order))
        used = place[components.topic_of] >= 0
        kept = Components(
            components.mean,
            components.directions[used],
            components.weights[used],
            place[components.topic_of[used]],
            components.concentration,
        )
        named = [*titles, *[None] * (len(order) - len(titles))]
        return cls(model, kept, titles=named, **more)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Any:
        return (self[number] for number in self.numbers)

    def __getitem__(self, number: int) -> Topic:
        place = self.place(number)
        given = self._titles[place] is not None
        return Topic(number, self.titles[place], self.words_by_place[place], int(self.sizes[place]), given)

    def __repr__(self) -> str:
        return f"Topics({len(self)} topics of {len(self.labels):,} documents)"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Documents of each topic, in the order of `numbers`."""
        return np.bincount(self.labels, minlength=len(self.numbers))

    @cached_property
    def titles(self) -> list[str]:
        """The title of each topic, in the order of `numbers`; no two that were not given are alike."""
        own = [place for place, given in enumerate(self._titles) if given is None]
        made = wording.titles_of(
            [self.words_by_place[place] for place in own],
            [self.numbers[place] for place in own],
            [given for given in self._titles if given is not None],
        )
        by_place = dict(zip(own, made, strict=True))
        return [by_place[place] if given is None else given for place, given in enumerate(self._titles)]

    @cached_property
    def words_by_place(self) -> list[list[str]]:
        """The ten best words of each topic, in the order of `numbers`."""
        return [self._best_words(scores, _WORDS_KEPT) for scores in self._scores]

    def _best_words(self, scores: NDArray[np.float32], topn: int) -> list[str]:
        return wording.best_words(scores, self.model.words.names or [], topn, self._together)

    @cached_property
    def _together(self) -> wording.Together | None:
        counts = self.model.document_terms
        return None if counts is None else wording.Together(counts)

    @cached_property
    def _scores(self) -> NDArray[np.float32]:
        return wording.word_scores(
            self.model.document_terms,
            self.labels,
            len(self),
            np.asarray(self.model.inputs.vectors, np.float32),
            self.components.directions_of_topics(),
            self.components.mean,
        )

    @cached_property
    def _fit_quantiles(self) -> NDArray[np.float32]:
        """(k, 101): how near the documents of each topic are to it."""
        assert self.model.docs is not None
        fits = self.components.fits(self.model.docs.vectors, self.labels)
        return np.array(
            [
                np.quantile(fits[self.labels == topic], _QUANTILES) if size else np.full(len(_QUANTILES), -1.0)
                for topic, size in enumerate(self.sizes)
            ],
            np.float32,
        )

    def place(self, number: int) -> int:
        """The position of a topic in `numbers`."""
        if number not in self.numbers:
            raise ConfigError(f"there is no topic {number!r}; topics are {_shown(self.numbers)}")
        return self.numbers.index(number)

    def words(self, number: int, topn: int = _WORDS_KEPT) -> list[tuple[str, float]]:
        """The best words of a topic with their scores."""
        scores = self._scores[self.place(number)]
        names = self.model.words.names or []
        rows = {name: row for row, name in enumerate(names)}
        return [(word, float(scores[rows[word]])) for word in self._best_words(scores, topn)]

    def examples(self, number: int, topn: int = 3) -> list[int]:
        """The rows of the documents that stand for a topic: the nearest to its direction among those sure of it."""
        place = self.place(number)
        rows = np.flatnonzero(self.labels == place)
        if len(rows) == 0:
            return []
        assert self.model.docs is not None
        sure = rows[self.probability[rows] >= np.median(self.probability[rows])]
        direction = self.components.directions_of_topics()[place]
        nearness = np.asarray(self.model.docs.vectors[sure], np.float32) @ direction
        return [int(row) for row in sure[np.argsort(-nearness, kind="stable")[:topn]]]

    def document(self, row: int) -> tuple[str, str]:
        """Id and title of a document."""
        documents = self.model.documents
        assert documents is not None
        return str(documents.ids[row]), documents.title(row)

    def none_fits(self, least: float = 0.05) -> NDArray[np.bool_]:
        """Which documents of the model fit no topic, (n,), as `predict` judges with `none_below=least`."""
        assert self.model.docs is not None
        return self._misfits(self.model.docs.vectors, self.labels, least)

    def predict(self, texts: Iterable[str], *, none_below: float = 0.0, threads: int = 0) -> NDArray[np.int64]:
        """The number of the likeliest topic of each new text, −1 where none fits.

        Args:
            none_below: a text fits none when it is farther from its topic than this share of the topic's own
                documents are farthest: 0.05 refuses what lies beyond all but the farthest 5 % of them.
        """
        vectors = self.model.infer(texts, threads=threads)
        labels, _, _ = _likeliest(self.components, vectors)
        numbers = np.asarray(self.numbers, np.int64)[labels]
        return np.where(self._misfits(vectors, labels, none_below), NONE, numbers)

    def predict_proba(self, texts: Iterable[str], *, threads: int = 0) -> NDArray[np.float32]:
        """The probability of each topic for each new text, (n, k), in the order of `numbers`."""
        return self.components.probabilities(self.model.infer(texts, threads=threads))

    def memberships(self, rows: Sequence[int] | None = None) -> NDArray[np.float32]:
        """The share of each topic in documents, by their own words, (n, k), in the order of `numbers`.

        Each word votes for topics by its own direction, the more the surer it is.

        Args:
            rows: of the model's documents; all by default.
        """
        counts = self.model.document_terms
        if counts is None:
            raise ConfigError("this model does not keep the words of its documents; train it anew with this version")
        chosen = counts if rows is None else counts[np.asarray(rows)]
        votes = self.components.probabilities(np.asarray(self.model.inputs.vectors, np.float32))
        usual = np.maximum(self.sizes / max(len(self.labels), 1), 1e-6)
        surprise = (votes * np.log(np.maximum(votes, 1e-12) / usual)).sum(axis=1)
        shares = np.asarray(chosen @ (votes * np.maximum(surprise, 0)[:, None]), np.float32)
        total = shares.sum(axis=1, keepdims=True)
        return np.where(total > 0, shares / np.where(total > 0, total, 1), usual).astype(np.float32)

    def table(self) -> Any:
        """A pandas DataFrame, one row a topic: number, title, size, share, words, example (extra `pandas`)."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("table()", "pandas") from None
        rows = []
        for topic in self:
            examples = self.examples(topic.number, 1)
            example = self.document(examples[0])[1] if examples else ""
            share = topic.size / max(len(self.labels), 1)
            rows.append((topic.number, topic.title, topic.size, share, ", ".join(topic.words), example))
        return pandas.DataFrame(rows, columns=["topic", "title", "size", "share", "words", "example"])

    def by(self, field: str) -> Breakdown:
        """The topics in groups of documents with the same value of a field, and what is typical of each group."""
        return break_down(field, _texts(self._column(field)), self.labels, self.numbers, self.titles)

    def over(self, field: str, unit: str = "month") -> Breakdown:
        """The topics over time, by a field of dates: what is typical of a period, what rises and falls.

        Args:
            unit: "year", "month", "week" or "day".
        """
        values = periods(field, self._column(field), unit)
        return break_down(f"{field}:{unit}", values, self.labels, self.numbers, self.titles, ordered=True)

    def tree(self) -> list[tuple[int, int]]:
        """Pairs of topics in the order of their merging; the i-th merge makes the node max(numbers) + 1 + i."""
        next_node = max(self.numbers) + 1
        names = [*self.numbers, *range(next_node, next_node + len(self))]
        return [(names[a], names[b]) for a, b in merge_order(self._sums()).tolist()]

    def cut(self, k: int) -> Topics:
        """`k` broader topics: those that are most alike merge. They are numbered anew."""
        if not 1 <= k <= len(self):
            raise ConfigError(f"a cut has between 1 and {len(self)} topics, not {k}; find more with k={k}")
        groups = cut(merge_order(self._sums()), k)
        return Topics.sorted_by_size(self.model, self.components.regrouped(groups[self.components.topic_of]))

    def merge(self, number: int, *others: int) -> Topics:
        """One topic of several, which keeps the number and, if one was given, the title of the first."""
        places = {self.place(one) for one in (number, *others)}
        if len(places) < 2:
            raise ConfigError(f"merging needs two different topics, not {_shown([number, *others])}")
        gone = sorted(places - {self.place(number)})
        target = np.arange(len(self))
        target[gone] = self.place(number)
        return self._changed(target[self.components.topic_of], [i for i in range(len(self)) if i not in gone])

    def split(self, number: int, parts: int = 2) -> Topics:
        """Several topics of one; the largest keeps its number, the others get new ones."""
        place = self.place(number)
        own = np.flatnonzero(self.components.topic_of == place)
        if not 2 <= parts <= len(own):
            raise ConfigError(f"topic {number} can be split into 2 to {len(own)} parts, not {parts}")
        sums = self.components.weights[own, None] * self.components.directions[own]
        groups = cut(merge_order(sums), parts)
        weights = np.bincount(groups, self.components.weights[own])
        rank = np.empty(parts, np.int64)
        rank[np.argsort(-weights, kind="stable")] = np.arange(parts)
        topic_of = self.components.topic_of.copy()
        part = rank[groups]
        topic_of[own] = np.where(part == 0, place, len(self) - 1 + part)
        new = range(max(self.numbers) + 1, max(self.numbers) + parts)
        return Topics(
            self.model,
            self.components.regrouped(topic_of),
            numbers=[*self.numbers, *new],
            titles=[*self._titles, *[None] * (parts - 1)],
            parents=[*self.parents, *[self.parents[place]] * (parts - 1)],
            levels=self.levels,
        )

    def rename(self, number: int, title: str) -> Topics:
        """The same topics, one of them with another title."""
        if not title.strip():
            raise ConfigError(f"the title of topic {number} is empty; give it a word")
        titles = list(self._titles)
        titles[self.place(number)] = title.strip()
        return Topics(
            self.model,
            self.components,
            numbers=self.numbers,
            titles=titles,
            parents=self.parents,
            levels=self.levels,
        )

    def update(self, model: Model, *, seed: int = 1, threads: int = 0) -> Topics:
        """These topics for a model that has grown: numbers and titles stay, new subjects become new topics.

        Args:
            model: what `update` or `remove` made of this topics' model. Topics that were kept with a model follow its
                updates by themselves.
            seed, threads: as for `find_topics`.
        """
        from spherevec.topics.growth import grow_topics

        return grow_topics(self, model, seed=seed, threads=threads)

    def keep(self) -> Topics:
        """Make these the topics of the model: `model.topics()` gives them back, and `model.save` stores them.

        `model.topics().rename(0, "money").keep()`, then `model.save("tickets.model", overwrite=True)`.
        """
        from spherevec.topics.keeping import stored

        self.model.kept_topics = stored(self)
        return self

    def save(self, folder: str | Path, overwrite: bool = False, guard_formulas: bool = False) -> None:
        """Write a folder: topics.json and assignments.csv to read, and what `load_topics` needs besides.

        Args:
            guard_formulas: in the CSV file, put an apostrophe before cells that a spreadsheet would run.
        """
        from spherevec.topics.folder import save_topics

        save_topics(self, folder, overwrite=overwrite, guard_formulas=guard_formulas)

    def plot(self, kind: str = "words", **options: Any) -> Any:
        """A matplotlib figure: "words", "tree", or "over" with field= and unit= (extra `plots`)."""
        from spherevec.topics.plots import draw

        return draw(self, kind, **options)

    def given_titles(self) -> list[str | None]:
        """The titles that were given, None for topics that are called after their words."""
        return list(self._titles)

    def _changed(self, topic_of: Labels, kept: list[int]) -> Topics:
        place = np.full(len(self), -1)
        place[kept] = np.arange(len(kept))
        return Topics(
            self.model,
            self.components.regrouped(place[topic_of]),
            numbers=[self.numbers[i] for i in kept],
            titles=[self._titles[i] for i in kept],
            parents=[self.parents[i] for i in kept],
            levels=self.levels,
        )

    def _sums(self) -> NDArray[np.float64]:
        weighted = self.components.weights[:, None] * self.components.directions
        sums = np.zeros((len(self), weighted.shape[1]))
        np.add.at(sums, self.components.topic_of, weighted)
        return sums

    def _misfits(self, vectors: NDArray[Any], labels: Labels, least: float) -> NDArray[np.bool_]:
        if not 0 <= least < 1:
            raise ConfigError(f"none_below is a share from 0 to 1, not {least!r}")
        if least == 0 or len(vectors) == 0:
            return np.zeros(len(vectors), np.bool_)
        lowest = np.array([np.interp(least, _QUANTILES, row) for row in self._fit_quantiles])
        return np.asarray(self.components.fits(vectors, labels) < lowest[labels])

    def _column(self, field: str) -> NDArray[Any]:
        documents = self.model.documents
        assert documents is not None
        return documents.column(field)


def _likeliest(components: Components, vectors: NDArray[Any]) -> tuple[Labels, NDArray[np.float32], NDArray[np.int64]]:
    """The likeliest topic of each vector, its probability, and the second likeliest, block by block."""
    labels, probability = np.empty(len(vectors), np.int64), np.empty(len(vectors), np.float32)
    second = np.full(len(vectors), -1)
    step = 1 << 16
    for low in range(0, len(vectors), step):
        chances = components.probabilities(vectors[low : low + step])
        if not np.isfinite(chances.sum()):
            check_finite(vectors[low : low + step], low)
        here, rows = slice(low, low + len(chances)), np.arange(len(chances))
        labels[here] = np.argmax(chances, axis=1)
        probability[here] = chances[rows, labels[here]]
        if chances.shape[1] > 1:
            chances[rows, labels[here]] = -1
            second[here] = np.argmax(chances, axis=1)
    return labels, probability, second


def _texts(values: NDArray[Any]) -> list[str]:
    """Cells as text; '' where one is missing."""
    if values.dtype.kind == "M":
        return ["" if np.isnat(cell) else str(cell.astype("datetime64[D]")) for cell in values]
    if values.dtype.kind == "f":
        return ["" if np.isnan(cell) else f"{cell:g}" for cell in values]
    return ["" if cell is None else str(cell) for cell in values.tolist()]


def _shown(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    return shown if len(numbers) <= 10 else f"{shown}, …"
