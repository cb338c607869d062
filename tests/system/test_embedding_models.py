"""The guide's lines for BERTopic and KeyBERT, run by a Python that has both.

`SPHEREVEC_EMBEDDERS=/path/to/python` names it: an environment with bertopic, keybert and the dependencies
of this package.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

import spherevec

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("SPHEREVEC_EMBEDDERS")

BEFORE = """
import numpy as np
import spherevec

words = {"tax": "invoice refund bill payment price", "login": "password account login email reset"}
rng = np.random.default_rng(1)
texts = [
    " ".join(rng.choice(own.split() + ["please", "help", "again"], 8)) for _ in range(60) for own in words.values()
]
model = spherevec.train(texts, vector_size=10, epochs=3, threads=1, min_count=1, progress=False)
"""
AFTER = """
topics, _ = topic_model.fit_transform(texts)
vectors = topic_model.embedding_model.embed_documents(texts[:2])
assert np.array_equal(vectors, model.encode(texts[:2]))
assert len(topic_model.transform(["refund for an invoice"])[0]) == 1
keywords = dict(key_model.extract_keywords("please reset the password of my account", top_n=3))
assert set(keywords) <= {"please", "reset", "password", "account"} and len(keywords) == 3, keywords
print("both", len(topics))
"""


@pytest.mark.skipif(not PYTHON, reason="needs SPHEREVEC_EMBEDDERS, a Python with bertopic and keybert")
def test_bertopic_and_keybert_take_the_model():
    guide = (ROOT / "docs" / "guides" / "search.md").read_text("utf-8")
    (lines,) = re.findall(r"```py\n(.*?)```", guide, re.DOTALL)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(spherevec.__file__).parents[1]),
        "HF_HUB_OFFLINE": "1",  # whoever loads a model from elsewhere fails
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [PYTHON, "-c", BEFORE + lines + AFTER], env=environment, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "both 120"
