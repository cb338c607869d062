"""All benchmarks, one after the other: `python -m bench`. About half an hour on two cores."""

from __future__ import annotations

import runpy
import sys

for name in ("encoding", "training", "reproducible", "footprint", "inference", "clustering", "search"):
    print(f"\n== {name}", flush=True)
    sys.argv = [f"bench.{name}"]
    runpy.run_module(f"bench.{name}", run_name="__main__")
