"""Count and encode a corpus: the text is read once, and memory holds no more of it than its distinct words.

Blocks of text go to worker threads. Each worker numbers words in a table of its own; the numbers are spilled to a file.
At the end the tables are merged, the final numbers are chosen, and the spilled blocks are renumbered in the order of
the text, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.config import default_min_count
from spherevec.corpus.count import encoded
from spherevec.corpus.count.encoded import EncodedCorpus, add_phrases, finish_corpus, write_numbers
from spherevec.corpus.count.summary import LONG_WORD, CorpusSummary, warnings_about
from spherevec.corpus.count.vocabulary import (
    CountedWords,
    Ends,
    Hashes,
    Ids,
    RareCounts,
    RareWords,
    Vocabulary,
    choose_words,
)
from spherevec.corpus.count.word_table import renumbered, tables_and_blocks
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.readers import Source, open_source
from spherevec.corpus.read.streams import BLOCK_SIZE
from spherevec.corpus.tokenize.characters import BREAK_BIT, ID_MASK, OTHER, kind_of
from spherevec.corpus.tokenize.cleaning import UNSPACED
from spherevec.corpus.tokenize.tokenizer import TOKENS, Tokenizer, TokenizerLike, tokenize, tokenizer_of
from spherevec.errors import ConfigError, CorpusError
from spherevec.storage.files import SpillFile
from spherevec.storage.os_errors import explain_os_errors
from spherevec.terminal import number_of
from spherevec.threads import in_order

_WORDS_LOOKED_AT = 10_000  # for warnings about what words look like
# Where elisions are dropped: of French words one in 20 to 30 has one, of English ones one in 10,000 ("d'etat").
_LEAST_ELISIONS = 0.005


@dataclass(frozen=True)
class EncodeOptions:
    """How to count and encode a corpus that is read."""

    min_count: int | None = None  # leave out words that occur less often; by default as `TrainConfig` says
    max_vocab: int | None = None  # keep at most this many of the most frequent words
    # "words", "whitespace", a name with options, or a function from a string to its words
    tokenizer: TokenizerLike = "words"
    phrases: bool = False  # also find multi-word terms, which become entries of the vocabulary
    # Keep where punctuation stands, so that the phrases of another vocabulary can be found (`rewrite`)
    breaks: bool = False
    threads: int = 1  # how many to use; the result is the same for any number
    block_size: int = BLOCK_SIZE  # bytes to read at a time

    def __post_init__(self) -> None:
        for name, low in (("min_count", 1), ("max_vocab", 2), ("threads", 1)):
            value = getattr(self, name)
            if value is not None and value < low:
                raise ConfigError(f"{name} must be at least {low}, not {value!r}")
        if self.phrases and self.breaks:
            raise ConfigError("breaks are kept of a text without phrases of its own; give one of phrases and breaks")


def encode(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[int, int | None], object] | None = None,
    **options: Any,
) -> EncodedCorpus:
    """Count and encode a corpus into `folder`, and open it.

    Args:
        source: a text file with one document a line; a folder of text files, web pages or mails, one document each; a
            table (.csv, .tsv, .jsonl, .json, .parquet, .xlsx, .ods); all but the last three may be compressed (.gz,
            .xz, .zst). A pattern (`logs/*.txt`), a list of `Path` objects, or "-" for standard input. A data frame, an
            iterable of texts or of lists of words, of (id, text) pairs with `ids=True`, of records with `text_field`.
        folder: where to put the encoded corpus; new or empty.
        progress: called now and then, from the calling thread, with the bytes of the source that are done and their
            total, None where that is not known.
        **options: fields of `EncodeOptions` (min_count, tokenizer, threads, …) and of `ReadOptions` (text_field,
            id_field, keep, …), or `reading`, a `ReadOptions`.
    """
    reading, others = ReadOptions.split(options)
    how = EncodeOptions(**others)
    how = replace(how, tokenizer=tokenizer_of(how.tokenizer))
    folder = Path(folder)
    with new_folder(folder), ExitStack() as stack:
        opened = open_source(source, reading, how.block_size, records_in=folder)
        if opened.records:
            stack.enter_context(opened.records)

        def report() -> None:
            if progress:
                progress(opened.meter.done, opened.meter.total)

        counted, how = _count(opened, how, folder, stack, report)
        if opened.in_words:
            how = replace(how, tokenizer=Tokenizer(TOKENS))
        corpus = _write(opened, counted, how, folder, stack)
    corpus.tokenizer = tokenizer_of(how.tokenizer)  # with the user's function, which no file holds
    corpus.reading = reading.remembered
    return corpus


def _write(opened: Source, counted: _CountedText, how: EncodeOptions, folder: Path, stack: ExitStack) -> EncodedCorpus:
    """Choose the words, and write a counted text in them."""
    raw_tokens = sum(block.n_ids for block in counted.spilled)
    min_count = default_min_count(raw_tokens) if how.min_count is None else how.min_count
    chosen, numbers = choose_words(counted.words, min_count, how.max_vocab)
    # What is kept beside the ids is made and written while these are renumbered.
    background = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="spherevec"))
    rare_counts = folder / encoded.RARE_COUNTS
    tasks = [background.submit(lambda: RareCounts.left_out(counted.words, numbers).save(rare_counts))]
    table = background.submit(opened.records.write, folder / encoded.DOCUMENTS) if opened.records else None
    rare = stack.enter_context(RareWords(folder))
    numbered = counted.numbered(numbers, rare, marks=how.phrases or how.breaks, threads=how.threads)
    looks = background.submit(_looks, counted)
    words = background.submit(lambda: Vocabulary(list(counted.words.at(chosen)), counted.words.counts[chosen]))
    notes = opened.notes
    if how.phrases:
        vocabulary, n_tokens, n_documents = add_phrases(
            folder, numbered, words.result(), min_count, how.max_vocab, how.threads
        )
        n_phrases = len(vocabulary) - len(chosen)
        notes = [*notes, f"{number_of(n_phrases, 'phrase')} found"] if n_phrases else notes
    else:
        marks = encoded.BREAKS if how.breaks else None
        n_tokens, n_documents = write_numbers(folder, numbered, breaks=marks)
        vocabulary = words.result()
    summary = CorpusSummary(
        n_documents, counted.n_empty, counted.n_unknown, raw_tokens, raw_tokens - counted.n_kept,
        len(counted.words.counts), len(chosen), min_count, tuple(notes),
    )  # fmt: skip
    with explain_os_errors(writing=folder, kind=CorpusError):
        rare.write(folder / encoded.RARE)
        for task in tasks:
            task.result()
        fields, doubts = table.result() if table else ([], [])
    tokenizer = tokenizer_of(how.tokenizer)
    divided = "given" if tokenizer.options is None else tokenizer.options.unspaced
    found = warnings_about(summary, **looks.result(), divided=divided)
    summary = summary.with_(fields=tuple(fields), warnings=(*doubts, *found))
    about = finish_corpus(folder, vocabulary, tokenizer, n_tokens, n_documents, summary)
    return EncodedCorpus(folder, about, vocabulary)  # what was written a moment ago needs no check


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Create `folder`, or take it if it is empty; should the block fail, leave things as they were."""
    with explain_os_errors(writing=folder, kind=CorpusError):
        existed = folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise CorpusError(f"{folder}: is not empty; choose a new folder for the encoded corpus")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the folder may be gone, and that is what went wrong
            for path in folder.iterdir():
                path.unlink()
            if not existed:
                folder.rmdir()
        raise


