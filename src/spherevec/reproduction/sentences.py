"""The sentences of the page. Every figure in them is computed from what was measured; so is every "higher"."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from spherevec.reproduction.blocks import figure_text
from spherevec.reproduction.corpora import TOKENIZATION
from spherevec.reproduction.methods import METHODS, Method, document_title
from spherevec.reproduction.plan import DATA_TITLES, FULL, NEWS, ORDER_METHODS, QUICK, REVIEWS, WIKI, Cell
from spherevec.reproduction.results import REFERENCE, Figure, Results
from spherevec.reproduction.tables import SIMILARITY_TITLES

OURS, PAPER_RECIPE = "spherevec-default", "spherevec-paper"


def opening(results: Results) -> str:
    run = results.run
    usual = QUICK if run.scale.name == QUICK.name else FULL
    command = "spherevec reproduce --data DIR --out REPORT" + (" --quick" if usual is QUICK else "")
    command += "" if run.seeds == usual.seeds else f" --seeds {run.seeds}"
    text = (
        f"Made by `{command}`. The paper is {results.paper['source']}. Ours and the peers were trained and evaluated"
        " here, on the same tokens, with the same dimension and the same epochs, each with its own recommended settings"
        " otherwise. Columns headed as the paper's repeat its figures, which come from another machine and, for words,"
        " far more text. A figure is bold where it is the best of its column, or no further from the best than the"
        " larger of their two deviations; n counts trainings with different seeds. Neither training nor clustering ever"
        " sees a label."
    )
    if usual is QUICK:
        text += (
            " THIS IS THE QUICK VERSION: little text and few epochs, to see that everything works. Its figures say"
            " nothing about which method is better."
        )
    return text


def in_short(results: Results) -> tuple[str, ...]:
    found = [
        *_standings_of_words(results),
        _standing(
            "NMI on 20 Newsgroups, shuffled, spherical K-Means",
            results.rows("documents", NEWS),
            lambda name: results.clustering(name, "shuffled", "skmeans", "nmi"),
        ),
        _standing(
            "3-NN micro-F1 on 20 Newsgroups, shuffled",
            results.rows("documents", NEWS),
            lambda name: results.classification(NEWS, name, "shuffled", "micro_f1"),
        ),
        _standing(
            "3-NN macro-F1 on movie reviews, shuffled",
            results.rows("documents", REVIEWS),
            lambda name: results.classification(REVIEWS, name, "shuffled", "macro_f1"),
        ),
        _speed(results),
    ]
    return tuple(text for text in found if text) or ("Nothing has been measured yet.",)


def about_words(results: Results) -> str:
    scale = results.run.scale
    return (
        f"Trained on {_corpus(results, WIKI)}, {scale.epochs[WIKI]} epochs; the paper's vectors saw"
        f" {results.paper['word_tokens']} tokens. Spearman's correlation of cosines with human judgement, over the"
        " pairs whose two words are known; analogies are the share of questions with four known words that are answered"
        " rightly among all words. Deviations are over trainings with different seeds; methods that take minutes were"
        " trained once and show none."
    )


def about_order(results: Results) -> str:
    text = (
        "20 Newsgroups ships sorted by class, and so do the movie reviews. A method that trains in the order of the"
        " file sees all documents of a class one after the other; the word vectors drift with them, and each document"
        " vector records when it was trained. Clusters then look like the classes because the order was that of the"
        " classes: the labels have leaked into the vectors. Text without labels does not come in the order of its"
        " labels, so the shuffled columns are the ones that count; file order stands beside them because the authors'"
        " released evaluation trains in it. For peers, shuffled means fed in one random order; spherevec draws a new"
        " one each epoch."
    )
    changes = []
    for name in (*ORDER_METHODS, "doc2vec-dm", REFERENCE):
        sorted_, shuffled = (results.clustering(name, order, "kmeans", "nmi") for order in ("file", "shuffled"))
        if sorted_ and shuffled:
            changes.append(
                f"{document_title(METHODS[name])}: {figure_text(sorted_)} in file order,"
                f" {figure_text(shuffled)} shuffled ({_change(sorted_, shuffled)})"
            )
    if changes:
        text += f" NMI by K-Means: {'; '.join(changes)}."
    unordered = [document_title(method) for method in results.rows("documents", NEWS) if not method.ordered]
    if unordered:
        text += (
            f" The order cannot matter to {' and '.join(unordered)}: measured once, the same figure in both columns."
        )
    return text


def about_clustering(results: Results) -> str:
    scale = results.run.scale
    return (
        f"{_corpus(results, NEWS)}, {scale.epochs[NEWS]} epochs, all documents, as many clusters as classes. Mean and"
        f" deviation of {scale.clusterings} clusterings, from one start each, of every trained model."
    )


def about_classification(results: Results) -> str:
    scale = results.run.scale
    return (
        "Three nearest neighbours vote, by Euclidean distance, which on unit vectors is the order of the cosine."
        " 20 Newsgroups has its own test set: deviations are over trainings."
        f" {_capitalised(_corpus(results, REVIEWS))}: {scale.splits} random splits into four fifths and one fifth, for"
        " each training."
    )


def about_time(results: Results) -> str:
    scale, threads = results.run.scale, results.run.threads
    rows = results.rows("time", NEWS)
    once = " and ".join(method.title for method in rows if not method.by_epochs)
    sampled = "".join(
        f" {method.title} is timed on {scale.sampled} documents, of which it reads no more than their beginning, though"
        " its rate counts them whole."
        for method in rows
        if method.reads_text
    )
    load = [found["measured"]["load"] for cell, found in results.found.items() if cell.kind == "time"]
    busy = f" The load of the machine, its own work included, was {min(load):.1f} to {max(load):.1f}." if load else ""
    return (
        f"Each system trains on a random half of 20 Newsgroups with {threads} threads, one epoch and then two, in a"
        f" process of its own; {_counted(scale.repeats, 'turn')}, in each of which every system has its go, so that"
        " noise hits all alike. Ratios are taken within a turn: median, and range. An epoch is the difference between"
        " two and one; a whole training is one epoch from encoded text to vectors, and that difference for each of the"
        f" {scale.epochs[NEWS] - 1} others; both are brought to the whole of 20 Newsgroups. Compilation and imports are"
        f" left out. {once} look at the text once.{sampled} SIF's whole training includes Word2Vec's. Peak memory is"
        f" that of the whole process.{busy}"
    )


def what_was_run(results: Results) -> tuple[str, ...]:
    run = results.run
    places = [found["measured"] for found in results.found.values()]
    if not places:
        return ("Nothing yet.",)
    machines = sorted({f"{one['processor']}, {one['cores']} cores, {_memory(one)}, {one['system']}" for one in places})
    versions: dict[str, set[str]] = {}
    for one in places:
        for name, version in {"Python": one["python"], **one["versions"]}.items():
            versions.setdefault(name, set()).add(version)
    when = sorted(one["finished"] for one in places)
    slow = ", ".join(method.title for method in METHODS.values() if method.slow)
    return (
        f"Machine: {'; '.join(machines)}.",
        f"Versions: {', '.join(f'{name} {_joined(found)}' for name, found in versions.items())}.",
        f"Measured between {when[0]} and {when[-1]}: {len(results.found)} of {len(run.cells)} measurements, each in a"
        f" process of its own, {run.threads} threads, {_hours(_seconds(results))} of training in all.",
        f"Training seeds: 1 to {run.seeds}; only 1 for methods that take minutes ({slow}).",
        f"Dimension {run.scale.dim}, window {run.scale.window} for the peers; "
        + "; ".join(
            f"{DATA_TITLES[data]} {run.scale.epochs[data]} epochs, words that occur {run.scale.min_count[data]} times"
            for data in (WIKI, NEWS, REVIEWS)
        )
        + ".",
        *(f"Tokens of {DATA_TITLES[data]}: {text}." for data, text in TOKENIZATION.items()),
    )


def unmeasured(results: Results) -> list[Cell]:
    return [cell for cell in results.run.cells if cell not in results.found]


def not_measured(results: Results) -> tuple[str, ...]:
    run = results.run
    missing = [cell for cell in unmeasured(results) if cell not in run.failures]
    by_kind = {f"{METHODS[cell.method].title}, {DATA_TITLES[cell.data]}, {cell.kind}": None for cell in missing}
    left_out = [f"{METHODS[name].title}: takes too long for this version." for name in run.scale.left_out]
    return (
        *(f"{cell.title}: FAILED, {reason}" for cell, reason in run.failures.items()),
        *left_out,
        *(f"{DATA_TITLES[name]}: {reason}" for name, reason in run.absent.items()),
        *(f"{title}: not measured yet." for title in by_kind),
    )


def _standings_of_words(results: Results) -> list[str]:
    methods = results.rows("words", WIKI)
    return [
        _standing(f"Spearman on {title}", methods, partial(_spearman, results, key))
        for key, title in SIMILARITY_TITLES.items()
    ]


def _spearman(results: Results, key: str, method: str) -> Figure | None:
    return results.similarity(method, key)


def _standing(title: str, methods: Iterable[Method], take: Callable[[str], Figure | None]) -> str:
    """Where the default recipe stands in a column: among the best, or behind which."""
    found = {method.name: figure for method in methods if (figure := take(method.name))}
    if OURS not in found or len(found) < 2:
        return ""
    best_name, best = max(found.items(), key=lambda item: item[1].mean)
    ours, named = found[OURS], best_name
    text = f"{title}: the default recipe reaches {figure_text(ours)}"
    if best_name == OURS:
        second_name, second = max(
            ((name, one) for name, one in found.items() if name != OURS), key=lambda item: item[1].mean
        )
        named = second_name
        close = ", within the deviation" if second.is_as_good_as(ours) else ""
        text += f", the highest of {len(found)}; next is {METHODS[second_name].title} with {figure_text(second)}{close}"
    else:
        close = ", within the deviation" if ours.is_as_good_as(best) else ""
        text += f"; the highest of {len(found)} is {METHODS[best_name].title} with {figure_text(best)}{close}"
    if PAPER_RECIPE in found and named != PAPER_RECIPE:
        text += f"; the paper's recipe {figure_text(found[PAPER_RECIPE])}"
    return text + "."


def _speed(results: Results) -> str:
    ours = results.times(OURS)
    parts = []
    for name in (REFERENCE, "doc2vec-dbow", PAPER_RECIPE):
        ratios = [a.rate / b.rate for a, b in zip(ours, results.times(name), strict=False)]
        if ratios:
            spread = f" ({min(ratios):.1f} to {max(ratios):.1f})" if len(ratios) > 1 else ""
            parts.append(f"{statistics.median(ratios):.1f}{spread} times that of {METHODS[name].title}")
    return f"Speed: the default recipe's rate is {', '.join(parts)}." if parts else ""


def _change(sorted_: Figure, shuffled: Figure) -> str:
    if shuffled.is_as_good_as(sorted_):
        return "no difference beyond the deviation"
    difference = shuffled.mean - sorted_.mean
    return f"{'higher' if difference > 0 else 'lower'} by {abs(difference):.3f}"


def _corpus(results: Results, data: str) -> str:
    about = next(
        (found["corpus"] for cell, found in results.found.items() if cell.data == data and cell.kind != "time"), None
    )
    if about is None:
        return DATA_TITLES[data]
    return (
        f"{DATA_TITLES[data]} ({about['documents']:,} documents, {about['tokens']:,} tokens of {about['words']:,}"
        " distinct words)"
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _seconds(results: Results) -> float:
    return sum(
        float(sum(found["seconds"])) if isinstance(found["seconds"], list) else float(found["seconds"])
        for found in results.found.values()
    )


def _memory(measured: dict[str, Any]) -> str:
    return "memory unknown" if measured["memory_bytes"] is None else f"{measured['memory_bytes'] / 2**30:.0f} GiB"


def _joined(versions: set[str]) -> str:
    return " and ".join(sorted(versions))


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.0f} minutes"
