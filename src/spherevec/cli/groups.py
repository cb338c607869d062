"""Options that belong together reach a command as one argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., Any])


def option_group(name: str, make: Callable[..., Any], *options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """A decorator that adds `options` to a command, which gets `make(**values)` as its argument `name`.

    Examples:
        >>> import click
        >>> size = option_group("size", lambda wide, high: (wide, high), click.option("--wide"), click.option("--high"))
        >>> @click.command()
        ... @size
        ... def draw(size):
        ...     return size
        >>> draw.main(["--wide", "3", "--high", "2"], standalone_mode=False)
        ('3', '2')
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def grouped(**values: Any) -> Any:
            values[name] = make(**{option: values.pop(option) for option in names})
            return command(**values)

        before = len(getattr(grouped, "__click_params__", ()))
        for option in reversed(options):
            option(grouped)
        names = [param.name for param in grouped.__click_params__[before:]]  # type: ignore[attr-defined]
        return grouped  # type: ignore[return-value]

    return decorate
