"""Answers at once: what a saved model is asked for most needs NumPy alone."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spherevec
from spherevec.corpus.count import vocabulary as encoding
from spherevec.corpus.count.vocabulary import Vocabulary
from spherevec.model.inference import InferenceOptions, infer_batches
from spherevec.storage.text_column import TextColumn
from spherevec.storage.text_kernel import hash_texts

HEAVY = ("numba", "llvmlite", "scipy", "sklearn", "pyarrow", "pandas")
TEXTS = ["the heron stands in the reeds", "the boat waits in the harbour", "the heron takes the fish"] * 10

ASKED = {
    "opening": "",
    "describing": "model.describe()",
    "neighbours of a word": "model.words.most_similar('heron')",
    "neighbours of a document": "model.docs.most_similar('d7')",
    "an analogy": "model.words.analogy('heron', 'fish', 'boat')",
    "a document": "model.documents.record(model.documents.row_of('d3'))",
    "a misspelled query": "from spherevec.model.search import Search; Search(model).queries(['herron'])",
    "kept topics": "print(model.topics().tree, model.topics().document('d3'))",
    "queries": "from spherevec.model.search import Search; Search(model, subwords=False).queries(['the heron'])",
}
ASKED |= {
    f"search, {query}": f"assert len(model.search({query!r}, explain=True))"
    for query in ("the heron", "herron", 'fish "takes the" -boat')
}
COMMANDS = {
    "info": [],
    "neighbors": ["heron"],
    "analogy": ["heron", "fish", "boat"],
    "search": ["the heron"],
    "topics": [],
    "infer": ["texts.txt", "--out", "vectors.npy", "--force"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("light") / "model"
    rows = [(f"d{number}", text) for number, text in enumerate(TEXTS)]
    model = spherevec.train(rows, ids=True, vector_size=8, epochs=1, min_count=1, threads=1)
    model.topics(k=2).keep()
    model.save(place)
    return place


def heavy_after(script, *arguments):
    line = [sys.executable, "-c", f"import sys\n{script}\nprint(*sys.modules, file=sys.stderr)", *arguments]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [name for name in HEAVY if name in done.stderr.split()]


@pytest.mark.process
@pytest.mark.parametrize("what", ASKED)
def test_no_compiled_code_is_loaded_in_python(folder, what):
    assert heavy_after(f"import spherevec\nmodel = spherevec.load(sys.argv[1])\n{ASKED[what]}", str(folder)) == []


@pytest.mark.process
@pytest.mark.parametrize("command", COMMANDS)
def test_no_compiled_code_is_loaded_in_the_shell(folder, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("the heron takes the boat\n\nfish in the harbour\n")
    script = "from spherevec.cli import main\nassert main(sys.argv[1:]) == 0"
    assert heavy_after(script, command, str(folder), *COMMANDS[command]) == []


def test_a_few_texts_are_fitted_as_many_are(folder):
    model = spherevec.load(folder)
    asked = ["the heron takes the boat", "", "unknown", "the harbour"]
    (quick,) = infer_batches(model, asked, InferenceOptions(quick=True))
    (compiled,) = infer_batches(model, asked)
    np.testing.assert_allclose(quick.vectors, compiled.vectors, atol=1e-5)
    np.testing.assert_array_equal(quick.known, compiled.known)


@pytest.mark.process
def test_the_check_can_fail(folder):
    assert "numba" in heavy_after("import spherevec\nspherevec.load(sys.argv[1]).infer(['heron'])", str(folder))


words = st.sampled_from(
    ["the", "Heron's", "U.S.", "naïve", "3.14", "東京", "well-known", "👩‍🚀", "e\u0301t\u00e9", "...", "\n"]
)
texts = st.lists(st.lists(words | st.text(max_size=6), max_size=8).map(" ".join), min_size=1, max_size=5)


@given(texts)
def test_a_few_texts_are_encoded_as_many_are(asked):
    known = ["the", "heron's", "u.s.", "naïve", "3.14", "東", "京", "東京", "well", "known", "été"]
    vocabulary = Vocabulary(known, np.arange(len(known), 0, -1))
    few = encoding.encode_texts(asked, vocabulary)
    many = encoding.encode_texts(iter(asked), vocabulary)
    for one, other in zip(few, many, strict=True):
        np.testing.assert_array_equal(one, other)


@given(st.lists(st.text(max_size=20), max_size=20))
def test_short_names_are_hashed_in_numpy_as_compiled_code_hashes_them(names):
    column = TextColumn.of(name.encode("utf-8", "replace").decode() for name in names)
    hashes = np.empty(len(column), np.uint64)
    hash_texts(column.offsets, column.arena, hashes)
    np.testing.assert_array_equal(column.hashes(), hashes)
