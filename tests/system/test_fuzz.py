"""Hostile files: a few hundred damaged inputs for every reader, lying headers, and bombs.

`python -m benchmarks.fuzz` feeds the same readers with 100,000 inputs each.
"""

import gzip
import io
import json
import lzma
import os
import random
import re
import struct
import subprocess
import sys
import textwrap
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
import spherevec
from benchmarks.fuzz import guided
from benchmarks.fuzz.base import Target, damaged
from benchmarks.fuzz.guided import search
from benchmarks.fuzz.models import model_files
from benchmarks.fuzz.targets import TARGETS, feed
from benchmarks.tables import made_table
from spherevec.corpus import EncodedCorpus, encode, read_documents
from spherevec.errors import ConfigError, CorpusError, FormatError, SpherevecError
from spherevec.evaluation.files import read_analogies, read_pairs, read_split
from spherevec.io import import_vectors
from spherevec.model.documents import DocumentTable
from spherevec.search.terms import DocumentTerms
from spherevec.storage import checksums
from spherevec.storage.tensors import read_tensors, write_tensors
from spherevec.storage.text_column import TextColumn
from spherevec.training import checkpoint

INPUTS = 120


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_damaged_reads_well_or_is_refused_in_one_line(name, tmp_path):
    assert any(feed(name, seed, tmp_path) for seed in TARGETS[name].seeds()), "the reader takes nothing"
    assert not search(name, INPUTS, tmp_path, clock=False).failures


@pytest.mark.parametrize(
    ("seed", "work", "says"),
    [
        (b"x" * 40, lambda data: sum(range(5_000_000)) if len(data) > 1000 else 0, "seconds for"),
        (b"x" * 40, lambda data: bytearray(64 << 20) if len(data) > 1000 else 0, "bytes of memory"),
        (b"x" * 40, lambda data: 1 / (len(data) - 41), "ZeroDivisionError"),
    ],
)
def test_the_search_notices_time_memory_and_surprises(tmp_path, monkeypatch, seed, work, says):
    monkeypatch.setitem(TARGETS, "hostile", Target(lambda: [seed], lambda data, _: work(data)))
    monkeypatch.setattr(guided, "SECONDS", 0.02)
    assert says in " ".join(guided.search("hostile", 100, tmp_path).failures)


def test_a_surprise_is_not_swallowed(tmp_path, monkeypatch):
    def surprise(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("spherevec.io.text._read_rows", surprise)
    with pytest.raises(ZeroDivisionError):
        feed("word2vec", b"1 2\na 1 0\n", tmp_path)


# --- headers that lie -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("word2vec", b"1000000000 300\na 1 0\n"),
        ("word2vec", b"2 65536\na 1 0\n"),
        ("word2vec-bin", b"1000000000 300\na 1234"),
        ("word2vec-bin", b"1 1000000000\na 1234"),
        ("jose", b"9" * 5000 + b" 2\na 1 0\n"),
        (None, gzip.compress(b"1000000000 300\n" + b"a 1 0\n" * 1000, mtime=0)),
    ],
)
def test_a_billion_vectors_are_refused_before_they_get_memory(tmp_path, name, content):
    path = tmp_path / "v"
    path.write_bytes(content)
    with pytest.raises(FormatError):  # once before, so that no import is counted
        import_vectors(path, name)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"header"):
            import_vectors(path, name)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("file", "damage", "fault"),
    [
        ("ids.bin", lambda data: struct.pack("<i", 3) + data[4:], "holds a number that is no word's"),
        ("ids.bin", lambda data: struct.pack("<i", -1) + data[4:], "holds a number that is no word's"),
        ("offsets.bin", lambda data: data[:8] + struct.pack("<q", 9) + data[16:], "goes back near document 0"),
        ("offsets.bin", lambda data: struct.pack("<q", 1) + data[8:], "does not go from 0 to 6"),
        ("offsets.bin", lambda data: data[:-8] + struct.pack("<q", 5), "does not go from 0 to 6"),
        ("counts.bin", lambda data: bytes(8) + data[8:], "a word that never occurs"),
        ("words.json", lambda data: b'["a", 1, "c"]', "is not a list of names"),
        ("words.json", lambda data: b"[" * 100_000, "is not JSON"),
        ("corpus.json", lambda data: data.replace(b'"n_tokens": 6', b'"n_tokens": -6'), "n_tokens is -6"),
        ("corpus.json", lambda data: data.replace(b'"n_tokens": 6', b'"n_tokens": 6e0'), r"n_tokens is 6\.0"),
    ],
)
def test_an_encoded_corpus_that_would_mislead_the_kernels_is_refused(tmp_path, file, damage, fault):
    encode(["a b a", "b a c"], tmp_path / "c", min_count=1).close()
    path = tmp_path / "c" / file
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CorpusError, match=rf"damaged corpus \(.*{fault}.*\); encode the text again"):
        EncodedCorpus.open(tmp_path / "c")


