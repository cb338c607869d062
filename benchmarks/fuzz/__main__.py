"""Feed every reader what it was not made for, guided by coverage and by work, time and memory per byte.

    python -m benchmarks.fuzz [TARGET...] [--inputs 100000] [--seconds N] [--keep FOLDER] [--seed 1]

Each target runs in a process of its own. Anything but a good result or a one-line error of the package is a failure:
another exception, a crash, more time or memory than an input of its size may take. Its input is left in `--keep`, and
`counts.jsonl` there gets a line for each target; one that has had its inputs is left out when the command runs again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.fuzz.guided import search
from benchmarks.fuzz.targets import TARGETS

MEMORY = Path("/dev/shm")  # files of a disk would take most of the time
CURRENT = "current-input"


def _child(name: str, inputs: int, seconds: int, seed: int, keep: Path, scratch: Path) -> None:
    started = time.process_time()
    found = search(name, inputs, scratch, seed=seed, seconds=seconds, log=scratch / CURRENT)
    for data in found.failures.values():
        (keep / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)
    figures = {"target": name, "inputs": found.inputs, "taken": found.taken, "reached": found.reached, "seed": seed}
    costs = {"slowest": round(found.slowest, 3), "largest_mb": round(found.largest / 1e6, 1)}
    print(
        json.dumps({**figures, **costs, "seconds": round(time.process_time() - started), "failures": [*found.failures]})
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=0, help="at most so many for each target; 0 = no limit")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "spherevec-fuzz")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _child(given.targets[0], given.inputs, given.seconds, given.seed, given.keep, given.child)
        return
    given.keep.mkdir(parents=True, exist_ok=True)
    counts = given.keep / "counts.jsonl"
    counts.touch()
    done = [json.loads(line) for line in counts.read_text().splitlines()]
    had = {piece["target"]: piece["inputs"] for piece in done if not piece["failures"]}
    failed = False
    for name in given.targets or TARGETS:
        if had.get(name, 0) >= given.inputs:
            continue
        options = ["--inputs", given.inputs, "--seconds", given.seconds, "--seed", given.seed, "--keep", given.keep]
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.fuzz", name, "--child", scratch]
            ended = subprocess.run([*command, *map(str, options)], capture_output=True, text=True)
            if ended.returncode:
                crash = {"target": name, "inputs": 0, "failures": [f"exit {ended.returncode}", ended.stderr[-2000:]]}
                line = json.dumps(crash)
                if (Path(scratch) / CURRENT).exists():
                    shutil.copy(Path(scratch) / CURRENT, given.keep / f"{name}-crash")
            else:
                line = ended.stdout.splitlines()[-1]
        with counts.open("a") as file:
            file.write(line + "\n")
        print(line, flush=True)
        failed |= bool(json.loads(line)["failures"])
    sys.exit(failed)


if __name__ == "__main__":
    main()
