"""What a training run tells about itself while it goes on, and a live bar of it, by rich."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, cast

from spherevec import process
from spherevec.engine.figures import shown

if TYPE_CHECKING:
    from rich.console import RenderableType


_PHASES = {"compiling": "compiling, or loading what an earlier run has compiled"}


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    Attributes:
        phase: "reading", "compiling", "resuming", "training" or "finishing".
        done: share of the phase that is done, None if unknown.
        figures: of the epoch so far, by name; `spherevec.engine.figures` describes them. Empty outside training.
    """

    phase: str
    done: float | None = None
    epoch: int | None = None
    epochs: int | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    seconds_left: float | None = None


ProgressCallback = Callable[[Progress], None]


def safe_callback(progress: ProgressCallback | None) -> ProgressCallback:
    """A callback that cannot end a run: its first exception is warned about. `KeyboardInterrupt` goes through."""
    warned = False

    def report(now: Progress) -> None:
        nonlocal warned
        try:
            if progress is not None:
                progress(now)
        except Exception as error:
            if not warned:
                process.warn(f"progress cannot be reported ({type(error).__name__}: {error}); training goes on")
            warned = True

    return report


def in_notebook() -> bool:
    """Whether this runs in a notebook, where rich draws without a terminal."""
    shell = sys.modules.get("IPython")
    active = shell.get_ipython() if shell is not None and hasattr(shell, "get_ipython") else None
    return active is not None and type(active).__name__ == "ZMQInteractiveShell"


class _SafeStream:
    """A stream that never complains: the terminal behind it may be gone."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


@contextmanager
def live_bar() -> Iterator[ProgressCallback]:
    """A bar that is redrawn with each `Progress`, and gone at the end."""
    from rich.console import Console
    from rich.live import Live

    console = Console() if in_notebook() else Console(file=cast(IO[str], _SafeStream(sys.stderr)))
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield lambda progress: live.update(live_view(progress))


def shows_bar(progress: ProgressCallback | bool | None) -> bool:
    """Whether a bar is drawn: for True, and for None on terminals and in notebooks."""
    if progress is None:
        return sys.stderr.isatty() or in_notebook()
    return progress is True


@contextmanager
def chosen_progress(progress: ProgressCallback | bool | None) -> Iterator[ProgressCallback]:
    """What to report to: a function as given; the bar for True, and for None on terminals and in notebooks."""
    if callable(progress):
        yield progress
    elif shows_bar(progress):
        with live_bar() as bar:
            yield bar
    else:
        yield lambda progress: None


def live_view(progress: Progress) -> RenderableType:
    """The bar, and the figures of the epoch below it."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    known = progress.done is not None
    row = Table.grid(padding=(0, 2), expand=True)
    for ratio in (None, 1, None, None):
        row.add_column(ratio=ratio, no_wrap=True)
    row.add_row(
        Text(phase_of(progress), style="bold"),
        ProgressBar(total=1.0 if known else None, completed=progress.done or 0.0, pulse=not known),
        f"{progress.done:4.0%}" if known else "",
        "" if progress.seconds_left is None else f"{duration(progress.seconds_left)} left",
    )
    figures = shown(progress.figures)
    return Group(row, Text(" · ".join(figures), style="dim")) if figures else row


def phase_of(progress: Progress) -> str:
    """The phase, with the epoch where there is one."""
    if progress.epoch is None:
        return _PHASES.get(progress.phase, progress.phase)
    return f"{progress.phase}, epoch {progress.epoch} of {progress.epochs}"


def duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