class SpilledBlock(NamedTuple):
    """Where one block lies in the file: `n_ids` int32 and then `n_ends` int64 at `position`."""

    worker: int  # in whose table its words are
    position: int
    n_ids: int
    n_ends: int
    broken: bool  # whether punctuation stands behind the last word


class _Numbered(NamedTuple):
    """A block with its final ids, apart from what the block before it decides."""

    ids: Ids
    ends: Ends
    n_raw: int  # words before the rare ones were dropped
    raw_ends: Ends
    last_is_dropped: bool
    rare: npt.NDArray[np.uint64]  # hashes of its dropped words
    rare_rows: npt.NDArray[np.int64]  # the documents that these stand in, counted from the first of the block


class _CountedText:
    """A text that is counted and spilled.

    Args:
        spilled: its blocks, in the order of the text; spill: the file with them.
        words, hashes: its distinct words, and 64 bits for each.
        places: for each worker, where its words are among all; None where there is one worker only.

    Attributes:
        n_kept: how many words were kept; this and the others once all blocks were numbered.
        n_empty, n_unknown: how many documents have no words, and how many none that is kept.
    """

    def __init__(
        self,
        spilled: Sequence[SpilledBlock],
        spill: Path,
        words: CountedWords,
        hashes: Hashes,
        places: list[Ids] | None,
    ) -> None:
        self.spilled, self._spill, self.words, self.hashes, self._places = spilled, spill, words, hashes, places
        self.n_kept = self.n_empty = self.n_unknown = 0

    def _read(self, block: SpilledBlock) -> tuple[Ids, Ends]:
        with explain_os_errors(writing=self._spill.parent, kind=CorpusError):
            ids = np.fromfile(self._spill, np.int32, block.n_ids, offset=block.position)
            ends = np.fromfile(self._spill, np.int64, block.n_ends, offset=block.position + ids.nbytes)
        if len(ids) + len(ends) < block.n_ids + block.n_ends:
            raise CorpusError(f"{self._spill}: was cut short by somebody else; choose another folder")
        return ids, ends

    def numbered(self, numbers: Ids, rare: RareWords, *, marks: bool, threads: int) -> Iterator[tuple[Ids, Ends]]:
        """The blocks in the order of the text, with their final ids, and perhaps the marks of punctuation.

        `numbers` (distinct words,) has the id of each, -1 for those that are dropped, which `rare` gets.
        """
        of_workers = [numbers] if self._places is None else [numbers[places] for places in self._places]

        def work(_: int, spilled: SpilledBlock) -> _Numbered:
            raw_ids, raw_ends = self._read(spilled)
            own = of_workers[spilled.worker]
            ids, ends = renumbered(raw_ids, raw_ends, own, marks)
            raw_ids &= ID_MASK
            dropped = np.flatnonzero(own[raw_ids] < 0)
            words = raw_ids[dropped] if self._places is None else self._places[spilled.worker][raw_ids[dropped]]
            last_is_dropped = len(dropped) > 0 and int(dropped[-1]) == len(raw_ids) - 1
            rows = np.searchsorted(raw_ends, dropped, "right")
            return _Numbered(ids, ends, len(raw_ids), raw_ends, last_is_dropped, self.hashes[words], rows)

        n_documents = raw_length = length = 0  # the latter two of the document that the last block ended in
        broken = True  # punctuation or a dropped word stands at the end of the last block
        for spilled, block in zip(self.spilled, in_order(self.spilled, work, threads), strict=True):
            if marks and broken and len(block.ids):
                block.ids[0] |= BREAK_BIT
            broken = spilled.broken or block.last_is_dropped or (broken and not block.n_raw)
            raw_bounds, bounds = np.append(-raw_length, block.raw_ends), np.append(-length, block.ends)
            raw_length, length = block.n_raw - int(raw_bounds[-1]), len(block.ids) - int(bounds[-1])
            empty = np.diff(raw_bounds) == 0
            self.n_empty += int(np.count_nonzero(empty))
            self.n_unknown += int(np.count_nonzero(~empty & (np.diff(bounds) == 0)))
            self.n_kept += len(block.ids)
            rare.add(block.rare, (n_documents + block.rare_rows).astype(np.int32))
            n_documents += len(block.ends)
            yield block.ids, block.ends


