"""What a training run tells about itself while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spherevec import process


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
