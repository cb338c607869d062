"""Checkpoints: everything that an unfinished run needs to go on, complete on disk or not there at all.

checkpoint.json         settings, text, position and learned numbers, checksums of the vectors' file and of itself
vectors.safetensors     `inputs`, `contexts` and, if they are learned, `docs`, (n, dim) float32 each
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec import process
from spherevec.config import USES, TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.engine.base import Backend, Biases, Floats, table_rows
from spherevec.engine.figures import Sums
from spherevec.engine.fit import MOST_BIAS
from spherevec.engine.schedule import CHUNK_ROWS
from spherevec.errors import ConfigError, FormatError, SpherevecError
from spherevec.model import KeyedVectors
from spherevec.storage import checksums, schema
from spherevec.storage.files import OpenFolder, atomic_folder, check_folder, previous_version
from spherevec.storage.tensors import read_tensors, write_tensors

FORMAT = "spherevec-checkpoint"
FORMAT_VERSION = 3
MANIFEST, VECTORS = "checkpoint.json", "vectors.safetensors"
_FILES = {MANIFEST, VECTORS}
_LONGEST_MANIFEST = 1 << 25
_HASHED_AT_ONCE = 1 << 22

_SECONDS = {"s": 1, "m": 60, "h": 3600}

_SPENT = schema.between(0, 1e9)  # seconds, thirty years of them
_EPOCH = schema.record({"epoch": schema.whole(), "seconds": _SPENT, "loss": schema.number}, others=schema.number)


def _epochs(value: Any, where: str) -> None:
    schema.list_of(_EPOCH)(value, where)
    schema.table(value, where)


_SCHEMA = schema.record(
    {
        "config": schema.map_of(schema.plain),
        "corpus": schema.record(
            {"documents": schema.whole(), "tokens": schema.whole(), "words": schema.whole(), "sha256": schema.text},
            others=schema.plain,
        ),
        "position": schema.record(
            {
                "epoch": schema.whole(),
                "trained": schema.optional(schema.whole()),
                "before": schema.map_of(schema.number),
                "seconds": _SPENT,
                "record": _epochs,
                "refitted": schema.whole(),
            }
        ),
        "sums": schema.map_of(schema.number),
        "biases": schema.record(dict.fromkeys(("words", "documents"), schema.between(-MOST_BIAS, MOST_BIAS))),
        "files": schema.record(
            {VECTORS: schema.record({"bytes": schema.whole(), "sha256": schema.text}, {"sample": schema.text})}
        ),
    },
    others=True,
)


@dataclass(frozen=True)
class Position:
    """A run's place in its work. Replaced as a whole, so that an interruption never finds half of a change."""

    epoch: int = 0  # how many are finished
    trained: int | None = None  # how many blocks of the next epoch, None where it is not begun
    before: Sums = field(default_factory=Sums)  # the figures at the start of that epoch
    seconds: float = 0.0  # spent on that epoch
    record: tuple[dict[str, Any], ...] = ()  # the figures of each finished epoch
    refitted: int = 0  # documents that have been fitted once more at the end

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Position:
        return cls(**{**values, "before": Sums(**values["before"]), "record": tuple(values["record"])})


@dataclass(frozen=True)
class SaveInterval:
    """How often to save: after so many seconds, or after so many epochs."""

    seconds: float = math.inf
    epochs: int = 0

    @classmethod
    def parse(cls, text: str) -> SaveInterval | None:
        """From "90s", "10m", "2h" or "2e"; None from "off"."""
        if text == "off":
            return None
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smh])|([1-9]\d{0,8})e", text) if isinstance(text, str) else None
        if found is None or (found[1] and float(found[1]) == 0):
            raise ConfigError(
                f"checkpoint_every must be a time such as 90s, 10m or 2h, epochs such as 2e, or off; not {text!r:.60}"
            )
        return cls(epochs=int(found[3])) if found[3] else cls(seconds=float(found[1]) * _SECONDS[found[2]])


