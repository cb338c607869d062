"""The native model folder: safetensors and JSON, never pickle.

    model.json              what the model is, how it was trained, and the size and SHA-256 of every other file
    words.safetensors       `vectors` (n, dim) float32 and, if known, `counts` (n,) int64
    contexts.safetensors    the same words as contexts; optional
    inputs.safetensors      the input vectors of the words, where `words` are their sum with `contexts`; optional
    docs.safetensors        one vector a document; optional
    vocabulary.json         the words, one a line
    documents.json          the names of documents, one a line, if they have names

File names are fixed: nothing in `model.json` can point elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring, encode_basestring_ascii
from pathlib import Path
from typing import Any

import numpy as np

from spherevec.config import settings_of_0_1
from spherevec.errors import FormatError
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_folder, previous_version
from spherevec.storage.tensors import read_tensors, write_tensors

FORMAT = "spherevec-model"
FORMAT_VERSION = 2

MANIFEST = "model.json"
VOCABULARY = "vocabulary.json"
DOCUMENTS = "documents.json"
_TENSORS = {table: f"{table}.safetensors" for table in ("words", "contexts", "inputs", "docs")}
# Format 1, of release 0.1.0, is read, and replaced as our own.
_TENSORS_OF_FORMAT_1 = _TENSORS | {"inputs": "targets.safetensors"}
_PARAMETERS_OF_FORMAT_1 = {"word_offset": "word_bias", "document_offset": "document_bias"}
FILES = {MANIFEST, VOCABULARY, DOCUMENTS, *_TENSORS.values(), *_TENSORS_OF_FORMAT_1.values()}
_LONGEST_MANIFEST = 1 << 26


@dataclass(frozen=True)
class StoredModel:
    """What a model folder holds."""

    words: KeyedVectors
    contexts: KeyedVectors | None = None
    docs: KeyedVectors | None = None
    inputs: KeyedVectors | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


def save(stored: StoredModel, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write the folder completely or not at all; an old one stays until the new one is complete."""
    with atomic_folder(folder, overwrite=overwrite, ours=FILES) as new:
        tables = {name: getattr(stored, name) for name in _TENSORS}
        for name, table in tables.items():
            if table is not None:
                counts = {} if table.counts is None else {"counts": table.counts}
                write_tensors(new / _TENSORS[name], {"vectors": table.vectors, **counts})
        _write_names(new / VOCABULARY, stored.words.index_to_key)
        if stored.docs is not None and stored.docs.named:
            _write_names(new / DOCUMENTS, stored.docs.index_to_key)
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "sizes": {name: list(table.vectors.shape) for name, table in tables.items() if table is not None},
            **_plain(stored.about),
            "files": {
                file.name: {"bytes": file.stat().st_size, "sha256": _sha256(file)} for file in sorted(new.iterdir())
            },
        }
        (new / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=True) + "\n", encoding="ascii")


def load(folder: str | os.PathLike[str], *, memory_map: bool = True, verify: bool = False) -> StoredModel:
    """Open a model folder. Sizes are always checked; `verify` also compares checksums."""
    folder = Path(folder)
    try:
        return _load(folder, memory_map, verify)
    except OSError as error:
        raise FormatError(f"{folder}: cannot read: {error.strerror or error}") from error
    except MemoryError:
        raise FormatError(f"{folder}: not enough memory to open the model") from None


def _load(folder: Path, memory_map: bool, verify: bool) -> StoredModel:
    manifest = _read_manifest(folder)
    files = _checked_files(folder, manifest, verify)
    tables: dict[str, KeyedVectors] = {}
    old = manifest["format_version"] == 1
    for name, file in (_TENSORS_OF_FORMAT_1 if old else _TENSORS).items():
        if file not in files:
            continue
        tensors = read_tensors(folder / file, memory_map=memory_map)
        vectors, counts = tensors.get("vectors"), tensors.get("counts")
        if vectors is None or vectors.dtype != np.float32 or vectors.ndim != 2:
            raise FormatError(f"{folder / file}: holds no float32 array 'vectors' of shape (n, dim)")
        if counts is not None and counts.dtype != np.int64:
            raise FormatError(f"{folder / file}: 'counts' must be int64, not {counts.dtype}")
        tables[name] = KeyedVectors(_names_of(name, folder, files, tables, len(vectors)), vectors, counts)
    if "words" not in tables:
        raise FormatError(f"{folder}: holds no {_TENSORS['words']}; copy the whole folder again")
    about = {key: value for key, value in manifest.items() if key not in ("format", "format_version", "sizes", "files")}
    return StoredModel(**tables, about=_from_format_1(about) if old else about)


