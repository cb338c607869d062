"""What commands open and check before they work, so that a mistake costs no time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from spherevec.cli import display
from spherevec.errors import ConfigError

if TYPE_CHECKING:
    from spherevec.evaluation import LabelledTexts
    from spherevec.model import Model
    from spherevec.model.keyed_vectors import KeyedVectors


def load_model(folder: Path) -> Model:
    """The model in `folder`, mapped rather than read."""
    from spherevec.model import Model

    return Model.load(folder)


def documents_of(model: Model, folder: Path) -> KeyedVectors:
    """The documents of a model, or an error if it has none."""
    if model.docs is None:
        raise ConfigError(f"{folder}: was trained without documents; train again with --documents")
    return model.docs


def document_position(docs: KeyedVectors, identifier: str) -> int:
    """The row of a document given by its name or, where none is called so, by its number."""
    is_number = identifier.isascii() and identifier.isdigit() and identifier not in docs
    return docs.position(int(identifier) if is_number else identifier)


def labelled_set(model: Model, data: Path | None) -> LabelledTexts:
    """The labelled data set that the model was trained on, by the number of its documents and words."""
    import numpy as np

    from spherevec.corpus import Vocabulary, encode_texts

    assert model.docs is not None
    sets = _labelled_sets(data)
    for texts in sets:
        if len(texts.labels) == len(model.docs):
            break
    else:
        sizes = ", ".join(f"{texts.name} has {len(texts.labels)}" for texts in sets) or "there is no labelled data set"
        raise ConfigError(f"the model has {len(model.docs)} documents, but {sizes}; train it on the text of one set")
    words = model.provenance.get("raw_tokens")
    if words is not None and model.tokenizer in ("words", "whitespace"):
        ids, _, unknown = encode_texts(texts.texts, Vocabulary([], np.zeros(0, np.int64)), model.tokenizer)
        if len(ids) + unknown.sum() != words:
            raise ConfigError(f"the model has as many documents as {texts.name}, but was trained on other text")
    display.tell(f"{texts.name}: {len(texts.labels):,} documents, taken to be in the order of the data set's file")
    return texts


def _labelled_sets(data: Path | None) -> list[LabelledTexts]:
    """The labelled sets in the data folder; where none is named, the one that scikit-learn fetches."""
    from spherevec.evaluation import LABELLED_SETS, find_data, load_labelled
    from spherevec.evaluation.datasets import DATA_VARIABLE

    if data is None and not os.environ.get(DATA_VARIABLE):
        return [load_labelled("20news", download=True)]
    folder = find_data(data)
    return [load_labelled(name, folder) for name in LABELLED_SETS if (folder / name).is_dir()]


def check_free(path: Path, force: bool) -> None:
    """Refuse before any work is done to write over what is there."""
    if not force and path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ConfigError(f"{path}: already exists; choose another name, or give --force to replace it")


def check_model_folder(out: Path, force: bool) -> None:
    """Refuse before any work is done what would be refused when the model is written."""
    import tempfile

    from spherevec.model.folder import FILES
    from spherevec.storage.files import check_replaceable

    check_free(out, force)
    check_replaceable(out, overwrite=force, ours=FILES)
    parent = next(folder for folder in out.resolve().parents if folder.exists())
    try:
        tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=parent).cleanup()
    except OSError as error:
        raise ConfigError(f"{out}: cannot write in {parent}: {error.strerror}; choose another place") from None


def check_checkpoint_folder(out: Path, resume: bool, force: bool, quiet: bool) -> Path:
    """Where the unfinished run of a model is kept. One that nobody resumes is in the way, unless `force` drops it."""
    from spherevec.training import checkpoint

    named = out if out.name not in ("", "..") else out.resolve()
    folder = named.with_name(f"{named.name}.checkpoint")
    found = checkpoint.find(folder)
    if found and not resume:
        if not force:
            raise ConfigError(
                f"{folder}: holds an unfinished training; give --resume to go on with it, or --force to start over"
            )
        checkpoint.remove(folder)
    if resume and not found and not quiet:
        display.tell(f"{folder}: no checkpoint there; starting from the beginning")
    return folder
