"""Every test starts from this: where the helpers are, and what is skipped without data or a GPU."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent

# Child processes find the helpers and the oracle, too.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the data sets."""
    folder = os.environ.get("SPHEREVEC_DATA")
    if not folder:
        pytest.skip("SPHEREVEC_DATA names no folder of data sets")
    return Path(folder)
