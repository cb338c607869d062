"""Write a file or a folder completely or not at all: a temporary sibling, synced, then renamed into place."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Set
from pathlib import Path
from typing import IO

from spherevec.errors import SpherevecError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_ZEROS_WRITTEN = 1 << 22
_KINDS_IN_MEMORY = {"tmpfs", "ramfs"}


@contextlib.contextmanager
def atomic_file(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yields a temporary path to write to; it becomes `path` when the block ends well and disappears otherwise."""
    with _told_in_one_line(path):
        target = _target(path)
        if target.is_dir():
            raise SpherevecError(f"{path}: is a folder; choose a file name")
        if target.exists() and not overwrite:
            raise SpherevecError(f"{path}: already exists; choose another name or ask to overwrite it")
        with temporary_folder(target) as folder:
            temporary = folder / target.name
            yield temporary
            sync(temporary)
            temporary.replace(target)
            sync(target.parent)


@contextlib.contextmanager
def atomic_folder(path: str | Path, *, overwrite: bool = False, ours: Set[str] = frozenset()) -> Iterator[Path]:
    """Yields a temporary folder to fill; it becomes `path` when the block ends well and disappears otherwise.

    Args:
        overwrite: an existing folder may be replaced; it stays until the new one is complete.
        ours: the names that such a folder holds; one that holds anything else is never replaced.
    """
    with _told_in_one_line(path):
        target = _target(path)
        _check_replaceable(path, target, overwrite, ours)
        with temporary_folder(target) as folder:
            temporary = folder / target.name
            temporary.mkdir()
            yield temporary
            for entry in sorted(temporary.rglob("*")):
                sync(entry)
            sync(temporary)
            # Again: writing takes its time, and others may have written or removed the folder meanwhile.
            _check_replaceable(path, target, overwrite, ours)
            if target.exists():
                _exchange(temporary, target)
            else:
                temporary.rename(target)
            sync(target.parent)


def check_replaceable(path: str | Path, *, overwrite: bool = False, ours: Set[str] = frozenset()) -> None:
    """Refuse now what `atomic_folder` would refuse later."""
    _check_replaceable(path, _target(path), overwrite, ours)


def previous_version(path: str | Path) -> Path:
    """Where the old folder waits while it is replaced, on systems that cannot swap two folders in one step."""
    target = Path(path)
    return target.with_name(f".{target.name}.previous")


def sync(path: Path) -> None:
    """Force a file or folder to the disk."""
    folder = path.is_dir()
    if folder and sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network disks cannot sync a folder; its files are synced all the same.
        if not folder or error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def _target(path: str | Path) -> Path:
    """`path` with links followed, so that what a link points to is replaced and not the link."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise SpherevecError(f"{str(path)!r}: not a usable path ({error}); choose another name") from None


def _check_replaceable(path: str | Path, target: Path, overwrite: bool, ours: Set[str]) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise SpherevecError(f"{path}: is a file; choose another name for the folder")
    inside = [entry.name for entry in target.iterdir()]
    if inside and not overwrite:
        raise SpherevecError(f"{path}: already exists; choose another name or ask to overwrite it")
    foreign = next((name for name in inside if name not in ours), None)
    if foreign is not None:
        raise SpherevecError(f"{path}: holds {foreign!r}, which would be lost; choose another name")


@contextlib.contextmanager
def _told_in_one_line(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpherevecError(
            f"{path}: cannot write: {reason}; free some space there or choose another place"
        ) from error


@contextlib.contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """A folder beside `target`, on the same disk, locked while we live and removed in the end.

    Folders of processes that were killed carry no lock any more and are removed on the way.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}.partial-"
    for stale in target.parent.glob(f"{glob.escape(prefix)}*"):
        with contextlib.suppress(OSError), _locked(stale):
            shutil.rmtree(stale, ignore_errors=True)
    with contextlib.ExitStack() as lock:
        while True:
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
            try:
                lock.enter_context(_locked(folder))
            except (BlockingIOError, FileNotFoundError):
                continue  # another process took it for a stale one before we held the lock
            except OSError:
                pass  # a disk without locks: nobody takes the folder for a stale one either
            break
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def working_folder(place: str | Path | None) -> Iterator[Path]:
    """A folder for temporary files in `place`, or where the system keeps such files, as `temporary_folder` makes it."""
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder(temporary_place(place) / "spherevec"))
        except OSError as error:
            named = "no folder for temporary files" if place is None else f"{place}: cannot be worked in"
            raise SpherevecError(
                f"{named}: {error.strerror or error}; choose another place (TMPDIR, or workdir)"
            ) from None
        yield folder


def temporary_place(place: str | Path | None) -> Path:
    """`place`, made where it is not there, or where the system keeps temporary files."""
    folder = Path(tempfile.gettempdir() if place is None else place)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def unnamed_file(folder: Path, size: int) -> Iterator[IO[bytes]]:
    """A file of `size` zero bytes without a name, all its blocks reserved; or OSError, with nothing used up."""
    with tempfile.TemporaryFile(dir=folder) as file:
        # Asked first: a disk that is filled to its brim before it says no would fail others meanwhile.
        if size > shutil.disk_usage(folder).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            for start in range(0, size, _ZEROS_WRITTEN):
                file.write(bytes(min(_ZEROS_WRITTEN, size - start)))
            file.flush()
        yield file


def lies_in_memory(folder: Path) -> bool:
    """Whether the files of a folder take memory instead of disk, as far as the system tells (Linux)."""
    device = folder.stat().st_dev
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    kinds = {mount.partition(" - ")[2].split()[0] for mount in mounts if mount.split()[2] == number}
    return not kinds.isdisjoint(_KINDS_IN_MEMORY)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the only lock on an existing folder, or raise OSError."""
    if sys.platform == "win32":
        raise OSError("folders cannot be locked on this system")
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(descriptor), folder.stat()):
            raise FileNotFoundError("removed meanwhile")
        yield
    finally:
        os.close(descriptor)


def _exchange(new: Path, old: Path) -> None:
    """Put the folder `new` in the place of `old` and `old` in that of `new`, in one step where the system can."""
    if sys.platform == "linux":
        renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        swap = (_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE)
        if renameat2 is not None and renameat2(*swap) == 0:
            return
    # Two steps: a crash between them leaves the old folder complete under its waiting name.
    aside = previous_version(old)
    shutil.rmtree(aside, ignore_errors=True)
    old.rename(aside)
    try:
        new.rename(old)
    except OSError:
        aside.rename(old)
        raise
    shutil.rmtree(aside, ignore_errors=True)
