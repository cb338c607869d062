"""The kernels of `kernels.cu`, compiled for one configuration: its macros, its structures, the layout of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spherevec.config import TrainConfig
from spherevec.engine.base import LOSS_EVERY, NEGATIVES_AHEAD, PIECE
from spherevec.errors import ConfigError, import_extra
from spherevec.objectives import NEGATIVE_RULES, OBJECTIVES

SOURCE = Path(__file__).with_name("kernels.cu")

LARGEST_DIMENSION = 1024
WARP_FLOATS = 128  # of a row that one warp holds at most
CROWD = 4  # teams that write a row at the same time; of a larger crowd some do not, or they would wait for each other

# As in the kernels.
SEGMENT_BYTES = 40
SHARED = np.dtype(
    [
        ("next", np.uint64),
        ("tokens", np.uint64),
        ("cosine", np.float64, 2),
        ("negatives", np.float64, 2),
        ("bias", np.float32, 2),
    ]
)


@dataclass(frozen=True)
class Layout:
    """How the floats of a row are shared out: to the warps of a team, and to their lanes."""

    width: int
    team: int
    slice_: int
    lane: int
    stride: int

    @classmethod
    def of(cls, width: int) -> Layout:
        if width > LARGEST_DIMENSION:
            raise ConfigError(
                f"device='cuda' takes vectors of dimension {LARGEST_DIMENSION} at most, not {width}; use device='cpu'"
            )
        team = -(-width // WARP_FLOATS)
        own = -(-width // team)
        lane = 1 if own <= 32 else 2 if own <= 64 else 4
        slice_ = -(-own // lane) * lane
        return cls(width, team, slice_, lane, -(-team * slice_ // 8) * 8)


def macros(config: TrainConfig, *, added: bool = False) -> dict[str, int]:
    """What the kernels are compiled for."""
    layout = Layout.of(config.vector_size)
    single = config.objective_info.one_by_one(config.batch)
    targets = config.negative + 1
    tile = -(-targets // -(-targets // 8))
    # Registers decide how many teams a multiprocessor can hold.
    live = layout.lane * (config.batch + 2 * tile if targets <= 8 else 2 * config.batch + 2 * tile)
    roomy = config.step == "exponential" or live > 80
    warps = 24 if single else 8 if roomy else 16
    if config.objective_info.kernel == "joint" or (single and config.step == "exponential"):
        warps = 16
    settings = {
        "STRIDE": layout.stride,
        "SLICE": layout.slice_,
        "VEC": layout.lane,
        "TEAM": layout.team,
        "BATCH": config.batch,
        "NEGATIVE": config.negative,
        "OBJECTIVE": config.objective_info.code,
        "RULE": NEGATIVE_RULES[config.negative_rule],
        "GEODESIC": int(config.step == "exponential"),
        "DOCUMENTS": int(config.documents),
        "PIECE": PIECE,
        "LOSS_EVERY": LOSS_EVERY,
        "NEGATIVES_AHEAD": NEGATIVES_AHEAD,
        "BLOCKS": max(1, warps // layout.team),
        "CROWD": CROWD,
        "ADDED": int(added),
        "SEGMENT_BYTES": SEGMENT_BYTES,
        "SHARED_BYTES": SHARED.itemsize,
    }
    return settings | {"INFER": 0, "TEAM_BYTES": _team_bytes(settings)}


def inference_macros(config: TrainConfig) -> dict[str, int]:
    """What the kernel is compiled for that fits documents to fixed words."""
    # Documents alone move, so that the joint hinge is the plain one.
    objective = "vmf" if config.objective_info.likelihood else "hinge"
    return macros(TrainConfig(vector_size=config.vector_size, objective=objective, negative=config.negative,
                              step=config.step)) | {"INFER": 1}  # fmt: skip


def compiler_options(settings: dict[str, int]) -> tuple[str, ...]:
    return ("-std=c++17", *(f"-D{name}={value}" for name, value in settings.items()))


@cache
def cupy_with_gpu() -> Any:
    """CuPy, where it is installed and finds a GPU."""
    cupy = import_extra("cupy", "device='cuda'", "cuda")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ConfigError(f"device='cuda' finds no CUDA device ({error}); use device='cpu'") from None
    if count == 0:
        raise ConfigError("device='cuda' finds no CUDA device; use device='cpu'")
    return cupy


@cache
def compiled_module(options: tuple[str, ...]) -> Any:
    """The compiled kernels; CuPy keeps them on disk for the next time."""
    return cupy_with_gpu().RawModule(code=SOURCE.read_text("utf-8"), options=options, backend="nvrtc")


def _team_bytes(settings: dict[str, int]) -> int:
    """At least the size of the kernel's `Team`."""
    team, batch, targets = settings["TEAM"], settings["BATCH"], settings["NEGATIVE"] + 1
    tiles = -(-targets // 8)
    padded = -(-tiles * -(-targets // tiles) // 4) * 4
    cells, rows = batch * padded, batch + padded
    tables = 3 if settings["OBJECTIVE"] == OBJECTIVES["vmf"].code else 5
    one_warp = 4 * (tables * cells + 5 * rows)
    between_warps = 4 * (cells + rows)
    return max(team * (one_warp + between_warps), team * 4 * (16 + 64)) + 512
