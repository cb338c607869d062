"""The one home of the version."""

__version__ = "0.2.0.dev0"
