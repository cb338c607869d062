"""The command line: each command parses, calls and prints.

Results go to standard output, progress and chatter to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import shell_complete

from spherevec.cli.exit import exit_code_of
from spherevec.cli.group import cli

__all__ = ["cli", "main"]

_COMPLETION = "_SPHEREVEC_COMPLETE"  # set by the shell functions that click writes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""

    def run() -> None:
        asked = os.environ.get(_COMPLETION)
        if asked:
            raise click.exceptions.Exit(shell_complete(cli, {}, "spherevec", _COMPLETION, asked))
        # Not cli.main(): it answers interruptions and closed pipes by itself.
        given = list(sys.argv[1:] if arguments is None else arguments)
        with cli.make_context("spherevec", given) as context:
            cli.invoke(context)

    return exit_code_of(run)
