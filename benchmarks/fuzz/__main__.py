"""Feed every reader what it was not made for: millions of damaged files, guided by the coverage of our code.

    pip install atheris
    python -m benchmarks.fuzz [TARGET...] [--inputs 1000000] [--seconds N] [--keep FOLDER]
    python -m benchmarks.fuzz --blind          by chance alone, without atheris

Each target runs in a process of its own. Anything but a good result or a one-line error of the package stops the run
and leaves the input in `--keep`: another exception, a crash, an input that takes over 10 seconds, memory beyond 2 GB.
"""

from __future__ import annotations

import argparse
import importlib
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import spherevec
from benchmarks.fuzz.base import damaged
from benchmarks.fuzz.targets import TARGETS, feed

SECONDS_AN_INPUT = 10
MEMORY_MB = 2048
ROOMS: tuple[str, ...] = (
    "io",
    "model.model",
    "model.search",
    "model.lexical",
    "model.editing",
    "corpus.readers",
    "corpus.markup",
)
ROOMS += ("evaluation.datasets", "explore.page", "explore.report", "topics.folder", "topics.names", "training.update")


def _kernels() -> list[str]:
    """The modules that hold compiled code, which cannot report its coverage."""
    package = Path(spherevec.__file__).parent
    files = (file for file in package.rglob("*.py") if "njit" in file.read_text("utf-8"))
    return [".".join(("spherevec", *file.relative_to(package).with_suffix("").parts)) for file in files]


def fuzz(name: str, inputs: int, keep: Path, seconds: int = 0, blind: bool = False) -> dict[str, Any]:
    """Run one target in a process of its own; returns libFuzzer's figures."""
    command = [sys.executable, "-m", "benchmarks.fuzz", name, "--child", "--inputs", str(inputs), "--keep", str(keep)]
    command += ["--blind"] * blind
    started = time.perf_counter()
    with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
        code = subprocess.run([*command, "--seconds", str(seconds)], stdout=log, stderr=log, check=False).returncode
        log.seek(0)
        text = log.read()
    done = re.findall(r"stat::(\w+):\s+(\d+)", text)
    figures: dict[str, Any] = {key: int(value) for key, value in done}
    if code:
        figures["failure"] = text[-3000:]
    taken = re.findall(r"taken: (\d+)", text)
    return {**figures, "seconds": time.perf_counter() - started, "taken": int(taken[-1]) if taken else 0}


def _child(name: str, inputs: int, keep: Path, seconds: int) -> None:
    import atheris

    # The byte code of the whole package reports its coverage.
    with atheris.instrument_imports(include=["spherevec", "gzip", "_compression"], exclude=_kernels()):
        for room in ROOMS:
            importlib.import_module(f"spherevec.{room}")
    target = TARGETS[name]
    scratch = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        for number, seed in enumerate(target.seeds()):
            (seeds / str(number)).write_bytes(seed)
        dictionary = Path(folder) / "words.dict"
        escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in target.words)
        dictionary.write_text("".join(f'"{word}"\n' for word in escaped))
        place = Path(folder) / "place"
        place.mkdir()
        for seed in target.seeds():
            feed(name, seed, place)  # kernels are compiled now, which may take longer than an input should
        taken = fed = 0

        def one_input(data: bytes) -> None:
            nonlocal taken, fed
            taken += feed(name, data, place)
            fed += 1
            if fed == inputs or fed % 500 == 0:
                print(f"taken: {taken} of {fed}", flush=True)

        keep.mkdir(parents=True, exist_ok=True)
        options = [
            f"-runs={inputs}",
            f"-max_len={target.longest}",
            f"-timeout={SECONDS_AN_INPUT}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-dict={dictionary}",
            f"-artifact_prefix={keep / name}-",
            "-len_control=0",
            "-keep_seed=1",
            "-print_final_stats=1",
            "-seed=1",
        ]
        if seconds:
            options.append(f"-max_total_time={seconds}")
        atheris.Setup([sys.argv[0], *options, str(seeds)], one_input)
        atheris.Fuzz()


def _blind(name: str, inputs: int, keep: Path, seconds: int) -> None:
    """By chance alone; prints what libFuzzer would."""
    target, luck = TARGETS[name], random.Random(1)
    seeds = target.seeds()
    keep.mkdir(parents=True, exist_ok=True)
    taken = fed = 0
    scratch = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        for seed in seeds:
            feed(name, seed, Path(folder))
        started = time.monotonic()
        while fed < inputs and (not seconds or time.monotonic() - started < seconds):
            data = damaged(seeds, target.words, luck)
            try:
                taken += feed(name, data, Path(folder))
            except BaseException:
                (keep / f"{name}-crash-{fed}").write_bytes(data)
                raise
            fed += 1
    print(f"taken: {taken} of {fed}\nstat::number_of_executed_units: {fed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=0, help="at most so many for each target; 0 = no limit")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "spherevec-fuzz")
    parser.add_argument("--blind", action="store_true", help="by chance alone, not guided by coverage")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child = _blind if arguments.blind else _child
        child(arguments.targets[0], arguments.inputs, arguments.keep, arguments.seconds)
        return
    failures = 0
    for name in arguments.targets or TARGETS:
        figures = fuzz(name, arguments.inputs, arguments.keep, arguments.seconds, arguments.blind)
        failures += "failure" in figures
        print(
            f"{name:14} {figures.get('number_of_executed_units', 0):>10,} inputs, {figures['taken']:>9,} read well, "
            f"peak {figures.get('peak_rss_mb', 0):5,} MB, slowest {figures.get('slowest_unit_time_sec', 0)} s, "
            f"{figures['seconds']:.0f} s: {'FAILED' if 'failure' in figures else 'no surprise'}",
            flush=True,
        )
        if "failure" in figures:
            print(figures["failure"], flush=True)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
