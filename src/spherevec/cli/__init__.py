"""The command line: each command parses, calls and prints.

Results go to standard output, progress and chatter to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from spherevec.cli.exit import exit_code_of
from spherevec.cli.group import InterruptedCommand, cli

__all__ = ["cli", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""

    def run() -> None:
        given = list(sys.argv[1:] if arguments is None else arguments)
        try:
            code = cli.main(given, "spherevec", standalone_mode=False)
        except InterruptedCommand as interrupted:
            raise interrupted.interruption from None
        if isinstance(code, int) and code:
            raise click.exceptions.Exit(code)

    return exit_code_of(run)
