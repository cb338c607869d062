"""The workers of a run: started, asked, and replaced when they die or take too long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from spherevec import process
from spherevec.devices import DEVICES
from spherevec.distributed.cluster import worker_error
from spherevec.distributed.worker import Worker
from spherevec.errors import TrainingError

MOST_DEATHS = 5  # of one worker, one after another, without a finished step between them
# Seconds that a worker may take from one exchange to the next, and ten times that for other work.
WORKER_TIMEOUT = 600.0
_TIMES_THE_OTHERS = 10.0


class WorkerPool:
    """As many Ray actors as there are workers.

    Args:
        ray: the connected module.
        timeout: seconds after which a worker that has not finished a step counts as dead.
        workdir: where the workers keep their texts, on their machines.
    """

    def __init__(
        self,
        ray: Any,
        workers: int,
        *,
        device: str = "cpu",
        timeout: float = WORKER_TIMEOUT,
        workdir: str | None = None,
    ) -> None:
        self.ray, self.workers = ray, workers
        self._timeout, self._workdir, self._slowest = timeout, workdir, 0.0
        self._actor = ray.remote(concurrency_groups={"aside": 1})(Worker)
        self._options: dict[str, Any] = {"num_cpus": 1, "scheduling_strategy": "SPREAD", "max_restarts": 0}
        self._options["num_gpus"] = DEVICES[device].gpus
        self._deaths, self._replacing = [0] * workers, threading.RLock()
        self._actors = [self._started(number) for number in range(workers)]
        # Brings a new worker to where the dead one was.
        self.bring_up: Callable[[int], None] = lambda number: None

    def _started(self, number: int) -> Any:
        return self._actor.options(**self._options).remote(number, self.workers, self._workdir)

    def call(self, number: int, method: str, *arguments: Any, returns: int = 1, aside: bool = False) -> Any:
        """Ask a worker; returns what Ray calls a reference, or several.

        Args:
            aside: while the worker trains.
        """
        options: dict[str, Any] = {"num_returns": returns, **({"concurrency_group": "aside"} if aside else {})}
        with self._replacing, self._storing():  # nobody else asks a new worker before it is brought up
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
        self, ask: Callable[[int], Any], numbers: Iterable[int] | None = None, times: float = _TIMES_THE_OTHERS
    ) -> list[Any]:
        """Ask workers, all by default, and wait for them; those that die meanwhile are replaced and asked again.

        Args:
            ask: calls one worker, and returns the reference that is waited for.
            times: how often the time that a step of training may take.
        """
        asked = list(range(self.workers) if numbers is None else numbers)
        actors = {number: self._actors[number] for number in asked}
        waiting = {number: ask(number) for number in asked}
        answers: dict[int, Any] = {}
        started = time.monotonic()
        while waiting:
            limit = self.limit * times
            left = max(0.0, started + limit - time.monotonic())
            done, _ = self.ray.wait(list(waiting.values()), num_returns=len(waiting), timeout=left)
            finished = set(done)
            for number, reference in list(waiting.items()):
                error: Exception = TimeoutError(f"no answer for {limit:.0f} s")
                if reference in finished:
                    try:
                        answers[number] = self.ray.get(waiting.pop(number))
                        self._deaths[number] = 0
                        continue
                    except Exception as raised:
                        error = raised
                self.replace(number, error, actors[number])
                actors[number], waiting[number] = self._actors[number], ask(number)
                started = time.monotonic()
        if times == 1:
            self._slowest = max(self._slowest, time.monotonic() - started)
        return [answers[number] for number in asked]

    def do(
        self,
        method: str,
        *arguments: Any,
        numbers: Iterable[int] | None = None,
        aside: bool = False,
        times: float = _TIMES_THE_OTHERS,
    ) -> list[Any]:
        """As `ask`, with the same arguments for each."""
        return self.ask(lambda number: self.call(number, method, *arguments, aside=aside), numbers, times)

    @property
    def limit(self) -> float:
        """Seconds that a step of training may take: as the user says, or more where all take long."""
        return max(self._timeout, _TIMES_THE_OTHERS * self._slowest)

    def replace(self, number: int, error: Exception, actor: Any = None) -> None:
        """Start a worker in the place of one that died, and bring it to where that one was.

        Args:
            actor: which one died, where another thread may have replaced it meanwhile.
        """
        with self._replacing:
            while actor is None or actor is self._actors[number]:
                raised = (self.ray.exceptions.RayTaskError, self.ray.exceptions.UnserializableException)
                if isinstance(error, raised):
                    raise worker_error(error, f"worker {number}") from error
                self._deaths[number] += 1
                if self._deaths[number] > MOST_DEATHS:
                    raise TrainingError(
                        f"worker {number} died {self._deaths[number]} times in a row ({_short(error)}); "
                        "look at the memory and the logs of its node (ray logs)"
                    ) from error
                became = "has not answered in time" if isinstance(error, TimeoutError) else "died"
                process.warn(f"worker {number} {became} ({_short(error)}); another goes on from the last exchange")
                self.ray.kill(self._actors[number])  # it may only hang
                actor = self._actors[number] = self._started(number)
                try:
                    self.bring_up(number)
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

    def merge(self, number: int, alpha: float, *parts: Any) -> Any:
        """A reference to the sum of several slices, by reference, which worker `number` adds up.

        Not a task of Ray: a new process would take longer to start than the work.
        """
        return self.call(number, "merge", alpha, *parts, aside=True)

    def end(self) -> None:
        """Let go of all workers."""
        for actor in self._actors:
            self.ray.kill(actor)


def _short(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]
