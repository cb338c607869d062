"""What commands open, and what they write: checked before any work, so that a mistake costs no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spherevec.cli.display import Console, tell
from spherevec.cli.options import Command, flag, force_option, option_group, path_option
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


@contextmanager
def outputs(force: bool, *paths: Path | None) -> Iterator[None]:
    """Own what a command will write, from before the first check until it is written; None is not asked for."""
    from spherevec.storage.files import check_file, check_folder
    from spherevec.storage.locks import owned

    with ExitStack() as stack:
        for path in filter(None, paths):
            stack.enter_context(owned(path, run=True))
            if not path.is_dir():
                check_file(path, overwrite=force)
            elif not force:
                check_folder(path)
        yield


@dataclass(frozen=True)
class ModelOutput:
    """The folder that a model goes to, and the unfinished run beside it."""

    out: Path
    force: bool
    resume: bool
    checkpoint_every: str

    @property
    def checkpoint(self) -> Path:
        """Where the unfinished run is kept."""
        from spherevec.storage.locks import resolved

        named = self.out if self.out.name not in ("", "..") else resolved(self.out)
        return named.with_name(f"{named.name}.checkpoint")

    def run(self, learn: Callable[..., Model], is_result: Callable[[Model], bool], console: Console) -> Model:
        """What `learn` makes and saves here; with --resume, the model that a finished run has left.

        A run that was killed between saving its model and removing its checkpoint has left both; the checkpoint goes.
        """
        from spherevec.model.parts import MANIFEST, folder_files
        from spherevec.storage.files import check_folder
        from spherevec.storage.locks import owned
        from spherevec.training import checkpoint

        with owned(self.out, run=True):
            if self.resume and not self.force and (self.out / MANIFEST).is_file():
                model = load_model(self.out)
                if is_result(model):
                    checkpoint.remove(self.checkpoint)
                    tell(f"{self.out}: the run is finished, nothing to resume")
                    return model
            check_folder(self.out, overwrite=self.force, ours=folder_files())
            if not self.resume:
                checkpoint.check_free(self.checkpoint, self.force)
            elif not checkpoint.find(self.checkpoint):
                console.tell(f"{self.checkpoint}: no checkpoint there; starting from the beginning")

            def save(model: Model) -> None:
                model.save(self.out, overwrite=self.force)
                checkpoint.remove(self.checkpoint)

            with console.progress() as progress:
                return learn(
                    progress=progress,
                    workdir=self.out.absolute().parent,  # the folder for temporary files may be small, or in memory
                    checkpoint=self.checkpoint,
                    checkpoint_every=self.checkpoint_every,
                    resume=self.resume,
                    start_over=self.force,
                    finish=save,
                )


def model_output_options(metavar: str) -> Callable[[Command], Command]:
    """--out, --checkpoint-every, --resume and --force, as `output`."""
    return option_group(
        "output",
        ModelOutput,
        path_option("--out", required=True, metavar=metavar, help="Folder to write the model to."),
        click.option(
            "--checkpoint-every",
            metavar="TIME|EPOCHS|off",
            default="10m",
            help=f"How often to save the unfinished run, beside {metavar}: 90s, 10m, 2h, or 2e for every second epoch.",
        ),
        flag("--resume", help="Continue an interrupted run: the same text and settings again."),
        force_option,
    )
