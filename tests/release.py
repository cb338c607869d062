"""Try the wheel in dist/ as strangers would: in empty environments, offline, on every Python at hand.

    python tests/release.py [PYTHON...] [--extras NAME,NAME] [--together]
    python tests/release.py --bill FILE                         only add the version to a bill of materials

Wheels of what it needs are collected in build/wheels first. Each environment then installs from that folder alone,
runs `tests/smoke.py`, and is removed. The first PYTHON gets an environment for each extra, the others one for all.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LARGEST = 1_000_000  # bytes of the wheel
PYTHONS = ("python3.11", "python3.12", "python3.13")
# Gigabytes, or a GPU: named with --extras where there is time for them.
LEFT_OUT = {"dev", "cuda", "sentence-transformers"}


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def contents(wheel: Path) -> None:
    """The wheel holds the files of src/spherevec, its own description, and nothing else."""
    tracked = run("git", "-C", ROOT, "ls-files", "src/spherevec").split("\n")
    expected = {name.removeprefix("src/") for name in tracked if name}
    found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert found == expected, f"not the same: {sorted(found ^ expected)[:10]}"
    size = wheel.stat().st_size
    assert size <= LARGEST, f"{size:,} bytes are more than {LARGEST:,}"
    print(f"{wheel.name}: {len(found)} files, {size:,} bytes")


def write_bill(file: Path, wheel: Path) -> None:
    """The bill of materials beside the wheel, with the version, which pyproject.toml leaves to the code."""
    bill = json.loads(file.read_text("utf-8"))
    bill["metadata"]["component"]["version"] = wheel.name.split("-")[1]
    named = {component["name"] for component in bill["components"]}
    assert {"numpy", "numba", "scipy"} <= named, f"not a bill of the wheel: {sorted(named)}"
    wheel.with_name(f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json").write_text(json.dumps(bill, indent=1), "utf-8")


def version(python: str) -> str | None:
    """The version of a Python, None where it is not there or does not start."""
    try:
        command = [python, "-c", "import sys; print(sys.version.split()[0])"]
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def tried(python: str, wheel: Path, wheels: Path, extras: list[str]) -> None:
    """Install into an empty environment from the folder of wheels, and run the smoke test there."""
    place, started = ROOT / "build" / "fresh", time.monotonic()
    shutil.rmtree(place, ignore_errors=True)
    run(python, "-m", "venv", place)
    inside = place / "bin" / "python"
    named = f"{wheel}[{','.join(extras)}]" if extras else wheel
    run(inside, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", wheels, named)
    run(inside, "-I", ROOT / "tests" / "smoke.py", *extras)
    shutil.rmtree(place)
    print(f"{python}: {', '.join(extras) or 'no extra'}: works ({time.monotonic() - started:.0f} s)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", default=PYTHONS)
    parser.add_argument("--extras", help="instead of all but " + ", ".join(sorted(LEFT_OUT)))
    parser.add_argument("--together", action="store_true", help="one environment for all extras on each PYTHON")
    parser.add_argument("--bill", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    (wheel,) = (ROOT / "dist").glob("*.whl")
    if given.bill:
        write_bill(given.bill, wheel)
        return
    contents(wheel)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    extras = given.extras.split(",") if given.extras else [name for name in declared if name not in LEFT_OUT]
    missing = [python for python in given.pythons if version(python) is None]
    here = [python for python in given.pythons if python not in missing]
    for number, python in enumerate(here):
        wheels = ROOT / "build" / "wheels" / (version(python) or "")
        asked = f"{wheel}[{','.join(extras)}]"
        run(python, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", wheels, asked)
        tried(python, wheel, wheels, [])
        for some in [[extra] for extra in extras] if number == 0 and not given.together else [extras]:
            tried(python, wheel, wheels, some)
    if missing:
        raise SystemExit(f"not tried, since not found: {', '.join(missing)}")


if __name__ == "__main__":
    main()
