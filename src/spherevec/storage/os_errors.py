"""One line for whatever the operating system says while a file is read or written."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from spherevec.errors import SpherevecError

_TOO_MANY_FILES = "close other programs, or raise the limit on open files (ulimit -n)"
_REMEDIES = {
    errno.EMFILE: _TOO_MANY_FILES,
    errno.ENFILE: _TOO_MANY_FILES,
    errno.ENAMETOOLONG: "choose a shorter name",
}
_WRITING_REMEDIES = {
    **_REMEDIES,
    errno.ENOSPC: "free some space there or choose another place",
    errno.EDQUOT: "free some space there or choose another place",
    errno.EFBIG: "raise the limit on the size of a file (ulimit -f) or choose another place",
}


@contextlib.contextmanager
def explain_os_errors(
    *, reading: str | Path | None = None, writing: str | Path | None = None, kind: type[SpherevecError] = SpherevecError
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
        if writing is not None:
            remedy = _WRITING_REMEDIES.get(error.errno or 0, "choose another place")
            message = f"cannot write: {reason(error)}; {remedy}"
        elif isinstance(error, FileNotFoundError):
            message = "no such file or folder; check the spelling"
        elif isinstance(error, PermissionError):
            message = "permission denied; make it readable (chmod u+r)"
        else:
            remedy = _REMEDIES.get(error.errno or 0, "check the disk")
            message = f"cannot read: {reason(error)}; {remedy}"
        raise kind(f"{reading if writing is None else writing}: {message}") from error


def reason(error: OSError) -> str:
    """What went wrong, in the system's own words."""
    return error.strerror or " ".join(str(error).split())
