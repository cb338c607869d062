"""What a training run tells about itself while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Where a run stands. The figures are None outside training.

    Attributes:
        phase: "reading", "compiling", "resuming", "training" or "finishing".
        done: share of the phase that is done, None if unknown.
        tokens_per_second: words of the text trained on each second, thinned-out ones included.
        loss: mean loss for each drawn word that was compared, over the epoch so far.
        violated: share of drawn words that come within `margin` of the real one, over the epoch so far.
        mean_resultant_length: length of the mean word vector; near 1 = all words in one direction, 0 = spread out.
    """

    phase: str
    done: float | None = None
    epoch: int | None = None
    epochs: int | None = None
    tokens_per_second: float | None = None
    loss: float | None = None
    violated: float | None = None
    mean_resultant_length: float | None = None
    seconds_left: float | None = None


ProgressCallback = Callable[[Progress], None]