class Saver:
    """Saves a run from time to time, and when it is interrupted."""

    def __init__(
        self, folder: Path, every: SaveInterval, backend: Backend, biases: Biases, config: TrainConfig,
        corpus: EncodedCorpus, before: Sequence[KeyedVectors] = (),
    ) -> None:  # fmt: skip
        self.folder, self._every, self._before = folder, every, before
        self._backend, self._biases, self._config, self._corpus = backend, biases, config, corpus
        self._fingerprint: dict[str, Any] | None = None
        self._last = time.monotonic()

    def due(self, epoch: int = 0) -> bool:
        """Whether it is time, within an epoch or after so many of them."""
        ended = epoch > 0 and self._every.epochs > 0 and epoch % self._every.epochs == 0
        return ended or time.monotonic() - self._last >= self._every.seconds

    def save(self, position: Position) -> None:
        """Save; a checkpoint that cannot be written is no reason to give up a run that goes well.

        Signals wait meanwhile, so that what is saved is complete.
        """
        with process.signals_held_back():
            try:
                self.write(position)
            except (SpherevecError, OSError, MemoryError) as error:
                process.warn(f"checkpoint not saved, training goes on: {error}")
            self._last = time.monotonic()

    def write(self, position: Position, tables: Mapping[str, Floats] | None = None) -> None:
        """Write a checkpoint; with the vectors as `tables` where the backend has given them away."""
        config, backend = self._config, self._backend
        if self._fingerprint is None:
            self._fingerprint = fingerprint(self._corpus, self._before)
        sizes = table_rows(len(self._corpus.vocabulary), self._corpus.n_documents, config)
        with atomic_folder(self.folder, overwrite=True, ours=_FILES) as new:
            rows = {name: _Rows(backend, name, (count, config.vector_size)) for name, count in sizes.items()}
            write_tensors(new / VECTORS, tables or rows)
            with (new / VECTORS).open("rb") as file:
                entry = checksums.entry(file)
            about = {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "config": config.as_dict(),
                "corpus": self._fingerprint,
                "position": asdict(position),
                "sums": asdict(backend.sums()),
                "biases": asdict(self._biases),
                "files": {VECTORS: entry},
            }
            (new / MANIFEST).write_text(json.dumps(checksums.with_checksum(about), indent=1) + "\n", encoding="ascii")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read; its vectors are mapped."""

    folder: Path
    config: Mapping[str, Any]
    corpus: Mapping[str, Any]
    position: Position
    sums: Sums
    biases: Biases
    tables: Mapping[str, NDArray[np.float32]]

    def check(
        self, config: TrainConfig, corpus: EncodedCorpus, blocks: int, before: Sequence[KeyedVectors] = ()
    ) -> None:
        """Refuse to go on with another text, another model `before` or other resolved settings, and say which; `blocks`
        are of an epoch.
        """
        settings = config.as_dict()
        differing = {name for name in settings if self.config.get(name) != settings[name]} - {*USES["resume"]}
        # Where the text differs, so may what was chosen by it. Settings that shape the text are named before it.
        self._refuse_settings(differing - {*USES["text"]}, settings)
        now = fingerprint(corpus, before)
        if self.corpus.get("before") not in (now["before"], None):  # earlier releases did not note it
            raise ConfigError(
                f"{self.folder}: cannot resume, the model has changed since the interruption; "
                "use the model as it was, or remove the folder to start over"
            )
        spread = {name: int(self.corpus.get(name, 0)) for name in ("workers", "exchanges")}
        if spread != dict.fromkeys(spread, 0) | corpus.spread:
            raise ConfigError(
                f"{self.folder}: cannot resume with other workers ({_spoken(spread)} then, {_spoken(corpus.spread)} "
                "now); use as many as before, or remove the folder to start over"
            )
        changed = [f"{name}: {self.corpus.get(name)!r} then, {value!r} now" for name, value in now.items()
                   if name not in ("sha256", "before") and self.corpus.get(name) not in (value, None)]  # fmt: skip
        if not changed and self.corpus.get("sha256") != now["sha256"]:
            changed = ["as many words as before, but different ones or in a different order"]
        if changed:
            raise ConfigError(
                f"{self.folder}: cannot resume, the text has changed ({'; '.join(changed)}); "
                "use the original text, or remove the folder to start over"
            )
        self._refuse_settings(differing, settings)
        rows = table_rows(now["words"], now["documents"], config)
        shapes = {name: (count, config.vector_size) for name, count in rows.items()}
        if (
            {name: table.shape for name, table in self.tables.items()} != shapes
            or not 0 <= (self.position.trained or 0) <= blocks
            or not 0 <= self.position.epoch <= config.epoch_count
            or len(self.position.record) != self.position.epoch
            or not 0 <= self.position.refitted <= corpus.n_documents
        ):
            raise FormatError(f"{self.folder}: does not fit its own settings; remove the folder to start over")

    def _refuse_settings(self, differing: set[str], settings: Mapping[str, Any]) -> None:
        changed = [f"{name}: {self.config.get(name)!r} then, {settings[name]!r} now" for name in sorted(differing)]
        if changed:
            raise ConfigError(
                f"{self.folder}: cannot resume with other settings ({'; '.join(changed)}); "
                "use the original settings, or remove the folder to start over"
            )

    def restore(self, backend: Backend, biases: Biases) -> None:
        """Bring a new run to where the old one was."""
        for name, table in self.tables.items():
            for start in range(0, len(table), CHUNK_ROWS):
                backend.load(name, start, table[start : start + CHUNK_ROWS])
        backend.restore_sums(self.sums)
        biases.words, biases.documents = self.biases.words, self.biases.documents


def find(folder: Path) -> Path | None:
    """Where the checkpoint is that belongs to `folder`, if there is one."""
    places = (folder, previous_version(folder))
    return next((place for place in places if (place / MANIFEST).is_file()), None)


def check_free(folder: Path, start_over: bool = False) -> None:
    """Refuse, before any work is done, to write over something else, or over an unfinished run unless to start over."""
    if find(folder) is not None and not start_over:
        raise ConfigError(
            f"{folder}: holds an unfinished training; give resume=True (--resume) to go on with it, "
            "or start_over=True (--force) to start over"
        )
    check_folder(folder, overwrite=True, ours=_FILES)


def remove(folder: Path) -> None:
    """Remove a checkpoint whose run has come to its end."""
    for place in (folder, previous_version(folder)):
        if (place / MANIFEST).is_file():
            try:
                for name in (MANIFEST, VECTORS):
                    (place / name).unlink(missing_ok=True)
            except OSError as error:
                process.warn(f"{place}: cannot be removed ({error.strerror}); it is not needed any more")
            with suppress(OSError):  # somebody put something else there, which is not ours to remove
                place.rmdir()


def load(folder: Path) -> Checkpoint | None:
    """The checkpoint in `folder`, checked against its checksums; None where there is none."""
    place = find(folder)
    if place is None:
        check_folder(folder, overwrite=True, ours=_FILES)
        return None
    try:
        with OpenFolder(place) as opened:
            about = schema.parsed(opened.read(MANIFEST, _LONGEST_MANIFEST))
            if not isinstance(about, dict) or about.get("format") != FORMAT:
                raise ValueError(f"{MANIFEST} does not describe a checkpoint")
            version = about.get("format_version")
            if type(version) is not int or version != FORMAT_VERSION:
                raise ValueError(f"format version {version!r:.40}, this release reads {FORMAT_VERSION}")
            if not checksums.checksum_matches(about):
                raise ValueError(f"{MANIFEST} is not what was written: its checksum differs")
            _SCHEMA(about, "")
            with opened.open(VECTORS) as vectors:
                fault = checksums.fault(vectors, about["files"][VECTORS], whole=True)
                if fault:
                    raise ValueError(f"{VECTORS} is {fault}")
                tables = read_tensors(place / VECTORS, opened=vectors)
        for name, table in tables.items():
            if table.dtype != np.float32:
                raise ValueError(f"{name!r:.60} must be float32, not {table.dtype}")
            KeyedVectors(None, table).check(f"{name:.60}")
        position, sums = Position.from_dict(about["position"]), Sums(**about["sums"])
    except OSError as error:
        raise FormatError(f"{place}: cannot read: {error.strerror or error}") from None
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"{place}: damaged checkpoint ({error}); remove the folder to start over") from None
    try:
        config = TrainConfig.saved_settings(about["config"])
    except FormatError as error:
        raise FormatError(f"{place}: {error}") from None
    return Checkpoint(place, config, about["corpus"], position, sums, Biases(**about["biases"]), tables)


def fingerprint(corpus: EncodedCorpus, before: Sequence[KeyedVectors] = ()) -> dict[str, Any]:
    """What tells a text from another: its sizes, and a hash of all its words in order. In an update, another hash tells
    the vectors `before` it from others.
    """
    digest, learned = hashlib.sha256(), hashlib.sha256()
    for table in before:
        for start in range(0, len(table), CHUNK_ROWS):
            learned.update(np.ascontiguousarray(table.vectors[start : start + CHUNK_ROWS]).data)
    for array in (corpus.vocabulary.counts, corpus.offsets, corpus.ids):
        for start in range(0, len(array), _HASHED_AT_ONCE):
            digest.update(np.ascontiguousarray(array[start : start + _HASHED_AT_ONCE]).data)
    for name in corpus.vocabulary.words:
        digest.update(name.encode("utf-8", "surrogatepass") + b"\0")
    corpus.drop_pages()
    return {
        "documents": corpus.n_documents,
        "tokens": corpus.n_tokens,
        "words": len(corpus.vocabulary),
        "tokenizer": str(corpus.tokenizer),
        "sha256": digest.hexdigest(),
        "before": learned.hexdigest(),
        **corpus.spread,
    }


def _spoken(spread: Mapping[str, int]) -> str:
    if not spread.get("workers"):
        return "one machine"
    return f"workers={spread['workers']} with {spread['exchanges']} exchanges an epoch"


class _Rows:
    """A backend's table in the shape of an array, of which `write_tensors` takes some rows at a time."""

    dtype = np.dtype(np.float32)

    def __init__(self, backend: Backend, table: str, shape: tuple[int, int]) -> None:
        self._backend, self._table, self.shape = backend, table, shape
        self.nbytes = shape[0] * shape[1] * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Floats:
        start, stop, _ = rows.indices(len(self))
        return self._backend.read(self._table, start, stop)
