"""One owner for each output: a lock file beside it, held from the first check to the last rename.

The system drops the lock of a process that dies, so that nothing is ever locked by a dead one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from spherevec import process
from spherevec.errors import BusyError, SpherevecError
from spherevec.storage.os_errors import explain_os_errors

# What a disk without locks says.
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
_LONGEST_NOTE = 300

# What this process owns: the thread that does, and whether for a whole run.
_holds: dict[Path, tuple[int, bool]] = {}
_released = threading.Condition()


def _forget_holds() -> None:
    """A forked child owns nothing."""
    global _released
    _holds.clear()
    _released = threading.Condition()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_holds)


@contextlib.contextmanager
def owned(path: str | Path, *, run: bool = False) -> Iterator[Path]:
    """Own an output meanwhile; yields its path with links followed.

    Another process that owns it is refused at once with a `BusyError`. A thread of this process that writes waits for
    another that writes, and is refused where the other owns the output for a whole run. A thread that owns an output
    may ask for it again.

    Args:
        path: the file or folder that will be written. Folders on the way are made, and removed if nothing came.
        run: the output is owned for a whole run, not just while it is written.
    """
    target, me = resolved(path), threading.get_ident()
    with _released:
        while (hold := _holds.get(target)) is not None and hold[0] != me:
            if hold[1] or run:
                raise BusyError(f"{path}: another thread of this process is writing it; wait, or choose another name")
            _released.wait()
        _holds.setdefault(target, (me, run))
    if hold is not None:
        yield target
        return
    try:
        with contextlib.ExitStack() as stack:
            with explain_os_errors(writing=path):
                stack.enter_context(made_folders(target.parent))
                stack.enter_context(_locked_file(path, target))
            yield target
    finally:
        with _released:
            del _holds[target]
            _released.notify_all()


def resolved(path: str | Path) -> Path:
    """`path` with links followed, so that what a link points to is replaced and not the link."""
    try:
        target = Path(path).resolve()
    except FileNotFoundError:
        raise SpherevecError(
            f"{path}: the working directory is gone; change to another (cd), or give the whole path"
        ) from None
    except (OSError, RuntimeError, ValueError) as error:
        raise SpherevecError(f"{str(path)!r}: not a usable path ({error}); choose another name") from None
    if not target.name:
        raise SpherevecError(f"{path}: is the root of the file system; give the name of a file or folder")
    return target


@contextlib.contextmanager
def made_folders(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; remove what was made if it is still empty in the end."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            for place in missing:
                place.rmdir()


def lock_name(target: Path) -> Path:
    """Where the lock of an output lies."""
    return target.with_name(f".{target.name}.lock")


@contextlib.contextmanager
def _locked_file(path: str | Path, target: Path) -> Iterator[None]:
    """Hold the lock file of an output, or raise `BusyError`; on a disk without locks, warn."""
    lock, has_lock = lock_name(target), False
    while not has_lock:
        with _open_lock(path, lock) as file:
            try:
                exclusive_lock(file.fileno())
                with contextlib.suppress(FileNotFoundError):
                    has_lock = os.path.samestat(os.fstat(file.fileno()), lock.lstat())
                if not has_lock:  # its owner removed it before we had it
                    continue
            except BlockingIOError:
                number, _, host = file.read(_LONGEST_NOTE).decode("ascii", "replace").strip().partition(" ")
                owner = f"process {number}" if number.isdigit() else "another process"
                owner += f" on {host}" if number.isdigit() and host != socket.gethostname() else ""
                raise BusyError(
                    f"{path}: {owner} is writing it; wait until that has ended, or choose another name"
                ) from None
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
                has_lock, reason = True, error.strerror
                process.warn(f"{path}: this disk has no locks ({reason}); see to it that no other run writes there")
            try:
                with contextlib.suppress(OSError):  # on a full disk others are refused without our name
                    file.truncate(0)
                    file.write(f"{os.getpid()} {socket.gethostname()}\n".encode())
                yield
            finally:
                with contextlib.suppress(OSError):
                    lock.unlink()


def _open_lock(path: str | Path, lock: Path) -> BinaryIO:
    """Neither a link nor a FIFO of that name may lead or hold us somewhere."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return cast(BinaryIO, os.fdopen(descriptor, "r+b", buffering=0))
        os.close(descriptor)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise
    raise SpherevecError(f"{path}: {lock} is in the way and no regular file; remove it")


def exclusive_lock(descriptor: int) -> None:
    """Lock an open file or folder, or raise OSError: BlockingIOError where another has it."""
    import fcntl  # not on Windows, where models are read all the same

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
