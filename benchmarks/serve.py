"""`spherevec serve` under load: searches a second and their latencies, with a real client on the same machine.

    python -m benchmarks.serve MODEL [--seconds 10] [--clients 4]

Each client keeps one connection and asks again as soon as it is answered. Queries are the beginnings of documents of
the model, two to five words long. Clients run in one process of their own, which takes its share of the cores.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import numpy as np

import spherevec


def queries_of(folder: Path, count: int = 1000) -> list[str]:
    model = spherevec.load(folder)
    assert model.documents is not None
    choose = random.Random(1)
    found: list[str] = []
    while len(found) < count:
        words = re.findall(r"\w+", model.documents.snippet(choose.randrange(len(model.documents))))
        begin, length = choose.randrange(max(len(words), 1)), choose.randint(2, 5)
        if len(words) > begin + length:
            found.append(" ".join(words[begin : begin + length]))
    return found


def ask(port: int, queries: list[str], clients: int, seconds: float) -> list[float]:
    """Latencies in milliseconds."""
    latencies: list[float] = []
    end = time.monotonic() + seconds

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        place = number
        while time.monotonic() < end:
            place += clients
            begin = time.perf_counter()
            path = f"/search?q={quote(queries[place % len(queries)])}"
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.partition("content-length:")[2].split()[0]))
            latencies.append(1000 * (time.perf_counter() - begin))
            if head.split()[1] not in ("200", "400"):  # 400: no word of the query is known
                raise RuntimeError(head)
        writer.close()

    async def run() -> None:
        await asyncio.gather(*map(client, range(clients)))

    asyncio.run(run())
    return latencies


def processor_seconds(process: int) -> float:
    """What a process has used so far, by Linux's own account."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    queries = queries_of(given.model)
    command = [sys.executable, "-m", "spherevec", "serve", str(given.model), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r":(\d+):", server.stderr.readline())
        assert found is not None
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.apply(ask, (int(found[1]), queries, given.clients, 2.0))  # compiles what is compiled on first use
            before = processor_seconds(server.pid)
            latencies = pool.apply(ask, (int(found[1]), queries, given.clients, given.seconds))
            taken = processor_seconds(server.pid) - before
        server.terminate()
    print(f"{len(latencies) / given.seconds:.0f} searches a second, {given.clients} clients")
    print(f"{1000 * taken / len(latencies):.1f} processor ms a search, in the server alone")
    for share in (50, 90, 99):
        print(f"p{share}: {np.percentile(latencies, share):.1f} ms")


if __name__ == "__main__":
    main()
