"""A real run of Ray over a slow network: two nodes in network namespaces of this machine, joined by a limited wire.

    python -m benchmarks.network --mbit 100 --documents 10000 --interval 100000     (root, Linux, iproute2)

`tc` limits both directions. What is printed is that of `benchmarks.cluster real`, with the rate.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

NAMES, PORT = ("spherevec0", "spherevec1"), 6399


def _address(number: int) -> str:
    return f"10.77.0.{number + 1}"


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True)


@contextmanager
def wire(mbit: float) -> Iterator[None]:
    """Two namespaces, and a wire of so many Mbit/s between them."""
    try:
        for name in NAMES:
            _ip("netns", "add", name)
        _ip("link", "add", NAMES[0], "netns", NAMES[0], "type", "veth", "peer", "name", NAMES[1], "netns", NAMES[1])
        for number, name in enumerate(NAMES):
            _ip("-n", name, "addr", "add", f"{_address(number)}/24", "dev", name)
            for device in ("lo", name):
                _ip("-n", name, "link", "set", device, "up")
            _ip("-n", name, "route", "add", "default", "dev", name)  # by which Ray finds its own address
            limit = ["rate", f"{mbit}mbit", "burst", f"{max(256, int(2 * mbit))}kb", "latency", "400ms"]
            _ip("netns", "exec", name, "tc", "qdisc", "add", "dev", name, "root", "tbf", *limit)
        yield
    finally:
        for name in NAMES:
            _ip("netns", "del", name, check=False)


@contextmanager
def nodes() -> Iterator[None]:
    """A node of Ray with one core in each namespace."""
    command = [str(Path(sys.executable).parent / "ray"), "start", "--block", "--num-cpus", "1", "--disable-usage-stats"]
    with ExitStack() as stack:
        for number, name in enumerate(NAMES):
            role = ["--head", f"--port={PORT}", "--include-dashboard=false"]
            role = role if not number else [f"--address={_address(0)}:{PORT}"]
            inside = ["ip", "netns", "exec", name, *command, f"--node-ip-address={_address(number)}", *role]
            node = subprocess.Popen(inside, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(node.wait, 30)
            stack.callback(node.terminate)
            time.sleep(10)
        yield


def main() -> None:
    os.environ["RAY_AUTH_MODE"] = "disabled"  # nobody else is on this wire
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbit", type=float, nargs="+", default=[100.0])
    arguments, rest = parser.parse_known_args()
    for mbit in arguments.mbit:
        with wire(mbit), nodes():
            inside = ["ip", "netns", "exec", NAMES[0], sys.executable, "-m", "benchmarks.cluster", "real", *rest]
            inside += ["--workers", "2", "--ray", f"{_address(0)}:{PORT}"]
            done = subprocess.run(inside, check=True, stdout=subprocess.PIPE, text=True)
            print(json.dumps({"mbit": mbit, **json.loads(done.stdout.splitlines()[-1])}), flush=True)


if __name__ == "__main__":
    main()
