"""Numba's compiler, whose cache is a convenience: where it cannot be kept or read, kernels are compiled anew.

Numba itself looks at the file of a kernel alone. Here compiled code is taken from the cache only if every file of the
package that takes part in it, by import, has the content that it was compiled from.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from spherevec.errors import ConfigError

_yaml = sys.modules.get("yaml")
try:
    # Numba takes settings from a file in the working directory, if it can read YAML: such a file could point the cache,
    # which holds pickled code, at somebody else's folder.
    sys.modules["yaml"] = None  # type: ignore[assignment]
    with warnings.catch_warnings():
        # Of a value that it cannot read, Numba says so with a traceback.
        warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
        import numba
    from numba import _dynfunc
    from numba.core.caching import FunctionCache, IndexDataCacheFile
    from numba.core.codegen import CPUCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.cpu import CPUContext
    from numba.core.typing import Context

    numba.config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR", "")  # where Numba was imported before
except (ValueError, RuntimeError, RuntimeWarning) as error:
    # Numba reads its settings from the environment when it is imported.
    cause = str(error).partition("\n")[0]
    raise ConfigError(f"Numba cannot start ({cause}); check the NUMBA_ variables of the environment") from None
finally:
    del sys.modules["yaml"]
    if _yaml is not None:
        sys.modules["yaml"] = _yaml

_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+(\(.*?\)|.*?$)|import\s+([\w.]+))", re.MULTILINE | re.DOTALL)

Array = TypeVar("Array", bound=np.ndarray[Any, Any])

# Below this, LLVM may find no memory while it compiles, and then ends the process without a word to Python.
_HEADROOM = 160 << 20


def need_compiler() -> None:
    """Raise `ConfigError` where Numba is told not to compile: kernels of training and fitting have no other form."""
    if numba.config.DISABLE_JIT:
        raise ConfigError("NUMBA_DISABLE_JIT is set, and vectors are trained by compiled code; unset it")


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


def source_stamp(function: Callable[..., Any]) -> str:
    """A hash of all files of its package that a function's compiled code may depend on."""
    file = Path(inspect.getfile(function)).resolve()
    package = function.__module__.partition(".")[0]
    root = next((folder.parent for folder in file.parents if folder.name == package), file.parent)
    digest = hashlib.sha256()
    for source in sorted({*_imported(file, root), Path(__file__).resolve()}):
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()


@cache
def _imported(file: Path, root: Path) -> frozenset[Path]:
    """`file` and all modules below the folder `root` that it imports, directly or through others."""
    found, waiting = set[Path](), [file]
    while waiting:
        source = waiting.pop()
        if source in found:
            continue
        found.add(source)
        for module, names, plain in _IMPORT.findall(source.read_text("utf-8")):
            base = root.joinpath(*(module or plain).split("."))
            members = [base / name for name in re.findall(r"\w+", names)]
            candidates = [base.with_suffix(".py"), base / "__init__.py", *(one.with_suffix(".py") for one in members)]
            waiting += [candidate for candidate in candidates if candidate.is_file()]
    return frozenset(found)


@cache
def _is_private(folder: Path) -> bool:
    """Whether nobody else can put compiled code into a folder; says so where somebody can."""
    folder.mkdir(parents=True, exist_ok=True)
    about = folder.stat()
    if not hasattr(os, "geteuid"):
        return True
    group = about.st_mode & stat.S_IWGRP and about.st_gid != os.getegid()
    if about.st_uid == os.geteuid() and not group and not about.st_mode & stat.S_IWOTH:
        return True
    warnings.warn(f"{folder} belongs to others or they can write to it: compiled code is not kept there", stacklevel=2)
    return False


@cache
def _import_array_functions() -> None:
    """Import Numba's functions of arrays without SciPy's linear algebra (17 MB), which no kernel uses.

    They import it only to see whether it is there, and again where a function needs it.
    """
    from numba.np import linalg

    usual = linalg.ensure_blas
    linalg.ensure_blas = lambda: None  # SciPy is there: this package depends on it
    try:
        from numba.np import arraymath

        arraymath.ensure_blas = usual
    finally:
        linalg.ensure_blas = usual


