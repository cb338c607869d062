"""Run the worker on one cell, in a process that can be stopped from outside."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from spherevec.reproduction.worker import Request

_COMMAND = "import sys; from spherevec.reproduction.worker import main; sys.exit(main())"
_GRACE = 5.0  # seconds between asking a process to end and ending it


class CellFailedError(Exception):
    """A cell could not be measured; the message is one line."""


class Processes:
    """The processes that are at work."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def measure(self, request: Request, report: Callable[[float], None]) -> dict[str, Any]:
        """The figures of a cell, measured in a process of its own."""
        with tempfile.TemporaryDirectory(prefix="spherevec-") as name:
            folder = Path(name)
            request = replace(request, figures=folder / "figures.json")
            request.write(folder / "request.json")
            with (folder / "stderr").open("w+") as errors:
                code = self._run([sys.executable, "-c", _COMMAND, str(folder / "request.json")], errors, report)
                if code != 0 or not request.figures.exists():
                    errors.seek(0)
                    raise CellFailedError(_last_line(errors.read()) or f"the process ended with code {code}")
            figures: dict[str, Any] = json.loads(request.figures.read_text("utf-8"))
            return figures

    def stop(self) -> None:
        """End all of them, and let none begin any more."""
        with self._lock:
            self.stopped = True
            running = list(self._running)
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()

    def _run(self, command: list[str], errors: Any, report: Callable[[float], None]) -> int:
        with self._lock:
            if self.stopped:
                raise CellFailedError("the run was stopped")
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
            self._running.add(process)
        try:
            with process:
                assert process.stdout is not None
                for line in process.stdout:
                    report(_share(line))
            return process.returncode
        finally:
            with self._lock:
                self._running.discard(process)


def _share(line: str) -> float:
    """A worker's packages may print as well: only numbers count."""
    try:
        return min(max(float(line), 0.0), 1.0)
    except ValueError:
        return 0.0


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
