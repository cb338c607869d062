"""`{commands}`: every command with its arguments and options, taken from the commands themselves."""

import re

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from spherevec.cli import cli


def _text(text: str) -> list[nodes.Node]:
    """Words, and what stands between backticks as code."""
    parts = re.split(r"`([^`]+)`", text)
    return [nodes.literal(part, part) if odd % 2 else nodes.Text(part) for odd, part in enumerate(parts) if part]


def _paragraph(text: str) -> nodes.paragraph:
    return nodes.paragraph("", "", *_text(" ".join(text.split())))


def _option(option: click.Option, context: click.Context) -> nodes.definition_list_item:
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag or option.count else " " + option.make_metavar(context)
    term = nodes.term("", "", nodes.literal("", names + value))
    about = (option.help or "").strip()
    extra = option.get_help_extra(context)
    if "default" in extra:
        about += f" Default: `{extra['default']}`."
    return nodes.definition_list_item("", term, nodes.definition("", _paragraph(about)))


class Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        root = click.Context(cli, info_name="spherevec", show_default=True)
        return [self._section(name, root) for name in cli.list_commands(root)]

    def _section(self, name: str, root: click.Context) -> nodes.section:
        command = cli.get_command(root, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=root)
        section = nodes.section(ids=[name], names=[name])
        section += nodes.title("", "", nodes.Text(name))
        usage = f"spherevec {name} " + " ".join(command.collect_usage_pieces(context))
        section += nodes.literal_block(usage, usage, language="text")
        for paragraph in (command.help or "").replace("\b", "").split("\n\n"):
            section += _paragraph(paragraph)
        options = [one for one in command.params if isinstance(one, click.Option) and one.help]
        if options:
            section += nodes.definition_list("", *(_option(one, context) for one in options), classes=["options"])
        self.state.document.note_implicit_target(section, section)
        return section


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
