"""Write a file or a folder completely or not at all: a temporary sibling, synced, then renamed into place.

What is written has one owner meanwhile. Only regular files and folders of our own are ever replaced, and what is
replaced keeps its mode and, where the system lets us, its owner. `OpenFolder` reads a folder that may be replaced.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import glob
import os
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator, Set
from functools import reduce
from operator import and_
from pathlib import Path
from typing import IO, BinaryIO, Self

from spherevec.errors import SpherevecError
from spherevec.process import signals_held_back
from spherevec.storage.locks import exclusive_lock, made_folders, owned, resolved
from spherevec.storage.os_errors import explain_os_errors, reason

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_EXISTS = "already exists; choose another name, or give overwrite=True (--force) to replace it"
_ZEROS_WRITTEN = 1 << 22
_KINDS_IN_MEMORY = {"tmpfs", "ramfs"}
_NOT_PLAIN = {errno.ELOOP, errno.ENXIO, errno.EMLINK}  # what opening a link or a pipe says


@contextlib.contextmanager
def atomic_file(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yields a temporary path to write to; it becomes `path` when the block ends well and disappears otherwise.

    Args:
        path: a new file, or a regular one; folders, devices, pipes and sockets are refused.
        overwrite: an existing file may be replaced; one that appears while we write is never, without this.
    """
    with explain_os_errors(writing=path), owned(path) as target:
        check_file(path, target, overwrite=overwrite)
        with temporary_folder(target) as folder:
            temporary = folder / target.name
            yield temporary
            with _committed(path):
                sync(temporary)
                # Again: writing takes its time, and others may have put something there meanwhile.
                check_file(path, target, overwrite=overwrite)
                if target.exists():
                    _keep_permissions(target, temporary)
                    temporary.replace(target)
                else:
                    _rename_new(path, temporary, target)
                sync(target.parent)


@contextlib.contextmanager
def atomic_folder(path: str | Path, *, overwrite: bool = False, ours: Set[str] = frozenset()) -> Iterator[Path]:
    """Yields a temporary folder to fill; it becomes `path` when the block ends well and disappears otherwise.

    Args:
        overwrite: an existing folder may be replaced; it stays until the new one is complete.
        ours: the names that such a folder holds; one that holds anything else is never replaced.
    """
    with explain_os_errors(writing=path), owned(path) as target:
        check_folder(path, target, overwrite=overwrite, ours=ours)
        with temporary_folder(target) as folder:
            temporary = folder / target.name
            temporary.mkdir()
            yield temporary
            with _committed(path):
                if target.exists():
                    _keep_permissions_inside(target, temporary)
                for entry in sorted(temporary.rglob("*")):
                    sync(entry)
                sync(temporary)
                # Again: writing takes its time, and others may have written or removed the folder meanwhile.
                check_folder(path, target, overwrite=overwrite, ours=ours)
                if target.exists() and any(target.iterdir()):
                    _exchange(temporary, target)
                else:
                    temporary.rename(target)
                sync(target.parent)


def previous_version(path: str | Path) -> Path:
    """Where the old folder waits while it is replaced, on systems that cannot swap two folders in one step."""
    target = Path(path)
    return target.with_name(f".{target.name}.previous")


def sync(path: Path) -> None:
    """Force a file or folder to the disk."""
    folder = path.is_dir()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network disks cannot sync a folder; its files are synced all the same.
        if not folder or error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def check_file(path: str | Path, target: Path | None = None, *, overwrite: bool = False) -> None:
    """Refuse a path that `atomic_file` would not write to; `target` where its links have been followed."""
    try:
        mode = (target or resolved(path)).lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise SpherevecError(f"{path}: is a folder; choose a file name")
    if not stat.S_ISREG(mode):
        raise SpherevecError(f"{path}: is a device, a pipe or a socket, and only regular files are replaced")
    if not overwrite:
        raise SpherevecError(f"{path}: {_EXISTS}")


def check_folder(
    path: str | Path, target: Path | None = None, *, overwrite: bool = False, ours: Set[str] = frozenset()
) -> None:
    """The same for `atomic_folder`."""
    target = target or resolved(path)
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise SpherevecError(f"{path}: is a file; choose another name for the folder")
    inside = [entry.name for entry in target.iterdir()]
    if inside and not overwrite:
        raise SpherevecError(f"{path}: {_EXISTS}")
    foreign = next((name for name in inside if name not in ours), None)
    if foreign is not None:
        raise SpherevecError(f"{path}: holds {foreign!r}, which would be lost; choose another name")


def _keep_permissions(old: Path, new: Path, mode: int | None = None) -> None:
    """Give `new` the owner and the mode of `old`, or the given mode; whoever cannot keep the group lets go of it."""
    before = old.stat()
    mode = stat.S_IMODE(before.st_mode) if mode is None else mode
    try:
        os.chown(new, before.st_uid, before.st_gid)
    except OSError:
        try:
            os.chown(new, -1, before.st_gid)
        except OSError:
            # Another group may do what all others may do.
            mode = mode & ~0o070 | (mode & 0o007) << 3
    with contextlib.suppress(OSError):  # a disk without modes, such as FAT
        new.chmod(mode)


