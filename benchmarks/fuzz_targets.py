"""What the fuzzer feeds: one target a reader, with inputs that it accepts to start from.

A file either reads well, and then what it gave is checked, or ends in one of the package's own errors, in one line.
`benchmarks/fuzz.py` feeds the targets with millions of inputs, tests/system/test_fuzz.py with a few dozen each.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spherevec.errors import SpherevecError


@dataclass(frozen=True)
class Target:
    """One reader: inputs it accepts, to start from, and a function that feeds it with an input in a scratch folder."""

    seeds: Callable[[], list[bytes]]
    feed: Callable[[bytes, Path], None]
    longest: int = 512
    words: tuple[bytes, ...] = ()  # worth trying anywhere


def feed(name: str, data: bytes, folder: Path) -> bool:
    """Whether the reader took the input; anything but a result or our own one-line error is an exception."""
    try:
        TARGETS[name].feed(data, folder)
    except SpherevecError as error:
        message = str(error)
        assert message and "\n" not in message and len(message) < 2000, f"not one clear line: {message[:300]!r}"
        return False
    return True


# --- vectors from other programs --------------------------------------------------------------------------------------

_NUMBERS = (b"nan", b"inf", b"-1e999", b"1e-46", b"0", b"1_0", b"0x1", b"99999999999999999999")
_TEXT_VECTORS = [
    b"2 3\na 1 0 0\nb 0 0.6 0.8\n",
    b"3 2\n\xc3\xa9 1 0 \nb 0 1 \na -1 1e-3 \n",
    b"2 2\r\n0 1 0\r\n1 0 1",
]
_BINARY_VECTORS = [
    b"2 2\na " + np.array([1, 0], "<f4").tobytes() + b"\nb " + np.array([0.6, 0.8], "<f4").tobytes() + b"\n",
    b"1 3\nword " + np.array([3, -1e30, 1e-40], "<f4").tobytes(),
]
_GLOVE_VECTORS = [b"a 1 0 0\nb 0 1 0\n", b"New York 0.5 0.5\n. . 1 2\n"]


def _import(format_name: str | None) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        from spherevec.io import import_vectors
        from spherevec.model import Model

        path = folder / "vectors"
        path.write_bytes(data)
        vectors, _ = import_vectors(path, format_name)
        vectors.check()
        if vectors.named:
            Model(vectors).describe()

    return read


def _import_any(data: bytes, folder: Path) -> None:
    """As `spherevec import` does without --format; the first byte decides whether the rest is packed first."""
    _import(None)(gzip.compress(data[1:], 1) if data[:1] > b"\x80" else data[1:], folder)


# --- the native format ------------------------------------------------------------------------------------------------


def model_files() -> dict[str, bytes]:
    from spherevec.model import KeyedVectors, Model

    rows = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    words = KeyedVectors(["a", "b", "é"], rows, np.array([9, 5, 1]))
    about: dict[str, Any] = {"config": {"objective": "vmf", "sample": 1e-3}, "parameters": {"document_bias": 1.5}}
    model = Model(words, words, KeyedVectors(["d", "e"], rows[:2]), record=[{"loss": 0.5}], **about)
    with tempfile.TemporaryDirectory() as scratch:
        model.save(Path(scratch) / "m")
        return {file.name: file.read_bytes() for file in (Path(scratch) / "m").iterdir()}


_CACHE: dict[str, Any] = {}
_WRITTEN: dict[Path, bytes] = {}


def _cached(name: str, make: Callable[[], Any]) -> Any:
    if name not in _CACHE:
        _CACHE[name] = make()
    return _CACHE[name]


def _write(path: Path, content: bytes) -> None:
    """Write what is not there already: most files of a folder stay as they are from input to input."""
    if _WRITTEN.get(path) != content:
        path.write_bytes(content)
        _WRITTEN[path] = content


def _model_seeds() -> list[bytes]:
    files = _cached("model", model_files)
    return [
        bytes([2 * number + fitting, opening]) + files[name]
        for number, name in enumerate(sorted(files))
        for fitting in (0, 1)
        for opening in (0, 3)
    ]


def _load_model(data: bytes, folder: Path) -> None:
    """The first byte picks the file and whether the manifest is made to fit, the second how to open the model."""
    from spherevec.model import Model
    from spherevec.storage import checksums

    mode, opening, content = data[0] if data else 0, data[1] if len(data) > 1 else 0, data[2:]
    place = folder / "m"
    if not place.exists():
        place.mkdir()
    files = dict(_cached("model", model_files))
    name = sorted(files)[mode // 2 % len(files)]
    files[name] = content
    if mode % 2 and name == "model.json":
        files[name] = _resealed(content)
    elif mode % 2:
        manifest = json.loads(files["model.json"])
        manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        files["model.json"] = json.dumps(checksums.sealed(manifest)).encode()
    for one, written in files.items():
        _write(place / one, written)
    model = Model.load(place, mmap=bool(opening % 2), verify=bool(opening // 2 % 2))
    json.dumps(model.describe())
    repr(model)
    if opening // 2 % 2:
        model.check()


def _resealed(data: bytes) -> bytes:
    """A description whose checksum fits what became of it, so that what comes after the checksum is tried, too."""
    from spherevec.storage import checksums

    try:
        description = json.loads(data)
        return json.dumps(checksums.sealed(description)).encode() if isinstance(description, dict) else data
    except (ValueError, RecursionError):
        return data


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


# --- corpora ----------------------------------------------------------------------------------------------------------

_ENCODINGS = ("utf-8", "utf-16", "latin-1", "utf-8-sig", "cp1252", "utf-7", "shift_jis", "utf-32-le", "gb18030", "hz")
_TEXTS = ["A small cat\nsat on İstanbul’s mat\n\nl'été 日本\n", "one", "\ufeffx y\r\nz \u2028 w"]


def _text_seeds() -> list[bytes]:
    seeds = []
    for number, encoding in enumerate(_ENCODINGS):
        seeds += [bytes([number + 10 * way]) + text.encode(encoding, "replace") for way, text in enumerate(_TEXTS)]
    return seeds


def _read_text(data: bytes, folder: Path) -> None:
    """The first byte picks the encoding, the size of blocks and the tokeniser; words must be those of the slow one."""
    from spherevec.corpus import tokenize
    from spherevec.corpus.marks import ID_MASK
    from spherevec.corpus.options import ReadOptions
    from spherevec.corpus.readers import open_source
    from spherevec.corpus.streams import blocks, lines
    from spherevec.corpus.tokenizer import tokenizer_of
    from spherevec.corpus.wordtable import WordTable

    mode = data[0] if data else 0
    encoding, size = _ENCODINGS[mode % 10], (4, 7, 64, 1 << 20)[mode // 10 % 4]
    splitter = ("words", "whitespace", "words-0.1", "words:urls=keep,emails=drop,hyphens=join")[mode // 40 % 4]
    path = folder / "t.txt"
    path.write_bytes(data[1:])
    source = open_source(path, ReadOptions(encoding=encoding), size)
    assert source.pieces is not None
    pieces = list(source.pieces)
    table = WordTable(tokenizer_of(splitter), first_words=2)
    fed = [table.feed(block) for block in blocks(pieces, size)]
    documents = [line[:-1].decode() for line in lines(pieces)]
    words = [word for part in fed for word in table.words_at((part.ids & ID_MASK).astype(np.intp))]
    assert words == [word for text in documents for word in tokenize(text, splitter)]
    assert sum(len(part.ends) for part in fed) == len(documents)


def _read_table(ending: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        from spherevec.corpus import read_documents

        path = folder / f"t{ending}"
        path.write_bytes(data)
        for document in read_documents(path, text_field="t"):
            assert isinstance(document, str)

    return read


_JSONL = [b'{"t": "a text"}\n{"t": null, "u": 1}\n\n{"t": "\\u00e9\\ud83d"}\n', b'{"t":"x"}']
_CSV = [b'u,t\n1,"a ""quoted"" text\nin two lines"\n2,b\n', b"t\na\n\nb\n", b"\xef\xbb\xbft,u\r\na,1\r\n"]


def _parquet_seeds() -> list[bytes]:
    import pyarrow
    import pyarrow.parquet

    seeds = []
    for options in ({}, {"compression": "zstd", "data_page_version": "2.0"}, {"use_dictionary": False}):
        for column in (["a text", None, "b"], [1.5, 2.0], [["x"], ["y"]]):
            buffer = io.BytesIO()
            pyarrow.parquet.write_table(pyarrow.table({"t": column}), buffer, store_schema=not options, **options)
            seeds.append(buffer.getvalue())
    return seeds


def _packers() -> dict[str, Callable[[bytes], bytes]]:
    import zstandard

    return {
        ".gz": lambda data: gzip.compress(data, 1, mtime=0),
        ".xz": lambda data: lzma.compress(data, lzma.FORMAT_XZ, preset=0),
        ".zst": zstandard.ZstdCompressor(1).compress,
    }


def _packed_seeds(ending: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        pack = _packers()[ending]
        texts = [text.encode() for text in _TEXTS]
        return [b"\0" + pack(text) for text in texts] + [b"\0" + pack(b"a\n") + pack(b"b\n" * 50), b"\xff" + texts[0]]

    return seeds


def _read_packed(ending: str) -> Callable[[bytes, Path], None]:
    """The first byte decides whether the rest is packed first."""

    def read(data: bytes, folder: Path) -> None:
        from spherevec.corpus.readers import open_source

        path = folder / f"t.txt{ending}"
        path.write_bytes(_cached("packers", _packers)[ending](data[1:]) if data[:1] > b"\xe0" else data[1:])
        source = open_source(path, size=64)
        assert source.pieces is not None
        for piece in source.pieces:
            assert len(piece) <= 64

    return read


def _corpus_files() -> dict[str, bytes]:
    from spherevec.corpus import encode

    with tempfile.TemporaryDirectory() as scratch:
        texts = Path(scratch) / "texts"
        texts.mkdir()
        for number, text in enumerate(["a b a", "", "b a c"]):
            (texts / f"{number}.txt").write_text(text)
        encode(texts, Path(scratch) / "c", min_count=1).close()
        return {file.name: file.read_bytes() for file in (Path(scratch) / "c").iterdir()}


def _corpus_seeds() -> list[bytes]:
    files = _cached("corpus", _corpus_files)
    return [bytes([number]) + files[name] for number, name in enumerate(sorted(files))]


def _open_corpus(data: bytes, folder: Path) -> None:
    """The first byte picks the file that the rest replaces. What opens must be safe for kernels that check nothing."""
    from spherevec.corpus import EncodedCorpus
    from spherevec.model.documents import DocumentTable

    place = folder / "c"
    if not place.exists():
        place.mkdir()
    files = dict(_cached("corpus", _corpus_files))
    files[sorted(files)[(data[0] if data else 0) % len(files)]] = data[1:]
    for one, content in files.items():
        _write(place / one, content)
    with EncodedCorpus.open(place) as corpus:
        ids, offsets, words = corpus.ids.tolist(), corpus.offsets.tolist(), corpus.vocabulary.words
        assert isinstance(words, list) and all(isinstance(word, str) for word in words)
        assert len(corpus.vocabulary.counts) == len(words) and corpus.vocabulary.counts.min() >= 1
        assert all(0 <= number < len(words) for number in ids)
        assert offsets[0] == 0 and offsets[-1] == len(ids) == corpus.n_tokens and offsets == sorted(offsets)
        assert len(offsets) == corpus.n_documents + 1
        if corpus.document_columns is not None:
            assert len(DocumentTable.of_columns(corpus.document_columns, "").ids) == corpus.n_documents
        repr(corpus)


# --- evaluation data --------------------------------------------------------------------------------------------------

_EVALUATION_FILES = {
    "wordsim/wordsim353.csv": b"Word 1,Word 2,Human (mean)\ntiger,cat,7.35\n",
    "wordsim/men.txt": b"sun-n sunlight-n 50.0\n",
    "wordsim/simlex999.txt": b"word1\tword2\tPOS\tscore\nold\tnew\tA\t1.58\n",
    "wordsim/google-analogies.txt": b": gram1\nAthens Greece Oslo Norway\n",
    "20news/text.txt": b"some text\nmore\n",
    "20news/label.txt": b"0\n1\n",
    "20news/split.txt": b"train\ntest\n",
    "20news/classes.txt": b"x\ny\n",
}


def _evaluation_seeds() -> list[bytes]:
    return [bytes([number]) + content for number, content in enumerate(_EVALUATION_FILES.values())]


def _read_evaluation(data: bytes, folder: Path) -> None:
    from spherevec import evaluation

    name = list(_EVALUATION_FILES)[(data[0] if data else 0) % len(_EVALUATION_FILES)]
    for one, content in {**_EVALUATION_FILES, name: data[1:]}.items():
        (folder / one).parent.mkdir(exist_ok=True)
        _write(folder / one, content)
    if name.startswith("20news"):
        evaluation.load_labelled("20news", folder)
    elif "analogies" in name:
        evaluation.load_analogies(folder)
    else:
        for similarity_set in evaluation.SIMILARITY_SETS:
            evaluation.load_similarity(similarity_set, folder)


# --- all of them ------------------------------------------------------------------------------------------------------

_JSON_WORDS = (b"null", b"true", b"-1", b"1e999", b"[]", b"{}", b'""', b"NaN", b"\\ud800", b"99999999999999999999")
_MANIFEST_WORDS = (*_JSON_WORDS, b'"../../etc/passwd"', b'"files"', b'"bytes"', b'"sizes"', b'"config"', b'"format"')
_TENSOR_WORDS = (*_JSON_WORDS, b'"I64"', b'"F32"', b'"dtype"', b'"shape"', b'"data_offsets"', b"4294967296")

TARGETS: dict[str, Target] = {
    "word2vec": Target(lambda: _TEXT_VECTORS, _import("word2vec"), words=_NUMBERS),
    "word2vec-bin": Target(lambda: _BINARY_VECTORS, _import("word2vec-bin"), words=(b" ", b"\n", b"1000000000 300\n")),
    "glove": Target(lambda: _GLOVE_VECTORS, _import("glove"), words=_NUMBERS),
    "fasttext": Target(lambda: _TEXT_VECTORS, _import("fasttext"), words=_NUMBERS),
    "jose": Target(lambda: _TEXT_VECTORS, _import("jose"), words=_NUMBERS),
    "import": Target(
        lambda: (
            [mode + seed for seed in _TEXT_VECTORS + _BINARY_VECTORS + _GLOVE_VECTORS for mode in (b"\0", b"\xff")]
            + [b"\0" + gzip.compress(seed, mtime=0) for seed in _TEXT_VECTORS]
        ),
        _import_any,
        words=(*_NUMBERS, b"\x1f\x8b"),
    ),
    "native": Target(_model_seeds, _load_model, 2048, _MANIFEST_WORDS),
    "native-use": Target(_model_seeds, _use_model, 2048, _MANIFEST_WORDS),
    "safetensors": Target(_tensor_seeds, _read_tensors, words=_TENSOR_WORDS),
    "text": Target(_text_seeds, _read_text, 160, words=("’".encode(), "İ".encode(), b"'", b"\n", b"\0")),
    "jsonl": Target(lambda: _JSONL, _read_table(".jsonl"), words=(*_JSON_WORDS, b'"t"')),
    "csv": Target(lambda: _CSV, _read_table(".csv"), words=(b'"', b",", b"\r\n", b"\r", b"\0")),
    "parquet": Target(_parquet_seeds, _read_table(".parquet"), 4096, (b"PAR1",)),
    "gz": Target(_packed_seeds(".gz"), _read_packed(".gz"), words=(b"\x1f\x8b\x08",)),
    "xz": Target(_packed_seeds(".xz"), _read_packed(".xz"), words=(b"\xfd7zXZ\0",)),
    "zst": Target(_packed_seeds(".zst"), _read_packed(".zst"), words=(b"\x28\xb5\x2f\xfd",)),
    "corpus": Target(_corpus_seeds, _open_corpus, words=(*_JSON_WORDS, b'"n_tokens"', b'"named"', b"\xff\xff\xff\x7f")),
    "evaluation": Target(_evaluation_seeds, _read_evaluation, words=(*_NUMBERS, b"\xc2\xb2", b": ", b"train", b"all")),
}
