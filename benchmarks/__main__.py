"""All benchmarks, one after the other: `python -m benchmarks`. About half an hour on two cores."""

from __future__ import annotations

import runpy
import sys

for name in ("encoding", "training", "deterministic", "footprint", "inference", "clustering", "search"):
    print(f"\n== {name}", flush=True)
    sys.argv = [f"benchmarks.{name}"]
    runpy.run_module(f"benchmarks.{name}", run_name="__main__")