def _from_format_1(about: dict[str, Any]) -> dict[str, Any]:
    """What a model of release 0.1.0 says of itself, by today's names."""
    config, parameters = about.get("config"), about.get("parameters")
    if isinstance(config, dict):
        about["config"] = settings_of_0_1(config)
    if isinstance(parameters, dict):
        about["parameters"] = {_PARAMETERS_OF_FORMAT_1.get(name, name): value for name, value in parameters.items()}
    return about


def _names_of(
    table: str, folder: Path, files: set[str], tables: Mapping[str, KeyedVectors], count: int
) -> list[str] | None:
    """The keys of one table, as many as it has vectors."""
    if table in ("contexts", "inputs") and "words" in tables:
        names: list[str] | None = tables["words"].names
    elif table == "docs":
        names = _read_names(folder / DOCUMENTS) if DOCUMENTS in files else None
    else:
        if VOCABULARY not in files:
            raise FormatError(f"{folder}: holds no {VOCABULARY}; copy the whole folder again")
        names = _read_names(folder / VOCABULARY)
    if names is not None and len(names) != count:
        raise FormatError(f"{folder / _TENSORS[table]}: {count} vectors do not fit {len(names)} names")
    return names


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not folder.is_dir():
        waiting = previous_version(folder)
        hint = f"; rename {waiting} to get the previous version back" if waiting.is_dir() else ""
        raise FormatError(f"{folder}: no such model folder{hint}")
    if path.is_symlink() or not path.is_file():
        raise FormatError(f"{folder}: not a model folder: {MANIFEST} is missing, or not a plain file")
    if path.stat().st_size > _LONGEST_MANIFEST:
        raise FormatError(f"{path}: too large to be a model's description")
    manifest = _read_json(path)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FormatError(f"{path}: not the description of a spherevec model")
    version = manifest.get("format_version")
    if version not in (1, FORMAT_VERSION):
        raise FormatError(
            f"{path}: format version {version!r} is unknown (this release reads 1 and {FORMAT_VERSION}); "
            "upgrade spherevec"
        )
    return manifest


def _checked_files(folder: Path, manifest: Mapping[str, Any], verify: bool) -> set[str]:
    """The data files of the folder, after comparing their sizes, and with `verify` their content."""
    listed = manifest.get("files")
    if not isinstance(listed, dict):
        raise FormatError(f"{folder / MANIFEST}: lists no files; copy the folder again")
    present = set()
    for name in sorted(FILES - {MANIFEST}):
        if name not in listed:
            continue
        path = folder / name
        entry = listed[name] if isinstance(listed[name], dict) else {}
        if path.is_symlink() or not path.is_file():
            raise FormatError(f"{path}: missing, or not a plain file; copy the whole folder again")
        size = path.stat().st_size
        if size != entry.get("bytes"):
            fault = "truncated" if type(entry.get("bytes")) is int and size < entry["bytes"] else "of the wrong size"
            raise FormatError(f"{path}: {fault}: {size} bytes where {entry.get('bytes')} were written; copy it again")
        if verify and _sha256(path) != entry.get("sha256"):
            raise FormatError(f"{path}: corrupt: its SHA-256 is not the one it was written with; copy it again")
        present.add(name)
    return present


def _write_names(path: Path, names: Any) -> None:
    """A JSON list with one name a line; lone surrogates, as in odd file names, are escaped."""
    try:
        encoded = ",\n".join(map(encode_basestring, names)).encode()
    except UnicodeEncodeError:
        encoded = ",\n".join(map(encode_basestring_ascii, names)).encode()
    path.write_bytes(b"[\n" + encoded + b"\n]\n")


def _read_names(path: Path) -> list[str]:
    names = _read_json(path)
    if not isinstance(names, list) or any(type(name) is not str for name in names):
        raise FormatError(f"{path}: corrupt: not a list of names")
    return names


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise FormatError(f"{path}: truncated or corrupt: not valid JSON; copy it again") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
