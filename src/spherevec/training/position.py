"""Where a run stands between two blocks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from spherevec.engine.figures import Sums

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Position:
    """A run's place in its work. Replaced as a whole, so that an interruption never finds half of a change.

    Attributes:
        epoch: how many epochs are finished.
        left: the numbers [first, last) of the blocks that are left of the next epoch, None where it is not begun.
        before: the figures at the start of that epoch.
        seconds: spent on that epoch.
        record: the figures of each finished epoch.
        refitted: how many documents have been fitted once more at the end.
    """

    epoch: int = 0
    left: Ranges | None = None
    before: Sums = field(default_factory=Sums)
    seconds: float = 0.0
    record: tuple[dict[str, Any], ...] = ()
    refitted: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Position:
        left = values["left"]
        return cls(
            epoch=int(values["epoch"]),
            left=None if left is None else tuple((int(first), int(last)) for first, last in left),
            before=Sums(**values["before"]),
            seconds=float(values["seconds"]),
            record=tuple(dict(epoch) for epoch in values["record"]),
            refitted=int(values["refitted"]),
        )
