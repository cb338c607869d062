"""Targets: everything that text is read from, and data to evaluate with."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.base import JSON_WORDS, Target, cached, files_of, write
from benchmarks.tables import made_table

_ENCODINGS = ("utf-8", "utf-16", "latin-1", "utf-8-sig", "cp1252", "utf-7", "shift_jis", "utf-32-le", "gb18030", "hz")
_TEXTS = ["A small cat\nsat on İstanbul’s mat\n\nl'été 日本\n", "one", "\ufeffx y\r\nz \u2028 w"]


def _text_seeds() -> list[bytes]:
    seeds = []
    for number, encoding in enumerate(_ENCODINGS):
        seeds += [bytes([number + 10 * way]) + text.encode(encoding, "replace") for way, text in enumerate(_TEXTS)]
    return seeds


def _read_text(data: bytes, folder: Path) -> None:
    """The first byte picks the encoding, the size of blocks and the tokeniser; words must be those of the slow one."""
    from spherevec.corpus.count.word_table import WordTable
    from spherevec.corpus.read.options import ReadOptions
    from spherevec.corpus.read.readers import open_source
    from spherevec.corpus.read.streams import blocks, lines
    from spherevec.corpus.tokenize import tokenize
    from spherevec.corpus.tokenize.characters import ID_MASK
    from spherevec.corpus.tokenize.tokenizer import tokenizer_of

    mode = data[0] if data else 0
    encoding, size = _ENCODINGS[mode % 10], (4, 7, 64, 1 << 20)[mode // 10 % 4]
    size = max(size, len(data) // 64)
    splitter = ("words", "whitespace", "words:urls=keep,emails=drop,hyphens=join")[mode // 40 % 3]
    path = folder / "t.txt"
    path.write_bytes(data[1:])
    source = open_source(path, ReadOptions(encoding=encoding), size)
    assert source.pieces is not None
    pieces = list(source.pieces)
    table = WordTable(tokenizer_of(splitter), first_words=2)
    fed = [table.feed(block) for block in blocks(pieces, size)]
    documents = [line[:-1].decode() for line in lines(pieces)]
    words = [word for part in fed for word in table.counted().at((part.ids & ID_MASK).astype(np.intp))]
    assert words == [word for text in documents for word in tokenize(text, splitter)]
    assert sum(len(part.ends) for part in fed) == len(documents)


def _read_table(ending: str, **options: Any) -> Callable[[bytes, Path], None]:
    """A file with the table of its documents, which has a row for each of them."""
    options = {"text_field": "t", "id_field": None, "title_field": None, "keep": [], **options}

    def read(data: bytes, folder: Path) -> None:
        from spherevec.corpus.read.options import ReadOptions
        from spherevec.corpus.read.readers import open_source
        from spherevec.model.documents import DocumentTable

        path = folder / f"t{ending}"
        path.write_bytes(data)
        source = open_source(path, ReadOptions(**options), records_in=folder)
        assert source.records is not None
        with source.records as records:
            texts = list(source.texts())
            records.write(folder / "table")
        table = DocumentTable.open(folder / "table", memory_map=False)
        assert len(table) == len(table.ids) == len(texts)
        for row in {0, len(texts) - 1}:
            assert table.row_of(table.ids[row]) == row
            json.dumps(table.record(row))

    return read


_KEPT: dict[str, Any] = {"id_field": "id", "title_field": "n", "keep": ["u"]}
_JSONL = [
    b'{"id": "x", "t": "a text", "u": 1}\n{"id": 2, "t": null, "u": 2.5}\n\n'
    b'{"id": "z", "t": "\\u00e9\\ud83d", "n": "N"}\n',
    b'{"t":"x", "id": null}',
]
_JSON = [b'[{"t": "a text", "u": "2024-01-01"}, {"t": null}]', b'["one", "two"]', b'{"t": "x"}\n{"t": "y"}\n', b"[]"]
_CSV = [b'u,t\n1,"a ""quoted"" text\nin two lines"\n2,b\n', b"t,u\na,1\n\nb,2\n", b"\xef\xbb\xbft;u\r\na;1\r\n"]
_TSV = [b"t\tu\na text\t1\nb\t\n", b't\tu\r\n"a\tb"\t2024-01-01\r\n']
_HTML = [
    b"<title>News</title><p>One<b>two</b><script>x()</script><p>three &amp; four",
    b'<meta charset="latin-1"><body>\xe9t\xe9</body><!-- x --><svg><text>y</svg>',
]
_EMAIL = [
    b"From: a@b.c\nSubject: =?utf-8?b?w6k=?=\nDate: Mon, 1 Jan 2024 00:00:00 +0000\n\ntext\n",
    b'MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary="x"\n\n--x\n'
    b"Content-Type: text/plain; charset=latin-1\n"
    b"Content-Transfer-Encoding: quoted-printable\n\n=E9\n--x\nContent-Type: text/html\n\n<p>h\n--x--\n",
]
_MBOX = [b"From a@b Mon Jan  1 00:00:00 2024\n" + mail + b"\n" for mail in _EMAIL]


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
        from spherevec.corpus.read.readers import open_source

        path = folder / f"t.txt{ending}"
        path.write_bytes(cached("packers", _packers)[ending](data[1:]) if data[:1] > b"\xe0" else data[1:])
        source = open_source(path, size=64)
        assert source.pieces is not None
        for piece in source.pieces:
            assert len(piece) <= 3 * 64  # a byte of a Windows encoding becomes three at most

    return read


def _corpus_files() -> dict[str, bytes]:
    from spherevec.corpus import encode

    with tempfile.TemporaryDirectory() as scratch:
        texts = Path(scratch) / "texts"
        texts.mkdir()
        for number, text in enumerate(["a b a", "", "b a c"]):
            (texts / f"{number}.txt").write_text(text)
        encode(texts, Path(scratch) / "c", min_count=1).close()
        return files_of(Path(scratch) / "c")


def _corpus_seeds() -> list[bytes]:
    files = cached("corpus", _corpus_files)
    return [bytes([number]) + files[name] for number, name in enumerate(sorted(files))]


def _open_corpus(data: bytes, folder: Path) -> None:
    """The first byte picks the file that the rest replaces. What opens must be safe for kernels that check nothing."""
    from spherevec.corpus import EncodedCorpus
    from spherevec.model.documents import DocumentTable

    place = folder / "c"
    if not place.exists():
        place.mkdir()
    files = dict(cached("corpus", _corpus_files))
    files[sorted(files)[(data[0] if data else 0) % len(files)]] = data[1:]
    for one, content in files.items():
        write(place / one, content)
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
    from experiments import datasets

    name = list(_EVALUATION_FILES)[(data[0] if data else 0) % len(_EVALUATION_FILES)]
    for one, content in {**_EVALUATION_FILES, name: data[1:]}.items():
        (folder / one).parent.mkdir(exist_ok=True)
        write(folder / one, content)
    if name.startswith("20news"):
        datasets.load_labelled("20news", folder)
    elif "analogies" in name:
        datasets.load_analogies(folder)
    else:
        for similarity_set in datasets.SIMILARITY_SETS:
            datasets.load_similarity(similarity_set, folder)


_FORMS = ("ISO 8601", "%d/%m/%Y", "%m/%d/%Y", "excel", "%Y-%m-%dT%H:%M:%S%z")


def _read_values(data: bytes, folder: Path) -> None:
    """Cells, apart by NUL, of a table of documents: each by every form of dates and numbers, and as a condition."""
    from spherevec.corpus.table.field_types import as_number, date_as
    from spherevec.errors import SpherevecError

    cells = data.decode("utf-8", "surrogateescape").split("\0")[:12]
    for cell in cells:
        for form in _FORMS:
            date_as(cell, form)
        for decimal in ".,":
            as_number(cell, decimal)
    table = made_table(len(cells), fields={"v": cells})
    for row in range(len(cells)):
        json.dumps(table.record(row))
    for cell in cells[:4]:
        for key in ("v", "v>=", "v<", "v!="):
            try:
                assert len(table.rows_where({key: cell})) <= len(cells)
            except SpherevecError as error:
                assert "\n" not in str(error)


_VALUES = [
    b"1\x002.5\x00-3",
    b"2024-01-01\x002024-02-29T12:00:00+01:00",
    b"25.02.2024\0Feb 25, 2024",
    b"1.234,5\x001e308",
]
_NUMBERS = (b"nan", b"inf", b"-1e999", b"1e-46", b"0", b"1_0", b"0x1", b"99999999999999999999", b"\xc2\xb2")
_DATES = (b"2024-01-01", b"9999-99-99", b"0000-00-00", b"2024-01-01T00:00:00+99:99")
_TABLE_WORDS = (b'"', b",", b"\t", b";", b"\r\n", b"\r", b"\0", *_DATES)
_MAIL_WORDS = (
    b"Content-Type: ",
    b"charset=",
    b"boundary=",
    b"=?utf-8?q?",
    b"?=",
    b"\nFrom ",
    b"base64",
    b"\n\n",
    b"Date: ",
)
_TAGS = (b"<script>", b"</", b"<!--", b"<![CDATA[", b"&#", b"&#xd800;", b"charset=", b"utf-7", b"<title>", b"<body>")

CORPORA: dict[str, Target] = {
    "text": Target(_text_seeds, _read_text, 160, words=("’".encode(), "İ".encode(), b"'", b"\n", b"\0")),
    "jsonl": Target(
        lambda: _JSONL, _read_table(".jsonl", **_KEPT), words=(*JSON_WORDS, *_DATES, b'"t"', b'"id"', b'"u"')
    ),
    "json": Target(lambda: _JSON, _read_table(".json"), words=(*JSON_WORDS, *_DATES, b'"t"', b"[", b"]", b",")),
    "csv": Target(lambda: _CSV, _read_table(".csv", keep=["u"]), words=_TABLE_WORDS),
    "tsv": Target(lambda: _TSV, _read_table(".tsv", keep=["u:date"]), words=_TABLE_WORDS),
    "values": Target(lambda: _VALUES, _read_values, 160, (*_NUMBERS, *_DATES, b"\0", b"..", b"0001", b"9999-12-31")),
    "html": Target(lambda: _HTML, _read_table(".html", text_field=None, keep=["title"]), words=_TAGS),
    "email": Target(lambda: _EMAIL, _read_table(".eml", text_field=None, keep=["date", "from"]), words=_MAIL_WORDS),
    "mbox": Target(
        lambda: _MBOX, _read_table(".mbox", text_field=None, keep=["date:date"]), 1024, _MAIL_WORDS, b"From "
    ),
    "parquet": Target(_parquet_seeds, _read_table(".parquet"), 4096, (b"PAR1",)),
    "gz": Target(_packed_seeds(".gz"), _read_packed(".gz"), words=(b"\x1f\x8b\x08",)),
    "xz": Target(_packed_seeds(".xz"), _read_packed(".xz"), words=(b"\xfd7zXZ\0",)),
    "zst": Target(_packed_seeds(".zst"), _read_packed(".zst"), words=(b"\x28\xb5\x2f\xfd",)),
    "corpus": Target(_corpus_seeds, _open_corpus, words=(*JSON_WORDS, b'"n_tokens"', b'"named"', b"\xff\xff\xff\x7f")),
    "evaluation": Target(_evaluation_seeds, _read_evaluation, words=(*_NUMBERS, b": ", b"train", b"all")),
}
