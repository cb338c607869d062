"""How much memory this process may still fill with data of its own, and how to give some back."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_COMPILER = "libllvmlite"  # part of the name of its file
_SYSTEM, _PROCESS, _GROUPS = Path("/proc/meminfo"), Path("/proc/self"), Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Bytes, by whatever is tightest: the machine, a control group, RLIMIT_DATA; infinite where nothing is told.

    RLIMIT_AS is left out: it counts addresses, of which a mapped file takes as many as memory does.
    """
    return min(_of_machine(), _of_groups(_PROCESS / "cgroup", _GROUPS), _of_data_limit())


def drop_pages(array: Any) -> None:
    """Let go of the memory behind an array that lies in a mapped file; what is needed again is read again.

    Arrays that lie elsewhere stay. Threads should drop only what they alone use: each page costs all of them.
    """
    if not isinstance(array, np.ndarray) or array.flags.writeable:
        return
    owner: Any = array
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    if isinstance(owner, mmap.mmap):
        discard(array)


def discard(array: NDArray[Any]) -> None:
    """Give back the memory of a contiguous array whose content nobody needs any more; it may read as zeros then."""
    _advise(array, "MADV_DONTNEED")


def touch_sparsely(array: NDArray[Any]) -> None:
    """Take memory for a new array where it is touched only; NumPy asks for pages of 2 MB, which fill up around it."""
    _advise(array, "MADV_NOHUGEPAGE")


def _advise(array: NDArray[Any], advice: str) -> None:
    """Advise the system on the whole pages of a contiguous array, where it takes such advice."""
    start = -(-array.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    _advise_on(start, (array.ctypes.data + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - start, advice)


def _advise_on(start: int, size: int, advice: str) -> None:
    if size > 0 and hasattr(mmap, advice):
        with suppress(OSError, AttributeError, TypeError):
            call = ctypes.CDLL(None).madvise
            call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            call(start, size, getattr(mmap, advice))


def give_memory_back() -> None:
    """Return what was freed to the system, where the C library can (glibc), and the pages of the compiler's library.

    These are read from its file again where they are needed.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError, ValueError):
        for line in (_PROCESS / "maps").read_text().splitlines():
            place, rights, offset, *_ = line.split()
            # Code, and what stands before it in the file: nothing that the loader of libraries may have written to.
            if _COMPILER in line and (rights == "r-xp" or (rights == "r--p" and int(offset, 16) == 0)):
                start, end = (int(edge, 16) for edge in place.split("-"))
                _advise_on(start, end - start, "MADV_DONTNEED")


def _of_machine() -> float:
    with suppress(OSError):
        for line in _SYSTEM.read_text().splitlines():
            name, _, amount = line.partition(":")
            if name == "MemAvailable":
                return float(amount.split()[0]) * 1024
    with suppress(ValueError, OSError, AttributeError):
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    return math.inf


def _of_data_limit() -> float:
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
        used = int((_PROCESS / "statm").read_text().split()[5]) * resource.getpagesize()
    except (ImportError, OSError):
        return math.inf
    return math.inf if limit == resource.RLIM_INFINITY else float(limit - used)


def _of_groups(membership: Path, root: Path) -> float:
    """What the tightest of the control groups around this process leaves; pages of files give way and do not count.

    Args:
        membership: names the groups, as /proc/self/cgroup does.
        root: where the groups are mounted; those of the first version that limit memory in a folder `memory`.
    """
    room = math.inf
    lines: list[str] = []
    with suppress(OSError):
        lines = membership.read_text().splitlines()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mounted, limit_file, own_pages = root, "memory.max", "anon"
        elif "memory" in controllers.split(","):
            mounted, limit_file, own_pages = root / "memory", "memory.limit_in_bytes", "total_rss"
        else:
            continue
        inner = mounted / path.strip("/")
        for group in (place for place in (inner, *inner.parents) if place.is_relative_to(mounted)):
            with suppress(OSError, ValueError, KeyError):
                limit = (group / limit_file).read_text().strip()
                if limit != "max":
                    usage = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
                    room = min(room, float(int(limit) - int(usage[own_pages])))
    return room
