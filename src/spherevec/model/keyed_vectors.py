"""Unit vectors with names: lookups, neighbours, analogies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.corpus.tokenize.function_words import same_word
from spherevec.errors import ConfigError, FormatError, SpherevecError, import_extra
from spherevec.search.neighbors import BYTES_FROM_ROWS, ByteVectors, nearest_multiplicative, nearest_neighbors
from spherevec.sphere import Floats
from spherevec.storage.text_column import TextColumn, Texts

if TYPE_CHECKING:
    from spherevec.model.subwords import Spellings

Key: TypeAlias = str | int
# What a search accepts: a key, a position, or a vector.
Query: TypeAlias = Key | Floats
Queries: TypeAlias = Query | Sequence[Query]
Neighbors: TypeAlias = list[tuple[Key, float]]

NORM_TOLERANCE = 1e-5
# Rows looked at together when every row is checked.
_ROWS_PER_CHECK = 1 << 10
# Words that are compared letter by letter for a suggestion; the most frequent come first.
_SPELLINGS_COMPARED, _LONGEST_COMPARED = 5_000, 100
_CANCELLED = 1e-7  # a sum of so little length for each of its parts is rounding alone
_RANK_TOLERANCE = 1e-6  # cosines in float32 that differ by less are equal
_NAMES_OF_TOPN = ("top", "top_k", "k", "n", "limit", "size")
_CANDIDATES = 5  # looked through for each family that is asked for


class Family(NamedTuple):
    """A word, its cosine to what was asked for, and its other forms among the neighbours."""

    key: str
    cosine: float
    forms: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.key} ({', '.join(self.forms)})" if self.forms else self.key


class UnknownKeyError(SpherevecError, KeyError):
    """A word or document that the vectors do not hold. Its text suggests the nearest spellings."""

    def __init__(self, key: object, known: KeyedVectors | str) -> None:
        super().__init__(key)
        self.key = key
        self._known = known

    def __str__(self) -> str:
        # Spellings are searched only when somebody reads the message: a loop over unknown words stays fast.
        if isinstance(self._known, str):
            return self._known
        if isinstance(self.key, str) and self._known.named:
            near = self._known.nearest_spellings(self.key)
            some = ", ".join(f"{one!r:.40}" for one in islice(self._known.index_to_key, 3))
            others = f"; names are such as {some}" if some else ""
            hint = f"; did you mean {' or '.join(f'{one!r:.60}' for one in near)}?" if near else others
            return f"no vector for {self.key!r:.60}{hint}"
        return f"no vector for {self.key!r:.60}; there are {len(self._known)}, counted from 0"

    def __reduce__(self) -> tuple[Any, ...]:
        return (UnknownKeyError, (self.key, str(self)))


class KeyedVectors:
    """Unit vectors (n, dim) and their keys.

    A key is a string, or the position of a row. `keys=None` means that rows have no names: they are 0, 1, 2, ….

    Args:
        keys: n names, or None. A sequence that finds its own names (`find`) is kept as it is, unread.
        vectors: (n, dim) unit rows, which are not copied; `vectors` of the result cannot be written to.
        counts: (n,) how often each key occurred in the text.
    """

    def __init__(
        self, keys: Iterable[str] | None, vectors: Floats, counts: NDArray[np.int64] | Sequence[int] | None = None
    ) -> None:
        self.vectors: Floats = np.ascontiguousarray(vectors, np.float32).view()
        self.vectors.flags.writeable = False  # search has a copy, which would not follow
        if self.vectors.ndim != 2 or self.vectors.shape[1] == 0:
            raise FormatError(f"vectors must have shape (n, dim), not {self.vectors.shape}")
        names: Sequence[str] | None = keys if keys is None or isinstance(keys, list | Texts) else list(keys)
        if names is not None and len(names) != len(self.vectors):
            raise FormatError(f"{len(names)} keys do not fit {len(self.vectors)} vectors")
        self.counts: NDArray[np.int64] | None = None if counts is None else np.asarray(counts, np.int64)
        if self.counts is not None and self.counts.shape != (len(self.vectors),):
            raise FormatError(f"counts of shape {self.counts.shape} do not fit {len(self.vectors)} vectors")
        self.names: Sequence[str] | None = names
        self._positions: dict[str, int] | None = None
        # How a model's text spells a word; asked for keys that are not found as they stand.
        self.spelling: Callable[[str], str] | None = None
        # Rows of documents without a known word, which are like nothing.
        self.wordless: Callable[[], NDArray[np.int64]] = _none
        self._in_bytes: ByteVectors | None = None
        self._spellings: Spellings | None = None
        #: Whether an unknown word is answered with a guess from its spelling instead of an `UnknownKeyError`.
        self.guesses = False

    def __getstate__(self) -> dict[str, Any]:
        """All but the copy in bytes and the spellings, which are quickly made again."""
        return {**self.__dict__, "_in_bytes": None, "_spellings": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.vectors.flags.writeable = False

    @property
    def named(self) -> bool:
        """False where the keys are just positions."""
        return self.names is not None

    @property
    def index_to_key(self) -> Sequence[str] | Sequence[int]:
        """The name of each row, or its position where rows have no names."""
        return range(len(self.vectors)) if self.names is None else self.names

    @property
    def key_to_index(self) -> dict[str, int]:
        """The position of each name; empty where rows have no names. Of equal names the first counts."""
        if self._positions is None:
            names = [] if self.names is None else self.names
            self._positions = dict(zip(reversed(names), range(len(names) - 1, -1, -1), strict=True))
        return self._positions

    @property
    def vector_size(self) -> int:
        """The dimension of every vector."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.vectors)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.index_to_key)

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return self._find(key) is not None
        return _is_position(key) and 0 <= key < len(self)  # type: ignore[operator]

    def __getitem__(self, key: Key | Sequence[Key]) -> Floats:
        """The vector (dim,) of one key, or the vectors (m, dim) of several."""
        if isinstance(key, list | tuple):
            return self.vectors[[self.position(one) for one in key]]
        return self.get_vector(key)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        examples = ", ".join(repr(key) for key in islice(self.index_to_key, 3))
        more = ", …" if len(self) > 3 else ""
        return f"KeyedVectors({len(self):,} of dimension {self.vector_size}: {examples}{more})"

    def get_vector(self, key: Key) -> Floats:
        """The unit vector (dim,) of `key`; raises `UnknownKeyError`, a `KeyError` that suggests spellings.

        With `guesses` an unknown word gets the vector that `guess` gives.
        """
        if self.guesses and self._is_unknown_word(key):
            return self.guess(str(key))
        row: Floats = self.vectors[self.position(key)]
        return row

    def guess(self, word: str) -> Floats:
        """A unit vector (dim,) for a word of any spelling, from the known words spelled like it; it says so: `guessed`.

        >>> vectors = KeyedVectors(["refund", "login"], np.eye(2, dtype=np.float32))
        >>> guess = vectors.guess("refundd")
        >>> guess.guessed, int(guess.argmax())
        (True, 0)
        """
        from spherevec.model.subwords import GuessedVector

        guess: GuessedVector = self.spellings.guess([word], self.vectors)[0].view(GuessedVector)
        return guess

    @property
    def spellings(self) -> Spellings:
        """The spellings of the names, to find those that are like another; made when first asked for."""
        from spherevec.model.subwords import Spellings

        if self.names is None:
            raise ConfigError("these vectors have no names: nothing is spelled alike")
        if self._spellings is None:
            self._spellings = Spellings(self.names)
        return self._spellings

    def _is_unknown_word(self, key: object) -> bool:
        return isinstance(key, str) and self.named and key not in self

    def position(self, key: Key) -> int:
        """The row of `key`; `ConfigError` for a number that is one row and the name of another."""
        if not isinstance(key, str) and not _is_position(key):
            raise UnknownKeyError(key, self)
        named = self._find(str(key))
        if isinstance(key, str):
            if named is None:
                raise UnknownKeyError(key, self)
            return named
        if not 0 <= key < len(self):
            raise UnknownKeyError(
                key, self if named is None else f"there is no row {key}; names are text: write {str(key)!r}"
            )
        if named not in (None, key):
            raise ConfigError(
                f"{key} may mean {str(key)!r} or row {key}, which is {self.index_to_key[key]!r}; give the one you mean "
                f"as text: {str(key)!r}, or names[{key}] for the row"
            )
        return int(key)

    def _find(self, name: str) -> int | None:
        """The position of a name, as it stands or as the model's text spells it."""
        # A million names that find themselves need no dictionary.
        find = self.names.find if isinstance(self.names, Texts) else self.key_to_index.get
        position = find(name)
        return find(self.spelling(name)) if position is None and self.spelling is not None else position

    def nearest_spellings(self, word: str, n: int = 3) -> list[str]:
        """Up to `n` known names that look like `word`, for error messages."""
        same_but_case = [form for form in (word.lower(), word.capitalize(), word.upper()) if form in self]
        lengths, first, last = range(len(word) - 2, len(word) + 3), word[:1].lower(), word[-2:]
        alike = (
            name
            for name in (self.names if self.names is not None else ())
            if len(name) in lengths and (name[:1].lower() == first or name[-2:] == last)
        )
        near = get_close_matches(word[:_LONGEST_COMPARED], islice(alike, _SPELLINGS_COMPARED), n=n, cutoff=0.7)
        return list(dict.fromkeys(same_but_case + near))[:n]

    def similarity(self, a: Query, b: Query) -> float:
        """The cosine between two keys or vectors, from -1 to 1."""
        return float(np.clip(self.unit(a).astype(np.float64) @ self.unit(b).astype(np.float64), -1, 1))

    def distance(self, a: Query, b: Query) -> float:
        """1 - `similarity`."""
        return 1 - self.similarity(a, b)

    def n_similarity(self, some: Sequence[Query], others: Sequence[Query]) -> float:
        """The cosine between the mean directions of two lists of keys or vectors."""
        return self.similarity(self._mean(some), self._mean(others))

    def doesnt_match(self, keys: Sequence[Key]) -> Key:
        """The key that is farthest from the mean direction of all of them; of equals the first."""
        mean = self._mean(keys)
        return min(keys, key=lambda key: self.similarity(key, mean))

    def rank(self, key: Query, other: Query) -> int:
        """The place of `other` among the neighbours of `key`: 1 if it is the nearest one."""
        skipped = [self.position(key)] if not isinstance(key, np.ndarray) else []
        cosines = np.delete(self.vectors @ self.unit(key), skipped)
        return 1 + int(np.count_nonzero(cosines > self.unit(key) @ self.unit(other) + _RANK_TOLERANCE))

    def to_pandas(self) -> Any:
        """The vectors as a pandas DataFrame: one row per key, one column per dimension."""
        pandas = import_extra("pandas", "to_pandas()", "pandas")
        return pandas.DataFrame(self.vectors, index=pandas.Index(list(self.index_to_key), name="key"))

    def _repr_html_(self) -> str:
        from spherevec.html import table_html

        keys, counts = list(islice(self.index_to_key, 10)), [] if self.counts is None else self.counts[:10].tolist()
        rows = list(zip(keys, map("{:,}".format, counts), strict=True)) if counts else [(key,) for key in keys]
        header = ["key", "count"] if counts else ["key"]
        return table_html(header, rows, f"{len(self):,} vectors of dimension {self.vector_size}")

    @overload
    def most_similar(
        self, positive: Queries = (), negative: Queries = (), topn: int = 10, restrict: int | None = None
    ) -> Neighbors: ...
    @overload
    def most_similar(
        self, positive: Queries = (), negative: Queries = (), *, topn: None, restrict: int | None = None
    ) -> Floats: ...
    @overload
    def most_similar(
        self,
        positive: Queries = (),
        negative: Queries = (),
        topn: int = 10,
        restrict: int | None = None,
        *,
        families: Literal[True],
    ) -> list[Family]: ...

    def most_similar(
        self,
        positive: Queries = (),
        negative: Queries = (),
        topn: int | None = 10,
        restrict: int | None = None,
        families: bool = False,
        **other_names: Any,
    ) -> Neighbors | list[Family] | Floats:
        """The keys nearest to the mean direction of `positive` minus `negative`, with their cosines.

        Args:
            positive: a key, a position, a vector, or a list of these. Keys given are never an answer.
            negative: the same, to be far from.
            topn: how many; None returns the cosines with all keys instead, (n,), in the order of the keys.
            restrict: look only among this many first (most frequent) keys.
            families: count the forms of one word as one answer, with the others beside it, and leave out the forms of
                the words given: a list of `Family` (key, cosine, forms).
        """
        refuse_arguments("most_similar", other_names, "one of positive, negative, topn, restrict and families")
        wanted, unwanted = _as_list(positive), _as_list(negative)
        if not wanted and not unwanted:
            raise ConfigError("most_similar needs at least one word, position or vector")
        total = self._sum(wanted, unwanted)
        if topn is None:
            return np.asarray(np.clip(self._first(restrict) @ self.unit(total), -1, 1))
        given = self._positions_of(wanted + unwanted)
        empty = next((row for row in given if row in self.wordless()), None)
        if empty is not None:
            name = self.index_to_key[empty]
            raise ConfigError(f"document {name!r:.60} has no known word, hence no neighbours; choose another")
        looked_at = _CANDIDATES * topn if families else topn
        found = self.similar_by_vector(total, looked_at, exclude=given, restrict=restrict)
        if not families:
            return found
        return fold(found, [str(self.index_to_key[row]) for row in given], topn, self.similarity)

    def similar_by_vector(
        self, vector: NDArray[Any], topn: int = 10, *, exclude: Sequence[int] = (), restrict: int | None = None
    ) -> Neighbors:
        """The keys nearest to a vector (dim,) of any length, with their cosines; rows in `exclude` are left out."""
        query, left_out = self.unit(vector)[None, :], np.append(np.asarray(exclude, np.int64), self.wordless())
        in_bytes = self.in_bytes if restrict is None else None
        rows, cosines = nearest_neighbors(query, self._first(restrict), topn, [left_out], in_bytes)
        return self._labelled(rows[0], cosines[0])

    @property
    def in_bytes(self) -> ByteVectors | None:
        """A copy of one byte a coordinate, made when first asked for, for fast exact search; None if rows are few."""
        if len(self) >= BYTES_FROM_ROWS:
            self.prepare_search()
        return self._in_bytes

    def prepare_search(self) -> None:
        """Make the copy in bytes, however few the vectors are: worth it for a program that answers many queries."""
        if self._in_bytes is None:
            self._in_bytes = ByteVectors.of(self.vectors)

    def analogy(self, a: Query, b: Query, c: Query, topn: int = 10, method: str = "add") -> Neighbors:
        """`a` is to `b` as `c` is to …: the best keys and their scores.

        Args:
            method: "add" ranks by the cosine with b - a + c; "mul" by the product of similarities to b and c over
                that to a.
        """
        if method == "add":
            return self.most_similar([b, c], [a], topn)
        if method != "mul":
            raise ConfigError(f"method must be add or mul, not {method!r}")
        near, far = np.stack([self.unit(b), self.unit(c)]), self.unit(a)[None]
        return self._labelled(*nearest_multiplicative(near, far, self.vectors, topn, self._positions_of([a, b, c])))

    def check(self, what: str = "vectors") -> None:
        """Raise `FormatError` unless every row is finite and of norm 1 within 1e-5, and every name is unique."""
        names = self.index_to_key
        for start in range(0, len(self), _ROWS_PER_CHECK):
            block = self.vectors[start : start + _ROWS_PER_CHECK].astype(np.float64)
            norms = np.sqrt(np.einsum("ij,ij->i", block, block))
            # The comparison is false for NaN, so that NaN counts as wrong.
            wrong = np.flatnonzero(~(np.abs(norms - 1) <= NORM_TOLERANCE))
            if len(wrong):
                row, norm = start + int(wrong[0]), norms[wrong[0]]
                fault = f"has norm {norm:.6g}, not 1" if np.isfinite(norm) else "holds NaN or infinity"
                raise FormatError(f"{what}: row {row} ({names[row]!r:.60}) {fault}; train or import again")
        if self.names is not None:
            column = self.names if isinstance(self.names, Texts) else TextColumn.of(self.names)
            twins = column.first_duplicate()
            if twins is not None:
                raise FormatError(f"{what}: {column[twins[1]]!r:.60} occurs more than once; every key must be unique")
        if self.counts is not None and len(self.counts) and self.counts.min() < 0:
            raise FormatError(f"{what}: row {int(self.counts.argmin())} has a negative count")

    def _positions_of(self, queries: Sequence[Query]) -> list[int]:
        """The rows of the keys among some queries; a word that is guessed has none."""
        keys = [query for query in queries if not isinstance(query, np.ndarray)]
        return [self.position(key) for key in keys if not (self.guesses and self._is_unknown_word(key))]

    def _first(self, restrict: int | None) -> Floats:
        if restrict is not None and restrict < 1:
            raise ConfigError(f"restrict must be at least 1, not {restrict}")
        return self.vectors if restrict is None else self.vectors[:restrict]

    def _mean(self, queries: Sequence[Query]) -> Floats:
        if not len(queries):
            raise ConfigError("a list of words has no direction if it is empty; give at least one word")
        return np.asarray(self._sum(queries) / len(queries), np.float32)

    def _sum(self, wanted: Sequence[Query], unwanted: Sequence[Query] = ()) -> NDArray[np.float64]:
        """The directions of some queries, less those of others."""
        total = np.zeros(self.vector_size, np.float64)
        for query in wanted:
            total += self.unit(query)
        for query in unwanted:
            total -= self.unit(query)
        if np.linalg.norm(total) < _CANCELLED * (len(wanted) + len(unwanted)):
            raise ConfigError("the query has no direction: its parts cancel out; leave one of them out")
        return total

    def unit(self, query: Query | NDArray[Any]) -> Floats:
        """The direction (dim,) of a key, a position or a vector, which may have any length."""
        if not isinstance(query, np.ndarray):
            return self.get_vector(query)
        if query.dtype.kind in "USO" and any(isinstance(one, str) for one in query.flat):
            raise ConfigError(
                f"a query vector holds numbers, not {str(query.flat[0])!r:.40}; give texts as a str or a list"
            )
        if query.shape != (self.vector_size,):
            raise ConfigError(f"a query vector must have shape ({self.vector_size},), not {query.shape}")
        try:
            return sphere.normalize(query.astype(np.float64)).astype(np.float32)
        except (sphere.DirectionError, TypeError, ValueError) as error:
            raise ConfigError("the query has no direction: it is zero, or holds what is not a finite number") from error

    def _labelled(self, rows: NDArray[np.int64], scores: NDArray[np.floating[Any]]) -> Neighbors:
        names = self.index_to_key
        return [(names[row], float(score)) for row, score in zip(rows.tolist(), scores, strict=True) if row >= 0]


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


