"""A folder that `sentence_transformers.SentenceTransformer(folder)` loads as a static-embedding model.

A text's vector is the mean direction of the vectors of its known words.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from spherevec.corpus.tokenize.tokenizer import WORDS, Tokenizer
from spherevec.io.text_rows import plain_names
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_folder
from spherevec.storage.tensors import write_tensors

_FILES = {"modules.json", "config_sentence_transformers.json", "tokenizer.json", "model.safetensors", "1_Normalize"}
_RUN = r"[\p{L}\p{N}\p{M}_]+"
# Words with their joined numbers; addresses, tags, emoji and abbreviations are beyond one pattern.
_WORD = rf"{_RUN}(?:(?:'|(?<=\p{{L}})-(?=[0-9])|(?<=[0-9])[.,](?=[0-9])){_RUN})*(?:\+\+|(?<=\b[a-z])\#)?"
_BETWEEN_WHITE_SPACE = r"[^ \t\n\r\f\x0B]+"


def write(vectors: KeyedVectors, path: Path, *, overwrite: bool = False, tokenizer: Tokenizer) -> None:
    """`tokenizer`: how the model splits text; functions and lists of words are taken as split at white space."""
    names = plain_names(vectors, "sentence-transformers", forbidden="", empty=True)
    unknown = "[UNK]"
    while unknown in vectors.key_to_index:
        unknown = f"[{unknown}]"
    # A word that the model does not know adds nothing to the direction of a text.
    weights = np.vstack([vectors.vectors, np.zeros((1, vectors.vector_size), np.float32)])
    with atomic_folder(path, overwrite=overwrite, ours=_FILES) as folder:
        write_tensors(folder / "model.safetensors", {"embedding.weight": weights})
        _write_json(folder / "tokenizer.json", _tokenizer([*names, unknown], unknown, tokenizer.name))
        _write_json(
            folder / "modules.json",
            [
                {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"},
                {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
            ],
        )
        (folder / "1_Normalize").mkdir()
        _write_json(
            folder / "config_sentence_transformers.json",
            {
                "model_type": "SentenceTransformer",
                "prompts": {},
                "default_prompt_name": None,
                "similarity_fn_name": "cosine",
            },
        )


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
        "model": {
            "type": "WordLevel",
            "vocab": {word: row for row, word in enumerate(words)},
            "unk_token": unknown,
        },
    }


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
