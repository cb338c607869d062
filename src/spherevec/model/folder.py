"""The native model folder: safetensors and JSON, never pickle.

    model.json              what the model is and how it was trained, checksums of every other file and of itself
    words.safetensors       `vectors` (n, dim) float32 and, if known, `counts` (n,) int64
    contexts.safetensors    the same words as contexts; optional
    inputs.safetensors      the input vectors of the words, where `words` are their sum with `contexts`; optional
    docs.safetensors        one vector a document; optional
    docs-000.safetensors …  the same in several files, in the order of their numbers
    fit.safetensors         what documents are fitted with: `weights` (n,) of the words, `mean` (dim,) and `covariance`
                            (dim, dim) of negative samples; optional
    vocabulary.json         the words, one a line
    documents.safetensors   the table of documents: ids, titles, the beginning of the text, kept fields; optional
    terms.safetensors       which words each document holds, and how often; optional
    rare_counts.safetensors words too rare for a vector, with their counts, for when more text comes; optional
    docs_index.usearch      an approximate index of the document vectors, and in docs_index.safetensors the key of each
                            document in it, `slots` (n,) int64; optional, checked before it is used
    topics.safetensors      topics that were kept with the model, with changes by hand; optional
    documents.json          the names of documents, as release 0.1.0 wrote them

File names are fixed: nothing in `model.json` can point elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from json.encoder import encode_basestring, encode_basestring_ascii
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from spherevec.config import settings_of_0_1
from spherevec.corpus.count.rare_counts import RareCounts
from spherevec.engine.fit import FitTables
from spherevec.errors import ConfigError, FormatError
from spherevec.model.documents import DocumentTable
from spherevec.model.index import StoredIndex
from spherevec.model.kept_topics import KeptTopics
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.search.terms import DocumentTerms
from spherevec.storage import checksums, schema
from spherevec.storage.files import atomic_folder, previous_version, read_at_most
from spherevec.storage.folders import OpenFolder
from spherevec.storage.locks import lock_name, resolved
from spherevec.storage.shards import SHARD_EDGE, read_shards, shard_names, sharded
from spherevec.storage.tensors import Rows, read_tensors, tensor_bytes
from spherevec.storage.together import Content, write_together

FORMAT = "spherevec-model"
FORMAT_VERSION = 2

MANIFEST = "model.json"
VOCABULARY = "vocabulary.json"
NAMES_OF_FORMAT_1 = "documents.json"
DOCUMENTS = "documents.safetensors"
TERMS = "terms.safetensors"
RARE = "rare_counts.safetensors"
FIT = "fit.safetensors"
INDEX, SLOTS = "docs_index.usearch", "docs_index.safetensors"  # the approximate index, and the key of each row in it
TOPICS = "topics.safetensors"
_TENSORS = {table: f"{table}.safetensors" for table in ("words", "contexts", "inputs", "docs")}
# Format 1, of release 0.1.0, is read, and replaced as our own.
_TENSORS_OF_FORMAT_1 = _TENSORS | {"inputs": "targets.safetensors"}
_PARAMETERS_OF_FORMAT_1 = {"word_offset": "word_bias", "document_offset": "document_bias"}
FILES = {MANIFEST, VOCABULARY, DOCUMENTS, TERMS, RARE, FIT, INDEX, SLOTS, TOPICS, *_TENSORS.values()}
_DOCUMENT_SHARDS = frozenset(shard_names("docs"))
FILES |= {NAMES_OF_FORMAT_1, *_TENSORS_OF_FORMAT_1.values(), *_DOCUMENT_SHARDS}
_LONGEST_MANIFEST = 1 << 22
_OF_THE_FOLDER = {"format", "format_version", "sizes", "files", "checksum"}
# A load is tried again while the folder is being replaced; a writer that never rests is told in the end.
_ATTEMPTS = 100
_MOMENT = 0.01

_SCHEMA = schema.record(
    {
        "files": schema.map_of(
            schema.record({"bytes": schema.whole(), "sha256": schema.text}, {"sample": schema.text}),
        ),
    },
    {
        "config": schema.optional(schema.map_of(schema.plain)),
        "parameters": schema.map_of(schema.optional(schema.number)),
        "provenance": schema.map_of(schema.plain),
        "record": schema.table,
        "tokenizer": schema.plain,  # a name in files of release 0.1; checked where it is understood
        "sizes": schema.map_of(schema.list_of(schema.whole())),
    },
    others=schema.anything,
)


@dataclass(frozen=True)
class StoredModel:
    """What a model folder holds."""

    words: KeyedVectors
    contexts: KeyedVectors | None = None
    docs: KeyedVectors | None = None
    inputs: KeyedVectors | None = None
    documents: DocumentTable | None = None
    terms: DocumentTerms | None = None
    rare_counts: RareCounts | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    fit: FitTables | None = None
    kept_topics: KeptTopics | None = None


def save(stored: StoredModel, folder: str | Path, *, overwrite: bool = False, shards: int = 1) -> None:
    """Write the folder completely or not at all; an old one stays until the new one is complete.

    Args:
        shards: write the documents' vectors in at most so many files.
    """
    tables = {name: table for name in _TENSORS if (table := getattr(stored, name)) is not None}
    with atomic_folder(folder, overwrite=overwrite, ours=FILES) as new:
        slots = None if stored.docs is None else stored.docs.save_index(new / INDEX)
        tensors: dict[str, Mapping[str, Rows]] = {} if slots is None else {SLOTS: {"slots": slots}}
        for name, table in tables.items():
            counts = {} if table.counts is None else {"counts": table.counts}
            tensors[_TENSORS[name]] = {"vectors": table.vectors, **counts}
        if stored.docs is not None and shards > 1:
            del tensors[_TENSORS["docs"]]
            tensors |= sharded("docs", stored.docs.vectors, shards)
        if stored.fit is not None:
            tensors[FIT] = stored.fit._asdict()
        others = (stored.documents, stored.terms, stored.rare_counts, stored.kept_topics)
        for name, other in zip((DOCUMENTS, TERMS, RARE, TOPICS), others, strict=True):
            if other is not None:
                tensors[name] = other.tensors
        contents: dict[str, Content] = {VOCABULARY: partial(_names_written, stored.words.index_to_key)}
        for name, arrays in sorted(tensors.items(), key=lambda one: sum(array.nbytes for array in one[1].values())):
            edge = SHARD_EDGE if name in _DOCUMENT_SHARDS else 8
            contents[name] = partial(tensor_bytes, name, arrays, edge)
        entries = write_together(new, dict(reversed(contents.items())))
        if slots is not None:
            entries[INDEX] = _entry(new / INDEX)
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "sizes": {name: list(table.vectors.shape) for name, table in tables.items()},
            **_plain(stored.about),
            "files": dict(sorted(entries.items())),
        }
        (new / MANIFEST).write_bytes(_encoded_manifest(manifest))


def _encoded_manifest(manifest: Mapping[str, Any]) -> bytes:
    """The description of a model as it is written; what could not be read again is refused."""
    encoded = (json.dumps(checksums.sealed(manifest), indent=1) + "\n").encode("ascii")
    try:
        if len(encoded) > _LONGEST_MANIFEST:
            raise ValueError(
                f"takes {len(encoded) / 1e6:.1f} MB, at most {_LONGEST_MANIFEST / 1e6:.1f} can be read again"
            )
        _SCHEMA(json.loads(encoded), "")
    except ValueError as error:
        raise ConfigError(f"the description of the model: {error}; change its provenance or record") from None
    return encoded


def load(folder: str | os.PathLike[str], *, memory_map: bool = True, verify: bool = False) -> StoredModel:
    """Open a model folder; what comes back is one model, also while another takes its place.

    Sizes are always checked, and checksums of all that is read whole; those of large files by a sample, and by every
    byte with `verify`.
    """
    folder = Path(folder)
    for attempt in range(_ATTEMPTS):
        try:
            with OpenFolder(folder) as opened:
                try:
                    return _load(opened, memory_map, verify)
                except (FormatError, OSError):
                    # The folder was replaced, and its files are being removed: the new one is complete.
                    if attempt + 1 == _ATTEMPTS or not opened.replaced():
                        raise
        except (FileNotFoundError, NotADirectoryError):
            # Where the system cannot swap two folders there is none for a moment, while its owner lives.
            if attempt + 1 == _ATTEMPTS or not lock_name(resolved(folder)).exists():
                raise _no_folder(folder) from None
            time.sleep(_MOMENT)
        except OSError as error:
            raise FormatError(f"{folder}: cannot read: {error.strerror or error}") from error
        except MemoryError:
            raise FormatError(f"{folder}: not enough memory to open the model") from None
    raise FormatError(f"{folder}: changes all the time; wait until nobody writes it")


def _load(opened: OpenFolder, memory_map: bool, verify: bool) -> StoredModel:
    folder = opened.path
    encoded, manifest = _read_manifest(opened)
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context(file) for name, file in _checked_files(opened, manifest, verify).items()}
        tables: dict[str, KeyedVectors] = {}
        documents: DocumentTable | None = None
        terms: DocumentTerms | None = None
        rare: RareCounts | None = None
        if DOCUMENTS in files:
            documents = DocumentTable.open(folder / DOCUMENTS, memory_map=memory_map, opened=files[DOCUMENTS])
        if TERMS in files:
            terms = DocumentTerms.open(folder / TERMS, memory_map=memory_map, opened=files[TERMS])
        if RARE in files:
            rare = RareCounts.open(folder / RARE, memory_map=memory_map, opened=files[RARE])
        topics = KeptTopics.open(folder / TOPICS, opened=files[TOPICS]) if TOPICS in files else None
        old = manifest["format_version"] == 1
        for name, file in (_TENSORS_OF_FORMAT_1 if old else _TENSORS).items():
            shards = sorted(_DOCUMENT_SHARDS.intersection(files)) if name == "docs" else []
            if file not in files and not shards:
                continue
            tensors: dict[str, Any] = {}
            if shards:
                opened_shards = [(folder / shard, files[shard]) for shard in shards]
                tensors["vectors"] = read_shards(opened_shards, memory_map=memory_map)
            else:
                tensors |= read_tensors(folder / file, memory_map=memory_map, opened=files[file])
            vectors, counts = tensors.get("vectors"), tensors.get("counts")
            if vectors is None or vectors.dtype != np.float32 or vectors.ndim != 2:
                raise FormatError(f"{folder / file}: holds no float32 array 'vectors' of shape (n, dim)")
            if counts is not None and counts.dtype != np.int64:
                raise FormatError(f"{folder / file}: 'counts' must be int64, not {counts.dtype}")
            names = _names_of(name, folder, files, tables, documents)
            if names is not None and len(names) != len(vectors):
                raise FormatError(f"{folder / file}: {len(vectors)} vectors do not fit {len(names)} names")
            tables[name] = KeyedVectors(names, vectors, counts)
        fit = _read_fit(folder / FIT, files[FIT], tables) if FIT in files else None
        if INDEX in files and SLOTS in files and "docs" in tables:
            tables["docs"].use_index(_read_index(folder, files, memory_map))
    if "words" not in tables:
        raise FormatError(f"{folder}: holds no {_TENSORS['words']}; copy the whole folder again")
    # A folder that was replaced may be gone by now; one that is still there must still be the same.
    with contextlib.suppress(FileNotFoundError), opened.open(MANIFEST) as again:
        if read_at_most(again, _LONGEST_MANIFEST) != encoded:
            raise FormatError(f"{folder}: was changed while it was read; open it again")
    about = {key: value for key, value in manifest.items() if key not in _OF_THE_FOLDER}
    about = _from_format_1(about) if old else about
    return StoredModel(
        **tables, documents=documents, terms=terms, rare_counts=rare, about=about, fit=fit, kept_topics=topics
    )


def _read_fit(path: Path, file: BinaryIO, tables: Mapping[str, KeyedVectors]) -> FitTables:
    """What documents are fitted with, of the shapes that suit the words."""
    tensors = read_tensors(path, memory_map=False, opened=file)
    words, dim = tables["words"].vectors.shape if "words" in tables else (0, 0)
    tensors.setdefault("by_length", np.zeros(2, np.float32))  # models that were saved before it was known
    shapes = FitTables((words,), (dim,), (dim, dim), (2,))._asdict()  # type: ignore[arg-type]
    for name, shape in shapes.items():
        found = tensors.get(name)
        if found is None or found.dtype != np.float32 or found.shape != shape or not np.isfinite(found).all():
            raise FormatError(f"{path}: holds no finite float32 array {name!r} of shape {shape}; copy it again")
    if not (tensors["weights"] >= 0).all():
        raise FormatError(f"{path}: 'weights' must not be negative; copy it again")
    return FitTables(**{name: tensors[name] for name in shapes})


def _read_index(folder: Path, files: Mapping[str, BinaryIO], memory_map: bool) -> StoredIndex:
    """The index of the documents; it is looked through and opened when it is asked for."""
    slots = read_tensors(folder / SLOTS, memory_map=False, opened=files[SLOTS]).get("slots")
    if slots is None or slots.dtype != np.int64 or slots.ndim != 1:
        raise FormatError(f"{folder / SLOTS}: holds no int64 array 'slots' of shape (n,); copy it again")
    file = files[INDEX]
    size = os.fstat(file.fileno()).st_size
    file.seek(0)
    mapped = memory_map and size > 0
    buffer: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else file.read()
    return StoredIndex(buffer, slots, str(folder / INDEX))


def _from_format_1(about: dict[str, Any]) -> dict[str, Any]:
    """What a model of release 0.1.0 says of itself, by today's names."""
    config, parameters = about.get("config"), about.get("parameters")
    if isinstance(config, dict):
        about["config"] = settings_of_0_1(config)
    if isinstance(parameters, dict):
        about["parameters"] = {_PARAMETERS_OF_FORMAT_1.get(name, name): value for name, value in parameters.items()}
    return about


