"""`spherevec evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from spherevec.cli.display import Console
from spherevec.cli.options import given_settings, model_argument, option_group, output_options, path_option
from spherevec.cli.outputs import documents_of, load_model
from spherevec.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spherevec.model import Model

Files = Mapping[str, Path]


def _similarity(model: Model, files: Files) -> Any:
    from spherevec.evaluation.files import read_pairs
    from spherevec.evaluation.words import evaluate_similarity

    return vars(evaluate_similarity(model.words, read_pairs(files["pairs"]), files["pairs"].name))


def _analogy(model: Model, files: Files) -> Any:
    """The same questions answered by 3CosAdd and by 3CosMul, section by section."""
    from spherevec.evaluation.files import read_analogies
    from spherevec.evaluation.words import evaluate_analogies

    sections = read_analogies(files["questions"])
    added, multiplied = (evaluate_analogies(model.words, sections, method) for method in ("3cosadd", "3cosmul"))
    found = []
    for one, other in zip(added, multiplied, strict=True):
        both = {"correct_3cosmul": other.correct, "accuracy_3cosmul": other.accuracy}
        found.append({**vars(one), "accuracy": one.accuracy, **both})
    return found


def _clustering(model: Model, files: Files) -> Any:
    from spherevec.evaluation.documents import evaluate_clustering

    assert model.docs is not None
    return asdict(evaluate_clustering(model.docs.vectors, _labels(model, files)))


def _classification(model: Model, files: Files) -> Any:
    from spherevec.evaluation.documents import given_split, random_splits
    from spherevec.evaluation.files import read_split

    assert model.docs is not None
    vectors, labels = model.docs.vectors, _labels(model, files)
    split = read_split(files["split"]) if "split" in files else None
    if split is None:
        return asdict(random_splits(vectors, labels))
    return asdict(given_split(vectors, labels, _one_each(model, files["split"], split)))


def _topics(model: Model, files: Files) -> Any:
    """The number of topics, NPMI and diversity of ten words each, and the agreement with labels."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    from spherevec.evaluation.topics import document_npmi, topic_diversity
    from spherevec.topics import topics_of

    labels = _labels(model, files) if "labels" in files else None
    topics = topics_of(model)
    words = topics.words_by_place
    scores: dict[str, float] = {"topics": len(topics), "diversity": topic_diversity(words)}
    if model.document_terms is not None:
        columns = {word: column for column, word in enumerate(model.words.names or ())}
        scores["npmi"] = document_npmi([[columns[word] for word in one] for one in words], model.document_terms)
    if labels is not None:
        scores["nmi"] = float(normalized_mutual_info_score(labels, topics.labels))
        scores["ari"] = float(adjusted_rand_score(labels, topics.labels))
    return scores


def _labels(model: Model, files: Files) -> NDArray[np.str_]:
    from spherevec.evaluation.files import read_labels

    return _one_each(model, files["labels"], read_labels(files["labels"]))


def _one_each(model: Model, file: Path, lines: NDArray[np.str_]) -> NDArray[np.str_]:
    documents = len(model.docs or ())
    if len(lines) != documents:
        raise ConfigError(
            f"{file}: has {len(lines):,} lines, but the model has {documents:,} documents; give one line for each"
        )
    return lines


class _Task(NamedTuple):
    run: Callable[[Model, Files], Any]  # ready for JSON
    needs: str | None  # the option that must be given
    takes: tuple[str, ...] = ()  # those that may be


_TASKS = {
    "similarity": _Task(_similarity, "pairs"),
    "analogy": _Task(_analogy, "questions"),
    "clustering": _Task(_clustering, "labels"),
    "classification": _Task(_classification, "labels", ("split",)),
    "topics": _Task(_topics, None, ("labels",)),
}


@click.command()
@click.argument("task", metavar="TASK", type=click.Choice(list(_TASKS)))
@model_argument
@option_group(
    "files",
    given_settings,
    path_option("--pairs", metavar="FILE", help="Two words and a score per line, for similarity."),
    path_option("--questions", metavar="FILE", help="Four words per line, in sections, for analogy."),
    path_option("--labels", metavar="FILE", help="Labels of the documents, one per line, in their order."),
    path_option("--split", metavar="FILE", help="`train` or `test` per line. Default: ten random splits."),
)
@output_options
def evaluate(task: str, folder: Path, files: dict[str, Path], console: Console) -> None:
    """Measure a model against human judgement or labels.

    TASK is one of these: similarity compares cosines with the scores that people gave to pairs of words; analogy
    answers a : b = c : ?; clustering and classification compare the documents with their labels; topics judges the
    words of the topics by the documents, and the topics by the labels, if given.
    """
    chosen = _TASKS[task]
    for name in files:
        if name != chosen.needs and name not in chosen.takes:
            others = [other for other, one in _TASKS.items() if name in (one.needs, *one.takes)]
            listed = " and ".join(filter(None, [", ".join(others[:-1]), others[-1]]))
            raise click.UsageError(f"--{name} goes with {listed}, not with {task}")
    if chosen.needs is not None and chosen.needs not in files:
        raise click.UsageError(f"{task} needs --{chosen.needs} FILE")
    model = load_model(folder)
    if "labels" in (chosen.needs, *chosen.takes):
        documents_of(model, folder)
    found = chosen.run(model, files)
    console.result({"data_set": str(files["labels"]), **found} if "labels" in files else found)
