"""How a training or an update is driven: where it runs, what it starts from, where it is saved; checked once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from spherevec import process
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.corpus.read.options import option
from spherevec.engine.base import table_rows
from spherevec.errors import ConfigError
from spherevec.model import KeyedVectors, Model
from spherevec.storage.locks import owned
from spherevec.training import checkpoint as checkpoints
from spherevec.training.progress import Progress, ProgressCallback, chosen_progress, safe_callback
from spherevec.training.runtime import Runtime

_BYTES = 4  # of a number


@dataclass(frozen=True)
class Options:
    """Everything about a run but its text and settings."""

    workdir: str | Path | None = option(
        None,
        "where the encoded corpus is kept while training (4 to 8 bytes a word) and, as long as the model is used, the "
        "words of each document (up to 13 bytes a word) and document vectors that would not fit into memory; the "
        "system's folder for temporary files by default.",
    )
    progress: ProgressCallback | bool | None = option(
        None,
        "a function that is called a few times a second with a `Progress`; True for a bar, False for silence; by "
        "default a bar on terminals and in notebooks. An exception in it is warned about once and does not end "
        "training; `KeyboardInterrupt` does, after a checkpoint.",
    )
    checkpoint: str | Path | None = option(
        None,
        "a folder to save the unfinished run to, from time to time, when it is interrupted (Ctrl-C), and when its "
        "model cannot be made or saved. It stays when training is done: remove it when you have saved the model.",
    )
    checkpoint_every: str = option(
        "10m", 'how often: "90s", "10m", "2h", or "2e" for every second epoch; "off" for never.'
    )
    resume: bool = option(
        False, "go on from that folder with the same text and settings; start from the beginning if it is not there."
    )
    start_over: bool = option(
        False, "an unfinished run in that folder may be replaced; it stays until this run has saved something."
    )
    finish: Callable[[Model], object] | None = option(
        None,
        "called with the finished model before any interruption is let through, to save it, on the disk of "
        "`checkpoint`: a run that would find no room there is refused before it trains. False if it did not save it.",
    )
    initial: Model | KeyedVectors | None = None
    # Where progress is reported to, and where the run takes place; set by `opened`.
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
        if self.initial is not None and not isinstance(self.initial, Model | KeyedVectors):
            raise ConfigError(
                f"initial must be a Model or KeyedVectors, not {type(self.initial).__name__} "
                f"{repr(self.initial)[:40]}; open a saved model with spherevec.load(folder)"
            )
        with nullcontext() if self.checkpoint is None else owned(self.checkpoint, run=True):
            every = self.every
            if self.checkpoint is None and self.resume:
                raise ConfigError("resume=True needs checkpoint, the folder to resume from")
            if self.checkpoint is not None and every and not self.resume:
                checkpoints.check_free(Path(self.checkpoint), self.start_over)
            with runtime as started, chosen_progress(self.progress) as shown:
                yield replace(self, runtime=started, report=safe_callback(shown))

    def encode(self, source: Any, folder: Path, **how: Any) -> EncodedCorpus:
        """Read a source where the run takes place, and report it; `spherevec.corpus.encode` has the arguments."""
        self.report(Progress("reading", 0.0))
        return self.runtime.encode(
            source,
            folder,
            **how,
            progress=lambda done, total: self.report(Progress("reading", done / total if total else None)),
        )

    def check_space(self, words: int, documents: int, config: TrainConfig) -> None:
        """Refuse to train what could not be saved; warn where only checkpoints have no room. Both say the arithmetic.

        The model that `finish` saves and the checkpoints go to one disk; an old checkpoint stays until the new one is
        complete.
        """
        if self.checkpoint is None:
            return
        folder = Path(self.checkpoint)
        place = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
        try:
            free = shutil.disk_usage(place).free
        except OSError:
            return
        rows = sum(table_rows(words, documents, config).values())
        kept = rows + (words if config.has_own_words else 0)  # the words that people see are a table of their own
        row = config.vector_size * _BYTES
        model = 0 if self.finish is None else kept * row
        if model > free:
            raise ConfigError(
                f"{folder}: the model needs {_size(model)} ({kept:,} vectors of {config.vector_size} numbers of "
                f"{_BYTES} bytes), {_size(free)} are free; free some space, choose another place, or lower "
                "vector_size (--vector-size)"
            )
        most = max(2 * rows * row, rows * row + model) if self.every else 0
        if most > free:
            process.warn(
                f"{folder}: checkpoints need {_size(most)} (twice {rows:,} vectors while one is replaced, or one "
                f"beside the model), {_size(free)} are free; some may not be saved"
            )


PUBLIC = tuple(spec for spec in fields(Options) if spec.metadata)


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.2f} MB"