def _keep_permissions_inside(old: Path, new: Path) -> None:
    """The same for a folder and its files; a file that was not there before is no more open than any that was."""
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in old.iterdir() if entry.is_file()}
    common = reduce(and_, modes.values(), 0o666)
    for entry in new.iterdir() if modes else ():
        _keep_permissions(old, entry, modes.get(entry.name, common))
    _keep_permissions(old, new)


def _rename_new(path: str | Path, temporary: Path, target: Path) -> None:
    """Rename a file to a name that nobody has, in one step where the system can."""
    try:
        if not _renameat2(temporary, target, _RENAME_NOREPLACE):
            os.link(temporary, target)
    except FileExistsError:
        raise SpherevecError(f"{path}: somebody else has written it meanwhile; choose another name") from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        # No links on this disk; a moment ago there was no such file.
        temporary.rename(target)


@contextlib.contextmanager
def _committed(path: str | Path) -> Iterator[None]:
    """Signals wait until an output is in its place; an interruption that comes after that says so."""
    complete = False
    try:
        with signals_held_back():
            yield
            complete = True
    except KeyboardInterrupt as interrupt:
        if complete:
            interrupt.add_note(f"{path} is complete")
        raise


@contextlib.contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """A folder beside `target`, on the same disk, locked while we live and removed in the end.

    Folders of processes that were killed carry no lock any more and are removed on the way.
    """
    prefix = f".{target.name}.partial-"
    with made_folders(target.parent), contextlib.ExitStack() as lock:
        for stale in target.parent.glob(f"{glob.escape(prefix)}*"):
            with contextlib.suppress(OSError), _locked(stale):
                shutil.rmtree(stale, ignore_errors=True)
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
            with signals_held_back():
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def working_folder(place: str | Path | None) -> Iterator[Path]:
    """A folder for temporary files in `place`, or where the system keeps such files, as `temporary_folder` makes it."""
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder(temporary_place(place) / "spherevec"))
        except OSError as error:
            named = "no folder for temporary files" if place is None else f"{place}: cannot be worked in"
            raise SpherevecError(f"{named}: {reason(error)}; choose another place (TMPDIR, or workdir)") from None
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


class SpillFile:
    """A file that grows and is removed on leaving the context; any thread may write, and read what is written."""

    def __init__(self, path: Path, kind: type[SpherevecError] = SpherevecError) -> None:
        self.path, self._kind, self._lock = path, kind, threading.Lock()
        with explain_os_errors(writing=path.parent, kind=kind):
            self._file = path.open("wb")

    def append(self, *parts: bytes | bytearray | memoryview) -> int:
        """Write the parts one after another; returns where they begin."""
        with self._lock, explain_os_errors(writing=self.path.parent, kind=self._kind):
            begin = self._file.tell()
            for part in parts:
                self._file.write(part)
            self._file.flush()
        return begin

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError):  # on a full disk, closing tries to write once more
            self._file.close()
        with contextlib.suppress(OSError):  # its folder goes with all that is in it
            self.path.unlink(missing_ok=True)


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
    """Hold the only lock on an existing folder of our own, or raise OSError; what is only named so is left alone."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError("the folder of somebody else")
        exclusive_lock(descriptor)
        if not os.path.samestat(os.fstat(descriptor), folder.stat()):
            raise FileNotFoundError("removed meanwhile")
        yield
    finally:
        os.close(descriptor)


def _exchange(new: Path, old: Path) -> None:
    """Put the folder `new` in the place of `old` and `old` in that of `new`, in one step where the system can."""
    if _renameat2(new, old, _RENAME_EXCHANGE):
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


def _renameat2(source: Path, target: Path, flags: int) -> bool:
    """Rename as Linux can with `flags`; False where it cannot, here or on this disk."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number == errno.EEXIST:
        raise FileExistsError(number, os.strerror(number), str(target))
    return False


class OpenFolder:
    """The files of a folder, opened by name.

    Where the system can, the folder itself is held open: should another folder take its place, files still come from
    this one, as long as they are there. Links, pipes and devices are never opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        if os.open in os.supports_dir_fd:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def open(self, name: str) -> BinaryIO:
        """A regular file of the folder; FileNotFoundError where there is none of that name."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        place = name if self._descriptor is not None else self.path / name
        try:
            descriptor = os.open(place, flags, dir_fd=self._descriptor)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return os.fdopen(descriptor, "rb")
            os.close(descriptor)
        except OSError as error:
            if error.errno not in _NOT_PLAIN:
                raise
        raise FileNotFoundError(errno.ENOENT, "not a plain file", str(self.path / name))

    def read(self, name: str, longest: int) -> bytes:
        """What a regular file of the folder holds; ValueError for over `longest` bytes, before memory is taken."""
        with self.open(name) as file:
            if os.fstat(file.fileno()).st_size > longest:
                raise ValueError(f"{name} is over {longest >> 20} MB")
            return file.read()

    def replaced(self) -> bool:
        """Whether the path leads to another folder by now, or nowhere."""
        if self._descriptor is None:
            return not self.path.is_dir()
        try:
            return not os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except OSError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
