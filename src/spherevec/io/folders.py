"""Formats that are folders: TensorBoard's embedding projector, a spaCy vocabulary, a sentence-transformers model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spherevec.corpus.tokenize.tokenizer import WORDS, Tokenizer
from spherevec.errors import MissingExtraError
from spherevec.io.binary import write_npy
from spherevec.io.text import write_rows
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.csv_file import guarded
from spherevec.storage.tensors import write_tensors

PROJECTOR_FILES = frozenset({"vectors.tsv", "metadata.tsv"})
SPACY_FILES = frozenset({"key2row", "lookups.bin", "strings.json", "vectors", "vectors.cfg"})
SENTENCE_TRANSFORMERS_FILES = frozenset(
    {"modules.json", "config_sentence_transformers.json", "tokenizer.json", "model.safetensors", "1_Normalize"}
)
_RUN = r"[\p{L}\p{N}\p{M}_]+"
# Words with their joined numbers; addresses, tags, emoji and abbreviations are beyond one pattern.
_WORD = rf"{_RUN}(?:(?:'|(?<=\p{{L}})-(?=[0-9])|(?<=[0-9])[.,](?=[0-9])){_RUN})*(?:\+\+|(?<=\b[a-z])\#)?"
_BETWEEN_WHITE_SPACE = r"[^ \t\n\r\f\x0B]+"


def write_projector(
    folder: Path,
    vectors: KeyedVectors,
    names: Sequence[str],
    *,
    guard_formulas: bool = False,
    title: Callable[[int], str] | None = None,
) -> None:
    """`vectors.tsv` and `metadata.tsv`."""
    columns = {"name": names}
    if vectors.counts is not None:
        columns["count"] = list(map(str, vectors.counts.tolist()))
    if title is not None:
        columns["title"] = [" ".join(title(row).split()) for row in range(len(names))]
    if guard_formulas:
        columns = {name: [guarded(cell) for cell in cells] for name, cells in columns.items()}
    with (folder / "vectors.tsv").open("wb") as file:
        write_rows(file, (), vectors, separator="\t")
    # The projector expects a heading only where there are several columns.
    heading = ["\t".join(columns)] if len(columns) > 1 else []
    lines = [*heading, *map("\t".join, zip(*columns.values(), strict=True))]
    (folder / "metadata.tsv").write_bytes("".join([f"{line}\n" for line in lines]).encode())


def write_spacy(folder: Path, vectors: KeyedVectors, names: Sequence[str]) -> None:
    """A spaCy vocabulary with its vectors table.

    `nlp.vocab.from_disk(folder)` brings words and vectors into a pipeline, `spacy.vectors.Vectors().from_disk(folder)`
    the table alone.
    """
    try:
        from spacy.vectors import Vectors
        from spacy.vocab import Vocab
    except ImportError:
        raise MissingExtraError("writing a spaCy table", "spacy") from None
    vocabulary = Vocab(strings=list(names))
    keys = np.array([vocabulary.strings[name] for name in names], np.uint64)
    vocabulary.vectors = Vectors(
        strings=vocabulary.strings, data=np.array(vectors.vectors), keys=keys, name="spherevec"
    )
    vocabulary.to_disk(folder)
    write_npy(folder / "vectors", vectors, names)  # the same again: spaCy does not notice if they did not fit


def write_sentence_transformers(
    folder: Path, vectors: KeyedVectors, names: Sequence[str], *, tokenizer: Tokenizer
) -> None:
    """A folder that `sentence_transformers.SentenceTransformer(folder)` loads as a static-embedding model.

    A text's vector is the mean direction of the vectors of its known words.

    Args:
        tokenizer: how the model splits text; functions and lists of words are taken as split at white space.
    """
    unknown = "[UNK]"
    while unknown in vectors.key_to_index:
        unknown = f"[{unknown}]"
    # A word that the model does not know adds nothing to the direction of a text.
    weights = np.vstack([vectors.vectors, np.zeros((1, vectors.vector_size), np.float32)])
    write_tensors(folder / "model.safetensors", {"embedding.weight": weights})
    (folder / "1_Normalize").mkdir()
    kinds = {"": "StaticEmbedding", "1_Normalize": "Normalize"}
    contents: dict[str, Any] = {
        "tokenizer.json": _tokenizer([*names, unknown], unknown, tokenizer.name),
        "modules.json": [
            {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for place, (path, kind) in enumerate(kinds.items())
        ],
        "config_sentence_transformers.json": {
            "model_type": "SentenceTransformer",
            "prompts": {},
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
    }
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _tokenizer(words: list[str], unknown: str, kind: str) -> dict[str, Any]:
    """The description that the `tokenizers` library reads: whole words, split as in training."""
    normalizers = [
        {"type": "NFC"},
        {"type": "Lowercase"},
        {"type": "Replace", "pattern": {"String": "’"}, "content": "'"},
    ]
    pattern = _WORD if kind == WORDS else _BETWEEN_WHITE_SPACE
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers} if kind == WORDS else None,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: row for row, word in enumerate(words)}, "unk_token": unknown},
    }
