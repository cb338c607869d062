"""The commands by name; the file of a command is imported when the command is asked for."""

from __future__ import annotations

from importlib import import_module

import click

from spherevec._version import __version__

# The order of the help. Each command is the only click command of its file, spherevec/cli/commands/<file>.py.
_COMMANDS = {
    "demo": "A one-minute tour: train, then show neighbours, topics and a map.",
    "train": "Learn vectors from text.",
    "update": "More documents and new words for a model.",
    "tokenize": "What the tokenizer makes of a text, before any training.",
    "infer": "Vectors for documents that the model has never seen.",
    "search": "Find documents by what they say.",
    "neighbors": "Nearest words, or documents, with their cosines.",
    "analogy": "A is to B as C is to … what?",
    "explore": "Write the map of a model as one page.",
    "topics": "Find the topics of the documents, or sort the documents by names.",
    "serve": "Answer searches over HTTP.",
    "evaluate": "Measure a model against human judgement or classes.",
    "export": "Write vectors for other programs.",
    "import": "Make a model of vectors from elsewhere.",
    "info": "What a model holds and how it was trained.",
    "check": "Compare every byte of a model with its checksums.",
}


class LazyGroup(click.Group):
    """Knows the names and one line of help of all commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = f"{cmd_name}_" if cmd_name == "import" else cmd_name
        command: click.Command = getattr(import_module(f"spherevec.cli.commands.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.pass_context
def cli(context: click.Context) -> None:
    """Word and document vectors from your own text, learned together on the unit sphere."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
