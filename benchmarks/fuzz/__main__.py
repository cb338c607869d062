"""Feed every reader what it was not made for: millions of damaged files, guided by the coverage of our code.

    pip install atheris
    python -m benchmarks.fuzz [TARGET...] [--inputs 1000000] [--seconds N] [--keep FOLDER]
    python -m benchmarks.fuzz --blind          by chance alone, without atheris
    python -m benchmarks.fuzz --campaign FOLDER --seconds 400      a piece of a long campaign; call it again for more

A campaign keeps its seeds, its counts (`counts.jsonl`, a line for each piece) and the inputs that reached new code in a
folder, and goes on with the target that has had the fewest inputs until each has had `--inputs`.

Each target runs in a process of its own. Anything but a good result or a one-line error of the package stops the run
and leaves the input in `--keep`: another exception, a crash, an input that takes over 10 seconds, memory beyond 2 GB.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
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
    "search.lexical",
    "model.document_edit",
    "model.editing",
    "corpus.read.readers",
    "corpus.read.markup",
)
ROOMS += ("explore.page", "explore.report", "topics.folder", "topics.names", "training.update")


def _kernels() -> list[str]:
    """The modules that hold compiled code, which cannot report its coverage."""
    package = Path(spherevec.__file__).parent
    files = (file for file in package.rglob("*.py") if "njit" in file.read_text("utf-8"))
    return [".".join(("spherevec", *file.relative_to(package).with_suffix("").parts)) for file in files]


def fuzz(name: str, inputs: int, keep: Path, seconds: int = 0, blind: bool = False, seed: int = 1) -> dict[str, Any]:
    """Run one target in a process of its own; returns libFuzzer's figures."""
    command = [sys.executable, "-m", "benchmarks.fuzz", name, "--child", "--inputs", str(inputs), "--keep", str(keep)]
    command += ["--seed", str(seed), *["--blind"] * blind]
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


def campaign(names: Sequence[str], inputs: int, place: Path, seconds: int, blind: bool) -> int:
    """Go on with the targets that have had the fewest inputs; returns how many failed."""
    place.mkdir(parents=True, exist_ok=True)
    lines = (place / "counts.jsonl").open("a+")
    lines.seek(0)
    pieces = [json.loads(line) for line in lines]
    had = {name: sum(piece["inputs"] for piece in pieces if piece["target"] == name) for name in names}
    turns = Counter(piece["target"] for piece in pieces)
    failures, ends = 0, time.monotonic() + seconds
    while (left := int(ends - time.monotonic())) > 20 and min(had.values()) < inputs:
        name = min(had, key=had.__getitem__)
        seed, most = turns[name] + 1, min(left - 10, max(seconds // 4, 20))
        figures = fuzz(name, inputs - had[name], place / "inputs" / name, most, blind, seed)
        done = figures.get("number_of_executed_units", 0)
        piece = {"target": name, "inputs": done, "taken": figures["taken"], "seed": seed, "guided": not blind}
        piece |= {"seconds": round(figures["seconds"], 1), "failed": "failure" in figures}
        print(json.dumps(piece), file=lines, flush=True)
        print(json.dumps(piece), flush=True)
        had[name] += done
        turns[name] += 1
        if "failure" in figures:
            print(figures["failure"], flush=True)
            failures += 1
            had.pop(name)  # until it is mended
    return failures


def _child(name: str, inputs: int, keep: Path, seconds: int, seed: int) -> None:
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
        for number, start in enumerate(target.seeds()):
            (seeds / str(number)).write_bytes(start)
        dictionary = Path(folder) / "words.dict"
        escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in target.words)
        dictionary.write_text("".join(f'"{word}"\n' for word in escaped))
        place = Path(folder) / "place"
        place.mkdir()
        for start in target.seeds():
            feed(name, start, place)  # kernels are compiled now, which may take longer than an input should
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
            f"-seed={seed}",
        ]
        if seconds:
            options.append(f"-max_total_time={seconds}")
        found = keep / "found"  # what reached new code
        found.mkdir(exist_ok=True)
        atheris.Setup([sys.argv[0], *options, str(found), str(seeds)], one_input)
        atheris.Fuzz()


def _blind(name: str, inputs: int, keep: Path, seconds: int, seed: int) -> None:
    """By chance alone, from the seeds and from what guided runs have found; prints what libFuzzer would."""
    target, luck = TARGETS[name], random.Random(seed)
    seeds = target.seeds()
    seeds += [file.read_bytes() for file in sorted((keep / "found").glob("*"))]
    keep.mkdir(parents=True, exist_ok=True)
    taken = fed = 0
    scratch = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        for start in seeds:
            feed(name, start, Path(folder))
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
    parser.add_argument("--campaign", type=Path, metavar="FOLDER", help="go on with a campaign; --seconds for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blind", action="store_true", help="by chance alone, not guided by coverage")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child = _blind if arguments.blind else _child
        child(arguments.targets[0], arguments.inputs, arguments.keep, arguments.seconds, arguments.seed)
        return
    names = arguments.targets or list(TARGETS)
    if arguments.campaign:
        sys.exit(campaign(names, arguments.inputs, arguments.campaign, arguments.seconds or 400, arguments.blind))
    failures = 0
    for name in names:
        figures = fuzz(name, arguments.inputs, arguments.keep, arguments.seconds, arguments.blind, arguments.seed)
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
