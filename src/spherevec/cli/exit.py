"""How the command line ends: whatever goes wrong becomes one line on standard error and an exit code."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from spherevec.cli.display import tell
from spherevec.cli.options import READING, SETTINGS
from spherevec.config import OTHER_NAMES
from spherevec.errors import SpherevecError
from spherevec.process import ENDING_SIGNALS, give_handlers_back

EXIT_ERROR = 2
# As shells report a program that SIGPIPE ended; other signals likewise.
EXIT_BROKEN_PIPE = 141
_EXIT_SIGNAL = 128
_ENDED_BY = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}

# What the loader, and Python's threads, say instead of raising MemoryError.
_SIGNS_OF_NO_MEMORY = ("failed to map segment", "annot allocate memory", "can't start new thread")

# Python's spelling in a message: resume=True (--resume), which is --resume here; and with options of the same name
# text_field=NAME, ragged='skip', keep ['team'], alpha must be; but not biases.documents must be.
_BOTH_SPELLINGS = re.compile(r"(?<![\w='])[\w=']++ \((--[^()]+)\)")
_NAMES = "|".join([*SETTINGS, *(spec.name for spec in READING)])
_OPTION = re.compile(rf"(?<!\.)\b({_NAMES})(?:[= ]('[^']*'|\[[^]]*\])|=(?=NAMES?\b|X\b)| (?=must |names '))")

# What other programs call options that are not training settings.
_OTHER_OPTIONS = {
    **dict.fromkeys(("n_topics", "nr_topics", "num_topics", "n_components", "n_clusters", "topics"), "k"),
    **dict.fromkeys(("topn", "top_k", "top_n", "limit", "n_results", "num_results"), "top"),
    **dict.fromkeys(("output", "out_file", "output_dir", "o"), "out"),
    **dict.fromkeys(("text_column", "text_col", "text"), "text_field"),
    **dict.fromkeys(("id_column", "id_col"), "id_field"),
    **dict.fromkeys(("filter", "filters"), "where"),
    **dict.fromkeys(("overwrite", "yes"), "force"),
    **dict.fromkeys(("silent", "no_progress"), "quiet"),
    **dict.fromkeys(("sep", "separator"), "delimiter"),
}


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """The first signal that asks the program to end raises `KeyboardInterrupt` with its number; others are ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = False

    def end(number: int, frame: object) -> None:
        nonlocal ending
        if not ending:
            ending = True
            raise KeyboardInterrupt(number)

    # What the caller ignores, as nohup does, stays ignored.
    numbers = [number for number in ENDING_SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        ending = True
        give_handlers_back(before)


def exit_code_of(command: Callable[[], None]) -> int:
    """Run `command`; a defect of the program itself still shows its traceback."""
    _prepare_streams()
    try:
        with warnings.catch_warnings(), _ended_by_signals():
            warnings.showwarning = lambda message, *_: tell(f"spherevec: warning: {_one_line(str(message))}")
            command()
            sys.stdout.flush()
        return 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:
        _drop_output()
        return EXIT_BROKEN_PIPE
    except KeyboardInterrupt as interrupt:
        notes = getattr(interrupt, "__notes__", None) or ["what was there before is untouched"]
        number = interrupt.args[0] if interrupt.args else signal.SIGINT
        tell(f"spherevec: {_ENDED_BY[signal.Signals(number).name]}; {_one_line(notes[-1])}")
        return _EXIT_SIGNAL + number
    except (click.ClickException, SpherevecError, MemoryError, OSError, ImportError, RuntimeError) as error:
        message = _message(error)
        if message is None:
            raise
        if isinstance(error, OSError) and not isinstance(error, SpherevecError):
            _drop_output()
        tell(f"spherevec: error: {_one_line(_joined(message, *getattr(error, '__notes__', ())))}")
        return EXIT_ERROR


def _message(error: Exception) -> str | None:
    """What to tell about an error; None for a defect of the program."""
    match error:
        case SpherevecError():
            message = _BOTH_SPELLINGS.sub(r"\1", str(error))
            return _OPTION.sub(_as_typed, message)
        case click.NoSuchOption() if _our_name(error) is not None:
            return f"No such option: {error.option_name}; here it is called {_our_name(error)}"
        case click.UsageError():
            command = error.ctx.command_path if error.ctx else "spherevec"
            message = re.sub("a valid integer( range)?", "a whole number", error.format_message().rstrip("."))
            return _joined(message.replace("a valid float range", "a number"), f"see '{command} --help'")
        case click.ClickException():
            return error.format_message()
        case MemoryError():
            detail = f" ({error})" if str(error) else ""
            return f"not enough memory{detail}; close other programs, or lower --vector-size or --max-vocab"
        case OSError() | ImportError() | RuntimeError() if _lacks_memory(error):
            return "not enough memory to load or start what is needed; close other programs, or lower --threads"
        case FileNotFoundError() if error.filename is None and _is_working_directory_gone():
            return "the working directory is gone; change to another (cd)"
        case OSError():
            return f"{error.filename or 'reading or writing failed'}: {error.strerror or error}"
        case _:
            return None


def _is_working_directory_gone() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _as_typed(found: re.Match[str]) -> str:
    """What matched `_OPTION`, as it is typed on the command line."""
    value = ",".join(re.findall(r"'([^']*)'", found[2] or ""))
    return f"--{found[1].replace('_', '-')} " + (shlex.quote(value) if found[2] else "")


def _joined(first: str, *others: str) -> str:
    """Parts of one message; after a question the next one begins without a semicolon."""
    return "; ".join([first, *others]).replace("?; ", "? ")


def _our_name(error: click.NoSuchOption) -> str | None:
    """The option of the command that goes by another name elsewhere."""
    name = error.option_name.lstrip("-").replace("-", "_")
    ours = [_OTHER_OPTIONS.get(name), OTHER_NAMES.get(name)]
    flags = {flag for param in error.ctx.command.params for flag in param.opts} if error.ctx is not None else set()
    return next((flag for one in ours if one and (flag := "--" + one.replace("_", "-")) in flags), None)


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether an error, or one behind it, comes from a library or a thread that found no memory."""
    while error is not None:
        text = str(error)
        if getattr(error, "errno", None) == errno.ENOMEM or any(sign in text for sign in _SIGNS_OF_NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _prepare_streams() -> None:
    # Python has no stream at all where the caller closed it (2>&-). In this order each gets its own number.
    sys.stdin = sys.stdin or Path(os.devnull).open()  # noqa: SIM115
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A word that the terminal cannot show must not end the program. A caller's own stream may take anything.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _drop_output() -> None:
    """What could not be written must not be tried again when Python exits."""
    with suppress(OSError):  # a program that calls `main` may have put something else in its place
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