def _count(
    opened: Source, how: EncodeOptions, folder: Path, stack: ExitStack, report: Callable[[], object]
) -> tuple[_CountedText, EncodeOptions]:
    """Read, count and spill a source; the spill is removed with `stack`. The options say what became of elisions."""
    tables, blocks = tables_and_blocks(opened, tokenizer_of(how.tokenizer), how.threads, how.block_size)
    spill = stack.enter_context(SpillFile(folder / "spill.bin", CorpusError))

    def work(worker: int, block: bytes) -> SpilledBlock:
        ids, ends, broken = tables[worker].feed(block)
        return SpilledBlock(worker, spill.append(ids.data, ends.data), len(ids), len(ends), broken)

    spilled = []
    for block in in_order(blocks, work, len(tables)):
        spilled.append(block)
        report()
    counted = [table.counted() for table in tables]
    tokenizer = tokenizer_of(how.tokenizer)
    if tokenizer.options is not None and tokenizer.options.elisions == "auto":
        tokenizer = tokenizer.with_elisions("drop" if _has_elisions(counted) and not opened.in_words else "keep")
        counted = [one.without_elisions() for one in counted] if tokenizer.drops_elisions else counted
        how = replace(how, tokenizer=tokenizer)
    if len(counted) == 1 and not tokenizer.drops_elisions:
        return _CountedText(spilled, spill.path, counted[0], counted[0].words.hashes(), None), how
    return _CountedText(spilled, spill.path, *CountedWords.merged(counted)), how


def _has_elisions(counted: Sequence[CountedWords]) -> bool:
    """Whether many words of a text have an elided one before them."""
    elided = sum(int(one.counts[one.elided > 0].sum()) for one in counted)
    return elided >= _LEAST_ELISIONS * sum(int(one.counts.sum()) for one in counted)