LEAPS = [0, 2**63 - 2**32, -(2**62) - 2**61, 7]  # the difference of the second and third, as 64 bits, is positive


def test_offsets_whose_differences_overflow_are_refused(tmp_path):
    encode(["a b a", "b a c", "a"], tmp_path / "c", min_count=1).close()
    (tmp_path / "c" / "offsets.bin").write_bytes(np.array(LEAPS, "<i8").tobytes())
    with pytest.raises(CorpusError, match="goes back near document 0"):
        EncodedCorpus.open(tmp_path / "c")
    with pytest.raises(FormatError, match="does not fit its bytes"):
        TextColumn(np.array(LEAPS), np.zeros(7, np.uint8)).check()


# --- encodings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["undefined", "hex", "rot13", "a\0b", "utf-8\n", "", "idna" * 100])
def test_names_that_are_no_text_encoding_are_refused(tmp_path, encoding):
    path = tmp_path / "t.txt"
    path.write_bytes(b"a b\n")
    with pytest.raises(ConfigError, match="cannot be used"):
        list(read_documents(path, encoding=encoding))


def test_wide_text_without_its_mark_is_told(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes("one two".encode("utf-16-le"))
    with pytest.raises(CorpusError, match=r"not valid utf-16 \(UTF-16 stream does not start with BOM\); name the file"):
        list(read_documents(path, encoding="utf-16"))


# --- bombs ------------------------------------------------------------------------------------------------------------

PEAK = """
    import resource, sys
    from pathlib import Path
    from spherevec.corpus.read.readers import open_source, read_documents
    from spherevec.errors import SpherevecError
    def peak():
        try:  # where there is /proc: elsewhere a process starts with the peak of the one that started it
            status = Path("/proc/self/status").read_text()
            return int(status.partition("VmHWM:")[2].split()[0])
        except OSError:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before = peak()
    length = 0
    try:
        if sys.argv[2] == "pieces":
            for piece in open_source(sys.argv[1]).pieces:
                length += len(piece)
        else:
            for text in read_documents(sys.argv[1], text_field=sys.argv[3] or None):
                length += len(text)
    except SpherevecError as error:
        print(error)
    print(length)
    print((peak() - before) // 1024)
"""


def read_elsewhere(path, what, field=""):
    """What reading prints, in a process of its own: any error, the bytes read, and the megabytes it took."""
    command = [sys.executable, "-c", textwrap.dedent(PEAK), str(path), what, field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *message, length, megabytes = done.stdout.splitlines()
    return message, int(length), int(megabytes)


def packed(ending, data):
    if ending == ".gz":
        return gzip.compress(data)
    if ending == ".xz":
        return lzma.compress(data, preset=0)
    return pytest.importorskip("zstandard").ZstdCompressor(3).compress(data)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_gigabyte_from_two_megabytes_passes_by_where_it_is_allowed(tmp_path, monkeypatch, ending):
    monkeypatch.setenv("SPHEREVEC_MAX_EXPANSION", "100000")
    monkeypatch.setenv("SPHEREVEC_MAX_DOCUMENTS", "100000000")
    path = tmp_path / f"bomb.txt{ending}"
    parts = 4 if ending == ".zst" else 32  # zstd packs best in one part, and is quick
    path.write_bytes(packed(ending, b"a few words\n" * ((1 << 30) // parts // 12)) * parts)
    assert path.stat().st_size < 2_200_000
    message, length, megabytes = read_elsewhere(path, "pieces")
    assert message == [] and length > 1_073_000_000
    assert megabytes < 100


@pytest.mark.parametrize(
    ("name", "field", "start", "says", "most"),
    [
        ("b.txt.zst", "", b"", "line 1: longer than 256 MB; split it into several", 700),
        ("b.jsonl.zst", "t", b'{"t": "', "line 1: longer than 64 MB; split it into several", 300),
        ("b.csv.zst", "t", b't\n"', "line 2: longer than 64 MB; split it into several", 300),
    ],
)
def test_a_text_without_end_is_refused(tmp_path, monkeypatch, name, field, start, says, most):
    monkeypatch.setenv("SPHEREVEC_MAX_EXPANSION", "1000000")  # a budget for files that unfold has tests of its own
    path = tmp_path / name
    path.write_bytes(packed(".zst", start + b"a" * (1 << 25)) + packed(".zst", b"a" * (1 << 25)) * 10)
    message, _, megabytes = read_elsewhere(path, "texts", field)
    assert says in message[0]
    assert megabytes < most


def test_a_word_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("spherevec.corpus.read.streams.LONGEST_TEXT", 1 << 20)
    path = tmp_path / "t.txt"
    path.write_bytes(b"a b\n" + b"x" * (3 << 20))
    with pytest.raises(CorpusError, match=r"t.txt: over 1 MB without a space or a line break; is this text\?"):
        encode(path, tmp_path / "out", min_count=1, block_size=1 << 16)


def test_a_row_of_endless_cells_is_refused(tmp_path, monkeypatch):
    """Each line and each cell is short, but the row goes on."""
    monkeypatch.setattr("spherevec.corpus.read.tables.LONGEST_RECORD", 1 << 16)
    path = tmp_path / "t.csv"
    path.write_bytes(b"t,u\n" + b'"\n",' * 100_000)
    with pytest.raises(CorpusError, match=r"t.csv, line \d+: a row of over 0 MB; split it"):
        list(read_documents(path, text_field="t"))
    path.write_bytes(b"t,u\n" + b"short,row\n" * 100_000)
    assert sum(1 for _ in read_documents(path, text_field="t")) == 100_000


def test_an_xz_file_that_asks_for_gigabytes_is_refused(tmp_path):
    data = bytearray(lzma.compress(b"a few words\n", preset=0))
    header = slice(12, 12 + 4 * (data[12] + 1))
    data[16] = 40  # the size of the dictionary: 4 GB
    data[header.stop - 4 : header.stop] = struct.pack("<I", zlib.crc32(bytes(data[12 : header.stop - 4])))
    path = tmp_path / "t.txt.xz"
    path.write_bytes(data)
    assert lzma.decompress(bytes(data)) == b"a few words\n"
    with pytest.raises(CorpusError, match=r"t.txt.xz: not a valid .xz file \(Memory usage limit"):
        list(read_documents(path))


def test_xz_parts_may_be_padded(tmp_path):
    path = tmp_path / "t.txt.xz"
    path.write_bytes(lzma.compress(b"one\n") + bytes(200_000) + lzma.compress(b"two\n") + bytes(4))
    assert list(read_documents(path)) == ["one", "two"]


def test_a_parquet_file_of_a_thousand_bytes_takes_no_gigabytes(tmp_path, monkeypatch):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    text = pyarrow.array(["word " * 1_000_000])
    rows = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 70, pyarrow.int32()), text)
    path = tmp_path / "t.parquet"
    limit = {"dictionary_pagesize_limit": 1 << 30, "store_schema": False}
    parquet.write_table(pyarrow.table({"t": rows}), path, compression="zstd", **limit)
    assert path.stat().st_size < 1500
    message, length, _ = read_elsewhere(path, "texts", "t")
    expected = r"bytes expand to [0-9]{2},[0-9]{3},[0-9]{3} and more, over 250 times as many"
    assert re.search(expected, message[0]) and length < 20_000_000
    monkeypatch.setenv("SPHEREVEC_MAX_EXPANSION", "1000000")
    message, length, megabytes = read_elsewhere(path, "texts", "t")
    assert message == [] and length == 70 * 5_000_000
    assert megabytes < 1000


def test_messages_stay_short(tmp_path):
    (tmp_path / "t.jsonl").write_text("{" + ", ".join(f'"{"k" * 100}{i}": 1' for i in range(5000)) + "}\n")
    (tmp_path / "v").write_text("x" * 60_000 + " nan 1\n")
    (tmp_path / "lines").write_text("x" * 60_000 + "\n")
    for call in (
        lambda: list(read_documents(tmp_path / "t.jsonl", text_field="text")),
        lambda: import_vectors(tmp_path / "v", "glove"),
        lambda: read_pairs(tmp_path / "lines"),
        lambda: read_analogies(tmp_path / "lines"),
        lambda: read_split(tmp_path / "lines"),
    ):
        with pytest.raises(SpherevecError) as caught:
            call()
        assert len(str(caught.value)) < 2000


# --- names and checksums ----------------------------------------------------------------------------------------------


def test_any_kind_of_link_in_a_model_folder_is_refused(tmp_path):

    from spherevec.model import Model

    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "m"
    folder.mkdir()
    for name, content in model_files().items():
        (folder / name).write_bytes(content)
    Model.load(folder, verify=True)
    for file in sorted(folder.iterdir()):
        file.rename(outside / file.name)
        for target in (outside / file.name, Path("..", "outside", file.name), "/dev/zero"):
            file.symlink_to(target)
            with pytest.raises(FormatError, match="not a plain file"):
                Model.load(folder)
            file.unlink()
        os.mkfifo(file)  # must not wait for a writer
        with pytest.raises(FormatError, match="not a plain file"):
            Model.load(folder)
        file.unlink()
        (outside / file.name).rename(file)
    Model.load(folder, verify=True)


def test_a_folder_of_texts_may_hold_links_out_but_none_that_never_end(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("one two")
    (tmp_path / "texts" / "loop").symlink_to(tmp_path / "texts")
    os.mkfifo(tmp_path / "texts" / "pipe.txt")
    assert list(read_documents(tmp_path / "texts")) == ["one two "]


def test_the_seeds_differ_from_what_chance_makes_of_them():
    luck = random.Random(1)
    seeds = TARGETS["jsonl"].seeds()
    assert len({damaged(seeds, (), luck) for _ in range(100)}) > 90
    assert io.BytesIO(damaged(seeds, (), luck)).getbuffer().nbytes <= 4096


# --- what fuzzing has found -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("words", [2**30] * 4),
        ("words", [-1] * 4),
        ("words", [1] * 4),
        ("starts", [0, 9, 4]),
        ("rare_rows", [7]),
        ("rows", [0, 0, 5, 1]),
    ],
)
def test_numbers_that_compiled_code_trusts_are_looked_at_first(tmp_path, name, numbers):
    """Such a model made scipy write beyond its arrays."""
    model = spherevec.train(["a b a", "b a c"], min_count=2, epochs=1, vector_size=2, threads=1)
    arrays = {key: np.array(array) for key, array in model.terms.tensors.items()}
    arrays[name] = np.resize(np.array(numbers, arrays[name].dtype), arrays[name].shape)
    if name == "starts":
        arrays[name][-1] = len(arrays["words"])
        arrays[name][1] = arrays[name][-1] + 1
    write_tensors(tmp_path / "t", arrays)
    model.terms = DocumentTerms(read_tensors(tmp_path / "t"))
    for use in (lambda: model.document_terms, lambda: model.remove(["0"]), model.check):
        with pytest.raises(FormatError, match="copy the model again"):
            use()


def test_texts_that_overlap_do_not_become_terabytes(tmp_path):
    size = 1 << 20
    offsets = np.tile(np.array([0, size], np.int64), 1 << 16)
    column = TextColumn(offsets, np.zeros(size, np.uint8))
    for use in (lambda: list(column), column.hashes, lambda: column.find("x")):
        with pytest.raises(FormatError, match="does not fit its bytes"):
            use()


def test_categories_that_have_no_name_are_told(tmp_path):
    table = made_table(3, fields={"team": ["x", "y", "x"]})
    tensors = {name: np.array(array) for name, array in table.tensors.items()}
    codes = next(array for name, array in tensors.items() if name.endswith(".codes"))
    codes[1] = 9
    with pytest.raises(FormatError, match="a category that it does not name"):
        DocumentTable(tensors).column("team")


@pytest.mark.parametrize("page", ["<p>a<![CDAT [x]]>b", "<![if x", "<![endif]-->a b", "<!", "<![>a"])
def test_marked_sections_of_web_pages_are_comments(tmp_path, page):
    (tmp_path / "t.html").write_text(page)
    assert len(list(read_documents(tmp_path / "t.html"))) == 1


def test_a_checkpoint_with_other_sums_is_refused(tmp_path):
    place = tmp_path / "c"
    spherevec.train(
        ["a b a", "b a c"], min_count=1, epochs=1, vector_size=2, threads=1, checkpoint=place, checkpoint_every="1e"
    )
    about = json.loads((place / "checkpoint.json").read_text())
    about["sums"]["more"] = 1.0
    (place / "checkpoint.json").write_text(json.dumps(checksums.with_checksum(about)))
    with pytest.raises(FormatError, match="damaged checkpoint"):
        checkpoint.load(place)


def test_a_name_of_a_thousand_unknown_words_is_one_short_line(tmp_path):
    text = "money: bank\n" + "x" * 3000 + ": " + ", ".join(f"unheard{i}" + "y" * 300 for i in range(1000)) + "\n"
    with pytest.raises(SpherevecError, match=r"the text never says .* and \d+ more; give words of the text"):
        TARGETS["names"].feed(text.encode(), tmp_path)
    assert not feed("names", text.encode(), tmp_path)
