"""The workers of a run: started, asked, and replaced when they die or take too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from spherevec import process
from spherevec.distributed.cluster import told
from spherevec.distributed.worker import Worker
from spherevec.errors import TrainingError

MOST_DEATHS = 5  # of one worker, one after another, without a finished step between them
PATIENCE = 600.0  # seconds that a worker may take from one exchange to the next, and ten times that for other work
_TIMES_THE_OTHERS = 10.0


class Crew:
    """As many Ray actors as there are workers.

    Args:
        ray: the connected module.
        patience: seconds after which a worker that has not finished a step counts as dead.
        workdir: where the workers keep their texts, on their machines.
    """

    def __init__(
        self, ray: Any, workers: int, *, device: str = "cpu", patience: float = PATIENCE, workdir: str | None = None
    ) -> None:
        self.ray, self.workers = ray, workers
        self._patience, self._workdir, self._slowest = patience, workdir, 0.0
        self._actor = ray.remote(concurrency_groups={"aside": 1})(Worker)
        self._options: dict[str, Any] = {"num_cpus": 1, "scheduling_strategy": "SPREAD", "max_restarts": 0}
        if device == "cuda":
            self._options["num_gpus"] = 1
        self._deaths = [0] * workers
        self._actors = [self._started(number) for number in range(workers)]
        # Brings a new worker to where the dead one was.
        self.bring_up: Callable[[int], None] = lambda number: None

    def _started(self, number: int) -> Any:
        return self._actor.options(**self._options).remote(number, self.workers, self._workdir)

    def call(self, number: int, method: str, *arguments: Any, returns: int = 1, aside: bool = False) -> Any:
        """Ask a worker; returns what Ray calls references, which `get` waits for.

        Args:
            aside: while the worker trains.
        """
        bound = getattr(self._actors[number], method)
        return bound.options(num_returns=returns, **({"concurrency_group": "aside"} if aside else {})).remote(
            *arguments
        )

    def get(self, number: int, reference: Any) -> Any:
        """What a worker answers to a question that has nothing to do with its state dying."""
        try:
            return self.ray.get(reference, timeout=self.limit)
        except Exception as error:
            raise told(error, f"worker {number}") from error

    def ask_all(
        self, method: str, arguments: Callable[[int], Sequence[Any]] | None = None, returns: int = 1
    ) -> list[Any]:
        """Ask all workers and wait for them; those that die meanwhile are replaced and asked again.

        Args:
            arguments: of each worker.
            returns: with several, references to all but the first are given back, with the first in front.
        """
        waiting = {number: self._asked(number, method, arguments, returns) for number in range(self.workers)}
        answers: dict[int, Any] = {}
        started = time.monotonic()
        while waiting:
            first = {number: refs[0] if returns > 1 else refs for number, refs in waiting.items()}
            limit = self.limit * (1 if method == "train" else _TIMES_THE_OTHERS)
            left = max(0.0, started + limit - time.monotonic())
            done, _ = self.ray.wait(list(first.values()), num_returns=len(first), timeout=left)
            finished = [number for number, ref in first.items() if ref in done]
            late = [number for number in first if number not in finished]
            for number in finished:
                refs = waiting.pop(number)
                try:
                    answer = self.ray.get(first[number])
                except Exception as error:
                    self.replace(number, error)
                    waiting[number] = self._asked(number, method, arguments, returns)
                    started = time.monotonic()
                else:
                    self._deaths[number] = 0
                    answers[number] = (answer, *refs[1:]) if returns > 1 else answer
            for number in late:
                process.warn(f"worker {number} has not answered for {limit:.0f} s and is replaced")
                self.ray.kill(self._actors[number])
                self.replace(number, TimeoutError(f"no answer for {limit:.0f} s"))
                waiting[number] = self._asked(number, method, arguments, returns)
                started = time.monotonic()
        if method == "train":
            self._slowest = max(self._slowest, time.monotonic() - started)
        return [answers[number] for number in range(self.workers)]

    @property
    def limit(self) -> float:
        return max(self._patience, _TIMES_THE_OTHERS * self._slowest)

    def _asked(self, number: int, method: str, arguments: Callable[[int], Sequence[Any]] | None, returns: int) -> Any:
        return self.call(number, method, *(arguments(number) if arguments else ()), returns=returns)

    def replace(self, number: int, error: Exception) -> None:
        """Start a worker in the place of one that died, and bring it to where that one was."""
        while True:
            if isinstance(error, self.ray.exceptions.RayTaskError):
                raise told(error, f"worker {number}") from error
            self._deaths[number] += 1
            if self._deaths[number] > MOST_DEATHS:
                raise TrainingError(
                    f"worker {number} died {self._deaths[number]} times in a row ({_short(error)}); "
                    "look at the memory and the logs of its node (ray logs)"
                ) from error
            process.warn(f"worker {number} died ({_short(error)}); another goes on from the last exchange")
            self._actors[number] = self._started(number)
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
                self.ray.get(self.call(number, "where", aside=True), timeout=self._patience)
            except self.ray.exceptions.RayError:
                gone.append(number)
        return gone

    def merge(self, number: int, function: Callable[..., Any], *parts: Any) -> Any:
        """A reference to what a function makes of several references; worker `number` modulo all does it.

        Not a task of Ray: a new process would take longer to start than the work.
        """
        return self.call(number % self.workers, "apply", function, *parts, aside=True)

    def end(self) -> None:
        """Let go of all workers."""
        for actor in self._actors:
            self.ray.kill(actor)


def _short(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]
