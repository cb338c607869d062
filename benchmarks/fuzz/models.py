"""Targets: models, checkpoints and the files in them."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.base import (
    JSON_WORDS,
    TENSOR_WORDS,
    Target,
    cached,
    files_of,
    tensor_seeds,
    tensors_of,
    write_folder,
)
from benchmarks.tables import made_table

TEXTS = [["a", "b", "a", "é"], ["b", "rare"], ["a", "b", "once"]]


def model_files() -> dict[str, bytes]:
    """A model with everything that a model may hold."""
    from spherevec.corpus.count.vocabulary import RareCounts
    from spherevec.engine.fit import FitTables
    from spherevec.model import KeyedVectors, Model
    from spherevec.model.parts import StoredTopics

    rows = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    words = KeyedVectors(["a", "b", "é"], rows, np.array([9, 5, 1]))
    topics: dict[str, Any] = {
        "mean": np.zeros((1, 2), np.float32),
        "directions": rows[:2],
        "weights": np.full(2, 0.5, np.float32),
        "topic_of": np.arange(2),
        "cell_of": np.arange(2),
        "above0": np.zeros(2, np.int64),
    }
    listed = [{"number": i, "title": None, "given": False} for i in range(2)]
    about_topics = {"format": 2, "concentration": 5.0, "titles": "coverage", "topics": listed, "above": [listed[:1]]}
    kept = StoredTopics({**about_topics, "levels": []}, topics)
    about: dict[str, Any] = {"config": {"objective": "vmf", "sample": 1e-3}, "parameters": {"document_bias": 1.5}}
    table = _a_table()
    parts: dict[str, Any] = {
        "documents": table,
        "kept_topics": kept,
        "terms": _some_terms(),
        "rare_counts": RareCounts.of({"rare": 1, "once": 1}),
        "fit": FitTables(np.ones(3, np.float32), rows[0], np.eye(2, dtype=np.float32)),
    }
    docs = KeyedVectors(table.ids, rows[:2])
    inputs = KeyedVectors(["a", "b", "é"], rows[[2, 0, 1]])
    model = Model(words, words, docs, inputs=inputs, record=[{"loss": 0.5}], **parts, **about)
    with tempfile.TemporaryDirectory() as scratch:
        model.save(Path(scratch) / "m")
        return files_of(Path(scratch) / "m")


def _a_table() -> Any:

    fields: dict[str, Any] = {"team": ["x", "y"], "size": [1, 2.5], "day": ["2024-01-02", ""], "note": ["p q", "r"]}
    return made_table(2, ids=["d", "e"], titles=["D", ""], texts=["the d", "the e"], fields=fields)


def _some_terms() -> Any:
    from spherevec.search.terms import count_terms

    ids, offsets = np.array([0, 1, 0, 2, 1], np.int32), np.array([0, 4, 5], np.int64)
    with tempfile.TemporaryDirectory() as scratch:
        hashes = np.array([3, 2**63], np.uint64)
        return count_terms(ids, offsets, np.array([2, 2, 1]), Path(scratch), (hashes, np.array([0, 1], np.int32)))


def _model_seeds() -> list[bytes]:
    files = cached("model", model_files)
    whole = [
        bytes([2 * number + fitting, opening]) + files[name]
        for number, name in enumerate(sorted(files))
        for fitting in (0, 1)
        for opening in (0, 3)
    ]
    tensors = [(2 * number + 1, name) for number, name in enumerate(sorted(files)) if name.endswith(".safetensors")]
    return whole + [bytes([mode, 4]) + tensor_seeds([files[name]])[1][1:] for mode, name in tensors]


def _load_model(data: bytes, folder: Path) -> None:
    """The first byte picks the file and whether the manifest is made to fit, the second how to open the model.

    From 4 on, the second byte leaves the header of a safetensors file as it was.
    """
    from spherevec.model import Model

    mode, opening, content = data[0] if data else 0, data[1] if len(data) > 1 else 0, data[2:]
    files = cached("model", model_files)
    name = sorted(files)[mode // 2 % len(files)]
    if opening & 4 and name.endswith(".safetensors"):
        content = tensors_of(b"\1" + content, [files[name]])
    write_folder(folder / "m", files, name, content, "model.json", bool(mode % 2))
    model = Model.load(folder / "m", mmap=bool(opening % 2), verify=bool(opening // 2 % 2))
    json.dumps(model.describe())
    repr(model)
    if opening // 2 % 2:
        model.check()


def _use_model(data: bytes, folder: Path) -> None:
    """What is loaded without a check is also used: a hostile model may answer nonsense, but must answer."""
    from spherevec.model import Model

    _load_model(data, folder)
    model = Model.load(folder / "m")
    if not len(model.words):
        return
    with np.errstate(all="ignore"):
        model.words.most_similar(0)
        assert model.infer(["a b é b zz", ""], threads=1, epochs=2).shape == (2, model.vector_size)
        if model.docs is not None and len(model.docs):
            for mode in ("hybrid", "dense"):
                json.dumps([result.as_dict() for result in model.search(["a b", "rare", "zz"], topn=5, mode=mode)])
            if model.documents is not None:
                model.remove([model.documents.ids[0]])
            if model.kept_topics is not None:
                assert np.isfinite(model.topics(threads=1).probability).all()


# --- one file at a time -----------------------------------------------------------------------------------------------

_TENSORS = b'{"vectors": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}'


def _tensor_seeds() -> list[bytes]:
    padded = _TENSORS + b" " * (-len(_TENSORS) % 8)
    return [len(padded).to_bytes(8, "little") + padded + bytes(16), b"\2" + bytes(7) + b"{}"]


def _read_tensors(data: bytes, folder: Path) -> None:
    from spherevec.storage.tensors import read_tensors

    path = folder / "t.safetensors"
    path.write_bytes(data)
    for memory_map in (True, False):
        for array in read_tensors(path, memory_map=memory_map).values():
            assert array.nbytes <= len(data)
            array.sum()


def _tables() -> list[bytes]:
    from spherevec.model.documents import DocumentTable

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "t"
        tables = [_a_table(), DocumentTable.of_ids(["x", "y"], 2), DocumentTable.of_ids(None, 3)]
        seeds = []
        for table in tables:
            table.save(path)
            seeds.append(path.read_bytes())
        (Path(scratch) / "a.txt").write_text("one\ntwo\n")
        (Path(scratch) / "b.html").write_text("<title>T</title>three")
        from spherevec.corpus import encode

        encode(Path(scratch), Path(scratch) / "c", min_count=1).close()
        return [*seeds, (Path(scratch) / "c" / "documents.safetensors").read_bytes()]


def _open_table(data: bytes, folder: Path) -> None:
    """The table of documents, alone: rows, ids, fields, conditions, and other tables made of it."""
    from spherevec.model.documents import DocumentTable

    path = folder / "documents.safetensors"
    path.write_bytes(tensors_of(data, cached("tables", _tables)))
    table = DocumentTable.open(path, memory_map=len(data) % 2 == 0)
    repr(table)
    if not 0 < len(table) < 1000:
        return
    for row in (0, len(table) - 1):
        json.dumps(table.record(row))
        table.snippet(row)
    assert len(list(table.ids)) == len(table)
    "a:1" in table.ids  # noqa: B015 - looks it up
    for name, kind in table.fields.items():
        assert len(table.column(name)) == len(table)
        value = {"number": 1, "date": "2024-01-02"}.get(kind, "x")
        table.rows_where({name: value})
        if kind in ("number", "date"):
            table.rows_where({f"{name}>=": value})
    table._repr_html_()
    assert len(table.take(np.array([len(table) - 1, 0]))) == 2


def _terms() -> list[bytes]:
    from spherevec.storage.tensors import write_tensors

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "t"
        write_tensors(path, _some_terms().tensors)
        return [path.read_bytes()]


def _open_terms(data: bytes, folder: Path) -> None:
    """The words of documents, alone: counts, postings, BM25, and what is left after documents are removed."""
    from spherevec.model.document_edit import join_terms
    from spherevec.search.lexical import LexicalIndex
    from spherevec.search.terms import DocumentTerms
    from spherevec.storage.tensors import read_tensors, write_tensors

    path = folder / "terms.safetensors"
    path.write_bytes(tensors_of(data, cached("terms", _terms)))
    terms = DocumentTerms(read_tensors(path, memory_map=len(data) % 2 == 0))
    with np.errstate(all="ignore"):
        if terms.n_words:
            index = LexicalIndex(terms)
            index.scores(index.matches(np.arange(min(terms.n_words, 9), dtype=np.int32), ["rare", "zz"]))
        counts = terms.counts
        assert counts.shape == (terms.n_documents, terms.n_words)
        counts.sum(axis=0)
        if terms.n_documents:
            every = np.arange(terms.n_documents)
            write_tensors(folder / "again", join_terms([(terms, every)], every).tensors)


def _rare() -> list[bytes]:
    from spherevec.corpus.count.vocabulary import RareCounts

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "r"
        RareCounts.of({"heron": 2, "egret": 4, "é": 1}).save(path)
        return [path.read_bytes()]


def _open_rare(data: bytes, folder: Path) -> None:
    from spherevec.corpus.count.vocabulary import RareCounts
    from spherevec.storage.tensors import read_tensors

    path = folder / "rare_counts.safetensors"
    path.write_bytes(tensors_of(data, cached("rare", _rare)))
    with suppress(KeyError):  # as models and corpora refuse a file that lacks an array
        _use_rare(RareCounts.of_tensors(read_tensors(path, memory_map=len(data) % 2 == 0)))


def _use_rare(rare: Any) -> None:
    rare.words.find("heron")
    merged = rare.merged({"heron": 1, "new": 3}, without=["egret"]).as_dict()
    assert merged["new"] >= 3 and "egret" not in merged


# --- checkpoints ------------------------------------------------------------------------------------------------------

_SETTINGS: dict[str, Any] = {"vector_size": 2, "min_count": 1, "threads": 1, "epochs": 2, "window": 2}


def _checkpoint_files() -> dict[str, bytes]:
    from spherevec import train

    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "c"
        train(TEXTS, checkpoint=place, checkpoint_every="1e", tokenizer="whitespace", **_SETTINGS)
        return files_of(place)


def _run_to_resume() -> tuple[Any, Any, int, Any, Any]:
    """The settings, the text, the number of blocks, the backend and the biases of the run that left the checkpoint."""
    from spherevec.config import TrainConfig
    from spherevec.corpus import encode
    from spherevec.engine.backends import make_backend
    from spherevec.engine.base import Biases
    from spherevec.engine.schedule import epoch_blocks
    from spherevec.training.runtime import prepare

    corpus = encode(TEXTS, Path(tempfile.mkdtemp()) / "c", min_count=1, tokenizer="whitespace")
    config = TrainConfig.recipe("default", **_SETTINGS).resolved(corpus.n_tokens, len(corpus.vocabulary))
    data = prepare(corpus, config)
    backend = make_backend(data, config, None)
    return config, corpus, len(epoch_blocks(data, config, 0)), backend, Biases(config.bias, config.bias)


def _checkpoint_seeds() -> list[bytes]:
    files = cached("checkpoint", _checkpoint_files)
    seeds = [
        bytes([2 * number + fitting]) + files[name]
        for number, name in enumerate(sorted(files))
        for fitting in (0, 1)
    ]  # fmt: skip
    within = json.loads(files["checkpoint.json"])
    within["position"] |= {"epoch": 1, "trained": 1, "record": within["position"]["record"][:1], "refitted": 0}
    return [*seeds, b"\1" + json.dumps(within).encode()]


def _load_checkpoint(data: bytes, folder: Path) -> None:
    """The first byte picks the file and whether checksums are made to fit. What is taken is gone on from."""
    from spherevec.training import checkpoint

    files = cached("checkpoint", _checkpoint_files)
    mode = data[0] if data else 0
    write_folder(folder / "c", files, sorted(files)[mode // 2 % 2], data[1:], "checkpoint.json", bool(mode % 2))
    found = checkpoint.load(folder / "c")
    assert found is not None
    config, corpus, blocks, backend, biases = cached("run", _run_to_resume)
    found.check(config, corpus, blocks)
    found.restore(backend, biases)
    assert found.position.epoch <= 2


_MANIFEST_WORDS = (*JSON_WORDS, b'"../../etc/passwd"', b'"files"', b'"bytes"', b'"sizes"', b'"config"', b'"format"')
_POSITION_WORDS = (
    *JSON_WORDS,
    b'"trained"',
    b"[[0, 1]]",
    b'"epoch"',
    b'"record"',
    b'"seen"',
    b"1e308",
    b"9007199254740992",
)
_OFFSETS = (b"\xff" * 8, b"\0" * 8, b"\1" + bytes(7), b"\xff\xff\xff\x7f", b"<i8")

MODELS: dict[str, Target] = {
    "native": Target(_model_seeds, _load_model, 2048, _MANIFEST_WORDS),
    "native-use": Target(_model_seeds, _use_model, 2048, _MANIFEST_WORDS),
    "safetensors": Target(_tensor_seeds, _read_tensors, words=TENSOR_WORDS),
    "documents": Target(
        lambda: tensor_seeds(_tables()), _open_table, 4096, (*TENSOR_WORDS, *_OFFSETS, b'"rows"', b'"role"', b'"kind"')
    ),
    "terms": Target(lambda: tensor_seeds(_terms()), _open_terms, 2048, (*TENSOR_WORDS, *_OFFSETS)),
    "rare-counts": Target(lambda: tensor_seeds(_rare()), _open_rare, 1024, (*TENSOR_WORDS, *_OFFSETS)),
    "checkpoint": Target(_checkpoint_seeds, _load_checkpoint, 4096, _POSITION_WORDS),
}
