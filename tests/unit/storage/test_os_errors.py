"""One line for what the operating system says."""

import errno
import os

import pytest

from spherevec.errors import CorpusError, SpherevecError
from spherevec.storage.os_errors import explain_os_errors


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (errno.ENOSPC, "out: cannot write: No space left on device; free some space there or choose another place"),
        (errno.EDQUOT, "out: cannot write: Disk quota exceeded; free some space there or choose another place"),
        (errno.EFBIG, "out: cannot write: File too large; raise the limit on the size of a file (ulimit -f) or"),
        (
            errno.EMFILE,
            "out: cannot write: Too many open files; close other programs, or raise the limit on open files",
        ),
        (errno.ENAMETOOLONG, "out: cannot write: File name too long; choose a shorter name"),
        (errno.EACCES, "out: cannot write: Permission denied; choose another place"),
    ],
)
def test_each_failure_to_write_has_its_own_remedy(number, line):
    with pytest.raises(SpherevecError) as caught, explain_os_errors(writing="out"):
        raise OSError(number, os.strerror(number))
    assert str(caught.value).startswith(line)


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (errno.ENOENT, "in.txt: no such file or folder; check the spelling"),
        (errno.EACCES, "in.txt: permission denied; make it readable (chmod u+r)"),
        (
            errno.EMFILE,
            "in.txt: cannot read: Too many open files; close other programs, or raise the limit on open files "
            "(ulimit -n)",
        ),
        (errno.ENAMETOOLONG, "in.txt: cannot read: File name too long; choose a shorter name"),
        (errno.EIO, "in.txt: cannot read: Input/output error; check the disk"),
    ],
)
def test_reading_raises_the_class_that_was_asked_for(number, line):
    with pytest.raises(CorpusError) as caught, explain_os_errors(reading="in.txt", kind=CorpusError):
        raise OSError(number, os.strerror(number))
    assert str(caught.value) == line


def test_other_errors_pass():
    with pytest.raises(KeyError), explain_os_errors(writing="out"):
        raise KeyError("a")
