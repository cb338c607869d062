"""Numba's compiler, whose cache is a convenience: where it cannot be kept or read, kernels are compiled anew."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

# Below this, LLVM may find no memory while it compiles, and then ends the process without a word to Python.
_HEADROOM = 160 << 20


def _check_headroom() -> None:
    """Raise MemoryError where a limit on this process's memory leaves too little to compile in."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return
    if limit != resource.RLIM_INFINITY and limit - used < _HEADROOM:
        raise MemoryError(
            f"the memory limit of {limit >> 20} MB leaves {(limit - used) >> 20} MB to compile kernels in"
        )


_check_headroom()


class _ForgivingCache(FunctionCache):  # type: ignore[misc]
    """A disk that is full or a damaged file of the cache costs time, never the run."""

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return super().load_overload(signature, context)
        except Exception:
            with suppress(OSError):
                self.flush()  # an index that cannot be read would never be written again
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        with suppress(OSError):
            super().save_overload(signature, result)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As `numba.njit`; with `cache=True` it works, uncached, where no folder for the cache can be written."""
    cached = options.pop("cache", False)

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cached and hasattr(dispatcher, "enable_caching"):  # a plain function under NUMBA_DISABLE_JIT
            with suppress(RuntimeError):  # the package's folder, NUMBA_CACHE_DIR and the home folder are all read-only
                dispatcher._cache = _ForgivingCache(function)
        return dispatcher

    return decorate
