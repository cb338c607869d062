"""The paper's tables: what is planned, in which order documents are fed, what is kept, and the page."""

import ast
import dataclasses
import gzip
import json
import sys

import numpy as np
import pytest

from experiments.paper import results as store
from experiments.paper.__main__ import run
from experiments.paper.corpora import document_order, places_of
from experiments.paper.measure import measure
from experiments.paper.plan import FULL, KINDS, METHODS, NEWS, QUICK, REVIEWS, WIKI, Cell, all_cells
from experiments.paper.results import Results, key_of
from experiments.paper.tables import PAPER, best_marked
from experiments.peers import PEERS
from spherevec.evaluation.documents import Spread

TINY = dataclasses.replace(
    QUICK,
    every={NEWS: 1, REVIEWS: 1},
    min_count={WIKI: 1, NEWS: 1, REVIEWS: 1},
    epochs={WIKI: 1, NEWS: 1, REVIEWS: 1},
    vector_size=8,
    clusterings=2,
    splits=2,
)
TOPICS = ("cat dog horse cow sheep", "star moon orbit rocket comet", "bread salt sugar butter flour")
CELL = Cell("documents", NEWS, "tfidf-svd", "any", 1)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with labelled sets sorted by class, like the real ones; Wikipedia is absent."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for name, classes, count in ((NEWS, 3, 40), (REVIEWS, 2, 30)):
        labels = np.repeat(range(classes), count)
        place = folder / name
        place.mkdir()
        with gzip.open(place / "text.txt.gz", "wt") as stream:
            stream.writelines(" ".join(rng.choice(TOPICS[label].split(), 12)) + "\n" for label in labels)
        (place / "label.txt").write_text("".join(f"{label}\n" for label in labels))
        marks = ["train\n", "test\n"] * (len(labels) // 2) if name == NEWS else ["all\n"] * len(labels)
        (place / "split.txt").write_text("".join(marks))
        (place / "classes.txt").write_text("".join(f"class{label}\n" for label in range(classes)))
    return folder


def test_every_row_of_every_table_is_planned_once():
    cells = list(all_cells(FULL))
    assert len(set(cells)) == len(cells) == 116
    assert set(METHODS) == {*PEERS, "spherevec-paper", "spherevec-default"}
    assert {cell.kind for cell in cells} == set(KINDS)
    for name, method in METHODS.items():
        mine = [cell for cell in cells if cell.method == name]
        seeds = (1,) if method.slow else (1, 2, 3)
        assert [cell.seed for cell in mine if cell.kind == "words"] == (list(seeds) if method.words else [])
        for data in (NEWS, REVIEWS) if method.documents else ():
            found = {(cell.order, cell.seed) for cell in mine if (cell.kind, cell.data) == ("documents", data)}
            orders = ("file", "shuffled") if method.ordered else ("any",)
            assert found == {(order, seed) for order in orders for seed in seeds}
    times = [cell for cell in cells if cell.kind == "time"]
    assert cells[-len(times) :] == times and [cell.seed for cell in times] == sorted(cell.seed for cell in times)
    assert not {cell.method for cell in all_cells(QUICK)} & set(QUICK.left_out)
    assert {method.paper for method in METHODS.values() if method.words} <= set(PAPER["similarity"]["rows"])


def test_orders():
    assert document_order(50, 0.0).tolist() == list(range(50))
    shuffled = document_order(50, 1.0)
    assert sorted(shuffled) == list(range(50)) and shuffled.tolist() == document_order(50, 1.0).tolist()
    moved = int((document_order(1000, 0.5) != np.arange(1000)).sum())
    assert 480 <= moved <= 500  # a few of those chosen land where they were


def test_spherevec_is_fed_the_file_and_peers_what_is_asked_for():
    def fed(method, order, kind="documents", share=0.0):
        return places_of(Cell(kind, NEWS, method, order, 1, share), 30, TINY).tolist()

    assert fed("spherevec-default", "shuffled") == list(range(30))
    assert fed("doc2vec-dbow", "shuffled") == document_order(30, 1.0).tolist() != list(range(30))
    assert fed("spherevec-default", "file", "order", 1.0) == fed("doc2vec-dbow", "file", "order", 1.0)
    assert fed("word2vec", "any", "time") == document_order(30, 1.0)[:15].tolist()


def test_keys_cover_what_a_result_depends_on(data, tmp_path, monkeypatch):
    other = tmp_path / "other"
    (other / NEWS).mkdir(parents=True)
    (other / NEWS / "label.txt").write_text("0\n")
    plain = key_of(CELL, TINY, data, 1)
    assert plain == key_of(CELL, dataclasses.replace(TINY, seeds=9, repeats=9), data, 1)
    keys = [
        plain,
        key_of(dataclasses.replace(CELL, seed=2), TINY, data, 1),
        key_of(dataclasses.replace(CELL, order="file"), TINY, data, 1),
        key_of(CELL, dataclasses.replace(TINY, vector_size=9), data, 1),
        key_of(CELL, dataclasses.replace(TINY, min_count={**TINY.min_count, NEWS: 2}), data, 1),
        key_of(CELL, TINY, data, 2),
        key_of(CELL, TINY, other, 1),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(store, "code_digest", lambda: "other code")
        keys.append(key_of(CELL, TINY, data, 1))
    with monkeypatch.context() as patch:
        patch.setattr(store, "version_of", lambda package: "0.0")
        keys.append(key_of(CELL, TINY, data, 1))
    assert len(set(keys)) == len(keys)


def test_every_source_file_counts(tmp_path):
    def digest():
        store._digest.cache_clear()
        return store._digest(tmp_path, (".py", ".cu"))

    (tmp_path / "deep").mkdir()
    seen = {digest()}
    for name, content in (("a.py", "1"), ("a.py", "2"), ("deep/b.cu", "1"), ("deep/b.py", "1")):
        (tmp_path / name).write_text(content)
        seen.add(digest())
    assert len(seen) == 5
    (tmp_path / "notes.txt").write_text("no code")
    assert digest() in seen


def test_all_code_that_results_come_from_takes_part_in_the_key():
    """Whatever the files of the key import is in the key, too: a file of the project, or a package with its version."""
    root = store._ROOT
    files = [file for room in ("paper", "peers") for file in (root / room).glob("*.py") if file.name not in store._PAGE]
    imported = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    own = {name for name in imported if name.split(".")[0] == "experiments"} - {"experiments"}
    shared = {name.removesuffix(".py") for name in store.SHARED}
    assert own and {name.split(".")[1] for name in own} <= {"paper", "peers"} | shared
    assert not own & {f"experiments.paper.{page.removesuffix('.py')}" for page in store._PAGE}
    others = {name.split(".")[0] for name in imported} - set(sys.stdlib_module_names) - {"experiments", "spherevec"}
    assert {{"sklearn": "scikit-learn"}.get(name, name.replace("_", "-")) for name in others} <= set(store._PACKAGES)


def test_a_torn_line_is_cut_off_and_its_cell_measured_again(tmp_path):
    file = tmp_path / "results.jsonl"
    Results(file).append(CELL, "one", {"nmi": [1.0]})
    whole = file.read_bytes()
    Results.read(file).append(CELL, "two", {"nmi": [0.5]})
    for cut in (1, 20, len(file.read_bytes()) - len(whole) - 1):
        torn = tmp_path / f"torn-{cut}.jsonl"
        torn.write_bytes(file.read_bytes()[:-cut])
        found = Results.read(torn)
        assert found.complete() == {"one"}
        found.append(CELL, "two", {"nmi": [0.5]})
        assert Results.read(torn).complete() == {"one", "two"}
    assert Results.read(file).spread("nmi", method="tfidf-svd", order="shuffled") == Spread.of([1.0, 0.5])
    assert Results.read(file).of({"two"}).values("nmi") == [[0.5]]


def test_a_run_is_measured_once_and_the_page_shows_it(data, tmp_path):
    assert not run(data, tmp_path, TINY, 1, {"tfidf-svd", "documents"})
    page = (tmp_path / "reproduction.md").read_text("utf-8")
    assert "tf-idf, truncated SVD" in page and "![nmi](reproduction/nmi.svg)" in page and "$" not in page
    assert (tmp_path / "reproduction" / "nmi.svg").read_text("utf-8").startswith("<?xml")
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text("utf-8").splitlines()]
    found = {row["metric"]: row["value"] for row in rows if row["data"] == NEWS}
    assert min(found["kmeans.purity"]) > 0.9 and len(found["skmeans.nmi"]) == 2  # three topics that share no word
    assert found["peak_bytes"] > 20e6 and len(found["3nn.micro_f1"]) == 1
    before = (tmp_path / "results.jsonl").read_bytes()
    assert not run(data, tmp_path, TINY, 1, {"tfidf-svd", "documents"})
    assert (tmp_path / "results.jsonl").read_bytes() == before
    assert (tmp_path / "reproduction.md").read_text("utf-8") == page


def test_what_fails_is_noted_and_the_page_is_written(data, tmp_path):
    failures = run(data, tmp_path, TINY, 1, {"glove", "words"})
    assert [(cell.method, cell.data) for cell in failures] == [("glove", WIKI)]
    assert "CorpusError" in next(iter(failures.values()))
    assert "- words wiki20m glove any seed 1: CorpusError: " in (tmp_path / "reproduction.md").read_text("utf-8")
    assert not (tmp_path / "results.jsonl").exists()


@pytest.mark.parametrize("method", ["spherevec-default", "sif"])
def test_vectors_are_put_back_in_the_order_of_the_labels(data, method):
    """Three topics that share no word are told apart only where vectors and labels agree."""
    scale = dataclasses.replace(TINY, epochs={NEWS: 20})
    metrics = measure(Cell("documents", NEWS, method, "shuffled", 1), scale, data, 1)
    assert metrics["3nn.micro_f1"][0] > 0.9


def test_times_are_those_of_one_epoch_and_of_two(data):
    metrics = measure(Cell("time", NEWS, "doc2vec-dbow", "any", 1), TINY, data, 1)
    assert len(metrics["seconds"]) == 2 and metrics["corpus"]["documents"] == 60


def test_the_best_of_a_column_is_marked_within_the_deviation():
    column = [Spread.of([0.9, 0.8]), Spread.of([0.8]), Spread.of([0.5]), None]
    assert best_marked(column) == ["**0.850 ± 0.071**", "**0.800**", "0.500", "–"]
    assert best_marked([Spread.of([0.5])]) == ["0.500"]
