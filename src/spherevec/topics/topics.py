"""The topics of a model: what they are about, which documents belong to them, and what can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.read.options import listed
from spherevec.errors import ConfigError
from spherevec.model.other_names import OtherNames
from spherevec.topics import edits, views
from spherevec.topics.breakdown import Breakdown, break_down, groups_of, periods
from spherevec.topics.components import Assignment
from spherevec.topics.documents import TopicDocuments, documents_from, documents_of
from spherevec.topics.graph import Labels
from spherevec.topics.state import DocumentTopic, Grouping, KeptTitle, Topic, TopicState, is_given
from spherevec.topics.titles import DEFAULT, title_function, titles_of, usual_spelling
from spherevec.topics.words import WORDS_KEPT, TopicContent, TopicWords

if TYPE_CHECKING:
    from spherevec.model import Model

NONE = -1
OTHER = "other"
EXAMPLES_KEPT = 3


class Topics(OtherNames):
    """Topics found or named in a model's documents; `spherevec.topics.find_topics` makes them.

    Topics are numbered from 0 by size, the largest first; after changes by hand the others keep their numbers. All
    methods that change topics return new ones. `topics.parents` are the broader topics, with the same methods.

    Attributes:
        model: the model that they belong to.
        state: what they are made of.
        components: the directions that they are made of.
        numbers: the number of each topic.
        levels: how well halves of the documents agree at each number of topics, if that was measured.
        broader_words: what was stored of the words of broader levels.
        examples_by_place: what was stored of typical documents.
    """

    broader_words: Sequence[list[list[str]]] = ()
    examples_by_place: Sequence[list[int]] = ()

    cut = edits.cut
    merge = edits.merge
    split = edits.split
    rename = edits.rename
    drop = edits.drop
    to_pandas = views.topics_frame
    documents = views.documents_frame
    plot = views.plot_words
    plot_tree = views.plot_tree
    _repr_html_ = views.topics_html

    def __init__(
        self,
        model: Model,
        state: TopicState,
        *,
        documents: Callable[[], TopicDocuments] | None = None,
        computed: Mapping[str, Any] | None = None,
        finer: Topics | None = None,
    ) -> None:
        self.model = model
        self.state = state
        self.components, self.numbers, self.levels = state.components, state.numbers, state.levels
        self._documents = documents
        self._finer = finer  # the topics that these are the parents of
        self.__dict__.update(computed or {})  # values of cached properties

    @cached_property
    def documents_used(self) -> TopicDocuments:
        """Vectors of the documents, and which of them take part."""
        return documents_of(self.model) if self._documents is None else self._documents()

    @cached_property
    def _assignment(self) -> Assignment:
        documents = self.documents_used
        found = Assignment.empty(len(documents.known))
        own = self.components.assign(documents.vectors[documents.rows])
        found.labels[documents.rows], found.probability[documents.rows], found.second[documents.rows] = own
        return found

    @cached_property
    def labels(self) -> Labels:
        """(n,), for each document the position of its topic in `numbers`, −1 for none."""
        if self._finer is not None:
            return np.append(self._finer.state.above[0].group_of, -1)[self._finer.labels]
        return self._assignment.labels

    @property
    def probability(self) -> NDArray[np.float32]:
        """(n,), the probability of that topic."""
        return self._assignment.probability

    @property
    def second(self) -> Labels:
        """(n,), the position of the likeliest other topic, −1 where there is none."""
        return self._assignment.second

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """(n,), which documents hold a word that the model knows."""
        return self.documents_used.known if self._finer is None else self._finer.known

    def with_state(self, state: TopicState) -> Topics:
        """Topics of the same documents."""
        return Topics(self.model, state, documents=lambda: self.documents_used)

    def with_fixed_titles(self, kind: type[str] = KeptTitle) -> Topics:
        """The same topics, whose titles stay when documents come and go; a `kind` of str makes them count as given."""
        given: list[list[str | None]] = []
        for level in self.on_levels:
            both = zip(level.titles, level.state.titles, strict=True)
            given.append([title if is_given(known) else kind(title) for title, known in both])
        above = tuple(replace(one, titles=own) for one, own in zip(self.state.above, given[1:], strict=True))
        return self.with_state(replace(self.state, titles=given[0], above=above, title_method=DEFAULT))

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Topic]:
        return (self[number] for number in self.numbers)

    def __getitem__(self, topic: int | str) -> Topic:
        place = self.place(topic)
        children = self._children(place)
        return Topic(
            self.numbers[place],
            self.titles[place],
            self.words_by_place[place],
            int(self.sizes[place]),
            children[0].given if len(children) == 1 else is_given(self.state.titles[place]),
            self.parent_of(place),
            tuple(child.number for child in children) if len(children) > 1 else (),
        )

    def __repr__(self) -> str:
        broad = f"{len(self.parents)} broad, {len(self)} finer" if self.state.above else f"{len(self)}"
        return f"Topics({broad} topics of {len(self.labels):,} documents)"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Documents of each topic, in the order of `numbers`."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self.numbers))

    @property
    def n_unknown(self) -> int:
        """Documents without a word that the model knows."""
        return int(np.count_nonzero(~self.known))

    @property
    def n_other(self) -> int:
        """Documents that hold known words and belong to no topic."""
        return int(np.count_nonzero((self.labels < 0) & self.known))

    @cached_property
    def parents(self) -> Topics:
        """The broader topics; where there is no broader level, the topics themselves."""
        if not self.state.above:
            return self
        first, *rest = self.state.above
        members = [np.flatnonzero(first.group_of == group) for group in range(len(first.numbers))]
        above = tuple(
            Grouping(np.array([one.group_of[own[0]] for own in members]), one.numbers, one.titles) for one in rest
        )
        state = replace(
            self.state,
            components=self.components.regrouped(np.append(first.group_of, -1)[self.components.topic_of]),
            numbers=first.numbers,
            titles=first.titles,
            above=above,
        )
        words = self.broader_words
        computed = {"words_by_place": words[0], "broader_words": words[1:]} if words else None
        return Topics(self.model, state, documents=lambda: self.documents_used, computed=computed, finer=self)

    @property
    def on_levels(self) -> list[Topics]:
        """These topics and the broader ones, from fine to broad."""
        return [self, *self.parents.on_levels] if self.state.above else [self]

    def _children(self, place: int) -> list[Topic]:
        if self._finer is None:
            return []
        own = np.flatnonzero(self._finer.state.above[0].group_of == place)
        return [self._finer[self._finer.numbers[one]] for one in own]

    def parent_of(self, place: int) -> int | None:
        """The number of the broader topic of the topic at a position, None where there is no broader level."""
        if not self.state.above:
            return None
        first = self.state.above[0]
        return first.numbers[int(first.group_of[place])]

    @property
    def tree(self) -> views.TopicTree:
        """The topics as a tree, which prints and draws as one: `print(topics.tree)`."""
        return views.TopicTree(self)

    @cached_property
    def titles(self) -> list[str]:
        """The title of each topic, in the order of `numbers`; generated titles are unique."""
        known = list(self.state.titles)
        for place in range(len(self)):
            children = self._children(place)
            if known[place] is None and len(children) == 1:
                known[place] = children[0].title
        own = [place for place, given in enumerate(known) if given is None]
        make = title_function(self.state.title_method)
        made = titles_of(
            [make(self.content(place)) for place in own],
            [self.numbers[place] for place in own],
            [given for given in known if given is not None],
            cache(lambda word: usual_spelling(word, self._words.texts_with(word))),
        )
        titles = dict(zip(own, made, strict=True))
        return [titles[place] if given is None else given for place, given in enumerate(known)]

    def content(self, place: int) -> TopicContent:
        """What the title of the topic at a position can be made of."""
        number = self.numbers[place]
        return self._words.content(place, number, self.examples(number))

    @cached_property
    def _words(self) -> TopicWords:
        return TopicWords(self.model, self.components, self.labels)

    @cached_property
    def words_by_place(self) -> list[list[str]]:
        """The ten best words of each topic, in the order of `numbers`."""
        return self._words.by_place

    @cached_property
    def _fits(self) -> NDArray[np.float32]:
        """(n,), how near each document is to its topic."""
        return self.components.fits(self.documents_used.vectors, self.labels)

    def place(self, topic: int | str) -> int:
        """The position in `numbers` of a topic, given by its number or its title."""
        if isinstance(topic, str):
            if topic not in self.titles:
                raise ConfigError(f"there is no topic {topic!r:.60}; topics are {listed(self.titles)}")
            return self.titles.index(topic)
        if topic not in self.numbers:
            raise ConfigError(f"there is no topic {topic!r}; topics are {listed(self.numbers)}")
        return self.numbers.index(topic)

    def words(self, topic: int | str, topn: int = WORDS_KEPT) -> list[tuple[str, float]]:
        """The best words of a topic with their scores."""
        return self._words.best(self.place(topic), topn)

    def examples(self, topic: int | str, topn: int = EXAMPLES_KEPT) -> list[int]:
        """The rows of typical documents of a topic: the nearest to its direction among those sure of it."""
        place = self.place(topic)
        if self.examples_by_place and topn <= EXAMPLES_KEPT:
            return self.examples_by_place[place][:topn]
        rows = np.flatnonzero(self.labels == place)
        if len(rows) == 0:
            return []
        sure = rows[self.probability[rows] >= np.median(self.probability[rows])]
        direction = self.components.directions_of_topics()[place]
        nearness = np.asarray(self.documents_used.vectors[sure], np.float32) @ direction
        return [int(row) for row in sure[np.argsort(-nearness, kind="stable")[:topn]]]

    def document(self, document: int | str) -> DocumentTopic:
        """A document of the model, given by its id or its row, with its topic."""
        table, docs = self.model.documents, self.model.docs
        assert table is not None and docs is not None
        return self.document_in(table.row_of(document) if isinstance(document, str) else docs.position(document))

    def document_in(self, row: int) -> DocumentTopic:
        """The document in a row of the model, such as one of `examples`, with its topic."""
        table = self.model.documents
        assert table is not None
        label = int(self.labels[row])
        id_, title, chance = str(table.ids[row]), table.title(row), float(self.probability[row])
        if label < 0:
            return DocumentTopic(id_, title, NONE, OTHER if self.known[row] else "", NONE, 0.0)
        parent = self.parent_of(label)
        return DocumentTopic(
            id_, title, self.numbers[label], self.titles[label], NONE if parent is None else parent, chance
        )

    def none_fits(self, least: float = 0.05) -> NDArray[np.bool_]:
        """Which documents of the model fit no topic, (n,), as `predict` judges with `none_below=least`."""
        found = self.labels < 0
        rows = np.flatnonzero(~found)
        found[rows] = self._misfits(self.documents_used.vectors[rows], self.labels[rows], least)
        return found

    def predict(self, texts: Iterable[str], *, none_below: float = 0.0, threads: int = 0) -> NDArray[np.int64]:
        """The number of the likeliest topic of each new text, −1 where none fits or no word is known.

        Args:
            none_below: −1 for texts that are farther from their topic than all but this share of the topic's own
                documents: 0.05 leaves out texts beyond 95 % of them.
        """
        new = documents_from(self.model, texts, threads)
        labels = np.where(new.informative, self.components.assign(new.vectors).labels, NONE)
        misfit = self._misfits(new.vectors, labels, none_below)
        return np.where((labels < 0) | misfit, NONE, np.asarray(self.numbers, np.int64)[labels])

    def predict_proba(self, texts: Iterable[str], *, threads: int = 0) -> NDArray[np.float32]:
        """The probability of each topic for each new text, (n, k), as `numbers`; 0 where no word is known."""
        new = documents_from(self.model, texts, threads)
        return np.where(new.informative[:, None], self.components.probabilities(new.vectors), np.float32(0))

    def memberships(self, rows: Sequence[int] | None = None) -> NDArray[np.float32]:
        """The share of each topic in documents, by their own words, (n, k), in the order of `numbers`.

        Each word votes for topics by its own direction, the more the surer it is; 0 where no word is known.

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
        return np.asarray(shares / np.where(total > 0, total, 1), np.float32)

    def by(self, field: str) -> Breakdown:
        """The topics in groups of documents with the same value of a field, and what is typical of each group.

        Numbers of many different values are grouped into five ranges.
        """
        names, order = groups_of(self._column(field))
        return break_down(field, names, self.labels, self.numbers, self.titles, order=order)

    def over(self, field: str, unit: str = "month") -> Breakdown:
        """The topics over time, by a field of dates: what is typical of a period, what rises and falls.

        Args:
            unit: "year", "month", "week" or "day".
        """
        values = periods(field, self._column(field), unit)
        return break_down(f"{field}:{unit}", values, self.labels, self.numbers, self.titles, ordered=True)

    def update(self, model: Model, *, seed: int = 1, threads: int = 0) -> Topics:
        """These topics for a model that has grown: numbers and titles stay, new subjects become new topics.

        Args:
            model: what `update` or `remove` made of this topics' model. Topics that were kept with a model follow its
                updates by themselves.
            seed, threads: as for `find_topics`.
        """
        from spherevec.topics.update import grow_topics

        return grow_topics(self, model, seed=seed, threads=threads)

    def keep(self) -> Topics:
        """Make these the topics of the model: `model.topics()` gives them back, and `model.save` stores them.

        Titles stay as they are, whatever documents come and go. After `topics.rename(0, "money").keep()`, call
        `model.save("tickets.model", overwrite=True)`.
        """
        from spherevec.topics.persistence import stored

        self.model.kept_topics = stored(self.with_fixed_titles(), computed=True)
        return self

    def save(self, folder: str | Path, overwrite: bool = False, guard_formulas: bool = False) -> None:
        """Write a folder: topics.json and assignments.csv to read, and what `load_topics` needs besides.

        Args:
            guard_formulas: in the CSV file, put an apostrophe before cells that a spreadsheet would run.
        """
        from spherevec.topics.persistence import save_topics

        save_topics(self, folder, overwrite=overwrite, guard_formulas=guard_formulas)

    def _misfits(self, vectors: NDArray[Any], labels: Labels, least: float) -> NDArray[np.bool_]:
        if not 0 <= least < 1:
            raise ConfigError(f"the share of documents that fit no topic must be from 0 to 1, not {least!r}")
        if least == 0 or len(vectors) == 0:
            return np.zeros(len(vectors), np.bool_)
        by_topic = (self._fits[self.labels == place] for place in range(len(self)))
        lowest = np.array([np.quantile(fits, least) if len(fits) else -1.0 for fits in by_topic])
        return np.asarray(self.components.fits(vectors, labels) < lowest[labels])

    def _column(self, field: str) -> NDArray[Any]:
        documents = self.model.documents
        assert documents is not None
        return documents.column(field)
