"""Every test starts from this: where the helpers are, and what is skipped without data or a GPU."""

from __future__ import annotations

import inspect
import os
import re
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent

# What only Linux has: a test that uses it is skipped elsewhere.
_LINUX = re.compile(r"/proc/|RLIMIT_(AS|DATA)")

# The same examples each time, and no clock: a busy machine, or bad luck, fails nobody. To look for more:
# pytest --hypothesis-profile=chance
_NO_CLOCK: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("suite", derandomize=True, **_NO_CLOCK)
settings.register_profile("chance", **_NO_CLOCK)
settings.load_profile("suite")

# A shell starts what runs in the background with Ctrl-C ignored, nohup without hangups, and children inherit it; the
# tests are about these signals.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Child processes find the helpers and the oracle, too.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the data sets."""
    folder = os.environ.get("SPHEREVEC_DATA")
    if not folder:
        pytest.skip("SPHEREVEC_DATA names no folder of data sets")
    return Path(folder)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was skipped, and why: without data, a GPU or a browser."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    if reasons:
        terminalreporter.section("skipped")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count:5}  {reason}")


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs Linux."""
    for item in items if sys.platform != "linux" else ():
        if isinstance(item, pytest.Function) and _LINUX.search(inspect.getsource(item.obj)):
            item.add_marker(pytest.mark.skip(reason="needs Linux"))
