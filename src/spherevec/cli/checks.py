"""What commands open and check before they work, so that a mistake costs no time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spherevec.cli import display
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
    from spherevec.storage.files import check_writable_file
    from spherevec.storage.locks import owned

    if not path.is_dir():
        check_writable_file(path, overwrite=force)
    check_free(path, force)
    with owned(path, run=True):
        check_free(path, force)
        yield


def check_model_folder(out: Path, force: bool) -> None:
    """Refuse before any work is done what would be refused when the model is written."""
    import tempfile

    from spherevec.model.parts import folder_files
    from spherevec.storage.files import check_replaceable

    check_free(out, force)
    check_replaceable(out, overwrite=force, ours=folder_files())
    parent = next(folder for folder in out.resolve().parents if folder.exists())
    try:
        tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=parent).cleanup()
    except OSError as error:
        raise ConfigError(f"{out}: cannot write in {parent}: {error.strerror}; choose another place") from None


def checkpoint_folder(out: Path) -> Path:
    """Where the unfinished run of a model is kept."""
    named = out if out.name not in ("", "..") else out.resolve()
    return named.with_name(f"{named.name}.checkpoint")


def finished(out: Path) -> Model | None:
    """The model that a run has left in `out`; None where the run is still to go on, or to begin.

    A run that was killed between saving its model and removing its checkpoint has left both; the checkpoint goes.
    """
    from spherevec.model import Model
    from spherevec.model.parts import MANIFEST
    from spherevec.training import checkpoint

    if not (out / MANIFEST).is_file():
        return None
    model = Model.load(out)
    folder = checkpoint_folder(out)
    left = checkpoint.load(folder)
    if left is not None:
        about = (left.config, left.corpus["documents"], left.corpus["tokens"])
        settled = {**left.config, "threads": (model.config or {}).get("threads")}
        if (model.config, *map(model.provenance.get, ("documents", "tokens"))) != (settled, *about[1:]):
            return None
        checkpoint.remove(folder)
    return model


def finished_update(model: Model, folder: Path, out: Path) -> Model | None:
    """The model that an update of `model` has left in `out`; None where it is still to go on, or to begin."""
    from spherevec.model import Model
    from spherevec.model.parts import MANIFEST
    from spherevec.training import checkpoint

    if not (out / MANIFEST).is_file() or out.resolve() == folder.resolve():
        return None
    grown = Model.load(out)
    before, after = (list(one.provenance.get("updates", ())) for one in (model, grown))
    if grown.provenance.get("created") != model.provenance.get("created") or after[: len(before)] != before:
        return None
    checkpoint.remove(checkpoint_folder(out))
    return grown


def check_checkpoint_folder(folder: Path, resume: bool, force: bool, quiet: bool) -> None:
    """An unfinished run that nobody resumes is in the way, unless `force` is given."""
    from spherevec.training import checkpoint

    found = checkpoint.find(folder)
    if found and not resume and not force:
        raise ConfigError(
            f"{folder}: holds an unfinished training; give --resume to go on with it, or --force to start over"
        )
    if resume and not found and not quiet:
        display.tell(f"{folder}: no checkpoint there; starting from the beginning")
