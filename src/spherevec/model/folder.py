"""The model folder: safetensors and JSON, never pickle; written completely or not at all. `PARTS` lists its files."""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Mapping
from functools import partial
from json.encoder import encode_basestring, encode_basestring_ascii
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from spherevec.errors import ConfigError, FormatError
from spherevec.model.parts import MANIFEST, PARTS, Part, folder_files
from spherevec.storage import checksums, schema
from spherevec.storage.checksums import Content, write_files
from spherevec.storage.files import OpenFolder, atomic_folder, previous_version
from spherevec.storage.locks import lock_name, resolved
from spherevec.storage.os_errors import explain_os_errors
from spherevec.storage.tensors import read_tensors, tensor_bytes

FORMAT = "spherevec-model"
FORMAT_VERSION = 3

_LONGEST_MANIFEST = 1 << 22
# A load is tried again while the folder is being replaced; a writer that never rests is told in the end.
_ATTEMPTS = 100
_MOMENT = 0.01


def _check_manifest(manifest: Any) -> None:
    """Raise `ValueError` unless the description of a model looks like one."""
    file = schema.record({"bytes": schema.whole(), "sha256": schema.text}, {"sample": schema.text})
    entries = {name: part.schema for name, part in PARTS.items() if MANIFEST in part.files}
    schema.record({"files": schema.map_of(file)}, entries, others=True)(manifest, "")


def save(parts: Mapping[str, Any], folder: str | Path, *, overwrite: bool = False) -> None:
    """Write the parts of a model, by name, completely or not at all; an old folder stays until then."""
    entries: dict[str, Any] = {}
    writes: list[tuple[int, str, Content]] = []  # bytes, name and content of each file
    for name, value in parts.items():
        for file, content in PARTS[name].save(value).items():
            if file == MANIFEST:
                entries[name] = _plain(content)
            elif file.endswith(".json"):
                writes.append((0, file, partial(_names_written, content)))
            else:
                size = sum(array.nbytes for array in content.values())
                writes.append((size, file, partial(tensor_bytes, file, content)))
    with atomic_folder(folder, overwrite=overwrite, ours=folder_files()) as new:
        largest_first = sorted(writes, key=lambda write: -write[0])
        written = write_files(new, {name: content for _, name, content in largest_first})
        about = {"format": FORMAT, "format_version": FORMAT_VERSION}
        manifest = {**about, **entries, "files": dict(sorted(written.items()))}
        (new / MANIFEST).write_bytes(_encoded_manifest(manifest))


def _encoded_manifest(manifest: Mapping[str, Any]) -> bytes:
    """The description of a model as it is written; what could not be read again is refused."""
    encoded = (json.dumps(checksums.with_checksum(manifest), indent=1) + "\n").encode("ascii")
    try:
        if len(encoded) > _LONGEST_MANIFEST:
            raise ValueError(
                f"takes {len(encoded) / 1e6:.1f} MB, at most {_LONGEST_MANIFEST / 1e6:.1f} can be read again"
            )
        _check_manifest(json.loads(encoded))
    except ValueError as error:
        raise ConfigError(f"the description of the model: {error}; change its provenance or record") from None
    return encoded


def load(folder: str | os.PathLike[str], *, memory_map: bool = True, verify: bool = False) -> dict[str, Any]:
    """The parts of the model in a folder, by name; they are of one model, also while another takes its place.

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
            with explain_os_errors(reading=folder, kind=FormatError):
                raise error
        except MemoryError:
            raise FormatError(f"{folder}: not enough memory to open the model") from None
    raise FormatError(f"{folder}: changes all the time; wait until nobody writes it")


def _load(opened: OpenFolder, memory_map: bool, verify: bool) -> dict[str, Any]:
    folder = opened.path
    encoded, manifest = _read_manifest(opened)
    values: dict[str, Any] = dict.fromkeys(PARTS)
    files: dict[str, BinaryIO] = {}
    with contextlib.ExitStack() as stack:
        for name in sorted((folder_files() - {MANIFEST}).intersection(manifest["files"])):
            try:
                files[name] = stack.enter_context(opened.open(name))
            except FileNotFoundError:
                raise FormatError(
                    f"{folder / name}: missing, or not a plain file; copy the whole folder again"
                ) from None
            whole = verify or name.endswith(".json")
            fault = checksums.fault(files[name], manifest["files"][name], whole=whole)
            if fault:
                raise FormatError(f"{folder / name}: {fault}; copy it again")
        for name, part in PARTS.items():
            contents = _contents(part, folder, manifest, files, memory_map)
            path = folder / part.files[0]
            try:
                values[name] = part.open(contents, values) if contents else None
            except FormatError as error:
                raise FormatError(f"{path}: {error}") from None
            except (KeyError, TypeError, ValueError) as error:
                raise FormatError(f"{path}: corrupt: its {part.name} cannot be read ({error}); copy it again") from None
            if name == "words" and not contents:
                raise FormatError(f"{folder}: holds no {part.files[0]}; copy the whole folder again")
    # A folder that was replaced may be gone by now; one that is still there must still be the same.
    with contextlib.suppress(FileNotFoundError), opened.open(MANIFEST) as again:
        if again.read(_LONGEST_MANIFEST + 1) != encoded:
            raise FormatError(f"{folder}: was changed while it was read; open it again")
    return values


def _contents(
    part: Part, folder: Path, manifest: Mapping[str, Any], files: Mapping[str, BinaryIO], memory_map: bool
) -> dict[str, Any]:
    """What the files of a part hold, by their names; empty where the model lacks the part."""
    if MANIFEST in part.files:
        return {MANIFEST: manifest[part.name]} if part.name in manifest else {}
    contents: dict[str, Any] = {}
    for file in part.files:
        if file not in files:
            if contents:
                raise FormatError(f"{folder}: holds no {file}; copy the whole folder again")
        elif file.endswith(".json"):
            contents[file] = _read_names(folder / file, files[file])
        else:
            contents[file] = read_tensors(folder / file, memory_map=memory_map and part.mapped, opened=files[file])
    return contents


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
            encoded = file.read(_LONGEST_MANIFEST + 1)
    except FileNotFoundError:
        raise FormatError(f"{opened.path}: not a model folder: {MANIFEST} is missing, or not a plain file") from None
    if len(encoded) > _LONGEST_MANIFEST:
        raise FormatError(f"{path}: over {_LONGEST_MANIFEST >> 20} MB, too large to be a model's description")
    manifest = _parsed(path, encoded)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FormatError(f"{path}: not the description of a spherevec model")
    version = manifest.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        advice = "upgrade spherevec" if type(version) is int and version > FORMAT_VERSION else "train it again"
        raise FormatError(
            f"{path}: format version {version!r:.40} is unknown (this release reads {FORMAT_VERSION}); {advice}"
        )
    try:
        _check_manifest(manifest)
    except ValueError as error:
        raise FormatError(f"{path}: {error}; copy the folder again") from None
    if not checksums.checksum_matches(manifest):
        raise FormatError(f"{path}: corrupt or edited: its checksum is not the one it was written with; copy it again")
    return encoded, manifest


def _names_written(names: Any) -> list[bytes]:
    """A JSON list with one name per line; lone surrogates, as in odd file names, are escaped."""
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
