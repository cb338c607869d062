"""Exchange formats, each read back by us and by the program it is meant for."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import longest_file
from spherevec.errors import ConfigError, FormatError, MissingExtraError, SpherevecError
from spherevec.io import FORMATS, export_vectors, import_vectors
from spherevec.model.keyed_vectors import KeyedVectors

READABLE = [name for name, known in FORMATS.items() if known.read is not None]
TEXT = [name for name in READABLE if name != "word2vec-bin"]
WITH_HEADER = [name for name in READABLE if name != "glove"]
WORDS = ["the", "naïve", "👩‍🚀", "don't", '"quoted"', "\u00a0", "0.5", "-1", "[UNK]", "東京", "</s>", "\u2028"]
ODD = ["", " ", "a b", "\n", "\r", "\t", '"', "'", "\\", "\u00a0", "👩‍🚀", "\x00", "\x1c", "\u2028", "\udcff", "1", ","]


def unit(n, dim=5, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cannot_hold(name, key):
    """What each format cannot hold, said the slow way."""
    if any(0xD800 <= ord(letter) < 0xE000 for letter in key):
        return True
    if name in (*READABLE, "fasttext-bin"):
        return key == "" or any(letter in " \t\n\r\f\v\0" for letter in key)
    if name == "npy":
        return "\n" in key or "\r" in key
    if name == "projector":
        return key == "" or any(letter in "\t\n\r" for letter in key)
    return name == "spacy" and key == ""


@pytest.fixture
def words():
    return KeyedVectors(WORDS, unit(len(WORDS)), np.arange(len(WORDS)))


class TestRoundTrip:
    @pytest.mark.parametrize("name", READABLE)
    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("guessed", [False, True])
    def test_is_exact_to_the_bit(self, words, tmp_path, name, packed, guessed):
        path = tmp_path / "vectors"
        export_vectors(words, path, name)
        if packed:
            path.write_bytes(gzip.compress(path.read_bytes()))
        back, changes = import_vectors(path, None if guessed else name)
        assert back.names == WORDS
        np.testing.assert_array_equal(back.vectors, words.vectors)
        assert not changes and str(changes) == "12 vectors taken over unchanged"

    @pytest.mark.parametrize("name", TEXT)
    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("guessed", [False, True])
    def test_a_byte_order_mark_is_no_part_of_the_first_word(self, words, tmp_path, name, packed, guessed):
        path = tmp_path / "vectors"
        export_vectors(words, path, name)
        data = b"\xef\xbb\xbf" + path.read_bytes()
        path.write_bytes(gzip.compress(data) if packed else data)
        assert import_vectors(path, None if guessed else name)[0].names == WORDS

    @pytest.mark.parametrize("name", TEXT)
    def test_a_first_word_with_a_byte_order_mark_keeps_it(self, tmp_path, name):
        export_vectors(KeyedVectors(["\ufeffa", "b"], unit(2)), tmp_path / "vectors", name)
        assert import_vectors(tmp_path / "vectors", name)[0].names == ["\ufeffa", "b"]

    @given(
        keys=st.lists(st.sampled_from(ODD) | st.text(max_size=6), min_size=1, max_size=6, unique=True),
        name=st.sampled_from(sorted(set(FORMATS) - {"spacy"})),
        seed=st.integers(0, 99),
    )
    @settings(max_examples=150)
    def test_a_name_is_kept_or_refused_before_anything_is_written(self, keys, name, seed):
        vectors = KeyedVectors(keys, unit(len(keys), 3, seed))
        refused = any(cannot_hold(name, key) for key in keys)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "out"
            if refused:
                with pytest.raises(FormatError, match="cannot be written") as caught:
                    export_vectors(vectors, path, name)
                assert "\n" not in str(caught.value)
                assert list(Path(folder).iterdir()) == []
                return
            export_vectors(vectors, path, name)
            if name in READABLE:
                back, _ = import_vectors(path, name)
                if back.named:
                    assert back.names == keys
                else:
                    assert keys == [str(row) for row in range(len(keys))]
                np.testing.assert_array_equal(back.vectors, vectors.vectors)

    @pytest.mark.parametrize("name", READABLE)
    def test_rows_without_names_are_numbered(self, tmp_path, name):
        export_vectors(KeyedVectors(None, unit(4)), tmp_path / "v", name)
        back, _ = import_vectors(tmp_path / "v", name)
        assert list(back) == ([0, 1, 2, 3] if name == "jose" else ["0", "1", "2", "3"])

    @given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=4))
    @settings(max_examples=30)
    def test_numbers_come_back_as_directions(self, row):
        given_row = np.array(row, np.float32)
        with tempfile.TemporaryDirectory() as folder:
            for name in READABLE:
                export_vectors(
                    KeyedVectors(["x", "y"], np.stack([given_row, np.ones_like(given_row)])), f"{folder}/{name}", name
                )
                back, changes = import_vectors(f"{folder}/{name}", name)
                norm = np.linalg.norm(given_row.astype(np.float64))
                if norm == 0:
                    assert back.names == ["y"] and changes.zeros == ("x",)
                else:
                    np.testing.assert_allclose(back["x"], given_row.astype(np.float64) / norm, rtol=1e-5, atol=1e-7)
                back.check()


class TestWriting:
    @pytest.mark.parametrize("name", list(FORMATS))
    def test_existing_output_is_kept_unless_told_otherwise(self, words, tmp_path, name):
        for module in {"parquet": ["pyarrow"], "spacy": ["spacy"]}.get(name, []):
            pytest.importorskip(module)
        export_vectors(words, tmp_path / "out", name)
        with pytest.raises(SpherevecError, match="already exists"):
            export_vectors(words, tmp_path / "out", name)
        export_vectors(KeyedVectors(["a"], unit(1)), tmp_path / "out", name, overwrite=True)
        assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []

    @pytest.mark.parametrize("name", ["projector", "spacy", "sentence-transformers"])
    def test_a_folder_with_other_things_in_it_is_never_replaced(self, words, tmp_path, name):
        if name == "spacy":
            pytest.importorskip("spacy")
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").write_text("precious")
        with pytest.raises(SpherevecError, match="'mine', which would be lost"):
            export_vectors(words, tmp_path / "out", name, overwrite=True)
        assert (tmp_path / "out" / "mine").read_text() == "precious"

    def test_a_folder_in_the_place_of_a_file_is_told(self, words, tmp_path):
        with pytest.raises(SpherevecError, match="is a folder"):
            export_vectors(words, tmp_path, "word2vec", overwrite=True)

    @pytest.mark.parametrize(("count", "dim"), [(500, 5), (20, 45)])  # far too long, and a little
    @pytest.mark.parametrize("name", list(FORMATS))
    def test_a_disk_that_fills_up_leaves_what_was_there(self, words, tmp_path, name, count, dim):
        for module in {"parquet": ["pyarrow"], "spacy": ["spacy"]}.get(name, []):
            pytest.importorskip(module)
        many = KeyedVectors([f"w{i}" for i in range(count)], unit(count, dim))
        export_vectors(words, tmp_path / "out", name)

        def content():
            return {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}

        before = content()
        with longest_file(3000), pytest.raises(SpherevecError, match="cannot write: "):
            export_vectors(many, tmp_path / "out", name, overwrite=True)
        assert content() == before

    def test_unknown_formats_are_told(self, words, tmp_path):
        with pytest.raises(ConfigError, match="cannot write the format 'word2vex'; choose one of word2vec,"):
            export_vectors(words, tmp_path / "out", "word2vex")
        with pytest.raises(ConfigError, match="cannot read the format 'parquet'"):
            import_vectors(tmp_path / "out", "parquet")

    @pytest.mark.parametrize(("name", "module"), [("parquet", "pyarrow"), ("spacy", "spacy")])
    def test_a_missing_extra_names_itself(self, words, tmp_path, monkeypatch, name, module):
        for loaded in [key for key in sys.modules if key.split(".")[0] == module] + [module]:
            monkeypatch.setitem(sys.modules, loaded, None)
        with pytest.raises(MissingExtraError, match=rf"spherevec\[{name}\]"):
            export_vectors(words, tmp_path / "out", name)


class TestRealReaders:
    @pytest.mark.parametrize("name", ["word2vec", "word2vec-bin", "fasttext", "jose", "glove"])
    def test_gensim_reads_what_we_write(self, words, tmp_path, name):
        gensim = pytest.importorskip("gensim")
        export_vectors(words, tmp_path / "v", name)
        theirs = gensim.models.KeyedVectors.load_word2vec_format(
            str(tmp_path / "v"), binary=name == "word2vec-bin", no_header=name == "glove"
        )
        assert theirs.index_to_key == WORDS
        np.testing.assert_array_equal(theirs.vectors, words.vectors)

    @pytest.mark.parametrize("binary", [False, True])
    def test_we_read_what_gensim_writes(self, words, tmp_path, binary):
        gensim = pytest.importorskip("gensim")
        theirs = gensim.models.KeyedVectors(5)
        theirs.add_vectors(WORDS, 2 * words.vectors)
        theirs.save_word2vec_format(str(tmp_path / "v"), binary=binary)
        back, changes = import_vectors(tmp_path / "v")
        assert sorted(back.names) == sorted(WORDS) and changes.rescaled == 12
        np.testing.assert_allclose(back[WORDS], words.vectors, atol=1e-6)

    def test_gensim_reads_fasttexts_own_format(self, words, tmp_path):
        pytest.importorskip("gensim")
        from gensim.models.fasttext import load_facebook_vectors

        export_vectors(words, tmp_path / "f.bin", "fasttext-bin")
        found = load_facebook_vectors(str(tmp_path / "f.bin"))
        assert list(found.index_to_key) == list(words.names)
        np.testing.assert_array_equal(found.vectors, words.vectors)
        with pytest.raises(KeyError):  # no n-grams, no guess
            found["unheard-of"]

    def test_fasttext_itself_reads_its_format(self, words, tmp_path):
        fasttext = pytest.importorskip("fasttext")
        export_vectors(words, tmp_path / "f.bin", "fasttext-bin")
        found = fasttext.load_model(str(tmp_path / "f.bin"))
        assert found.get_words() == list(words.names) and found.get_dimension() == words.vector_size
        for name in words.names:
            np.testing.assert_array_equal(found.get_word_vector(name), words[name])
        assert not found.get_word_vector("unheard-of").any()

    @pytest.mark.parametrize("name", ["word2vec", "word2vec-bin", "glove", "fasttext"])
    def test_gensim_reads_phrases(self, tmp_path, name):
        """Names with spaces are refused, or written as word2vec's own phrases are."""
        gensim_models = pytest.importorskip("gensim.models")
        phrases = KeyedVectors(["heart", "heart attack", "bill of rights"], unit(3))
        with pytest.raises(FormatError, match="heart attack"):
            export_vectors(phrases, tmp_path / "vectors", name)
        export_vectors(phrases, tmp_path / "vectors", name, underscores=True)
        how = {"binary": name == "word2vec-bin", "no_header": name == "glove"}
        theirs = gensim_models.KeyedVectors.load_word2vec_format(tmp_path / "vectors", **how)
        assert theirs.index_to_key == ["heart", "heart_attack", "bill_of_rights"]
        np.testing.assert_array_equal(theirs["heart_attack"], phrases["heart attack"])
        with pytest.raises(FormatError, match="both be written as 'new_york'"):
            export_vectors(KeyedVectors(["new york", "new_york"], unit(2)), tmp_path / "other", name, underscores=True)

    def test_titles_go_where_there_is_a_place_for_them(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        docs, titles = KeyedVectors(["T-1", "T-2"], unit(2)), ["Refund", "Late\tparcel"]
        export_vectors(docs, tmp_path / "docs.parquet", "parquet", title=titles.__getitem__)
        assert pandas.read_parquet(tmp_path / "docs.parquet")["title"].tolist() == titles
        export_vectors(docs, tmp_path / "folder", "projector", title=titles.__getitem__)
        lines = (tmp_path / "folder" / "metadata.tsv").read_text("utf-8").splitlines()
        assert lines == ["name\ttitle", "T-1\tRefund", "T-2\tLate parcel"]
        export_vectors(docs, tmp_path / "docs.txt", title=titles.__getitem__)  # has none

    def test_numpy(self, words, tmp_path):
        export_vectors(words, tmp_path / "v.npy", "npy")
        np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), words.vectors)
        with (tmp_path / "v.labels.txt").open(encoding="utf-8", newline="\n") as file:
            assert [line.removesuffix("\n") for line in file] == WORDS

    @pytest.mark.parametrize("named", [True, False])
    def test_pandas_reads_parquet(self, words, tmp_path, named):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        vectors = words if named else KeyedVectors(None, words.vectors)
        export_vectors(vectors, tmp_path / "v.parquet", "parquet")
        frame = pandas.read_parquet(tmp_path / "v.parquet")
        assert frame["key"].tolist() == list(vectors)
        np.testing.assert_array_equal(np.stack(frame["vector"]), words.vectors)
        assert list(frame.columns) == (["key", "vector", "count"] if named else ["key", "vector"])
        if named:
            assert frame["count"].tolist() == list(range(12))

    def test_parquet_keeps_every_name(self, tmp_path):
        parquet = pytest.importorskip("pyarrow.parquet")
        names = [key for key in ODD if key != "\udcff"]
        export_vectors(KeyedVectors(names, unit(len(names))), tmp_path / "v", "parquet")
        assert parquet.read_table(tmp_path / "v")["key"].to_pylist() == names

    def test_the_projectors_tables(self, words, tmp_path):
        export_vectors(words, tmp_path / "v", "projector")
        np.testing.assert_array_equal(
            np.loadtxt(tmp_path / "v" / "vectors.tsv", delimiter="\t", dtype=np.float32), words.vectors
        )
        lines = (tmp_path / "v" / "metadata.tsv").read_bytes().decode().split("\n")
        assert lines[0] == "name\tcount" and lines[1] == "the\t0" and len(lines) == 14
        export_vectors(KeyedVectors(["a", "b"], unit(2)), tmp_path / "bare", "projector")
        assert (tmp_path / "bare" / "metadata.tsv").read_text() == "a\nb\n"  # one column has no heading

    def test_spacy(self, tmp_path):
        spacy = pytest.importorskip("spacy")
        names = WORDS + [key for key in ODD if key not in WORDS and not cannot_hold("spacy", key)]
        words = KeyedVectors(names, unit(len(names)))
        export_vectors(words, tmp_path / "v", "spacy")
        table = spacy.vectors.Vectors().from_disk(tmp_path / "v")
        nlp = spacy.blank("xx")
        nlp.vocab.from_disk(tmp_path / "v")
        for row, word in enumerate(words.names):
            np.testing.assert_array_equal(table[spacy.strings.get_string_id(word)], words.vectors[row])
            np.testing.assert_array_equal(nlp.vocab[word].vector, words.vectors[row])
        assert nlp("the naïve")[1].has_vector and not nlp("unheard")[0].has_vector

    @pytest.mark.process
    @pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
    def test_sentence_transformers(self, tmp_path, tokenizer):
        """In a process of its own: the library is heavy. A variable can name another Python that has it."""
        python = os.environ.get("SPHEREVEC_SENTENCE_TRANSFORMERS_PYTHON", sys.executable)
        if python == sys.executable and importlib.util.find_spec("sentence_transformers") is None:
            pytest.skip("sentence_transformers is not installed")
        names = ["the", "cat", "don't", "東京", "naïve", "[UNK]", "x_1"]
        vectors = KeyedVectors(names, unit(7))
        export_vectors(vectors, tmp_path / "v", "sentence-transformers", tokenizer=tokenizer)
        texts = ["the", "The CAT!", "Don’t", "東京 naïve", "the unheard cat", "unheard", "x_1,the", "[UNK]"]
        script = """
            import json, sys
            from sentence_transformers import SentenceTransformer
            model = SentenceTransformer(sys.argv[1], device="cpu")
            print(json.dumps(model.encode(json.loads(sys.argv[2])).tolist()))
        """
        done = subprocess.run(
            [python, "-c", textwrap.dedent(script), tmp_path / "v", json.dumps(texts)],
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        from spherevec.corpus.tokenize.tokenizer import tokenize

        for text, found in zip(texts, json.loads(done.stdout.splitlines()[-1]), strict=True):
            known = [vectors[word] for word in tokenize(text, tokenizer) if word in vectors]
            total = np.sum(known, axis=0) if known else np.zeros(5)
            norm = np.linalg.norm(total)
            np.testing.assert_allclose(found, total / norm if norm else total, atol=1e-6, err_msg=text)


class TestVectorsFromOutside:
    def write(self, tmp_path, content):
        path = tmp_path / "v.txt"
        path.write_bytes(content)
        return path

    def refused(self, path, match, name=None):
        with pytest.raises(FormatError, match=match) as caught:
            import_vectors(path, name)
        assert "\n" not in str(caught.value) and str(path) in str(caught.value)

    def test_are_put_on_the_sphere_with_a_word_on_what_changed(self, tmp_path):
        path = self.write(tmp_path, b"6 2\na 3 4\nb 0 0\nc 0.6 0.8\na 1 0\nd -2 0\nb 1 0\n")
        vectors, changes = import_vectors(path)
        assert vectors.names == ["a", "c", "d", "b"]
        np.testing.assert_allclose(vectors.vectors, [[0.6, 0.8], [0.6, 0.8], [-1, 0], [1, 0]], atol=1e-7)
        vectors.check()
        assert (changes.vectors_read, changes.rescaled, changes.duplicates, changes.zeros) == (6, 2, ("a",), ("b",))
        assert str(changes) == (
            "2 of 6 vectors scaled to length 1; 1 repeated words dropped, such as 'a'; "
            "1 zero vectors dropped, such as that of 'b'"
        )

    def test_the_authors_files(self, tmp_path):
        """Six decimals and a space at the end of each line; documents are numbered."""
        path = self.write(tmp_path, b"2 3\n0 0.600000 0.000000 0.800000 \n1 -1.000000 0.000000 0.000000 \n")
        docs, changes = import_vectors(path, "jose")
        assert not docs.named and len(docs) == 2 and not changes
        path = self.write(tmp_path, b"2 3\n</s> 0.600000 0.000000 0.800000 \nthe -1.000000 0.000000 0.000000 \n")
        assert import_vectors(path, "jose")[0].names == ["</s>", "the"]

    def test_windows_line_ends_and_a_last_line_without_one(self, tmp_path):
        assert import_vectors(self.write(tmp_path, b"2 2\r\na 1 0\r\nb 0 1"))[0].names == ["a", "b"]
        assert import_vectors(self.write(tmp_path, b"2 2\na 1 0\nb 0 1\n\n"))[0].names == ["a", "b"]

    def test_glove_words_with_spaces_are_kept(self, tmp_path):
        path = self.write(tmp_path, b". . . 1 0\nat name@domain.com 0 1\n5 0 1\n")
        assert import_vectors(path)[0].names == [". . .", "at name@domain.com", "5"]

    @pytest.mark.parametrize(
        ("content", "fault"),
        [
            (b"", "wrong header"),
            (b"a 1 0\nb 0 1\n", "wrong header: the first line is 'a 1 0.n', not a count and a dimension"),
            (b"2 2\nnew york 1 0\nb 0 1\n", "line 2: the word 'new york' holds a space"),
            (b"2 2\na 1 0 3\nb 0 1\n", "line 2 has 3 numbers, not 2"),
            (b"2 2\na 1\nbcdef 0 1\n", "line 2 has 1 numbers, not 2"),
            (b"2 2\na 1 0\nb 0", "truncated: line 3, the last, has 1 numbers"),
            (b"3 2\na 1 0\nb 0 1\n", "promises 3 vectors, the file holds 2"),
            (b"1 2\na 1 0\nb 0 1\n", "wrong header: it promises 1 vectors, line 3 is one more"),
            (b"2 2\na 1 0\n\nb 0 1\n", "line 3 is blank"),
            (b"2 2\na 1 0\nb 0 1\n" + b"\n" * 1001, "ends in over 1,000 blank lines"),
            (b"2 2\na 1 x\nb 0 1\n", "line 2: 'x' is not a number"),
            (b"2 2\na 1 nan\nb 0 1\n", r"vector of 'a' \(number 1\) holds NaN or infinity"),
            (b"2 2\na 1 0\nb 0 1e99\n", r"vector of 'b' \(number 2\) holds NaN or infinity"),
            (b"2 2\n\xff 1 0\nb 0 1\n", r"line 2: the word '\\xff' is not UTF-8"),
            (b"2 2\n 1 0\nb 0 1\n", "line 2 begins with a space: its word is empty"),
            (b"2 2\na 0 0\nb 0 0\n", "no vector that is not zero"),
            (b"1000000000 100\na 1 0\n", "promises 1000000000 vectors of dimension 100, which take at least"),
            (b"9" * 100 + b" 100\na 1 0\n", "truncated, or a wrong header"),
            (b"1 100000000\na 1 0\n", "are not possible"),
            (b"0 5\n", "are not possible"),
            (b"5 1\na 1\n", "are not possible"),
            (b"1 2\n" + b"a" * 100_000 + b" 1 0\n", "line 2 is longer than any vector"),
        ],
    )
    def test_faults_of_text_are_told_apart(self, tmp_path, content, fault):
        self.refused(self.write(tmp_path, content), fault, "word2vec")

    @pytest.mark.parametrize(
        ("content", "fault"),
        [
            (b"2 2\na 1 0\n", "GloVe files have none"),
            (b"hello\n", "not a word and its numbers"),
            (b"", "not a word and its numbers"),
            (b"a 1 0\nb 1 0 0\n", "line 2 has 3 numbers, not 2"),
            (b"a 1 0\nb 1\n", "line 2 has 1 numbers, not 2"),
            (b"a" * 2_000_000, "not a word and its numbers"),
        ],
    )
    def test_faults_of_glove_are_told_apart(self, tmp_path, content, fault):
        self.refused(self.write(tmp_path, content), fault, "glove")

    @pytest.mark.parametrize(
        ("content", "fault"),
        [
            (b"2 2\na " + struct.pack("<2f", 1, 0) + b"\nbcdefghi ", "truncated: it ends within vector 2 of 2"),
            (b"2 2\na " + struct.pack("<2f", 1, 0), "promises 2 vectors of dimension 2, which take at least"),
            (b"1 2\na " + struct.pack("<2f", 1, 0) + b"\nb ", "wrong header: .* but data follow"),
            (b"1 2\na " + struct.pack("<2f", 1, np.nan), "NaN or infinity"),
            (b"1 2\n\xff " + struct.pack("<2f", 1, 0), r"vector 1: the word '\\xff' is not UTF-8"),
            (b"1 2\n " + struct.pack("<2f", 1, 0) + b"\n", "vector 1 has an empty word"),
            (b"1 2\n" + b"a" * 100_000, "does not end"),
            (b"1000000000 300\na 1 0\n", "at least 1201000000000 bytes"),
        ],
    )
    def test_faults_of_binary_are_told_apart(self, tmp_path, content, fault):
        self.refused(self.write(tmp_path, content), fault, "word2vec-bin")

    def test_packed_files_are_bounded_and_their_faults_told(self, words, tmp_path):
        path = self.write(tmp_path, gzip.compress(b"1000000000 100\na 1 0\n"))
        self.refused(path, "promises 1000000000 vectors")
        export_vectors(words, tmp_path / "good", "word2vec")
        packed = gzip.compress((tmp_path / "good").read_bytes())
        self.refused(self.write(tmp_path, packed[: len(packed) // 2]), "truncated or corrupt gzip")
        self.refused(self.write(tmp_path, packed[:40] + b"\0\0\0\0" + packed[44:]), "gzip|header|line", "word2vec")

    def test_what_is_no_file_is_told(self, tmp_path):
        self.refused(tmp_path / "absent", "no such file")
        self.refused(tmp_path, "is a folder")

    @given(
        name=st.sampled_from([None, *READABLE]),
        start=st.sampled_from([b"", b"2 2\n", b"1 3\n", b"2 2\na 1 0\n", b"a 1 0\n", b"2 2\na \0\0\x80\x3f\0\0\0\0\n"]),
        rest=st.binary(max_size=60) | st.text("ab01.-e \n\r", max_size=60).map(str.encode),
        packed=st.booleans(),
    )
    @settings(max_examples=400)
    def test_any_bytes_give_unit_vectors_or_our_error(self, name, start, rest, packed):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "v"
            path.write_bytes(gzip.compress(start + rest) if packed else start + rest)
            try:
                vectors, _ = import_vectors(path, name)
            except SpherevecError as error:
                assert "\n" not in str(error)
            else:
                vectors.check()


@pytest.mark.parametrize("name", list(FORMATS))
def test_a_limit_on_the_size_of_files_is_not_called_a_full_disk(tmp_path, name):
    if name == "spacy":
        pytest.importorskip("spacy")
    vectors = KeyedVectors([f"w{n}" for n in range(200)], unit(200))
    with longest_file(1500), pytest.raises(SpherevecError, match="cannot write") as told:
        export_vectors(vectors, tmp_path / "v", name)
    assert "No space left" not in str(told.value)
    if name != "spacy":  # whose writer says how many bytes are missing, and not why
        assert "ulimit -f" in str(told.value)
    assert list(tmp_path.iterdir()) == []
