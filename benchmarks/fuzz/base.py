"""What every target of the fuzzer is made of, and how one input is fed to it."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Target:
    """One reader: inputs it accepts, to start from, and a function that feeds it with an input in a scratch folder."""

    seeds: Callable[[], list[bytes]]
    feed: Callable[[bytes, Path], None]
    longest: int = 512
    words: tuple[bytes, ...] = ()  # worth trying anywhere
    document: bytes = b""  # begins a document, which has a price of its own


JSON_WORDS = (b"null", b"true", b"-1", b"1e999", b"[]", b"{}", b'""', b"NaN", b"\\ud800", b"99999999999999999999")
TENSOR_WORDS = (*JSON_WORDS, b'"I64"', b'"F32"', b'"dtype"', b'"shape"', b'"data_offsets"', b"4294967296")

_CACHE: dict[str, Any] = {}
_WRITTEN: dict[Path, bytes] = {}


def cached(name: str, make: Callable[[], Any]) -> Any:
    """What `make` gave the first time."""
    if name not in _CACHE:
        _CACHE[name] = make()
    return _CACHE[name]


def write(path: Path, content: bytes) -> None:
    """Write what is not there already: most files of a folder stay as they are from input to input."""
    if _WRITTEN.get(path) != content:
        path.write_bytes(content)
        _WRITTEN[path] = content


def write_folder(place: Path, files: Mapping[str, bytes], name: str, content: bytes, manifest: str, seal: bool) -> None:
    """A folder in which one file was replaced.

    Args:
        manifest: the file that describes the others.
        seal: make its checksums fit what became of the file, so that what comes after the checksums is tried, too.
    """
    from spherevec.storage import checksums

    place.mkdir(exist_ok=True)
    changed = {**files, name: content}
    if seal and name == manifest:
        changed[name] = resealed(content)
    elif seal:
        described = json.loads(files[manifest])
        described["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        changed[manifest] = json.dumps(checksums.with_checksum(described)).encode()
    for one, written in changed.items():
        write(place / one, written)


def resealed(data: bytes) -> bytes:
    """A description whose checksum fits what became of it."""
    from spherevec.storage import checksums

    try:
        description = json.loads(data)
        return json.dumps(checksums.with_checksum(description)).encode() if isinstance(description, dict) else data
    except (ValueError, RecursionError):
        return data


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def tensors_of(data: bytes, valid: Sequence[bytes]) -> bytes:
    """A safetensors file: the input itself, or the header of a valid one with the input as the bytes of its arrays.

    The first byte chooses. Chance seldom leaves a header intact, and what comes after it is to be tried, too.
    """
    mode, content = data[0] if data else 0, data[1:]
    if mode % 2 == 0:
        return content
    file = valid[mode // 2 % len(valid)]
    start = 8 + int.from_bytes(file[:8], "little")
    return file[:start] + content[: len(file) - start].ljust(len(file) - start, b"\0")


def tensor_seeds(valid: Sequence[bytes]) -> list[bytes]:
    """Inputs that `tensors_of` turns into the valid files, both ways."""
    starts = [8 + int.from_bytes(file[:8], "little") for file in valid]
    inside = [bytes([2 * i + 1]) + file[start:] for i, (file, start) in enumerate(zip(valid, starts, strict=True))]
    return [b"\0" + file for file in valid] + inside


def damaged(seeds: Sequence[bytes], words: Sequence[bytes], luck: random.Random) -> bytes:
    """A valid input with some bytes changed, cut, repeated, or joined with another one."""
    data = bytearray(luck.choice(seeds))
    for _ in range(luck.randint(1, 6)):
        at, end = sorted(luck.randint(0, len(data)) for _ in range(2))
        match luck.randrange(7):
            case 0:
                data[at : at + 1] = bytes([luck.randrange(256)])
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end]
            case 3 if words:
                data[at:at] = luck.choice(words)
            case 4:
                del data[at:]
            case 5:
                data[at:at] = luck.choice(seeds)[end:]
            case _:
                data[at : at + 4] = struct.pack("<I", luck.choice([0, 1, 2**31 - 1, 2**32 - 1, luck.randrange(2**32)]))
    return bytes(data[:4096])
