"""The one home of the version."""

__version__ = "0.3.0"