def _names_of(
    table: str,
    folder: Path,
    files: Mapping[str, BinaryIO],
    tables: Mapping[str, KeyedVectors],
    documents: DocumentTable | None,
) -> Sequence[str] | None:
    """The keys of one table."""
    if table in ("contexts", "inputs") and "words" in tables:
        return tables["words"].names
    if table == "docs":
        if documents is not None:
            return documents.ids if documents.named else None
        old = NAMES_OF_FORMAT_1
        return _read_names(folder / old, files[old]) if old in files else None
    if VOCABULARY not in files:
        raise FormatError(f"{folder}: holds no {VOCABULARY}; copy the whole folder again")
    return _read_names(folder / VOCABULARY, files[VOCABULARY])


def _no_folder(folder: Path) -> FormatError:
    waiting = previous_version(folder)
    hint = f"; rename {waiting} to get the previous version back" if waiting.is_dir() else ""
    if folder.is_file():
        return FormatError(f"{folder}: a file, not the folder of a model; a text becomes one by 'spherevec train'")
    return FormatError(f"{folder}: no such model folder{hint}")


def _read_manifest(opened: OpenFolder) -> tuple[bytes, dict[str, Any]]:
    """The description of a model as it stands there, and what it says."""
    path = opened.path / MANIFEST
    try:
        with opened.open(MANIFEST) as file:
            encoded = read_at_most(file, _LONGEST_MANIFEST)
    except FileNotFoundError:
        raise FormatError(f"{opened.path}: not a model folder: {MANIFEST} is missing, or not a plain file") from None
    if len(encoded) > _LONGEST_MANIFEST:
        raise FormatError(f"{path}: over {_LONGEST_MANIFEST >> 20} MB, too large to be a model's description")
    manifest = _parsed(path, encoded)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FormatError(f"{path}: not the description of a spherevec model")
    version = manifest.get("format_version")
    if type(version) is not int or version not in (1, FORMAT_VERSION):
        raise FormatError(
            f"{path}: format version {version!r:.40} is unknown (this release reads 1 and {FORMAT_VERSION}); "
            "upgrade spherevec"
        )
    try:
        _SCHEMA(manifest, "")
    except ValueError as error:
        raise FormatError(f"{path}: {error}; copy the folder again") from None
    if version > 1 and not checksums.seal_fits(manifest):
        raise FormatError(f"{path}: corrupt or edited: its checksum is not the one it was written with; copy it again")
    return encoded, manifest


