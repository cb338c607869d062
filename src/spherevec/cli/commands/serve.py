"""`spherevec serve`."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from pathlib import Path

import click

from spherevec.cli.display import tell
from spherevec.cli.options import model_argument, quiet_option
from spherevec.errors import ConfigError, MissingExtraError


@click.command()
@model_argument
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--token", envvar="SPHEREVEC_TOKEN", show_envvar=True, help="What clients must send to be answered.")
@quiet_option
def serve(folder: Path, port: int, host: str, token: str | None, quiet: bool) -> None:
    """Answer searches over HTTP.

    /search?q=TEXT, /topics, /info and POST /infer answer with the JSON that the commands print with --json, / with the
    page of `explore`; /openapi.json describes them. A model that is replaced meanwhile is loaded again. Other machines
    are answered only with --host and --token.
    """
    if token is None and not _is_loopback(host):
        raise click.UsageError(f"--host {host} can be reached by other machines; give a --token, or SPHEREVEC_TOKEN")
    if token == "":
        raise click.UsageError("the token is empty")
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError("serving a model", "serve") from None
    from spherevec.cli.service import Service

    app = Service(folder, token).app()
    config = uvicorn.Config(
        app, host, port, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=5
    )
    try:
        listener = config.bind_socket()
    except SystemExit:  # uvicorn has said why on standard error
        raise ConfigError(f"cannot listen at {host}, port {port}; choose another --port") from None
    if not quiet:
        shown = f"[{host}]" if ":" in host else host
        tell(f"http://{shown}:{listener.getsockname()[1]}: serving {folder}; stop with Ctrl-C")
    with suppress(KeyboardInterrupt):  # raised again by the server once all requests are answered
        uvicorn.Server(config).run(sockets=[listener])


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
