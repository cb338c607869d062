"""The CUDA source compiles for every kind of configuration, with or without a GPU; what is refused without one."""

from __future__ import annotations

import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import spherevec
from spherevec.cli import main
from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.engine.cuda import build as cuda
from spherevec.errors import ConfigError, MissingExtraError

CONFIGURATIONS = [
    ({}, {"added": True}),
    ({"step": "exponential", "documents": False}, {}),
    ({"vector_size": 50, "batch": 16, "negative": 64}, {"added": True}),
    ({"vector_size": 1024, "objective": "hinge", "negative": 10, "negative_rule": "h"}, {"added": True}),
    ({"objective": "hinge", "batch": 1, "negative": 2, "negative_rule": "2h"}, {}),
    ({"objective": "joint", "vector_size": 129, "step": "exponential"}, {}),
]


@pytest.fixture(scope="module")
def compiler():
    """NVIDIA's run-time compiler, which needs no GPU."""
    nvrtc = pytest.importorskip("nvidia.cuda_nvrtc", reason="needs nvidia-cuda-nvrtc-cu12, which is in [dev]")
    (library,) = Path(next(iter(nvrtc.__path__)), "lib").glob("libnvrtc.so.*")
    return ctypes.CDLL(str(library))


def compiled(compiler, source, options):
    """Size of the machine code and what the compiler says."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert compiler.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None) == 0
    arguments = [option.encode() for option in options]
    pointers = (ctypes.c_char_p * len(arguments))(*arguments)
    # On a thread of its own: the compiler leaves the one it runs on with the locale "C", in which files are ASCII.
    with ThreadPoolExecutor(1) as pool:
        failed = pool.submit(compiler.nvrtcCompileProgram, program, len(arguments), pointers).result()
    compiler.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    compiler.nvrtcGetProgramLog(program, log)
    size.value = 0
    if not failed:
        assert compiler.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
    compiler.nvrtcDestroyProgram(ctypes.byref(program))
    return size.value, log.value.decode()


@pytest.mark.parametrize(("settings", "how"), CONFIGURATIONS, ids=str)
def test_the_source_compiles_without_a_warning(compiler, settings, how):
    options = cuda.compiler_options(cuda.macros(TrainConfig(**settings), **how))
    size, log = compiled(compiler, cuda.SOURCE.read_bytes(), [*options, "--gpu-architecture=sm_90"])
    assert size > 10_000, log
    assert not log


@pytest.mark.parametrize("settings", [{"vector_size": 300}, {"objective": "hinge", "negative": 20}], ids=str)
def test_the_kernel_for_new_documents_compiles_without_a_warning(compiler, settings):
    options = cuda.compiler_options(cuda.inference_macros(TrainConfig(**settings)))
    size, log = compiled(compiler, cuda.SOURCE.read_bytes(), [*options, "--gpu-architecture=sm_90"])
    assert size > 5_000, log
    assert not log


def test_the_source_compiles_for_older_gpus(compiler):
    options = cuda.compiler_options(cuda.macros(TrainConfig(), added=True))
    size, log = compiled(compiler, cuda.SOURCE.read_bytes(), [*options, "--gpu-architecture=sm_70"])
    assert size > 10_000, log


def test_an_error_in_the_source_is_found(compiler):
    options = cuda.compiler_options(cuda.macros(TrainConfig(), added=True))
    size, log = compiled(compiler, cuda.SOURCE.read_bytes() + b"\nnonsense;", [*options, "--gpu-architecture=sm_90"])
    assert size == 0
    assert "nonsense" in log


def test_sizes_that_python_and_the_source_do_not_agree_on_are_found(compiler):
    for name in ("SEGMENT_BYTES", "SHARED_BYTES", "TEAM_BYTES"):
        settings = cuda.macros(TrainConfig(), added=True)
        options = cuda.compiler_options(settings | {name: settings[name] // 2})
        size, log = compiled(compiler, cuda.SOURCE.read_bytes(), [*options, "--gpu-architecture=sm_90"])
        assert size == 0
        assert "as in cuda.py" in log


def test_a_row_is_shared_out_in_full():
    for dimension in range(2, 1025):
        layout = cuda.Layout.of(dimension)
        assert layout.slice_ % layout.lane == 0
        assert layout.slice_ <= 32 * layout.lane
        assert layout.stride >= layout.team * layout.slice_ >= dimension > (layout.team - 1) * layout.slice_
        assert layout.stride % 8 == 0
        assert layout.stride < dimension + 8 + 4 * layout.team
        assert layout.team <= 8


def test_a_dimension_that_no_gpu_takes_is_refused():
    with pytest.raises(ConfigError, match=r"dimension 1024 at most, not 1025; use device='cpu'"):
        cuda.Layout.of(1025)


@pytest.fixture
def without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    cuda.cupy_with_gpu.cache_clear()
    yield
    cuda.cupy_with_gpu.cache_clear()


def test_without_cupy_one_line_says_what_to_install(without_cupy, tmp_path, capsys):
    with pytest.raises(MissingExtraError, match=r"^device='cuda' needs an extra: pip install 'spherevec\[cuda\]'$"):
        spherevec.train(["a b a b", "b a b a"] * 20, device="cuda", min_count=1)
    text = tmp_path / "text.txt"
    text.write_text("a b a b\n" * 20)
    code = main(["train", str(text), "--out", str(tmp_path / "model"), "--device", "cuda", "--quiet"])
    assert code == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].endswith("pip install 'spherevec[cuda]'")


def unread():
    """Texts of which none may be asked for."""
    pytest.fail("a text was read")
    yield ""


def test_without_cupy_training_on_a_gpu_is_refused_before_any_text_is_read(without_cupy, tmp_path, capsys):
    with pytest.raises(MissingExtraError, match=r"pip install 'spherevec\[cuda\]'$"):
        spherevec.train(unread(), device="cuda", workdir=tmp_path / "work")
    assert not (tmp_path / "work").exists()
    missing = str(tmp_path / "missing.txt")
    assert main(["train", missing, "--out", str(tmp_path / "m"), "--device", "cuda", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error == "spherevec: error: --device cuda needs an extra: pip install 'spherevec[cuda]'\n"
    with encode(["a b a b"] * 20, tmp_path / "encoded", min_count=1) as corpus:
        corpus.close()  # whoever looks into it now is told off
        with pytest.raises(MissingExtraError):
            spherevec.train(corpus, device="cuda")


def test_without_a_gpu_training_is_refused_before_any_text_is_read(monkeypatch):
    """CuPy is there, and finds nothing."""
    runtime = SimpleNamespace(getDeviceCount=lambda: 0, CUDARuntimeError=RuntimeError)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    cuda.cupy_with_gpu.cache_clear()
    try:
        with pytest.raises(ConfigError, match=r"^device='cuda' finds no CUDA device; use device='cpu'$"):
            spherevec.train(unread(), device="cuda")
        runtime.getDeviceCount = lambda: 1
        with pytest.raises(ConfigError, match=r"dimension 1024 at most, not 1025; use device='cpu'$"):
            spherevec.train(unread(), device="cuda", vector_size=1025)
    finally:
        cuda.cupy_with_gpu.cache_clear()


def test_without_cupy_inference_on_a_gpu_is_refused_before_any_text_is_read(without_cupy):
    model = spherevec.train(["a b a b", "b a b a"] * 20, min_count=1, epochs=1)
    with pytest.raises(MissingExtraError, match=r"pip install 'spherevec\[cuda\]'$"):
        model.infer(unread(), device="cuda")
    with pytest.raises(ConfigError, match=r"device must be one of cpu, cuda, not 'gpu'"):
        model.infer(unread(), device="gpu")


def test_a_gpu_and_deterministic_results_contradict_each_other():
    with pytest.raises(ConfigError, match="deterministic=True works with device='cpu'"):
        TrainConfig(device="cuda", deterministic=True)
