"""How the command line ends: whatever goes wrong becomes one line on standard error and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import click

from spherevec.cli.display import tell
from spherevec.errors import SpherevecError

EXIT_ERROR = 2
# As shells report a program that SIGINT or SIGPIPE ended.
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


def exit_code_of(command: Callable[[], None]) -> int:
    """Run `command`; a defect of the program itself still shows its traceback."""
    warnings.showwarning = lambda message, *_: tell(f"spherevec: warning: {_one_line(str(message))}")
    _prepare_streams()
    try:
        command()
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:
        _drop_output()
        return EXIT_BROKEN_PIPE
    except KeyboardInterrupt:
        tell("spherevec: interrupted; what was there before is untouched")
        return EXIT_INTERRUPTED
    except (click.ClickException, SpherevecError, MemoryError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, SpherevecError):
            _drop_output()
        tell(f"spherevec: error: {_one_line(_message(error))}")
        return EXIT_ERROR


def _message(error: Exception) -> str:
    match error:
        case SpherevecError():
            return str(error)
        case click.UsageError():
            command = error.ctx.command_path if error.ctx else "spherevec"
            return f"{error.format_message().rstrip('.')}; see '{command} --help'"
        case click.ClickException():
            return error.format_message()
        case OSError():
            return f"{error.filename or 'reading or writing failed'}: {error.strerror or error}"
        case _:
            return f"not enough memory ({error}); close other programs, or lower --dim or --max-vocab"


def _prepare_streams() -> None:
    # Python has no stream at all where the caller closed it (2>&-).
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A word that the terminal cannot show must not end the program.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _drop_output() -> None:
    """What could not be written must not be tried again when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
