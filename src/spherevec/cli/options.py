"""Options that several commands share: paths, output, reading, several machines, and one for each setting."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import Field, fields
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from spherevec.cli.display import Console
from spherevec.config import COMMON, TrainConfig
from spherevec.corpus.read.options import PUBLIC, ReadOptions
from spherevec.devices import DEVICES

PATH = click.Path(path_type=Path)
Command = TypeVar("Command", bound=Callable[..., Any])


def option_group(name: str, make: Callable[..., Any], *options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """A decorator that adds `options` to a command, which gets `make(**values)` as its argument `name`."""

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


def given_settings(**values: Any) -> dict[str, Any]:
    """The settings that the user gave; the others are the recipe's to decide."""
    return {name: value for name, value in values.items() if value is not None}


# Kinds of options.
flag = partial(click.option, is_flag=True)
number = partial(click.option, type=click.IntRange(1), metavar="N")
path_option = partial(click.option, type=PATH)


def choice(name: str, values: Iterable[str], **more: Any) -> Callable[[Command], Command]:
    """An option that takes one of some values."""
    return click.option(name, type=click.Choice(list(values)), **more)


model_argument = click.argument("folder", metavar="MODEL", type=PATH)
top_option = number("--top", default=10, help="How many answers.")
json_option = flag("--json", "as_json", help="Print JSON for programs.")
quiet_option = flag("--quiet", help="No progress and no advice, only results, warnings and errors.")
guard_option = flag("--guard-formulas", help="In CSV and TSV files, put ' before cells that a spreadsheet would run.")
force_option = flag("--force", help="Replace what is there.")
threads_option = number("--threads", type=click.IntRange(0, 1024), default=0, show_default="all cores", help="Threads.")
device_option = choice("--device", DEVICES, default="cpu", help="Where to compute.")
_PRETOKENIZED: dict[str, Any] = {
    "is_flag": True,
    "callback": lambda ctx, param, given: "whitespace" if given else None,
    "help": "The text is already split: words are what stands between spaces.",
}
# The same under two names: beside a --tokenizer, and in its place where a model has one of its own.
pretokenized_option = click.option("--pretokenized", **_PRETOKENIZED)
tokenizer_option = click.option("--pretokenized", "tokenizer", **_PRETOKENIZED)
# A command that prints takes these two, and gets them as `console`.
output_options = option_group("console", Console, json_option, quiet_option)


class Address(os.PathLike[str]):
    """An address such as s3://bucket/file, which a `Path` would spoil."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __fspath__(self) -> str:
        return self._text

    __str__ = __fspath__


class _CorpusPath(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return Address(value) if isinstance(value, str) and "://" in value else super().convert(value, param, ctx)


corpus_argument = click.argument(
    "corpus", metavar="CORPUS...", nargs=-1, required=True, type=_CorpusPath(path_type=Path)
)


def _reading_option(spec: Field[Any]) -> Callable[[Command], Command]:
    meta, name = spec.metadata, f"--{spec.name.replace('_', '-')}"
    if str(spec.type) == "bool":
        return flag(name, help=meta["help"])
    parse = meta["parse"] or (lambda value: value)
    shown = spec.default if spec.default != () else None
    return click.option(
        name,
        type=click.Choice(meta["choices"]) if meta["choices"] else click.IntRange(0) if spec.type == "int" else str,
        metavar=meta["metavar"],
        default=shown,
        callback=lambda ctx, param, value: spec.default if value is None else parse(value),
        help=meta["help"],
    )


# One option for each field of `ReadOptions` that is not for Python only, as `reading`.
READING = [spec for spec in PUBLIC if spec.metadata["metavar"] or spec.metadata["choices"] or spec.type == "bool"]
reading_options = option_group("reading", ReadOptions, *map(_reading_option, READING))


def _ray_settings(ray: str | None, workers: int | None, **further: Any) -> dict[str, Any]:
    """The arguments of `spherevec.train` for several machines; none without --ray."""
    given = given_settings(**further)
    if ray is not None:
        return {"ray": ray, "workers": workers, "cluster": given}
    for name in ["workers"] * (workers is not None) + list(given):
        raise click.UsageError(f"--{name.replace('_', '-')} needs --ray; threads of one machine are --threads")
    return {}


class TrainingCommand(click.Command):
    """A command with training settings: `--help` shows those that people change first, `--help-all` all of them."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        everything = ctx.meta.get("spherevec.help_all", False)
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            group, row = _GROUPS.get(str(param.name), "Options"), param.get_help_record(ctx)
            if row is not None and (everything or group in ("Options", COMMON)):
                groups.setdefault(group, []).append(row)
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta["spherevec.help_all"] = True
        click.echo(ctx.get_help())
        ctx.exit()


help_all_option = flag("--help-all", is_eager=True, expose_value=False, callback=_show_all, help="Show every setting.")


def setting_option(spec: Field[Any], default: Any = None) -> Callable[[Command], Command]:
    """The option of a training setting, with what its help calls the default."""
    meta, kind, name = spec.metadata, str(spec.type), spec.name.replace("_", "-")
    if default is None:
        default = spec.default if not isinstance(spec.default, bool) else "on" if spec.default else "off"
    text = meta["help"] if default is None else f"{meta['help']} Default: {default}."
    shared: dict[str, Any] = {"default": None, "help": text}
    if kind.startswith("bool"):
        alias = [" /--words-only"] * (name == "documents")
        return click.option(f"--{name}/--no-{name}", *alias, spec.name, **shared)
    if meta["choices"]:
        return choice(f"--{name}", meta["choices"], **shared)
    limits, metavar = (click.IntRange, "N") if kind.startswith("int") else (click.FloatRange, "X")
    return click.option(f"--{name}", type=limits(meta["low"], meta["high"]), metavar=metavar, **shared)


SETTINGS = {spec.name: spec for spec in fields(TrainConfig)}
# One option for each field of `TrainConfig`, as `settings`: those that the user gave.
training_settings = option_group("settings", given_settings, *map(setting_option, SETTINGS.values()))

_RAY = (
    click.option(
        "--ray",
        metavar="local|auto|ADDRESS",
        help="Use workers of a Ray cluster: of this machine, of the cluster it belongs to, or at an address.",
    ),
    number("--workers", type=click.IntRange(1, 1024), help="Workers of --ray. Default: 1."),
)
_positive = partial(click.option, type=click.FloatRange(0, min_open=True))
# --ray and what belongs to it, as `ray`: for `infer`, and with the exchanges of training as arguments of `train`.
ray_options = option_group("ray", _ray_settings, *_RAY)
ray_training_options = option_group(
    "ray",
    _ray_settings,
    *_RAY,
    number("--exchange-tokens", help="Tokens that a worker trains between two exchanges. Default: by --bandwidth."),
    _positive("--bandwidth", metavar="GBIT", help="Between the machines, in Gbit/s. Default: 10."),
    _positive("--worker-timeout", metavar="SECONDS", help="Until a silent worker is replaced. Default: 600."),
)
# Headings in help. Only those of the first settings are shown by `--help`.
_GROUPS = {name: spec.metadata["group"] for name, spec in SETTINGS.items()}
_GROUPS |= dict.fromkeys(("exchange_tokens", "bandwidth", "worker_timeout"), "Several machines (--ray)")
