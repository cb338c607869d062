"""Print the oldest versions that pyproject.toml allows, one requirement a line, for `make test-oldest`.

python tests/oldest.py > requirements.txt
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

# The extras that unit tests use and that every system has wheels of.
EXTRAS = ("zstd", "parquet", "pandas")
TESTS = ("pytest", "hypothesis", "safetensors", "polars")
_BOUND = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[a-z]+\])?>=([0-9.]+)")


def oldest(project: dict[str, object]) -> list[str]:
    """`name==version` for each requirement; one without a lower bound is an error."""
    optional = project["optional-dependencies"]
    assert isinstance(optional, dict) and isinstance(project["dependencies"], list)
    wanted = [*project["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]
    wanted += [line for line in optional["dev"] if line.startswith(TESTS)]
    found = [_BOUND.match(line) for line in wanted]
    if not all(found):
        raise SystemExit(f"no lower bound: {[line for line, one in zip(wanted, found, strict=True) if not one]}")
    return [f"{one[1]}=={one[2]}" for one in found if one]


if __name__ == "__main__":
    file = Path(__file__).parent.parent / "pyproject.toml"
    sys.stdout.write("\n".join(oldest(tomllib.loads(file.read_text("utf-8"))["project"])) + "\n")
