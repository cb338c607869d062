"""Which words each document of a corpus holds, counted before the vectors, or while another device trains them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from spherevec.corpus import EncodedCorpus
from spherevec.devices import DEVICES
from spherevec.errors import SpherevecError
from spherevec.search.terms import DocumentTerms, count_terms
from spherevec.storage.files import working_folder

Result = TypeVar("Result")


class ImmediateExecutor(Executor):
    """Does what is submitted at once."""

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        future: Future[Result] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def background(device: str) -> Executor:
    """Does work that needs no vectors: at once where the processor trains, beside the training otherwise."""
    if DEVICES[device].uses_processor:
        return ImmediateExecutor()
    return ThreadPoolExecutor(1, thread_name_prefix="spherevec")


def counted_terms(corpus: EncodedCorpus, workdir: str | Path | None, threads: int = 1) -> DocumentTerms | None:
    """Which words each document of a corpus holds, the dropped ones included.

    If the disk is full, keyword search is disabled, but the run goes on.
    """
    with ExitStack() as stack:
        try:
            # What is mapped from the folder lives on without a name.
            folder = stack.enter_context(working_folder(workdir))
        except SpherevecError as error:
            reason = str(error)
        else:
            try:
                rare = corpus.rare_words()
                return count_terms(corpus.ids, corpus.offsets, len(corpus.vocabulary), folder, rare, threads)
            except OSError as error:
                reason = f"{folder}: {error.strerror or error}"
        warnings.warn(f"the words of the documents are not kept ({reason}): no search by words", stacklevel=2)
        return None
