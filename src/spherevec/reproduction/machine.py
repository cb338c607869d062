"""Where a figure was measured: the processor, and the versions of what took part."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from spherevec.config import TrainConfig

_PACKAGES = ("spherevec", "numpy", "numba", "scipy", "scikit-learn", "gensim", "sentence-transformers")


def surroundings() -> dict[str, Any]:
    """What a reader wants to know about a measurement that was made just now."""
    return {
        "processor": processor(),
        "cores": TrainConfig().thread_count,
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version_of(name) for name in _PACKAGES if version_of(name)},
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "finished": time.strftime("%Y-%m-%d %H:%M"),
    }


def processor() -> str:
    """The name of the processor, as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def version_of(package: str) -> str:
    """The version of an installed package, "" where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