class _StampedCache(FunctionCache):  # type: ignore[misc]
    """A cache that knows all sources of a function.

    A disk that is full or a damaged file of the cache costs time, never the run.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        if not _is_private(Path(self._cache_path)):
            raise OSError("others can write to the folder of the cache")
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=source_stamp(function)
        )

    def load_overload(self, signature: Any, context: Any) -> Any:
        with suppress(ImportError, AttributeError):  # in another Numba than those that are known
            _import_array_functions()
        try:
            return super().load_overload(signature, context)
        except Exception:
            with suppress(OSError):
                self.flush()  # an index that cannot be read would never be written again
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        with suppress(OSError):
            super().save_overload(signature, result)


def is_compiled(dispatcher: Any, kind: type) -> bool:
    """Whether a form of a function for arguments of some type is in the cache; also if none could be kept there."""
    cached = getattr(dispatcher, "_cache", None)
    if not isinstance(cached, _StampedCache):
        return True
    try:
        return any(kind.__name__ in str(key) for key in cached._cache_file._load_index())
    except Exception:  # damaged
        return False


def read_only(array: Array) -> Array:
    """A view for kernels that only read: mapped files and arrays in memory are then of one type, compiled once."""
    view = array.view()
    view.flags.writeable = False
    return view


# Names inside Numba that the compilers below change or call.
_CHANGED = (
    (Context, "resolve_function_type"),
    (CPUContext, "get_executable"),
    (CPUCodeLibrary, "_optimize_final_module"),
    (CPUCodeLibrary, "_finalize_final_module"),
    (CPUCodeLibrary, "_ensure_finalized"),
    (_dynfunc, "make_function"),
)


class QuickCompiler(Compiler):  # type: ignore[misc]
    """Finds the type of an operation once; Numba does so at each of its uses in a function, and several times over."""

    def __init__(self, *state: Any) -> None:
        super().__init__(*state)
        context, known = self.state.typingctx, dict[Any, Any]()

        def resolve(function: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            if kws or not isinstance(function, numba.types.Function):
                return context.resolve_function_type(function, args, kws)
            found = known.get(key := (function, tuple(args)))
            if found is None:
                found = known[key] = context.resolve_function_type(function, args, kws)
            return found

        self.state.typingctx = copy(context)
        self.state.typingctx.resolve_function_type = resolve


class LinkedCompiler(QuickCompiler):
    """Compiles functions that only compiled ones call: they are optimised together with these, never by themselves."""

    def __init__(self, *state: Any) -> None:
        super().__init__(*state)
        context = self.state.targetctx
        self.state.library = library = context.codegen().create_library("linked")
        library._optimize_final_module = lambda: None
        library._finalize_final_module = lambda: setattr(library, "_finalized", True)

        def without_code(library: Any, about: Any, environment: Any) -> Any:
            library._ensure_finalized()
            return _dynfunc.make_function(about.lookup_module(), about.qualname, "", 0, environment, (library,))

        context.get_executable = without_code


def compiler_options(inner: bool) -> dict[str, Any]:
    """What makes Numba compile a function more quickly; nothing where a version of Numba lacks what that changes."""
    if not all(hasattr(owner, name) for owner, name in _CHANGED):
        return {}
    return {"pipeline_class": LinkedCompiler if inner else QuickCompiler}


def _share(dispatcher: Any) -> None:
    """Let calls with constants use one compiled form, instead of one form a constant; LLVM puts them in anyway."""
    template_of = dispatcher.get_call_template

    def template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        unliteral = numba.types.unliteral
        return template_of(tuple(map(unliteral, args)), {name: unliteral(value) for name, value in kws.items()})

    dispatcher.get_call_template = template


def njit(*, inner: bool | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As `numba.njit`; with `cache=True` it works, uncached, where no folder for the cache can be written.

    Args:
        inner: only other compiled functions call it. Then it gets no entry for Python and no file in the cache, and
            takes half the time to compile. By default a function is so if its name begins with an underscore.
    """
    cached = options.pop("cache", False)

    def decorate(function: Callable[..., Any]) -> Any:
        within = function.__name__.startswith("_") if inner is None else inner
        quick = {**options, **compiler_options(within)}
        dispatcher = numba.njit(**quick, no_cfunc_wrapper=True, no_cpython_wrapper=within)(function)
        if within:
            if not numba.config.DISABLE_JIT:
                _share(dispatcher)
            return dispatcher
        if cached and hasattr(dispatcher, "enable_caching"):  # a plain function under NUMBA_DISABLE_JIT
            with suppress(RuntimeError, OSError):  # no folder can be written, or others can write to it
                dispatcher._cache = _StampedCache(function)
        return dispatcher

    return decorate