def refuse_arguments(function: str, others: Iterable[str], known: str) -> None:
    """Refuse arguments by other names than ours, with the right name where there is one."""
    for name in others:
        raise ConfigError(f"{function} has no argument {name!r:.40}; use {'topn' if name in _NAMES_OF_TOPN else known}")


def _is_position(key: object) -> bool:
    return isinstance(key, int | np.integer) and not isinstance(key, bool)


def _as_list(queries: Queries) -> list[Query]:
    if isinstance(queries, list | tuple):
        return list(queries)
    return [queries]  # type: ignore[list-item]


def fold(
    neighbors: Iterable[tuple[Any, float]],
    given: Sequence[str],
    topn: int,
    similarity: Callable[[str, str], float] = lambda one, other: 0.0,
) -> list[Family]:
    """The first `topn` families among neighbours, nearest first; forms of the given words are left out.

    Forms that differ by more than English endings are known by the `similarity` of two words.

    >>> fold([("doctors", 0.9), ("nurse", 0.8), ("nurses", 0.7), ("ward", 0.6)], ["doctor"], 2)
    [Family(key='nurse', cosine=0.8, forms=('nurses',)), Family(key='ward', cosine=0.6, forms=())]
    """
    families: list[Family] = []
    for key, cosine in neighbors:
        if any(same_word(key, word, similarity(key, word)) for word in given):
            continue
        forms = (same_word(key, one.key, similarity(key, one.key)) for one in families)
        at = next((number for number, is_form in enumerate(forms) if is_form), None)
        if at is not None:
            families[at] = families[at]._replace(forms=(*families[at].forms, key))
        elif len(families) < topn:
            families.append(Family(key, cosine))
    return families
