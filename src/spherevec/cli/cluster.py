"""Options of the commands that can work on several machines."""

from __future__ import annotations

from typing import Any

import click

from spherevec.cli.options import Command, SettingOption

_GROUP: dict[str, Any] = {"cls": SettingOption, "group": "Several machines (--ray)"}  # `train --help-all` shows it
_OPTIONS = (
    click.option(
        "--ray",
        metavar="local|auto|ADDRESS",
        help="Train on workers of a Ray cluster: of this machine, of the cluster it belongs to, or at an address.",
    ),
    click.option("--workers", type=click.IntRange(1, 1024), metavar="N", help="Workers of --ray. Default: 1."),
    click.option(
        "--exchange-tokens",
        type=click.IntRange(1),
        metavar="N",
        **_GROUP,
        help="Tokens that a worker trains between two exchanges; by default chosen by vocabulary and --bandwidth.",
    ),
    click.option(
        "--bandwidth",
        type=click.FloatRange(0, min_open=True),
        metavar="GBIT",
        **_GROUP,
        help="Between the machines of --ray, in Gbit/s, to choose the exchanges by. Default: 10.",
    ),
    click.option(
        "--worker-timeout",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        **_GROUP,
        help="A worker that does not answer for so long is replaced. Default: 600.",
    ),
)
_FURTHER = ("exchange_tokens", "bandwidth", "worker_timeout")


def cluster_options(command: Command) -> Command:
    """--ray and what belongs to it."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def cluster_settings(values: dict[str, Any]) -> dict[str, Any]:
    """Take the values of `cluster_options` out of all; returns the arguments of `spherevec.train`."""
    further = {name: value for name in _FURTHER if (value := values.pop(name)) is not None}
    ray, workers = values.pop("ray"), values.pop("workers")
    if ray is None:
        given = ["workers"] * (workers is not None) + list(further)
        if given:
            raise click.UsageError(f"--{given[0].replace('_', '-')} needs --ray; threads of one machine are --threads")
        return {}
    return {"ray": ray, "workers": workers, "cluster": further}
