"""Where a model comes from."""

from __future__ import annotations

from datetime import UTC, datetime

from spherevec._version import __version__


def provenance() -> dict[str, str]:
    """The release that makes a model, and when."""
    return {"version": __version__, "created": datetime.now(UTC).isoformat(timespec="seconds")}
