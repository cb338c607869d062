"""Options that the command line takes from elsewhere: the training settings, and names from rooms that load slowly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from typing import Any, TypeVar

import click

from spherevec.config import TrainConfig

Command = TypeVar("Command", bound=Callable[..., Any])

# Second spellings of switched-off settings.
_OFF_ALIASES = {"documents": " /--words-only"}


def training_settings(command: Command) -> Command:
    """One option for each field of `TrainConfig`. What the user does not give arrives as None."""
    for spec in reversed(fields(TrainConfig)):
        command = _option(spec)(command)
    return command


def given_settings(values: dict[str, Any]) -> dict[str, Any]:
    """The settings that the user gave; the others are the recipe's to decide."""
    return {name: value for name, value in values.items() if value is not None}


def _option(spec: Field[Any]) -> Callable[[Command], Command]:
    meta = spec.metadata
    flag = (meta["flag"] or spec.name).replace("_", "-")
    text = meta["help"] if spec.default is None else f"{meta['help']} Default: {_shown(spec.default)}."
    if spec.type == "bool":
        aliases = [_OFF_ALIASES[spec.name]] if spec.name in _OFF_ALIASES else []
        return click.option(f"--{flag}/--no-{flag}", *aliases, spec.name, default=None, help=text)
    metavar = None if meta["choices"] else "N" if str(spec.type).startswith("int") else "X"
    return click.option(f"--{flag}", spec.name, type=_type(spec), metavar=metavar, default=None, help=text)


def _type(spec: Field[Any]) -> click.Choice[str] | click.IntRange | click.FloatRange:
    meta = spec.metadata
    if meta["choices"]:
        return click.Choice(meta["choices"])
    kind = click.IntRange if str(spec.type).startswith("int") else click.FloatRange
    return kind(meta["low"], meta["high"])


def _shown(default: Any) -> str:
    return ("on" if default else "off") if isinstance(default, bool) else str(default)


class LateChoice(click.ParamType):  # type: ignore[type-arg]  # generic only in the newest click
    """A choice whose names are looked up only when they are needed, so that `--help` of the program stays quick."""

    name = "choice"

    def __init__(self, names: Callable[[], Sequence[str]]) -> None:
        self._names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return click.Choice(self._names()).convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self._names())}]"
