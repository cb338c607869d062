"""Whether the disk has room for what a run will leave, asked before it is trained."""

from __future__ import annotations

import shutil
from pathlib import Path

from spherevec import process
from spherevec.config import TrainConfig
from spherevec.engine.base import table_rows
from spherevec.errors import ConfigError

_BYTES = 4  # of a number


def check_space(
    folder: Path, words: int, documents: int, config: TrainConfig, *, saves: bool, checkpoints: bool
) -> None:
    """Refuse to train what could not be saved; warn where only checkpoints have no room. Both say the arithmetic.

    Args:
        folder: where the model and its checkpoint will be; asked for its disk.
        saves: a model will be written there.
        checkpoints: checkpoints will be written there; an old one stays until the new one is complete.
    """
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    try:
        free = shutil.disk_usage(place).free
    except OSError:
        return
    rows = sum(table_rows(words, documents, config).values())
    kept = rows + (words if config.has_own_words else 0)  # the words that people see are a table of their own
    row = config.vector_size * _BYTES
    model = kept * row if saves else 0
    if model > free:
        raise ConfigError(
            f"{folder}: the model needs {_size(model)} ({kept:,} vectors of {config.vector_size} numbers of {_BYTES} "
            f"bytes), {_size(free)} are free; free some space, choose another place, or lower "
            "vector_size (--vector-size)"
        )
    most = max(2 * rows * row, rows * row + model) if checkpoints else 0
    if most > free:
        process.warn(
            f"{folder}: checkpoints need {_size(most)} (twice {rows:,} vectors while one is replaced, or one beside "
            f"the model), {_size(free)} are free; some may not be saved"
        )


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.2f} MB"
