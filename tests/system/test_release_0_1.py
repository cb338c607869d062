"""What release 0.1.0 wrote still opens, and what it computed is computed to the bit.

The files in tests/data/0.1.0 were written by release 0.1.0 from the text below.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest

import spherevec
from spherevec.model import KeyedVectors, Model
from spherevec.training.finishing import settle_empty_documents

FILES = Path(__file__).parent.parent / "data" / "0.1.0"
DIGESTS = json.loads((FILES / "digests.json").read_text())

CASES = {
    "default": {},
    "deterministic": {"deterministic": True},
    "paper": {"recipe": "paper"},
    "joint": {"objective": "joint", "epochs": 3},
    "hinge_batches": {"objective": "hinge", "batch": 4, "step": "exponential", "epochs": 3},
    "words_only": {"documents": False, "add_contexts": False, "epochs": 3},
    "file_order": {"order": "file", "refit": False, "epochs": 2, "vector_size": 37},
}


def text(documents: int = 300) -> list[str]:
    """Short documents about five topics, an empty one, and one longer than a piece."""
    rng = np.random.default_rng(7)
    lines = []
    for document in range(documents):
        n = int(rng.integers(5, 60))
        of_topic = rng.random(n) < 0.6
        own, common = rng.zipf(1.5, n) % 20, rng.zipf(1.3, n) % 60
        words = np.where(of_topic, 20 * (document % 5) + own, 100 + common)
        lines.append(" ".join(f"w{word}" for word in words))
    lines[7] = ""
    lines.append(" ".join(f"w{word}" for word in rng.zipf(1.3, 9000) % 120))
    return lines


def digest(vectors: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(vectors).tobytes()).hexdigest()[:16]


def same_machine_code() -> bool:
    """Bits depend on the processor and the compiler, so those of another machine say nothing."""
    features = hashlib.sha256(llvm.get_host_cpu_features().flatten().encode()).hexdigest()[:16]
    return (DIGESTS["cpu"], DIGESTS["features"], DIGESTS["numba"]) == (
        llvm.get_host_cpu_name(), features, numba.__version__,
    )  # fmt: skip


def fitted_as_then(model, texts):
    """The model with its documents fitted by sampled steps, as 0.1.0 did it. The words are the same."""
    same = {"inputs": model.inputs, "config": model.config, "parameters": model.parameters}
    docs = model.docs
    if docs is not None and model.config["refit"] and model.fit is not None:
        rows = Model(model.words, **same).infer(texts)
        settle_empty_documents(rows, np.cumsum([0, *(len(text) for text in texts)]))
        docs = KeyedVectors(None, rows)
    return Model(model.words, model.contexts, docs, **same)


@pytest.mark.skipif(not same_machine_code(), reason="the digests are of another processor or compiler")
@pytest.mark.parametrize("case", CASES)
def test_the_same_bits_as_0_1_0(case):
    settings = {"vector_size": 24, "min_count": 3, "epochs": 4, "threads": 1} | CASES[case]
    model = fitted_as_then(spherevec.train(text(), **settings), text())
    expected = dict(DIGESTS["cases"][case])
    if "infer" in expected:
        assert digest(model.infer(["w1 w2 w3 w110", "w41 w42", ""])) == expected.pop("infer")
    assert {table: digest(getattr(model, table).vectors) for table in expected} == expected


def test_a_model_of_0_1_0_opens_and_infers_as_it_did():
    model = spherevec.load(FILES / "model-0.1.0", verify=True)
    assert model.version == "0.1.0"
    assert model.inputs is not model.words
    assert {"bias", "deterministic"} <= set(model.config)
    assert {"word_bias", "document_bias"} == set(model.parameters)
    vectors = model.infer(["w1 w2 w3 w110", "w41 w42"], threads=1)
    np.testing.assert_allclose(vectors, np.load(FILES / "infer-0.1.0.npy"), atol=1e-5)


def test_a_model_of_0_1_0_is_saved_anew_in_todays_format(tmp_path):
    spherevec.load(FILES / "model-0.1.0").save(tmp_path / "m")
    assert (tmp_path / "m" / "inputs.safetensors").is_file()
    again = spherevec.load(tmp_path / "m", verify=True)
    assert np.array_equal(again.infer(["w1 w2"]), spherevec.load(FILES / "model-0.1.0").infer(["w1 w2"]))


def test_a_checkpoint_of_0_1_0_is_resumed(tmp_path):
    shutil.copytree(FILES / "checkpoint-0.1.0", tmp_path / "c")
    settings = {"vector_size": 8, "min_count": 3, "epochs": 4, "threads": 1}
    resumed = spherevec.train(text(60), **settings, checkpoint=tmp_path / "c", resume=True)
    model = fitted_as_then(resumed, text(60))
    np.testing.assert_allclose(model.docs.vectors, np.load(FILES / "resumed-0.1.0.npy"), atol=1e-3)
