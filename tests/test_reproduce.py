"""The run behind the page: what is planned, in which order documents are fed, what is kept, and what goes wrong."""

import dataclasses
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from spherevec.corpus import EncodedCorpus
from spherevec.errors import ConfigError, CorpusError, MissingExtraError, SpherevecError
from spherevec.reproduction import corpora, measure, queue, store
from spherevec.reproduction.corpora import Corpora, document_order, places_of
from spherevec.reproduction.methods import METHODS
from spherevec.reproduction.plan import FULL, KINDS, NEWS, QUICK, REVIEWS, WIKI, Cell, all_cells
from spherevec.reproduction.processes import CellFailedError, Processes
from spherevec.reproduction.run import Selection, prepare, reproduce
from spherevec.reproduction.store import Store
from spherevec.reproduction.worker import Request

TINY = dataclasses.replace(
    QUICK,
    every={NEWS: 1, REVIEWS: 1},
    wiki_words=None,
    min_count={WIKI: 1, NEWS: 1, REVIEWS: 1},
    epochs={WIKI: 1, NEWS: 1, REVIEWS: 1},
    dim=8,
    clusterings=2,
    splits=2,
    mapped=(20, 10),
)
TOPICS = ("cat dog horse cow sheep", "star moon orbit rocket comet", "bread salt sugar butter flour")


