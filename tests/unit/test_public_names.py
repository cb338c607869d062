"""What `import spherevec` promises, and what it must not drag in."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spherevec

HEAVY = ("numba", "llvmlite", "scipy", "sklearn", "pyarrow", "pandas", "gensim", "spacy")


def modules_after(statement):
    script = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("name", spherevec.__all__)
def test_public_names_resolve(name):
    assert getattr(spherevec, name) is not None
    assert name in dir(spherevec)


def test_public_names_are_these():
    # A name that disappears breaks somebody's program.
    assert set(spherevec.__all__) >= {
        "KeyedVectors", "Model", "SpherevecError", "SphericalEmbedding", "SphericalKMeans", "SphericalTopics",
        "TrainConfig", "VonMisesFisherMixture", "__version__", "load", "name_clusters", "train", "train_corpus",
    }  # fmt: skip


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        spherevec.trian  # noqa: B018


@pytest.mark.process
@pytest.mark.parametrize(
    "statement", ["import spherevec", "import spherevec; spherevec.TrainConfig()", "import spherevec.cli"]
)
def test_importing_is_light(statement):
    loaded = modules_after(statement)
    assert "spherevec" in loaded
    assert not loaded & set(HEAVY)


@pytest.mark.process
def test_the_check_of_lightness_can_fail():
    assert "numba" in modules_after("import spherevec.engine.cpu.backend")
