"""What a model needs of its text and vocabulary alone: made before the vectors, or while another device trains them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.devices import DEVICES
from spherevec.errors import SpherevecError
from spherevec.search.terms import DocumentTerms, count_terms
from spherevec.storage.files import working_folder
from spherevec.storage.memory import give_memory_back
from spherevec.training.words import Pulls, pulls_wanted


class Beside(NamedTuple):
    """What is made beside the vectors."""

    terms: DocumentTerms | None  # which words each document holds
    pulls: Pulls | None  # which words are spelled like the rare ones; None where that is found out in the end


@contextmanager
def made_beside(
    corpus: EncodedCorpus, config: TrainConfig, workdir: str | Path | None
) -> Iterator[Callable[[], Beside]]:
    """Gives a function that waits for what is made.

    Where the processor trains, the words of documents are counted at once, before vectors need the memory, and
    spellings are compared in the end, when nobody needs to keep what was found. Otherwise it has nothing else to do.
    """

    def make() -> Beside:
        threads, pulls = config.thread_count, None
        terms = counted_terms(corpus, workdir, threads) if config.documents else None
        if not DEVICES[config.device].uses_processor and pulls_wanted(corpus.vocabulary, config):
            pulls = Pulls(corpus.vocabulary.words, corpus.vocabulary.counts, threads)
            pulls.find()
        return Beside(terms, pulls)

    if DEVICES[config.device].uses_processor:
        made = make()
        give_memory_back()
        yield lambda: made
        return
    with ThreadPoolExecutor(1, thread_name_prefix="spherevec") as pool:
        future: Future[Beside] = pool.submit(make)
        yield future.result


def counted_terms(corpus: EncodedCorpus, workdir: str | Path | None, threads: int = 1) -> DocumentTerms | None:
    """Which words each document of a corpus holds, the dropped ones included.

    A disk without room for them costs search by words, never the vectors that are trained.
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
