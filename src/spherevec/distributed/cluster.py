"""The Ray cluster that a run works on, found or started and left as it was, and the workers of the run on it."""

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
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, suppress
from typing import Any

from spherevec import process
from spherevec.devices import DEVICES
from spherevec.distributed.worker import Worker
from spherevec.errors import ConfigError, SpherevecError, TrainingError, import_extra
from spherevec.process import usable_cores

Step = Callable[[int], Any]  # asks the worker of this number for something; gives a reference

MOST_DEATHS = 5  # of one worker, one after another, without a finished step between them
# Seconds that a worker may take from one exchange to the next, and ten times that for other work.
WORKER_TIMEOUT = 600.0
_TIMES_THE_OTHERS = 10.0
_LONGEST_PLACE = 30  # characters of a folder: the path of a socket has 107 at most


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
    ray = import_extra("ray", "work on several machines", "ray")
    with ExitStack() as stack:
        if not ray.is_initialized():
            os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # what goes wrong is told here
            options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
            if address == "local":
                options |= {"num_cpus": max(workers, usable_cores()), "include_dashboard": False}
                options["_temp_dir"] = stack.enter_context(_unreachable())
            stack.enter_context(_own_signals())
            # Ray puts the working directory on the path of its workers: what lies there is not ours to run.
            with _own_signals(), chdir("/"):
                _start(ray, address, options)
            stack.callback(ray.shutdown)
        kind = "GPU" if DEVICES[device].gpus else "CPU"
        room = int(ray.cluster_resources().get(kind, 0))
        if room < workers:
            raise ConfigError(
                f"workers={workers}, but the Ray cluster has {room} {kind}s; lower workers, or add nodes to it"
            )
        yield ray