def _looks(counted: _CountedText) -> dict[str, Any]:
    """What words look like, by some of the distinct ones and some of the long ones; see `warnings_about`."""
    words, counts = counted.words.words, counted.words.counts
    candidates, share = _some(np.flatnonzero(np.diff(words.offsets) >= LONG_WORD), counted.hashes)
    found = zip(counts[candidates].tolist(), counted.words.at(candidates), strict=True)
    long = [(count, word) for count, word in found if len(word) >= LONG_WORD]
    places, _ = _some(np.arange(len(counts)), counted.hashes)
    both = list(zip(counts[places].tolist(), counted.words.at(places), strict=True))
    unspaced = sum(count * len("".join(UNSPACED.findall(word))) for count, word in both if not word.isascii())
    numbers = sum(count for count, word in both if not any(map(str.isalpha, word)))
    return {
        "long_words": round(sum(count for count, _ in long) * share),
        "longest": max(long, key=lambda one: (len(one[1]), one[1]))[1] if long else "",
        "unspaced": unspaced / max(sum(count * len(word) for count, word in both), 1),
        "numbers": numbers / max(counts[places].sum(), 1),
    }


def _some(places: npt.NDArray[np.intp], hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.intp], float]:
    """Of many words some, chosen by their hashes, and how many stand behind each."""
    every = max(1, len(places) // _WORDS_LOOKED_AT)
    chosen = places[hashes[places] % np.uint64(every) == 0]
    return chosen, len(places) / max(len(chosen), 1)


_PREVIEWED = 1000  # documents in which to look for what is left out
_EXAMPLES = 8
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,60}>|&#?\w{1,31};")
# What a joined word looks like; the first that fits is its kind.
_JOINED = {
    "phrases": re.compile(r".+ .+"),
    "addresses": re.compile(r".*(?:@.+\..|://|\w\.[a-z]{2,}$).*"),
    "tags and mentions": re.compile(r"[#@]\w"),
    "symbols": re.compile(r".*(?:\+\+|#)|\.\w"),
    "abbreviations": re.compile(r"(?:\w\.){2,}$"),
    "numbers": re.compile(r".*\d[.,]\d"),
    "hyphens": re.compile(r".*\w-\w"),
    "emoji": re.compile(r"[^\w']"),
}


def preview(
    texts: Iterable[Any],
    tokenizer: TokenizerLike = "words",
    *,
    phrases: bool = False,
    min_count: int | None = None,
    top: int = 50,
) -> dict[str, Any]:
    """What becomes of texts: counts, the most frequent words, examples of what was joined and what was left out.

    Example:
        >>> found = preview(["COVID-19 in the U.S. (see http://x.org)", "covid-19 again"], top=1)
        >>> found["tokens"], found["top"], found["joined"]["hyphens"]
        (8, [('covid-19', 2)], ['covid-19'])
    """
    chosen = tokenizer_of(tokenizer)
    seen: list[str] = []

    def passed_on() -> Iterator[Any]:
        for text in texts:
            if isinstance(text, str) and len(seen) < _PREVIEWED:
                seen.append(text)
            yield text

    with (
        tempfile.TemporaryDirectory(prefix="spherevec-") as folder,
        encode(
            passed_on(), Path(folder, "corpus"), min_count=1, tokenizer=chosen, phrases=phrases, keep_text=0
        ) as corpus,
    ):
        words, counts = corpus.vocabulary.words, corpus.vocabulary.counts
        least = default_min_count(corpus.raw_tokens) if min_count is None else min_count
        joined: dict[str, list[str]] = {}
        for word in words:
            kind = next((kind for kind, form in _JOINED.items() if form.match(word)), None)
            if kind and len(joined.setdefault(kind, [])) < _EXAMPLES:
                joined[kind].append(word)
        return {
            "tokenizer": str(corpus.tokenizer),
            "documents": corpus.n_documents,
            "empty": corpus.summary.empty,
            "tokens": corpus.raw_tokens,
            "words": len(words),
            "min_count": least,
            "rare": int((counts < least).sum()),
            "top": list(zip(words[:top], counts[:top].tolist(), strict=True)),
            "joined": joined,
            "left_out": _left_out(seen, chosen),
            "warnings": list(corpus.summary.warnings),
        }


def _left_out(texts: Iterable[str], tokenizer: Tokenizer) -> list[tuple[str, int]]:
    """Markup and signs that are no part of any word, the most frequent first."""
    found = Counter[str]()
    cleans = bool(tokenizer.description().get("options", {}).get("html"))
    for text in texts:
        if cleans:
            found.update(_MARKUP.findall(text))
            text = _MARKUP.sub(" ", text)
        signs = Counter(sign for sign in text if kind_of(sign) == OTHER)
        found.update(signs - Counter(sign for word in tokenize(text, tokenizer) for sign in word))
    return found.most_common(2 * _EXAMPLES)
