"""What commands open and check before they work, so that a mistake costs no time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spherevec.errors import ConfigError

if TYPE_CHECKING:
    from spherevec.model import Model
    from spherevec.model.keyed_vectors import KeyedVectors


def load_model(folder: Path, memory_map: bool = True) -> Model:
    """The model in `folder`, mapped rather than read unless it will be replaced."""
    from spherevec.model import Model

    return Model.load(folder, mmap=memory_map)


def documents_of(model: Model, folder: Path) -> KeyedVectors:
    """The documents of a model, or an error if it has none."""
    if model.docs is None:
        if model.config is None:
            raise ConfigError(f"{folder}: was imported without documents; import them with --docs FILE")
        raise ConfigError(f"{folder}: has no documents; train on text without --words-only, or import them (--docs)")
    return model.docs


def check_free(path: Path, force: bool) -> None:
    """Refuse before any work is done to write over what is there."""
    if not force and path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ConfigError(f"{path}: already exists; choose another name, or give --force to replace it")


@contextmanager
def output(path: Path, force: bool) -> Iterator[None]:
    """Own a file or folder that a command will write, from before the first check until it is written."""
    from spherevec.storage.files import check_file
    from spherevec.storage.locks import owned

    if not path.is_dir():
        check_file(path, overwrite=force)
    check_free(path, force)
    with owned(path, run=True):
        check_free(path, force)
        yield
