"""Topics by names that the user gives: read and checked, turned into directions, and found among the documents.

Each word of a name is a direction on the sphere. A mixture of von Mises–Fisher components starts at the words and is
weakly pulled back to them. Its probabilities then spread over the graph of nearest neighbours, so that a document
follows the documents around it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec import process
from spherevec.errors import ConfigError
from spherevec.search.neighbors import nearest_neighbors
from spherevec.storage.os_errors import explain_os_errors
from spherevec.topics.components import Components, centered, components_of, mean_directions, mean_of, summed_by, unit
from spherevec.topics.graph import Labels, Rows, neighbor_graph, renumbered, sample_of
from spherevec.topics.levels import choose_counts, measure_levels
from spherevec.topics.partition import MOST_ROWS, partition, split_into_components

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from spherevec.model import KeyedVectors

# Exclusions push a direction away by this much, and the name above a name pulls it.
_PUSH, _LEAN = 0.5, 0.25
_SUGGESTIONS = 5
_LONGEST_FILE = 1 << 24
_MOST_NAMES, _MOST_WORDS = 1000, 10_000
# Words of names, and probabilities of documents, that are in memory at once.
_COMPARED_AT_ONCE, _CHANCES_AT_ONCE = 1 << 10, 1 << 24
_WORD = re.compile(r"[^\W_]+")
_CONCENTRATION = 10.0
# Few, since a component that goes on drifts to what is common near its word.
_ITERATIONS = 3
# How strongly a component is pulled back to its word, in lengths of a mean of unit rows.
_PULL = 0.1
# A name whose words occur more often has more documents: its prior grows with this power of the count of its words,
# and inside a name each word has a share by that power.
_PRIOR_OF_NAME, _PRIOR_OF_WORD = 0.25, 0.5
# A document keeps a share of its own probabilities, and takes the rest from its neighbours, again and again. The more
# names there are, the smaller are their regions, and the shorter the way: this share a name, between two bounds; and
# the steps times the share.
_KEPT_BY_NAME, _LEAST_KEPT, _MOST_KEPT, _WAY = 0.03 / 8, 0.03, 0.3, 1.2
# A name gets at most so many times the documents that it had before; steps to get there, and their length.
_MOST_GROWTH, _SCALINGS, _SCALING = 2.0, 60, 0.2
# Words nearest to a word of a name, which together say the same in another way.
_OTHERS = 10
# Sets of words drawn at random that names are compared with, and the share of these that a name must beat.
_DRAWS, _SURE = 200, 0.95
_RESOLUTION = 32.0


@dataclass(frozen=True)
class Name:
    """A topic by name.

    Attributes:
        title: what it is called.
        words: words or phrases that stand for it; those of the title where there are none.
        without: words that it is not about.
        parent: the title of the name above it, '' at the top.
    """

    title: str
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    parent: str = ""


def read_names(source: Any) -> list[Name]:
    """Names from a mapping, a sequence or a file.

    A mapping has a list of words for each title; an empty list takes the words of the title. A file has one name a
    line, `name` or `name: word, phrase, -not this`; a line that is indented belongs to the name above it.

    Examples:
        >>> [name.words for name in read_names({"billing": ["invoice", "refund"], "login": []})]
        [('invoice', 'refund'), ('login',)]
    """
    if isinstance(source, str | os.PathLike):
        return _from_file(Path(source))
    if isinstance(source, Mapping):
        return _checked([_name(str(title), words) for title, words in source.items()])
    if isinstance(source, Iterable):
        return _checked([one if isinstance(one, Name) else _name(str(one), ()) for one in source])
    raise ConfigError(f"names must be a mapping, a list or a file, not {type(source).__name__}")


def _from_file(path: Path) -> list[Name]:
    if not path.is_file():
        problem = "is no regular file" if path.exists() else "no such file of names"
        raise ConfigError(f"{path}: {problem}; write one name a line: name: word, phrase, -not")
    with explain_os_errors(reading=path, kind=ConfigError), path.open("rb") as file:
        encoded = file.read(_LONGEST_FILE + 1)
    if len(encoded) > _LONGEST_FILE:
        raise ConfigError(f"{path}: over {_LONGEST_FILE >> 20} MB, too large for a list of names")
    try:
        lines = encoded.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not text in UTF-8; save it as UTF-8, one name a line") from None
    names: list[Name] = []
    above: list[tuple[int, str]] = []
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        depth = len(line) - len(line.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        title, _, listed = line.strip().partition(":")
        parent = above[-1][1] if above else ""
        names.append(_name(title.strip(), listed.split(","), parent))
        above.append((depth, title.strip()))
    return _checked(names, str(path))


def _name(title: str, words: Any, parent: str = "") -> Name:
    listed = [str(word).strip().lower() for word in ([words] if isinstance(words, str) else words)]
    wanted = tuple(word for word in listed if word and not word.startswith("-"))
    without = tuple(word[1:].strip() for word in listed if word.startswith("-"))
    return Name(title, wanted or (title.lower(),), without, parent)


def _checked(names: list[Name], source: str = "names") -> list[Name]:
    if not names:
        raise ConfigError(f"{source}: holds no name; write one name a line: name: word, phrase, -not")
    n_words = sum(len(word.split()) for name in names for word in (*name.words, *name.without))
    if len(names) > _MOST_NAMES or n_words > _MOST_WORDS:
        raise ConfigError(
            f"{source}: {len(names):,} names with {n_words:,} words; give at most {_MOST_NAMES:,} with {_MOST_WORDS:,}"
        )
    seen: set[str] = set()
    for name in names:
        if not name.title:
            raise ConfigError(f"{source}: a name is empty; write the name before the colon")
        if name.title in seen:
            raise ConfigError(f"{source}: {name.title!r:.60} is given twice; put its words into one line")
        seen.add(name.title)
    return names


class NameDirections(NamedTuple):
    """Directions of the words and examples of names, c of them."""

    directions: Rows  # (c, d)
    owners: Labels  # (c,), the name that each belongs to
    counts: NDArray[np.float64]  # (c,), how often each word occurs; an example counts as the words of its name


def name_groups(names: Sequence[Name], n_topics: int) -> Labels:
    """The group of each topic, (k,): a name and the names below it are one; what was found beside them stands alone."""
    place = {name.title: row for row, name in enumerate(names)}
    group = np.arange(n_topics)
    for row, name in enumerate(names):
        if name.parent in place:
            group[row] = group[place[name.parent]]  # parents come before their children
    return group


def name_directions(
    names: Sequence[Name],
    vocabulary: Mapping[str, int],
    inputs: Rows,
    counts: NDArray[Any],
    examples: Mapping[str, Rows],
    near: Callable[[str], Sequence[str]] = lambda word: (),
) -> NameDirections:
    """The directions of the words and examples (vectors of documents, by title) of names.

    A phrase that is no word of the model stands for the words in it. Words that the text lacks are left out with a
    warning, which shows known words that are `near`; a name without any known word is an error. A name below another
    one leans towards it, so that "apple" below "computers" is no fruit. `vocabulary` has the row of each word in
    `inputs` (w, d) and `counts` (w,).
    """
    rows: list[NDArray[np.float64]] = []
    owners: list[int] = []
    often: list[float] = []
    parents = {name.title: unit(_summed(name.words, vocabulary, inputs)) for name in names}
    for number, name in enumerate(names):
        shift = -_PUSH * _summed(name.without, vocabulary, inputs) + _LEAN * parents.get(name.parent, 0.0)
        rows_of_word = {word: _rows_of(word, vocabulary) for word in name.words}
        parts = [row for found in rows_of_word.values() for row in found]
        found = [np.asarray(vector, np.float64) for vector in (*inputs[parts], *examples.get(name.title, ()))]
        missing = [word for word, known in rows_of_word.items() if not known]
        if not found:
            remedy = f"give words of the text ({name.title:.60}: word, word)"
            raise ConfigError(f"{_not_in_text(name, missing, near)}; {remedy}")
        if missing:
            process.warn(f"{_not_in_text(name, missing, near)}; the other words of the name are used", stacklevel=3)
        rows += [unit(vector + shift) for vector in found]
        owners += [number] * len(found)
        own = [max(float(counts[row]), 1.0) for row in parts]
        often += own + [float(np.mean(own)) if own else np.nan] * (len(found) - len(parts))
    usual = float(np.nanmean(often)) if np.isfinite(often).any() else 1.0
    return NameDirections(
        np.asarray(rows, np.float32), np.asarray(owners, np.int64), np.nan_to_num(np.array(often), nan=usual)
    )


def _summed(words: Iterable[str], vocabulary: Mapping[str, int], inputs: Rows) -> NDArray[np.float64]:
    """The sum of the directions of words and phrases; unknown ones add nothing."""
    total = np.zeros(inputs.shape[1])
    for word in words:
        rows = _rows_of(word, vocabulary)
        if rows:
            total += unit(np.asarray(inputs[rows], np.float64).mean(axis=0))
    return total


def _rows_of(word: str, vocabulary: Mapping[str, int]) -> list[int]:
    """The rows of the words of the model that a word or phrase stands for."""
    whole = [vocabulary[one] for one in (word, " ".join(word.split())) if one in vocabulary]
    return whole[:1] or [vocabulary[part] for part in dict.fromkeys(_WORD.findall(word)) if part in vocabulary]


def spelled_as_known(names: Sequence[Name], known: KeyedVectors) -> list[Name]:
    """The names; where the model knows no word of a name, known words that are spelled most alike, with a warning."""
    found = []
    for name in names:
        wanted = list(dict.fromkeys(part for word in name.words for part in _WORD.findall(word)))
        instead: dict[str, str] = {}
        if wanted and not any(_rows_of(word, known.key_to_index) for word in name.words):
            rows = known.spellings.stand_ins(wanted).tolist()
            instead = {word: str(known.index_to_key[row]) for word, row in zip(wanted, rows, strict=True) if row >= 0}
        for word, other in instead.items():
            process.warn(
                f"the text never says {word!r:.60}: {other!r:.60}, which is spelled most alike, stands in for it"
            )
        found.append(replace(name, words=tuple(instead.values())) if instead else name)
    return found


def _not_in_text(name: Name, missing: Sequence[str], near: Callable[[str], Sequence[str]]) -> str:
    """Which words of a name the text lacks, and near words."""
    shown = list(dict.fromkeys(other for word in missing for other in near(word)))[:_SUGGESTIONS]
    lacking = ", ".join(f"{word!r:.40}" for word in missing[:_SUGGESTIONS])
    lacking += f" and {len(missing) - _SUGGESTIONS} more" * (len(missing) > _SUGGESTIONS)
    hint = f" (near words: {', '.join(f'{word!r:.40}' for word in shown)})" if shown else ""
    return f"name {name.title[:60]!r}: the text never says {lacking}{hint}"


def named_components(
    vectors: NDArray[np.floating],
    names: NameDirections,
    vocabulary: Rows,
    *,
    only_names: bool,
    k: int | None,
    seed: int,
    threads: int = 0,
) -> Components:
    """The components of names, the first topics, and of documents (n, d) that fit none, the topics after them.

    These are chosen from the `k` topics that there are without names; with `only_names` every document gets a name.
    `vocabulary` (w, d) are the input vectors of all words.
    """
    mean = mean_of(vectors)
    rows = centered(np.asarray(vectors[sample_of(len(vectors), MOST_ROWS, seed)], np.float32), mean)
    rows = rows[np.any(rows != 0, axis=1)]
    starts, owners = centered(names.directions, mean), names.owners
    vocabulary = centered(vocabulary, mean)
    graph = neighbor_graph(rows, threads=threads)
    beside = np.full(len(rows), -1)
    if not only_names:
        count = k if k is not None else choose_counts(measure_levels(rows, seed, threads), len(vectors))[0]
        beside = _without_name(partition(graph, rows, count, seed)[0], rows, starts, vocabulary, seed)
    named = beside < 0
    groups = beside + int(owners.max()) + 1
    judges = groups.copy()
    if named.any():
        own_graph = graph if named.all() else graph[named][:, named]
        prior = priors(owners, names.counts)
        chances = _mixture(rows[named], starts, owners, prior)
        groups[named] = np.argmax(spread(own_graph, chances), axis=1)
        others = _mixture(rows[named], in_other_words(starts, vocabulary), owners, prior)
        judges[named] = np.argmax(others, axis=1)
    # Probabilities are calibrated by what each document would be called without its neighbours, by other words than
    # those of the names: where the two differ one of them is wrong, as labels would show.
    leaves = split_into_components(graph, rows, renumbered(groups), _RESOLUTION, seed)
    found = components_of(rows, leaves, groups, judges, mean, seed)
    # A name without any document is left with the directions of its words.
    empty = ~np.isin(owners, groups)
    return replace(
        found,
        directions=np.concatenate([found.directions, starts[empty]]),
        weights=np.append(found.weights, np.full(int(empty.sum()), 1e-6, np.float32)),
        topic_of=np.append(found.topic_of, owners[empty]),
    )


def priors(owners: Labels, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The prior of each word of the names, (c,), by how often it occurs; they sum to 1."""
    inside = counts**_PRIOR_OF_WORD
    inside /= np.bincount(owners, inside)[owners]
    found = inside * np.bincount(owners, counts)[owners] ** _PRIOR_OF_NAME
    return np.asarray(found / found.sum())