def _checked_files(opened: OpenFolder, manifest: Mapping[str, Any], verify: bool) -> dict[str, BinaryIO]:
    """The data files of the folder, open, after comparing their sizes and checksums."""
    present: dict[str, BinaryIO] = {}
    try:
        for name in sorted((FILES - {MANIFEST}).intersection(manifest["files"])):
            path = opened.path / name
            try:
                file = present[name] = opened.open(name)
            except FileNotFoundError:
                raise FormatError(f"{path}: missing, or not a plain file; copy the whole folder again") from None
            fault = checksums.fault(file, manifest["files"][name], whole=verify or name.endswith(".json"))
            if fault:
                raise FormatError(f"{path}: {fault}; copy it again")
    except BaseException:
        for file in present.values():
            file.close()
        raise
    return present


def _names_written(names: Any) -> list[bytes]:
    """A JSON list with one name a line; lone surrogates, as in odd file names, are escaped."""
    try:
        encoded = ",\n".join(map(encode_basestring, names)).encode()
    except UnicodeEncodeError:
        encoded = ",\n".join(map(encode_basestring_ascii, names)).encode()
    return [b"[\n" + encoded + b"\n]\n"]


def _read_names(path: Path, file: BinaryIO) -> list[str]:
    file.seek(0)
    names = _parsed(path, file.read())
    if not isinstance(names, list) or any(type(name) is not str for name in names):
        raise FormatError(f"{path}: corrupt: not a list of names")
    return names


def _parsed(path: Path, encoded: bytes) -> Any:
    try:
        return schema.parsed(encoded)
    except ValueError:
        raise FormatError(f"{path}: truncated or corrupt: not valid JSON; copy it again") from None


def _entry(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return checksums.entry(file)


def _plain(value: Any) -> Any:
    """`value` in JSON's own types; numbers that JSON does not have become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)
