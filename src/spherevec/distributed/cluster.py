"""The Ray cluster that a run works on: found or started, and left as it was."""

from __future__ import annotations

import errno
import importlib
import logging
import os
import secrets
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from spherevec.devices import DEVICES
from spherevec.errors import ConfigError, MissingExtraError, SpherevecError, TrainingError
from spherevec.process import usable_cores

LOCAL = "local"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LONGEST_PLACE = 30  # characters of a folder: the path of a socket has 107 at most


def ray_module() -> Any:
    """Ray, which is imported only where it is asked for."""
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingExtraError("work on several machines", "ray") from None


def check_workers(ray: str | None, workers: int | None) -> int:
    """How many workers, as the user gave it; refuses what makes no sense before anything is started."""
    if ray is None:
        raise ConfigError("workers are processes of a Ray cluster: give ray= (--ray local); threads are threads=")
    if not isinstance(ray, str) or not ray:
        raise ConfigError(f"ray must be local, auto or the address of a cluster, not {ray!r:.60}")
    workers = 1 if workers is None else workers
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 1024:
        raise ConfigError(f"workers must be a whole number between 1 and 1024, not {workers!r:.40}")
    return workers


@contextmanager
def connected(address: str, workers: int, device: str = "cpu") -> Iterator[Any]:
    """Ray, connected: to the cluster that this process is connected to already, to the one at `address`, or to one of
    this machine alone, which ends with the context.

    Args:
        address: "local", "auto" for the cluster that this machine belongs to, or "host:port".
        workers: how many processes there must be room for.
    """
    ray = ray_module()
    if ray.is_initialized():
        _check_room(ray, workers, device)
        yield ray
        return
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # what goes wrong is told here
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with ExitStack() as stack:
        if address == LOCAL:
            options |= {"num_cpus": max(workers, usable_cores()), "include_dashboard": False}
            options["_temp_dir"] = stack.enter_context(_unreachable())
        else:
            _check_there(address)
        # Ray takes the signals for itself; they are the command line's.
        handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        try:
            _start(ray, address, options)
        finally:
            _give_back(handlers)
        stack.callback(_give_back, handlers)
        stack.callback(ray.shutdown)
        _check_room(ray, workers, device)
        yield ray


def _start(ray: Any, address: str, options: dict[str, Any]) -> None:
    try:
        ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        if "AuthenticationError" in f"{error} {error.__cause__} {error.__context__}":
            raise ConfigError(
                f"the Ray cluster at {address!r} asks for a token; set RAY_AUTH_MODE=token here, with the token of the "
                "cluster (ray get-auth-token)"
            ) from None
        reason = " ".join(str(error).split())[:160]
        raise ConfigError(
            f"no Ray cluster at {address!r} ({reason}); start one (ray start --head), or use this machine: ray=local"
        ) from None


@contextmanager
def _unreachable() -> Iterator[str]:
    """Have a cluster that starts meanwhile listen to this machine alone, ask for a token, and leave nothing at home.

    Gives a folder for its files, which goes with it; the names of its sockets bear no long path.
    """
    own = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # where it is 0, on any system, Ray's address is that of the loopback
    }
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    _read_environment(loopback=True)
    try:
        place = tempfile.gettempdir()
        place = place if len(place) <= _LONGEST_PLACE else "/tmp"
        with tempfile.TemporaryDirectory(prefix="ray-", dir=place, ignore_cleanup_errors=True) as folder:
            yield folder
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        _read_environment(loopback=False)


def _read_environment(*, loopback: bool) -> None:
    """Have Ray look at its environment again; otherwise it does when it is imported."""
    with suppress(ImportError, AttributeError):  # another release may look each time
        constants: Any = importlib.import_module("ray._private.ray_constants")
        constants.ENABLE_RAY_CLUSTER = not loopback and sys.platform == "linux"
        raylet: Any = importlib.import_module("ray._raylet")
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()


def _check_there(address: str) -> None:
    """Refuse an address at which nobody listens: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise ConfigError(f"ray must be local, auto or an address such as 10.0.0.1:6379, not {address!r:.60}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"no Ray cluster at {address!r} ({error}); start one (ray start --head), or use this machine: ray=local"
        ) from None


def _give_back(handlers: dict[signal.Signals, Any]) -> None:
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    except ValueError:  # only the main thread may, and only there were they taken
        pass


def _check_room(ray: Any, workers: int, device: str) -> None:
    kind = "GPU" if DEVICES[device].gpus else "CPU"
    room = int(ray.cluster_resources().get(kind, 0))
    if room < workers:
        raise ConfigError(
            f"workers={workers}, but the Ray cluster has {room} {kind}s; lower workers, or add nodes to it"
        )


def threads_a_worker(ray: Any, workers: int) -> int:
    """Threads that each worker may use where the user does not say: all, shared by the workers of a node."""
    cores = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    nodes = max(1, sum(core > 0 for core in cores))
    fewest = min((core for core in cores if core > 0), default=1)
    # Ray may be told of more processors than a lone machine has.
    if len(cores) == 1:
        fewest = min(fewest, usable_cores())
    return max(1, fewest // -(-workers // nodes))


def worker_error(error: BaseException, who: str) -> SpherevecError:
    """What went wrong on a worker, in one line."""
    causes = [error]
    while isinstance(inner := getattr(causes[-1], "cause", None), BaseException):
        causes.append(inner)
    cause, names = causes[-1], {type(one).__name__ for one in causes}
    if isinstance(cause, SpherevecError):
        return cause
    if names & {"ObjectStoreFullError", "OutOfDiskError"}:
        return TrainingError(
            f"{who}: Ray's object store is full, and so is the disk for what it does not hold; free some space there, "
            "or start Ray with more memory (ray start --object-store-memory)"
        )
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
        return TrainingError(f"{who}: no space left on its disk; free some, or choose another folder (TMPDIR, workdir)")
    if isinstance(cause, MemoryError) or "OutOfMemoryError" in names:
        return TrainingError(f"{who}: not enough memory; use more workers, or a smaller vector_size or vocabulary")
    reason = " ".join(str(cause).split())[:300]
    return TrainingError(f"{who} failed: {type(cause).__name__}: {reason}")
