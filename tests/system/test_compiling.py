"""Compiled code is never older than its sources."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

import spherevec
from spherevec import compiling
from spherevec.config import USES
from spherevec.training import runtime

FILES = {
    "__init__.py": "",
    "constants.py": "FACTOR = 2\n",
    "ops.py": """
        from spherevec.compiling import njit
        from toy.constants import FACTOR

        @njit(nogil=True)
        def scaled(x):
            return FACTOR * x
    """,
    "kernel.py": """
        from spherevec.compiling import njit
        from toy.ops import (
            scaled,
        )

        @njit(nogil=True, cache=True)
        def kernel(x):
            return scaled(x) + 1

        print(kernel(20), sum(kernel.stats.cache_hits.values()))
    """,
}


def run(folder):
    """The result of the kernel in a process of its own, and how many functions came from the cache."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import toy.kernel"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


def test_an_edit_of_any_file_that_takes_part_is_noticed(tmp_path):
    """Times and sizes stay what they were, as in an upgrade in place with old times: only the content tells."""
    package = tmp_path / "toy"
    package.mkdir()
    for name, text in FILES.items():
        (package / name).write_text(textwrap.dedent(text))
        os.utime(package / name, (1, 1))
    assert run(tmp_path) == (41, 0)
    assert run(tmp_path) == (41, 1)
    (package / "constants.py").write_text("FACTOR = 3\n")
    os.utime(package / "constants.py", (1, 1))
    assert run(tmp_path) == (61, 0)
    assert run(tmp_path) == (61, 1)
    edited = (package / "ops.py").read_text().replace("FACTOR * x", "FACTOR + x")
    (package / "ops.py").write_text(edited)
    os.utime(package / "ops.py", (1, 1))
    assert run(tmp_path) == (24, 0)


def test_another_numba_than_known_compiles_as_numba_does(monkeypatch):
    """A version without one of the names that the quicker compilers change: the same results, by the plain compiler."""

    def results():
        @compiling.njit(nogil=True)
        def _half(x):
            return x / 2

        @compiling.njit(nogil=True)
        def kernel(numbers):
            total = 0.0
            for number in numbers:
                total += _half(number) + max(number, 2) * max(number, 2)
            return total

        return kernel._compiler.pipeline_class, kernel(np.arange(9.0)), kernel(np.arange(9))

    quick, *expected = results()
    monkeypatch.setattr(compiling, "_CHANGED", (*compiling._CHANGED, (compiling.CPUCodeLibrary, "renamed")))
    plain, *found = results()
    assert compiling.compiler_options(inner=True) == {} and (quick, plain) == (
        compiling.QuickCompiler,
        compiling.Compiler,
    )
    assert found == expected


def test_kernels_need_no_linear_algebra_of_scipy_and_others_still_find_it():
    code = """
import sys, numba, numpy as np
from spherevec.storage.text_kernel import line_beginnings
from spherevec.compiling import _import_array_functions
_import_array_functions()
from numba.core.registry import cpu_target
cpu_target.target_context.refresh()
print("scipy.linalg" in sys.modules, numba.njit(lambda x: np.dot(x, x))(np.arange(4.0)), "scipy.linalg" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "14.0", "True"], done.stderr


@pytest.mark.parametrize(
    ("name", "value"), [("NUMBA_NUM_THREADS", "0"), ("NUMBA_NUM_THREADS", "x"), ("NUMBA_OPT", "99")]
)
def test_settings_that_numba_refuses_are_told_in_one_line(name, value):
    code = "import spherevec.compiling"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, name: value})
    last = done.stderr.strip().splitlines()[-1]
    assert done.stderr.count("Traceback") == 1  # that of the error itself
    assert done.returncode == 1 and "ConfigError: Numba cannot start" in last and "check the NUMBA_ variables" in last


def test_without_the_compiler_vectors_are_read_and_searched_and_training_says_what_is_missing(tmp_path):
    """NUMBA_DISABLE_JIT=1, as people set it to look for a defect."""
    model = spherevec.train(["a b a", "b a c"] * 3, min_count=1, vector_size=2, epochs=1, threads=1)
    model.save(tmp_path / "m")
    script = """
import sys, spherevec
from spherevec.cli import main
model = spherevec.load(sys.argv[1], verify=True)
model.words.most_similar("a"), model.docs.most_similar(0)
model.documents.row_of("3"), model.document_terms.sum(), model.remove(["0"])
from spherevec.clustering import SphericalKMeans
SphericalKMeans(2, random_state=1).fit(model.docs.vectors)
open(sys.argv[1] + ".txt", "w").write("a b a\\n" * 9)
codes = [main(["train", sys.argv[1] + ".txt", "--out", sys.argv[1] + ".2"]), main(["search", sys.argv[1], "a b"])]
print(codes)
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", script.replace("\\\\", "\\"), str(tmp_path / "m")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.endswith("a c\n[2, 0]\n"), done.stderr  # a search needs no compiled code
    assert done.stderr.count("NUMBA_DISABLE_JIT is set") == 1 and "Traceback" not in done.stderr


HOSTILE = """
import json, os, sys
if {first}:
    import numba
import spherevec.engine.cpu.kernels as kernels, numba
print(json.dumps([numba.config.CACHE_DIR, str(getattr(kernels.mix._cache, "cache_path", None))]))
"""


@pytest.mark.parametrize("first", [False, True])
def test_a_settings_file_of_numba_in_the_working_directory_is_not_read(tmp_path, first):
    pytest.importorskip("yaml")
    evil = tmp_path / "evil"
    (tmp_path / ".numba_config.yaml").write_text(f"cache_dir: {evil}\n")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-c", HOSTILE.format(first=first)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    folder, used = json.loads(done.stdout)
    assert not folder and str(evil) not in used and not evil.exists(), done.stderr


def test_a_cache_that_others_can_write_to_is_not_used(tmp_path):
    tmp_path.chmod(0o777)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "always"}
    code = "import os; os.umask(0); import spherevec.engine.cpu.kernels as k; print(type(k.mix._cache).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["NullCache"], done.stderr
    assert "others" in done.stderr


def test_a_module_in_the_working_directory_is_not_run_by_the_process_that_compiles(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    refused = SimpleNamespace(**dict.fromkeys(USES["kernel"], "none such"))  # so that nothing is compiled
    with runtime._compiling_process(refused) as child:
        assert child.wait() == 1
    assert not (tmp_path / "ran").exists()
