"""What `--json` and `--quiet` decide: how a command shows its result, and what it keeps to itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spherevec.cli import display

if TYPE_CHECKING:
    from spherevec.corpus.count.summary import CorpusSummary
    from spherevec.training.progress import Progress


@dataclass(frozen=True)
class Console:
    """Results on standard output, messages on standard error."""

    as_json: bool
    quiet: bool

    def result(self, value: Any, show: Callable[[], object]) -> None:
        """Print a result: `value` as JSON with --json, otherwise whatever `show` prints."""
        if self.as_json:
            display.print_json(value)
        else:
            show()

    def tell(self, message: str) -> None:
        """A message that --quiet leaves out."""
        if not self.quiet:
            display.tell(message)

    def written(self, message: str, value: Any) -> None:
        """What was written where: the last message of a command, or JSON with --json."""
        if not (self.quiet and self.as_json):
            display.tell(message)
        if self.as_json:
            display.print_json(value)

    def summary(self, summary: CorpusSummary | None) -> None:
        """What was read, a line each; only the warnings with --quiet."""
        if summary is None:
            return
        warnings = [f"warning: {warning}" for warning in summary.warnings]
        for line in warnings if self.quiet else str(summary).splitlines():
            display.tell(line)

    def progress(self) -> AbstractContextManager[Callable[[Progress], None]]:
        """Something to report progress to."""
        return display.progress_display(self.quiet)
