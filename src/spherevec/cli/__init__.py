"""The command line: each command parses, calls and prints.

Results go to standard output, progress and chatter to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import click
from click.shell_completion import shell_complete

from spherevec._version import __version__
from spherevec.cli.exit import exit_code_of

__all__ = ["cli", "main"]

_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}
_COMPLETION = "_SPHEREVEC_COMPLETE"  # set by the shell functions that click writes

# In the order of the help: the file of each command, spherevec/cli/commands/<file>.py, and one line about it.
_COMMANDS = {
    "demo": ("explore", "A one-minute tour: train, search, topics, words and a map."),
    "train": ("training", "Learn vectors from text."),
    "search": ("search", "Find documents by what they say."),
    "topics": ("topics", "Find the topics of the documents, or sort the documents by names."),
    "explore": ("explore", "Write the map of a model as one page."),
    "update": ("training", "More documents and new words for a model."),
    "neighbors": ("search", "Nearest words, or documents, with their cosines."),
    "analogy": ("search", "A is to B as C is to … what?"),
    "infer": ("vectors", "Vectors for documents that the model has never seen."),
    "tokenize": ("info", "What the tokenizer makes of a text, before any training."),
    "serve": ("serve", "Answer searches over HTTP."),
    "evaluate": ("evaluate", "Measure a model against human judgement or labels."),
    "export": ("vectors", "Write vectors for other programs."),
    "import": ("vectors", "Make a model of vectors from elsewhere."),
    "info": ("info", "What a model holds and how it was trained."),
    "check": ("info", "Compare every byte of a model with its checksums."),
}


class _LazyGroup(click.Group):
    """Knows the names and one line of help of all commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            near = get_close_matches(cmd_name, _COMMANDS, n=1)
            if near:
                raise click.ClickException(f"No such command {cmd_name!r:.60}; did you mean {near[0]!r}?")
            return None
        file, _ = _COMMANDS[cmd_name]
        name = "import_" if cmd_name == "import" else cmd_name
        command: click.Command = getattr(import_module(f"spherevec.cli.commands.{file}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, invoke_without_command=True, context_settings=_SETTINGS)
@click.version_option(__version__)
@click.pass_context
def cli(context: click.Context) -> None:
    """Word and document vectors from your own text, learned together on the unit sphere."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


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
