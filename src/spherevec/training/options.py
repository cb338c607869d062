"""How a training or an update is driven: where it runs, what it starts from, where it is saved; checked once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from spherevec.errors import ConfigError
from spherevec.model import KeyedVectors, Model
from spherevec.storage.locks import owned
from spherevec.training import checkpoint as checkpoints
from spherevec.training.progress import ProgressCallback, chosen_progress, safe_callback
from spherevec.training.runtime import Runtime

CHECKPOINT_EVERY = "10m"


@dataclass(frozen=True)
class Options:
    """Everything about a run but its text and settings; `spherevec.train` describes the fields.

    Attributes:
        report: where progress is reported to; set by `opened`.
        runtime: where the run takes place; set by `opened`.
    """

    initial: Model | KeyedVectors | None = None
    workdir: str | Path | None = None
    progress: ProgressCallback | bool | None = False
    checkpoint: str | Path | None = None
    checkpoint_every: str = CHECKPOINT_EVERY
    resume: bool = False
    start_over: bool = False
    finish: Callable[[Model], object] | None = None
    report: ProgressCallback = field(default=lambda progress: None)
    runtime: Runtime = field(default_factory=Runtime)

    @property
    def every(self) -> checkpoints.SaveInterval | None:
        """How often a checkpoint is saved; None where none is."""
        every = checkpoints.SaveInterval.parse(self.checkpoint_every)
        return None if self.checkpoint is None else every

    @contextmanager
    def opened(self, runtime: AbstractContextManager[Runtime]) -> Iterator[Options]:
        """Check everything before any text is read; then own the checkpoint, start the runtime and show progress.

        No other process writes the checkpoint while the context lasts.
        """
        self._check_initial()
        with nullcontext() if self.checkpoint is None else owned(self.checkpoint, run=True):
            self._check_checkpoint()
            with runtime as started, chosen_progress(self.progress) as shown:
                yield replace(self, runtime=started, report=safe_callback(shown))

    def _check_initial(self) -> None:
        if self.initial is not None and not isinstance(self.initial, Model | KeyedVectors):
            raise ConfigError(
                f"initial must be a Model or KeyedVectors, not {type(self.initial).__name__} "
                f"{repr(self.initial)[:40]}; open a saved model with spherevec.load(folder)"
            )

    def _check_checkpoint(self) -> None:
        every = self.every
        if self.checkpoint is None and self.resume:
            raise ConfigError("resume=True needs checkpoint, the folder to resume from")
        if self.checkpoint is not None and every and not self.resume:
            checkpoints.check_free(Path(self.checkpoint), self.start_over)
