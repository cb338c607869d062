"""A search for inputs that reach new code, or that cost more work, time or memory per byte than any before."""

from __future__ import annotations

import gc
import random
import re
import signal
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from benchmarks.fuzz.base import damaged
from benchmarks.fuzz.targets import TARGETS, feed

# What an input may cost: a fixed share, and one for each of its bytes.
SECONDS, SECONDS_A_BYTE, SECONDS_A_DOCUMENT = 0.3, 2e-6, 3e-4
MEMORY, MEMORY_A_BYTE = 24 << 20, 200
HANGS = 20  # seconds of processor time; where the result must not depend on the machine, many times as many
TRACED_EVERY = 5  # of so many inputs, one is traced
REPEATED_EVERY = 48  # of so many inputs, one has a part that is repeated often
LONGEST_REPEATED = 1 << 14
_WATCHED = ("/spherevec/", "/email/", "/html/", "/json/", "/csv.py", "/gzip.py", "/lzma.py", "/_strptime.py", "/re/")


class HangsError(BaseException):
    """An input that takes too long; no reader catches it."""


class Tracer:
    """Counts how often each line of our Python, and of the standard library's parsers, runs."""

    def __init__(self) -> None:
        self._lines: dict[CodeType, Callable[..., Any]] = {}
        self._counts: list[dict[int, int]] = []
        self._elsewhere: set[int] = set()

    def _call(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if id(code) in self._elsewhere:
            return None
        if code not in self._lines:
            name = code.co_filename
            if not any(part in name for part in _WATCHED) or "kernel" in name:
                self._elsewhere.add(id(code))
                return None
            counts: dict[int, int] = {}
            self._counts.append(counts)

            def line(frame: FrameType, event: str, _: Any) -> Any:
                if event == "line":
                    at = frame.f_lineno
                    counts[at] = counts.get(at, 0) + 1
                return line

            self._lines[code] = line
        return self._lines[code]

    def run(self, work: Callable[[], Any]) -> tuple[set[tuple[int, int, int]], int]:
        """What a call reached: (function, line, magnitude of its count); and how many lines ran."""
        for counts in self._counts:
            counts.clear()
        sys.settrace(self._call)
        try:
            work()
        finally:
            sys.settrace(None)
        reached = {
            (number, line, count.bit_length())
            for number, counts in enumerate(self._counts)
            if counts
            for line, count in counts.items()
        }
        return reached, sum(sum(counts.values()) for counts in self._counts if counts)


@dataclass
class Found:
    """What a search found.

    Args:
        inputs, taken: how many were fed, and how many of them the reader took.
        failures: the first input of each kind of failure.
        slowest, largest: seconds and bytes of memory of the costliest input, beyond what any input may cost.
    """

    inputs: int = 0
    taken: int = 0
    reached: int = 0
    failures: dict[str, bytes] = field(default_factory=dict)
    slowest: float = 0.0
    largest: float = 0.0


def repeated(data: bytes, luck: random.Random) -> bytes:
    """An input in which one short part is there many times."""
    at = luck.randrange(len(data) + 1)
    part = data[at : at + luck.randint(1, 24)] or b"a"
    return data[:at] + part * (luck.randint(LONGEST_REPEATED // 4, LONGEST_REPEATED) // len(part)) + data[at:]


@contextmanager
def _limited() -> Iterator[None]:
    """A timer that goes off ends an input; `search` winds it up for each."""

    def ends(*_: Any) -> None:
        raise HangsError

    before = signal.signal(signal.SIGVTALRM, ends)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _memory(work: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _kind(error: BaseException) -> str:
    """What went wrong and where, the same for all inputs that show it."""
    steps = [step for step in traceback.extract_tb(error.__traceback__) if not step.filename.endswith("guided.py")]
    place = f"{steps[-1].filename.rpartition('/')[2]}:{steps[-1].lineno}" if steps else "its cost"
    return f"{type(error).__name__} at {place}: {re.sub(r'[0-9]+', '#', str(error))[:120]}"


def search(
    name: str,
    inputs: int,
    folder: Path,
    *,
    seed: int = 1,
    seconds: float = 0,
    clock: bool = True,
    log: Path | None = None,
) -> Found:
    """Feed a target, guided by what it reaches and what it costs.

    Args:
        folder: scratch.
        seconds: end earlier; 0: do not.
        clock: also watch processor time; False where the result must not depend on the machine.
        log: a file that holds the current input, for those that end the process.
    """
    target, luck, tracer, found = TARGETS[name], random.Random(seed), Tracer(), Found()
    pool = [*target.seeds()]
    costly: list[bytes] = []
    reached: set[tuple[int, int, int]] = set()
    best = {"work": 0.0, "seconds": 0.0, "memory": 0.0}
    for start in pool:
        feed(name, start, folder)  # compiles what is compiled
    gc.collect()
    gc.freeze()  # what is there already: collecting it again would take most of the time
    ends = time.monotonic() + seconds if seconds else float("inf")
    current = log.open("wb", buffering=0) if log else None

    def costs(kind: str, value: float, data: bytes) -> None:
        """Keep an input that costs more per byte than any before."""
        if value > 1.2 * best[kind]:
            best[kind] = value
            costly.append(data)
            del costly[:-12]

    def check(data: bytes, traced: bool, long: bool) -> None:
        taken: list[bool] = []

        def work() -> None:
            taken.append(feed(name, data, folder))

        size, start = len(data) + 256, time.process_time()
        if traced and not long:
            new, lines = tracer.run(work)
            costs("work", lines / size, data)
            if new - reached:
                reached.update(new)
                pool.append(data[: target.longest])
        else:
            work()
        spent = time.process_time() - start
        found.taken += taken[0]
        if long:
            memory = _memory(work)
            costs("memory", memory / size, data)
            found.largest = max(found.largest, memory - MEMORY_A_BYTE * size)
            assert memory < MEMORY + MEMORY_A_BYTE * size, f"{memory:,} bytes of memory"
        if clock:
            share = SECONDS_A_BYTE * size
            if target.document:
                share += SECONDS_A_DOCUMENT * data.count(target.document)
            if spent > SECONDS + share:
                spent = min(_seconds(work) for _ in range(3))
            costs("seconds", spent / size, data)
            found.slowest = max(found.slowest, spent - share)
            assert spent < SECONDS + share, f"{spent:.2f} seconds for {len(data):,} bytes"

    with _limited():
        while found.inputs < inputs and time.monotonic() < ends:
            starts = costly if costly and luck.random() < 0.25 else pool[-16:] if luck.random() < 0.5 else pool
            data = damaged(starts, target.words, luck)[: 2 * target.longest]
            long = found.inputs % REPEATED_EVERY == 0
            data = repeated(data, luck) if long else data
            if current:
                current.seek(0)
                current.truncate()
                current.write(data)
            found.inputs += 1
            try:
                signal.setitimer(signal.ITIMER_VIRTUAL, HANGS if clock else 30 * HANGS)
                check(data, found.inputs % TRACED_EVERY == 0, long)
            except (Exception, HangsError) as error:
                found.failures.setdefault(_kind(error), data)
    gc.unfreeze()
    if current:
        current.close()
    found.reached = len(reached)
    return found
