"""The errors that spherevec raises on purpose.

Each message is one line that names the file, line or value at fault and what to do about it. The command line prints
that line and exits with code 2; a library user catches `SpherevecError`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class SpherevecError(Exception):
    """Base of every error that spherevec raises on purpose."""


class ConfigError(SpherevecError, ValueError):
    """A setting is outside its range, or two settings contradict each other."""


class CorpusError(SpherevecError, ValueError):
    """The text cannot be read, or holds nothing to learn from."""


class FormatError(SpherevecError, ValueError):
    """A model or vector file is not what it should be."""


class BusyError(SpherevecError, RuntimeError):
    """Another process or thread is writing the same output."""


class TrainingError(SpherevecError, RuntimeError):
    """Training cannot go on, for example because vectors diverged."""


class MissingExtraError(SpherevecError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'spherevec[{extra}]'")
        self._given = (feature, extra)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        """Errors travel between processes."""
        return MissingExtraError, self._given


def import_extra(module: str, feature: str, extra: str) -> Any:
    """A module of an optional dependency; where it is not installed, the error says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(feature, extra) from None
