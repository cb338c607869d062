"""What commands open, and what they write: checked before any work, so that a mistake costs no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli.options import PATH, Command, force_option, option_group
from spherevec.errors import ConfigError

if TYPE_CHECKING:
    from spherevec.cli.display import Console
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


def _check_free(path: Path, force: bool) -> None:
    if not force and path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ConfigError(f"{path}: already exists; choose another name, or give --force to replace it")


@contextmanager
def outputs(force: bool, *paths: Path | None) -> Iterator[None]:
    """Own what a command will write, from before the first check until it is written; None is not asked for."""
    from spherevec.storage.files import check_file
    from spherevec.storage.locks import owned

    with ExitStack() as stack:
        for path in filter(None, paths):
            if not path.is_dir():
                check_file(path, overwrite=force)
            _check_free(path, force)
            stack.enter_context(owned(path, run=True))
            _check_free(path, force)
        yield


@dataclass(frozen=True)
class ModelOutput:
    """The folder that a model goes to, and the unfinished run beside it.

    `resume` and `checkpoint_every` are those of a run that can be interrupted.
    """

    out: Path
    force: bool
    resume: bool = False
    checkpoint_every: str = "off"

    def __post_init__(self) -> None:
        if not self.out.resolve().name:
            raise ConfigError(f"{self.out}: is the root of the file system; name a folder for the model")

    @property
    def checkpoint(self) -> Path:
        """Where the unfinished run is kept."""
        named = self.out if self.out.name not in ("", "..") else self.out.resolve()
        return named.with_name(f"{named.name}.checkpoint")

    def owned(self) -> AbstractContextManager[object]:
        """Nobody else writes this folder meanwhile."""
        from spherevec.storage.locks import owned

        return owned(self.out, run=True)

    def check(self) -> None:
        """Refuse before any work is done what would be refused when the model is written."""
        import tempfile

        from spherevec.model.parts import folder_files
        from spherevec.storage.files import check_folder

        _check_free(self.out, self.force)
        check_folder(self.out, overwrite=self.force, ours=folder_files())
        parent = next(folder for folder in self.out.resolve().parents if folder.exists())
        try:
            tempfile.TemporaryDirectory(prefix=f".{self.out.name}.", dir=parent).cleanup()
        except OSError as error:
            raise ConfigError(f"{self.out}: cannot write in {parent}: {error.strerror}; choose another place") from None

    def check_run(self, console: Console) -> None:
        """As `check`; also, an unfinished run that nobody resumes is in the way, unless --force is given."""
        from spherevec.training import checkpoint

        self.check()
        found = checkpoint.find(self.checkpoint)
        if found and not self.resume and not self.force:
            hint = "give --resume to go on with it, or --force to start over"
            raise ConfigError(f"{self.checkpoint}: holds an unfinished training; {hint}")
        if self.resume and not found:
            console.tell(f"{self.checkpoint}: no checkpoint there; starting from the beginning")

    def save(self, model: Model) -> None:
        """Write the finished model; the unfinished run goes."""
        from spherevec.training import checkpoint

        model.save(self.out, overwrite=self.force)
        checkpoint.remove(self.checkpoint)

    def run_arguments(self) -> dict[str, Any]:
        """What `spherevec.train` and `Model.update` are told about this folder."""
        return {
            "workdir": self.out.absolute().parent,  # the folder for temporary files may be small, or in memory
            "checkpoint": self.checkpoint,
            "checkpoint_every": self.checkpoint_every,
            "resume": self.resume,
            "start_over": self.force,
            "finish": self.save,
        }

    def finished(self, is_result: Callable[[Model], bool]) -> Model | None:
        """With --resume, the model that a finished run has left here; None where it is still to go on, or to begin.

        A run that was killed between saving its model and removing its checkpoint has left both; the checkpoint goes.
        """
        from spherevec.model.parts import MANIFEST
        from spherevec.training import checkpoint

        if not self.resume or self.force or not (self.out / MANIFEST).is_file():
            return None
        model = load_model(self.out)
        if not is_result(model):
            return None
        checkpoint.remove(self.checkpoint)
        return model


def model_output_options(metavar: str) -> Callable[[Command], Command]:
    """--out, --checkpoint-every, --resume and --force, as `output`."""
    return option_group(
        "output",
        ModelOutput,
        click.option("--out", required=True, type=PATH, metavar=metavar, help="Folder to write the model to."),
        click.option(
            "--checkpoint-every",
            metavar="TIME|EPOCHS|off",
            default="10m",
            show_default=True,
            help=f"How often to save the unfinished run, beside {metavar}: 90s, 10m, 2h, or 2e for every second epoch.",
        ),
        click.option("--resume", is_flag=True, help="Continue an interrupted run: the same text and settings again."),
        force_option,
    )
