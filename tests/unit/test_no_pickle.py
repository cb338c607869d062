"""Files from strangers are data: nothing in them is ever unpickled or evaluated."""

import ast
import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import spherevec
from spherevec import io
from spherevec.corpus import EncodedCorpus, encode, read_documents
from spherevec.errors import SpherevecError
from spherevec.model import KeyedVectors, Model

PACKAGE = Path(spherevec.__file__).parent
UNSAFE_MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "joblib",
    "yaml",
    "jsonpickle",
}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__", "execfile"}


def unsafe_places(source):
    """Lines of a program that load or run code from data."""
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").split(".")[0]]
        if UNSAFE_MODULES & set(names):
            yield node.lineno, names
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in UNSAFE_CALLS:
                yield node.lineno, node.func.id
            for keyword in node.keywords:
                safe = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                if keyword.arg in ("allow_pickle", "trust_remote_code") and not safe:
                    yield node.lineno, keyword.arg


def test_no_line_of_the_package_unpickles_or_evaluates():
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 50
    found = [(str(file.relative_to(PACKAGE)), *place) for file in files for place in unsafe_places(file.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "line",
    ["import pickle", "from joblib import load", "import yaml.loader", "eval(x)", "np.load(f, allow_pickle=True)",
     "np.load(f, allow_pickle=flag)", "__import__('os')"],
)  # fmt: skip
def test_the_search_finds_such_lines(line):
    assert list(unsafe_places(line))


class Attack:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "executed"


@pytest.fixture
def attacks(tmp_path, marker):
    """A pickle, and a NumPy file of objects, that create `marker` when loaded."""
    plain = pickle.dumps(Attack(marker))
    array = np.empty(1, object)
    array[0] = Attack(marker)
    np.save(tmp_path / "objects.npy", array, allow_pickle=True)
    return {
        "pickle": plain,
        "text pickle": pickle.dumps(Attack(marker), protocol=0),
        "gzip": gzip.compress(plain),
        "npy": (tmp_path / "objects.npy").read_bytes(),
        "python": f"__import__('os').mkdir({str(marker)!r})\n".encode(),
    }


def test_the_attack_works_where_it_is_let_in(attacks, marker):
    pickle.loads(attacks["pickle"])
    assert marker.is_dir()


def test_no_reader_of_vectors_or_texts_lets_it_in(attacks, marker, tmp_path):
    readable = [name for name, known in io.FORMATS.items() if known.read is not None]
    endings = [".txt", ".txt.gz", ".txt.xz", ".txt.zst", ".jsonl", ".csv", ".parquet", ".pkl", ".npy", ".bin", ".vec"]
    refused = 0
    for content in attacks.values():
        for ending in endings:
            path = tmp_path / f"attack{ending}"
            path.write_bytes(content)
            calls = [lambda name=name, path=path: io.import_vectors(path, name) for name in (None, *readable)]
            field = "t" if ending in (".jsonl", ".csv", ".parquet") else None
            calls.append(lambda path=path, field=field: list(read_documents(path, text_field=field)))
            for call in calls:
                try:
                    call()
                except SpherevecError:
                    refused += 1
    assert refused > 300
    assert not marker.exists()


def test_no_file_of_a_model_or_a_corpus_lets_it_in(attacks, marker, tmp_path):
    words = KeyedVectors(["a", "b"], np.eye(2, dtype=np.float32))
    Model(words, words, words).save(tmp_path / "m")
    encode(["a b a", "b"], tmp_path / "c", min_count=1).close()
    for folder, opens in (("m", Model.load), ("c", EncodedCorpus.open)):
        for file in sorted((tmp_path / folder).iterdir()):
            good = file.read_bytes()
            for content in attacks.values():
                file.write_bytes(content)
                with pytest.raises(SpherevecError):
                    opens(tmp_path / folder)
            file.write_bytes(good)
        opens(tmp_path / folder)
    assert not marker.exists()