def spread(graph: csr_array, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities (n, k), up to a factor a row, after they have spread over the graph (n, n).

    Spreading favours large names over small ones beside them; names are scaled back to the sizes they had before, and
    no name is the likeliest of more than twice as many documents as it had.
    """
    from scipy.sparse import diags_array

    degrees = np.asarray(graph.sum(axis=1), np.float64).ravel()
    steps = diags_array(1 / np.where(degrees > 0, degrees, 1)) @ graph
    kept = float(np.clip(_KEPT_BY_NAME * chances.shape[1], _LEAST_KEPT, _MOST_KEPT))
    found = chances
    for _ in range(int(_WAY / kept)):
        found = (1 - kept) * (steps @ found) + kept * chances
    sizes = np.maximum(chances.mean(axis=0), 1e-12)
    logs = np.log(np.maximum(found, 1e-30)) + np.log(sizes / np.maximum(found.mean(axis=0), 1e-30))
    for _ in range(_SCALINGS):
        likeliest = np.bincount(np.argmax(logs, axis=1), minlength=len(sizes)) / len(logs)
        over = np.log(np.maximum(likeliest / sizes, 1e-12) / _MOST_GROWTH)
        if over.max() <= 0:
            break
        logs -= _SCALING * np.maximum(over, 0)
    return np.asarray(np.exp(logs))


def in_other_words(starts: Rows, vocabulary: Rows) -> Rows:
    """The mean direction of the words nearest to each of the directions `starts` (c, d), the nearest left out."""
    nearest, _ = nearest_neighbors(starts, vocabulary, min(_OTHERS + 1, len(vocabulary)))
    return starts if nearest.shape[1] < 2 else unit(vocabulary[nearest[:, 1:]].mean(axis=1))


def _mixture(rows: Rows, starts: Rows, owners: Labels, prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of names (n, k) under a mixture that starts at `starts` (c, d), by expectation-maximisation.

    The weights stay at `prior` (c,), so that no name swallows the others. A component that has come nearer to a word of
    another name than to its own returns to its word.
    """
    directions, lost = starts, np.zeros(len(starts), np.bool_)
    step = max(1, _CHANCES_AT_ONCE // len(starts))
    blocks = [rows[low : low + step] for low in range(0, len(rows), step)]
    for _ in range(_ITERATIONS):
        sums, sizes, found = np.zeros(starts.shape), np.zeros(len(starts)), []
        for block in blocks:
            logs = _CONCENTRATION * (block @ directions.T) + np.log(prior)
            chances = np.exp(logs - logs.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            sizes += chances.sum(axis=0)
            sums += chances.T @ block
            found.append(summed_by(chances, owners))
        moved = sums / np.maximum(sizes, 1)[:, None] + _PULL * starts
        directions = np.asarray(unit(moved), np.float32)
        for low in range(0, len(starts), _COMPARED_AT_ONCE):
            part = slice(low, low + _COMPARED_AT_ONCE)
            nearness = directions[part] @ starts.T
            foreign = np.where(owners[part, None] != owners, nearness, -1)
            lost[part] = foreign.max(axis=1) > np.diagonal(nearness, low)
        directions[lost] = starts[lost]
    return np.concatenate(found)


def _without_name(found: Labels, rows: Rows, starts: Rows, vocabulary: Rows, seed: int) -> Labels:
    """For each row the number of its found topic, from 0, where no name fits that topic, and −1 where one does.

    A name fits a topic when it is nearer than nearly all sets of as many words drawn at random are.
    """
    directions = mean_directions(rows, found)
    drawn = np.random.default_rng([seed, 4]).integers(0, len(vocabulary), (_DRAWS, len(starts)))
    by_chance = [(directions @ vocabulary[words].T).max(axis=1) for words in drawn]
    cosines = directions @ starts.T
    fits = cosines.max(axis=1) >= np.quantile(by_chance, _SURE, axis=0)
    # Each name has at least the topic that it is nearest to.
    fits[np.argmax(cosines, axis=0)] = True
    numbers = np.where(fits, -1, np.cumsum(~fits) - 1)
    return np.asarray(numbers[found], np.int64)
