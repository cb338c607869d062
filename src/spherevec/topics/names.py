"""Names of topics given by the user: read, checked, and turned into directions."""

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
from spherevec.topics.graph import Labels, Rows

if TYPE_CHECKING:
    from spherevec.model import KeyedVectors

# Exclusions push a direction away by this much, and the name above a name pulls it.
_PUSH, _LEAN = 0.5, 0.25
_SUGGESTIONS = 5
_LONGEST_FILE = 1 << 24


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
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path}: is no regular file; give a file with one name a line")
        with path.open("rb") as file:
            encoded = file.read(_LONGEST_FILE + 1)
        if len(encoded) > _LONGEST_FILE:
            raise ConfigError(f"{path}: over {_LONGEST_FILE >> 20} MB, too large for a list of names")
        lines = encoded.decode("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file of names; write one name a line: name: word, phrase, -not") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot read: {error.strerror or error}; give a file with one name a line") from None
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
        names.append(_name(title.strip(), [word for word in listed.split(",") if word.strip()], parent))
        above.append((depth, title.strip()))
    return _checked(names, str(path))


def _name(title: str, words: Any, parent: str = "") -> Name:
    listed = [words] if isinstance(words, str) else [str(word) for word in words]
    wanted = tuple(word.strip().lower() for word in listed if word.strip() and not word.strip().startswith("-"))
    without = tuple(word.strip()[1:].strip().lower() for word in listed if word.strip().startswith("-"))
    return Name(title, wanted or (title.lower(),), without, parent)


def _checked(names: list[Name], source: str = "names") -> list[Name]:
    if not names:
        raise ConfigError(f"{source}: holds no name; write one name a line: name: word, phrase, -not")
    seen: set[str] = set()
    for name in names:
        if not name.title:
            raise ConfigError(f"{source}: a name is empty; write the name before the colon")
        if name.title in seen:
            raise ConfigError(f"{source}: {name.title!r} is given twice; put its words into one line")
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
    """The directions of the words and examples of names.

    A phrase that is no word of the model stands for the words in it. Words that the text lacks are left out with a
    warning; a name without any known word is an error. A name below another one leans towards it, so that "apple" below
    "computers" is no fruit.

    Args:
        vocabulary: the row of each word in `inputs` (w, d) and `counts` (w,).
        examples: vectors of documents that belong to a name, by title.
        near: known words that are near an unknown one.
    """
    rows: list[NDArray[np.float64]] = []
    owners: list[int] = []
    often: list[float] = []
    parents = {name.title: _middle(name, vocabulary, inputs) for name in names}
    for number, name in enumerate(names):
        away = [_vector(word, vocabulary, inputs) for word in name.without]
        shift = sum((-_PUSH * vector for vector in away if vector is not None), np.zeros(inputs.shape[1]))
        if name.parent in parents:
            shift = shift + _LEAN * parents[name.parent]
        parts_of_word = {word: _parts(word, vocabulary) for word in name.words}
        parts = [vocabulary[part] for found in parts_of_word.values() for part in found]
        found = [np.asarray(inputs[row], np.float64) for row in parts]
        found += [np.asarray(vector, np.float64) for vector in examples.get(name.title, ())]
        missing = [word for word, known in parts_of_word.items() if not known]
        if not found:
            raise ConfigError(_unknown(name, missing, near))
        if missing:
            process.warn(f"{_not_in_text(name, missing, near)}; the other words of the name are used", stacklevel=3)
        rows += [(vector + shift) / max(float(np.linalg.norm(vector + shift)), 1e-12) for vector in found]
        owners += [number] * len(found)
        own = [max(float(counts[row]), 1.0) for row in parts]
        often += own + [float(np.mean(own)) if own else np.nan] * (len(found) - len(parts))
    usual = float(np.nanmean(often)) if np.isfinite(often).any() else 1.0
    return NameDirections(
        np.asarray(rows, np.float32), np.asarray(owners, np.int64), np.nan_to_num(np.array(often), nan=usual)
    )


def _middle(name: Name, vocabulary: Mapping[str, int], inputs: Rows) -> NDArray[np.float64]:
    """The mean direction of a name's words; zero where none is known."""
    found = [vector for word in name.words if (vector := _vector(word, vocabulary, inputs)) is not None]
    total = np.sum(found, axis=0) if found else np.zeros(inputs.shape[1])
    return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12))


def _parts(word: str, vocabulary: Mapping[str, int]) -> list[str]:
    """The words of the model that a word or phrase stands for."""
    for candidate in (word, " ".join(word.split())):
        if candidate in vocabulary:
            return [candidate]
    return [part for part in re.findall(r"[^\W_]+", word) if part in vocabulary]


def _vector(word: str, vocabulary: Mapping[str, int], inputs: Rows) -> NDArray[np.float64] | None:
    parts = _parts(word, vocabulary)
    if not parts:
        return None
    vector = np.asarray(inputs[[vocabulary[part] for part in parts]], np.float64).mean(axis=0)
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12))


def with_stand_ins(names: Sequence[Name], known: KeyedVectors) -> list[Name]:
    """The names; where the model knows no word of a name, the words that are spelled most alike stand in for its own.

    Each stand-in is told in a warning. A name without any is left as it is.

    Args:
        known: the words of the model.
    """
    found = []
    for name in names:
        parts = [part for word in name.words for part in (word, " ".join(word.split()), *_single(word))]
        if any(part in known for part in parts):
            found.append(name)
            continue
        wanted = list(dict.fromkeys(part for word in name.words for part in _single(word)))
        rows: list[int] = known.spellings.stand_ins(wanted).tolist() if wanted else []
        instead = {word: str(known.index_to_key[row]) for word, row in zip(wanted, rows, strict=True) if row >= 0}
        for word, other in instead.items():
            process.warn(f"the text never says {word!r}: {other!r}, which is spelled most alike, stands in for it")
        found.append(replace(name, words=tuple(instead.values())) if instead else name)
    return found


def _single(word: str) -> list[str]:
    return re.findall(r"[^\W_]+", word)


def _not_in_text(name: Name, missing: Sequence[str], near: Callable[[str], Sequence[str]]) -> str:
    """Which words of a name the text lacks, and near words."""
    shown = list(dict.fromkeys(other for word in missing for other in near(word)))[:_SUGGESTIONS]
    lacking = ", ".join(f"{word!r:.40}" for word in missing[:_SUGGESTIONS])
    lacking += f" and {len(missing) - _SUGGESTIONS} more" * (len(missing) > _SUGGESTIONS)
    hint = f" (near words: {', '.join(f'{word!r:.40}' for word in shown)})" if shown else ""
    return f"name {name.title[:60]!r}: the text never says {lacking}{hint}"


def _unknown(name: Name, missing: Sequence[str], near: Callable[[str], Sequence[str]]) -> str:
    title = name.title[:60]
    return f"{_not_in_text(name, missing, near)}; give words of the text ({title}: word, word)"
