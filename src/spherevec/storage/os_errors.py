"""One line for whatever the operating system says while a file is read or written."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from spherevec.errors import SpherevecError

_WRITING_REMEDIES = {
    errno.ENOSPC: "free some space there or choose another place",
    errno.EDQUOT: "free some space there or choose another place",
    errno.EFBIG: "raise the limit on the size of a file (ulimit -f) or choose another place",
}


@contextlib.contextmanager
def explain_os_errors(
    *,
    reading: str | Path | None = None,
    writing: str | Path | None = None,
    kind: type[SpherevecError] = SpherevecError,
) -> Iterator[None]:
    """Turn an OSError of the block into one of our errors, whose line names the file and what to do.

    Args:
        reading, writing: the file, folder or address that the block reads or writes; give one of them.
        kind: the class of the error.

    >>> with explain_os_errors(reading="posts.csv"):
    ...     open("/no/such/file")
    Traceback (most recent call last):
    spherevec.errors.SpherevecError: posts.csv: no such file or folder; check the spelling
    """
    try:
        yield
    except OSError as error:
        message = _when_reading(error) if writing is None else _when_writing(error)
        raise kind(f"{reading if writing is None else writing}: {message}") from error


def reason(error: OSError) -> str:
    """What went wrong, in the system's own words."""
    return error.strerror or " ".join(str(error).split())


def _when_reading(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder; check the spelling"
    if isinstance(error, PermissionError):
        return "permission denied; make it readable (chmod u+r)"
    return f"cannot read: {reason(error)}; check the disk"


def _when_writing(error: OSError) -> str:
    remedy = _WRITING_REMEDIES.get(error.errno or 0, "choose another place")
    return f"cannot write: {reason(error)}; {remedy}"
