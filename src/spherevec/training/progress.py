"""What a training run tells about itself while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


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