class Notes:
    """A watcher that remembers."""

    def __init__(self):
        self.begun, self.ended, self.told = [], [], []

    def begins(self, cells, known, seconds):
        self.begun.append((cells, known))

    def goes_on(self, cells, done, seconds_left):
        assert seconds_left >= 0

    def ends(self, cell, seconds, failure):
        self.ended.append((cell.method, cell.data, failure))

    def notes(self, text):
        self.told.append(text)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with labelled sets sorted by class, like the real ones."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)

    def texts(classes, count):
        return [" ".join(rng.choice(TOPICS[label].split(), 12)) for label in np.repeat(range(classes), count)]

    for name, classes, count in ((NEWS, 3, 40), (REVIEWS, 2, 30)):
        place = folder / name
        place.mkdir()
        with gzip.open(place / "text.txt.gz", "wt") as stream:
            stream.write("\n".join(texts(classes, count)) + "\n")
        (place / "label.txt").write_text("".join(f"{label}\n" for label in np.repeat(range(classes), count)))
        marks = ["train", "test"] * (classes * count // 2) if name == NEWS else ["all"] * (classes * count)
        (place / "split.txt").write_text("".join(f"{mark}\n" for mark in marks))
        (place / "classes.txt").write_text("".join(f"class{label}\n" for label in range(classes)))
    return folder


def corpora_of(data, folder, scale=TINY):
    return Corpora(folder, data, scale, 1)


def documents(folder):
    with EncodedCorpus.open(folder) as corpus:
        words = corpus.vocabulary.words
        return [[words[word] for word in corpus.document(number)] for number in range(corpus.n_documents)]


# The plan


def test_every_row_of_every_table_is_planned():
    cells = all_cells(FULL, 3, (WIKI, NEWS, REVIEWS))
    assert len(set(cells)) == len(cells)
    for method in METHODS.values():
        mine = [cell for cell in cells if cell.method == method.name]
        assert {cell.kind for cell in mine} >= {"time"} | ({"words"} if method.words else set())
        assert len([cell for cell in mine if cell.kind == "time"]) == FULL.repeats
        for name in (NEWS, REVIEWS) if method.documents else ():
            found = [(cell.order, cell.seed) for cell in mine if (cell.kind, cell.data) == ("documents", name)]
            orders = ("file", "shuffled") if method.ordered else ("any",)
            seeds = (1,) if method.slow else (1, 2, 3)
            assert sorted(found) == sorted((order, seed) for order in orders for seed in seeds)
    assert {cell.kind for cell in cells} == set(KINDS)


def test_times_come_last_and_in_turns():
    cells = all_cells(FULL, 3, (WIKI, NEWS, REVIEWS))
    times = [cell for cell in cells if cell.kind == "time"]
    assert cells[-len(times) :] == times
    turn = len(METHODS)
    assert [cell.seed for cell in times] == [1] * turn + [2] * turn + [3] * turn
    assert [cell.method for cell in times[:turn]] == [cell.method for cell in times[turn : 2 * turn]]


def test_sif_gets_the_vectors_of_the_same_order_and_seed():
    cells = all_cells(FULL, 3, (NEWS,))
    for cell in cells:
        if cell.method == "sif" and cell.kind == "documents":
            assert cell.needs in cells
            assert (cell.needs.method, cell.needs.order, cell.needs.seed) == ("word2vec", cell.order, cell.seed)


def test_a_cell_survives_json():
    cell = next(cell for cell in all_cells(FULL, 1, (NEWS,)) if cell.needs)
    assert Cell.from_dict(json.loads(json.dumps(cell.as_dict()))) == cell


def test_what_is_absent_is_not_planned():
    cells = all_cells(QUICK, 1, (REVIEWS,))
    assert {cell.data for cell in cells} == {REVIEWS}
    assert not {cell.method for cell in cells} & set(QUICK.left_out)


# The order of documents


def test_orders():
    assert document_order(50, "file").tolist() == list(range(50))
    assert document_order(50, "file", 0.0).tolist() == list(range(50))
    shuffled = document_order(50, "shuffled")
    assert sorted(shuffled) == list(range(50)) and shuffled.tolist() != list(range(50))
    assert shuffled.tolist() == document_order(50, "shuffled").tolist()


def test_a_share_of_the_documents_is_moved_and_no_more():
    half = document_order(1000, "file", 0.5)
    assert sorted(half) == list(range(1000))
    moved = int((half != np.arange(1000)).sum())
    assert 480 <= moved <= 500  # a few of those chosen land where they were
    assert (document_order(1000, "file", 1.0) == np.arange(1000)).mean() < 0.02


def test_spherevec_is_fed_the_file_and_peers_what_is_asked_for():
    def fed(method, order, kind="documents", share=None):
        return places_of(Cell(kind, NEWS, method, order, 1, share), 30, TINY).tolist()

    assert fed("spherevec-default", "shuffled") == list(range(30))
    assert fed("doc2vec-dbow", "shuffled") == document_order(30, "shuffled").tolist() != list(range(30))
    assert (
        fed("spherevec-default", "file", "order", 1.0) == fed("doc2vec-dbow", "file", "order", 1.0) != list(range(30))
    )
    assert fed("word2vec", "any", "time") == document_order(30, "shuffled")[:15].tolist()


def test_a_chosen_corpus_holds_the_documents_in_their_order(data, tmp_path):
    sets = corpora_of(data, tmp_path)
    plain = documents(sets.whole(NEWS))
    cell = Cell("documents", NEWS, "doc2vec-dbow", "shuffled", 1)
    places = places_of(cell, len(plain), TINY)
    assert documents(sets.of(cell)) == [plain[place] for place in places]
    half = sets.of(Cell("time", NEWS, "doc2vec-dbow", "any", 1))
    assert documents(half) == [plain[place] for place in places[: len(plain) // 2]]
    with EncodedCorpus.open(half) as corpus:
        found = np.bincount(corpus.ids, minlength=len(corpus.vocabulary))
        assert found.tolist() == corpus.vocabulary.counts.tolist()
        assert (np.diff(found) <= 0).all() and found.min() > 0


def test_a_corpus_is_made_once(data, tmp_path, monkeypatch):
    first = corpora_of(data, tmp_path).whole(REVIEWS)
    monkeypatch.setattr(corpora, "encode", None)
    assert corpora_of(data, tmp_path).whole(REVIEWS) == first


# What is kept


def test_keys_cover_what_a_result_depends_on(data, tmp_path, monkeypatch):
    def key(cell, scale=TINY, threads=1):
        return Store(tmp_path, corpora_of(data, tmp_path, scale), scale, threads).key(cell)

    cell = Cell("documents", NEWS, "spherevec-default", "shuffled", 1)
    peer = Cell("documents", NEWS, "tfidf-svd", "any", 1)
    plain, plain_peer = key(cell), key(peer)
    assert plain == key(cell)
    changed = [
        key(dataclasses.replace(cell, seed=2)),
        key(dataclasses.replace(cell, order="file")),
        key(cell, dataclasses.replace(TINY, dim=9)),
        key(cell, dataclasses.replace(TINY, min_count={**TINY.min_count, NEWS: 2})),
        key(cell, dataclasses.replace(TINY, epochs={**TINY.epochs, NEWS: 2})),
        key(cell, threads=2),
    ]
    assert len({plain, *changed}) == len(changed) + 1
    from spherevec import config

    monkeypatch.setattr(config, "RECIPES", {**config.RECIPES, "default": {"alpha": 0.123}})
    assert key(cell) != plain
    assert key(peer) == plain_peer  # a changed recipe re-measures its own rows alone


def test_code_counts_and_comments_do_not(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_ROOT", tmp_path)
    file = tmp_path / "kernel.py"

    def digest(text):
        file.write_text(text)
        return store._code(["kern*.py"])

    plain = digest('"""Doc."""\ndef f(x):\n    return x + 1\n')
    assert digest('# why\ndef f(x):\n    """More."""\n    return (x\n        + 1)\n') == plain
    assert digest("def f(x):\n    return x + 2\n") != plain


def test_a_broken_measurement_is_named(data, tmp_path):
    kept = Store(tmp_path, corpora_of(data, tmp_path), TINY, 1)
    cell = Cell("documents", NEWS, "tfidf-svd", "any", 1)
    assert kept.load(cell) is None
    kept.save(cell, {"seconds": 1.0})
    assert kept.load(cell) == {"seconds": 1.0}
    kept.path(cell).write_text("{")
    with pytest.raises(SpherevecError, match=r"\.json: cannot be read .*delete it"):
        kept.load(cell)


# A whole run


def run(data, out, notes, methods=("tfidf-svd",), kinds=("documents",)):
    return reproduce(data, out, scale=TINY, seeds=1, threads=1, selection=Selection(methods, kinds), watcher=notes)


def test_a_run_is_measured_once_and_the_page_shows_it(data, tmp_path):
    notes = Notes()
    page = run(data, tmp_path, notes)
    assert notes.begun == [(2, 0)] and [failure for *_, failure in notes.ended] == [None, None]
    assert "wiki20m.txt.gz does not exist" in notes.told[0]
    text = page.read_text("utf-8")
    assert "tf-idf, truncated SVD" in text and "data:image/svg+xml" in text
    assert "http" not in text.replace("http://www.w3.org", "")  # nothing is fetched
    files = sorted((tmp_path / "measurements").iterdir())
    times = [file.stat().st_mtime_ns for file in files]
    again = Notes()
    assert run(data, tmp_path, again) == page
    assert again.begun == [(0, 2)] and not again.ended
    assert [file.stat().st_mtime_ns for file in files] == times

    figures = json.loads(next(file for file in files if NEWS in file.name).read_text("utf-8"))["figures"]
    assert figures["clustering"]["kmeans"]["purity"]["mean"] > 0.9  # three topics that share no word
    assert len(figures["clustering"]["skmeans"]["nmi"]["values"]) == 2
    assert [result["k"] for result in figures["classification"]] == list(range(1, 11))
    assert figures["peak_bytes"] > 20e6


def test_vectors_are_put_back_in_the_order_of_the_labels(data, tmp_path):
    """Three topics that share no word are told apart only where vectors and labels agree."""
    pytest.importorskip("gensim")
    place = corpora_of(data, tmp_path / "c")
    cell = Cell("documents", NEWS, "sif", "shuffled", 1)
    with EncodedCorpus.open(place.of(cell)) as corpus:
        from spherevec.reproduction.measure import _words_to_weigh

        words = _words_to_weigh(cell, corpus, TINY.dim)
    from spherevec.reproduction.words_file import save_words

    save_words(words, tmp_path / "words.npz")
    request = Request(cell, TINY, place.of(cell), data, 1, tmp_path, given=tmp_path / "words.npz")
    figures = Processes().measure(request, lambda share: None)
    assert figures["classification"][2]["micro_f1"]["mean"] > 0.9


def test_a_method_that_weighs_given_words_can_be_timed(data, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "_WARM_UP", 1)  # a first run that knows fewer words than the counted one
    cell = Cell("time", NEWS, "sif", "any", 1)
    around = measure.Surroundings(TINY, corpora_of(data, tmp_path / "c").of(cell), data, 1)
    figures = measure.measure(cell, around, None, lambda share: None).figures
    assert len(figures["seconds"]) == 1 and figures["seconds"][0] > 0


def test_a_cell_that_fails_is_noted_and_the_others_go_on(data, tmp_path, monkeypatch):
    class Broken(Processes):
        def measure(self, request, report):
            if request.cell.data == NEWS:
                raise CellFailedError("the process ended with code -11")
            return super().measure(request, report)

    monkeypatch.setattr(queue, "Processes", Broken)
    notes = Notes()
    with pytest.raises(SpherevecError, match=r"1 of .* failed, first tf-idf.*code -11.*run again") as caught:
        run(data, tmp_path, notes)
    assert "\n" not in str(caught.value)
    assert "FAILED, the process ended with code -11" in (tmp_path / "reproduction.md").read_text("utf-8")
    assert len(list((tmp_path / "measurements").iterdir())) == 1


def test_a_worker_says_in_one_line_what_went_wrong(data, tmp_path):
    cell = Cell("documents", NEWS, "tfidf-svd", "any", 1)
    request = Request(cell, TINY, tmp_path / "nowhere", data, 1, tmp_path)
    with pytest.raises(CellFailedError, match=r"^CorpusError: .*nowhere: no encoded corpus"):
        Processes().measure(request, lambda share: None)


def test_an_interrupted_run_goes_on_where_it_was(data, tmp_path):
    # spherevec's rows of three data sets' worth of cells: long enough to be interrupted after the first.
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from test_reproduce import run, Notes; run(Path(sys.argv[2]), Path(sys.argv[3]), Notes())"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent), str(data), str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    kept = tmp_path / "measurements"
    for _ in range(1200):
        if kept.exists() and any(file.suffix == ".json" for file in kept.iterdir()):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors
    assert len(list(kept.glob("*.json"))) == 1
    notes = Notes()
    run(data, tmp_path, notes)
    assert notes.begun == [(1, 1)]


# What is wrong from the start


def test_mistakes_are_told_before_any_work(data, tmp_path, monkeypatch):
    monkeypatch.delenv("SPHEREVEC_DATA", raising=False)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigError, match="file: is a file; name a folder"):
        prepare(data, file, TINY, 1, 1)
    with pytest.raises(CorpusError, match="nowhere does not exist"):
        prepare(tmp_path / "nowhere", tmp_path, TINY, 1, 1)
    with pytest.raises(ConfigError, match=r"unknown method 'word3vec'; known: spherevec-paper"):
        Selection(("word3vec",))
    with pytest.raises(ConfigError, match="unknown kind of measurement 'speed'"):
        Selection((), ("speed",))
    monkeypatch.setattr(queue, "version_of", lambda name: "" if name == "gensim" else "1")
    with pytest.raises(MissingExtraError, match=r"Doc2Vec, DBOW \(package gensim\).*spherevec\[baselines\]"):
        run(data, tmp_path / "out", Notes(), ("doc2vec-dbow",))
    assert not (tmp_path / "out" / "measurements").exists()


def test_the_command_line(data, tmp_path):
    def spherevec(*arguments):
        command = [sys.executable, "-m", "spherevec", "reproduce", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "80"})

    (tmp_path / "file").write_text("")
    for arguments, message in (
        (("--data", data, "--out", tmp_path / "file"), "is a file; name a folder"),
        (("--data", tmp_path / "no", "--out", tmp_path / "x"), "no does not exist"),
        (("--data", data, "--out", tmp_path / "x", "--methods", "bert"), "unknown method 'bert'"),
        (("--data", data), "Missing option '--out'"),
    ):
        done = spherevec(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "x" / "measurements").exists()