@contextmanager
def _own_signals() -> Iterator[None]:
    """Give the signals back that Ray takes for itself: they are the command line's."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        with suppress(ValueError):  # only the main thread may, and only there were they taken
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _start(ray: Any, address: str, options: dict[str, Any]) -> None:
    try:
        if address not in ("local", "auto"):
            # Where nobody listens, Ray would try for minutes.
            host, _, port = address.removeprefix("ray://").rpartition(":")
            if not host or not port.isdigit():
                raise ConfigError(f"ray must be local, auto or an address such as 10.0.0.1:6379, not {address!r:.60}")
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ValueError, OSError, OverflowError) as error:
        if isinstance(error, ConfigError):
            raise
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


class WorkerPool:
    """As many Ray actors as there are workers, which are replaced when they die or take too long.

    Args:
        ray: the connected module.
        timeout: seconds after which a worker that has not finished a step counts as dead.
        workdir: where the workers keep their texts, on their machines.
    """

    def __init__(self, ray: Any, workers: int, device: str, timeout: float, workdir: str | None) -> None:
        self.ray, self.workers = ray, workers
        self._timeout, self._workdir, self._slowest = timeout, workdir, 0.0
        options = {"num_cpus": 1, "num_gpus": DEVICES[device].gpus, "max_restarts": 0}
        actor = ray.remote(concurrency_groups={"aside": 1})(Worker)
        self._actor = actor.options(scheduling_strategy="SPREAD", **options)
        self._deaths, self.replacing = [0] * workers, threading.RLock()
        self._actors = [self._started(number) for number in range(workers)]
        # What brings a new worker to where the dead one was: which workers have taken each step.
        self.log: list[tuple[Sequence[int], Step]] = []

    def _started(self, number: int) -> Any:
        return self._actor.remote(number, self.workers, self._workdir)

    def call(self, number: int, method: str, *arguments: Any, returns: int = 1, aside: bool = False) -> Any:
        """Ask a worker, with `aside` while it trains; returns what Ray calls a reference, or several."""
        options: dict[str, Any] = {"num_returns": returns, **({"concurrency_group": "aside"} if aside else {})}
        with self.replacing, self._storing():  # nobody else asks a new worker before it is brought up
            return getattr(self._actors[number], method).options(**options).remote(*arguments)

    def put(self, value: Any) -> Any:
        """A reference to something that is sent several times."""
        with self._storing():
            return self.ray.put(value)

    @contextmanager
    def _storing(self) -> Iterator[None]:
        full = (self.ray.exceptions.ObjectStoreFullError, self.ray.exceptions.OutOfDiskError)
        try:
            yield
        except full as error:
            raise worker_error(error, "this machine") from error

    def ask(
        self,
        ask: Step,
        numbers: Iterable[int] | None = None,
        times: float = _TIMES_THE_OTHERS,
        again: Step | None = None,
    ) -> list[Any]:
        """Ask workers, all by default, and wait for them; those that die meanwhile are replaced and asked again.

        Args:
            ask: calls one worker, and returns the reference that is waited for.
            times: how often the time that a step of training may take.
            again: what a worker must do that takes the place of another later on; nothing by default.
        """
        asked = list(range(self.workers) if numbers is None else numbers)
        answers: dict[int, Any] = {}
        actors: dict[int, Any] = {}
        started, missing = time.monotonic(), asked
        while missing:
            actors |= {number: self._actors[number] for number in missing}
            waiting = {number: ask(number) for number in missing}
            limit = self.limit * times
            left = max(0.0, started + limit - time.monotonic())
            done, _ = self.ray.wait(list(waiting.values()), num_returns=len(waiting), timeout=left)
            for number, reference in waiting.items():
                try:
                    if reference not in done:
                        raise TimeoutError(f"no answer for {limit:.0f} s")
                    answers[number] = self.ray.get(reference)
                    self._deaths[number] = 0
                except Exception as error:
                    self.replace(number, error, actors[number])
                    started = time.monotonic()
            with self.replacing:  # what another thread has replaced meanwhile has not done this
                missing = [number for number in asked if actors[number] is not self._actors[number]]
                if again is not None and not missing:
                    self.log.append((asked, again))
        if times == 1:
            self._slowest = max(self._slowest, time.monotonic() - started)
        return [answers[number] for number in asked]

    def step(self, method: str, *arguments: Any, aside: bool = False) -> Step:
        """What asks any worker the same, to be given to `ask`."""
        return lambda number: self.call(number, method, *arguments, aside=aside)

    def do(self, method: str, *arguments: Any, aside: bool = False, logged: bool = False) -> list[Any]:
        """Ask all workers the same; `logged` where a new worker must do it, too."""
        step = self.step(method, *arguments, aside=aside)
        return self.ask(step, again=step if logged else None)

    @property
    def limit(self) -> float:
        """Seconds that a step of training may take: as the user says, or more where all take long."""
        return max(self._timeout, _TIMES_THE_OTHERS * self._slowest)

    def replace(self, number: int, error: Exception, actor: Any = None) -> None:
        """Start a worker in the place of one that died, and bring it to where that one was.

        Where another thread may have replaced it meanwhile, `actor` is the one that died.
        """
        with self.replacing:
            while actor is None or actor is self._actors[number]:
                raised = (self.ray.exceptions.RayTaskError, self.ray.exceptions.UnserializableException)
                if isinstance(error, raised):
                    raise worker_error(error, f"worker {number}") from error
                self._deaths[number] += 1
                short = f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), '')}"[:160]
                if self._deaths[number] > MOST_DEATHS:
                    raise TrainingError(
                        f"worker {number} died {self._deaths[number]} times in a row ({short}); "
                        "look at the memory and the logs of its node (ray logs)"
                    ) from error
                became = "has not answered in time" if isinstance(error, TimeoutError) else "died"
                process.warn(f"worker {number} {became} ({short}); another goes on from the last exchange")
                self.ray.kill(self._actors[number])  # it may only hang
                actor = self._actors[number] = self._started(number)
                try:
                    for numbers, step in list(self.log):
                        if number in numbers:
                            self.ray.get(step(number), timeout=self.limit * _TIMES_THE_OTHERS)
                    return
                except self.ray.exceptions.RayError as again:
                    error = again

    def dead(self) -> list[int]:
        """The workers that do not answer any more."""
        gone = []
        for number in range(self.workers):
            try:
                self.ray.get(self.call(number, "where", aside=True), timeout=self._timeout)
            except self.ray.exceptions.RayError:
                gone.append(number)
        return gone

    def end(self) -> None:
        """Let go of all workers."""
        for actor in self._actors:
            self.ray.kill(actor)
