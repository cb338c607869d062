"""What goes wrong on a cluster is told in one line; what dies in one process is brought up again."""

import errno
import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import spherevec
from experiments.distributed.inline import inline_runtime
from spherevec.cli import cli
from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.distributed import runtime as backend
from spherevec.distributed.cluster import WorkerPool, check_workers, connected, worker_error
from spherevec.errors import ConfigError, CorpusError, MissingExtraError, TrainingError
from spherevec.model import KeyedVectors
from spherevec.training import train_corpus


class Wrapped(Exception):
    """As Ray wraps what was raised on a worker."""

    def __init__(self, cause):
        super().__init__(f"traceback\nof {cause}")
        self.cause = cause


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Wrapped(OSError(errno.ENOSPC, "No space left on device")), "worker 1: no space left on its disk"),
        (Wrapped(MemoryError()), "worker 1: not enough memory"),
        (type("ObjectStoreFullError", (Exception,), {})("full"), "object store is full, and so is the disk"),
        (Wrapped(KeyError("strange\nthing")), "worker 1 failed: KeyError"),
    ],
)
def test_errors_of_workers_are_one_line(error, said):
    found = worker_error(error, "worker 1")
    assert isinstance(found, TrainingError) and said in str(found) and "\n" not in str(found)


@pytest.mark.parametrize(
    "cause", [CorpusError("text.txt: no such file"), MissingExtraError("training on a GPU", "cuda")]
)
def test_our_own_errors_come_through(cause):
    assert worker_error(Wrapped(cause), "worker 1") is cause
    again = pickle.loads(pickle.dumps(cause))  # as Ray sends them
    assert type(again) is type(cause) and str(again) == str(cause)


@pytest.mark.parametrize(
    ("ray", "workers"), [(None, 2), ("local", 0), ("local", 2.5), ("", 1), (7, 1), ("local", True)]
)
def test_strange_workers_are_refused(ray, workers):
    with pytest.raises(ConfigError):
        check_workers(ray, workers)


def texts():
    rng = np.random.default_rng(0)
    return [" ".join(f"w{i}" for i in rng.zipf(1.5, 40).clip(max=200)) for _ in range(150)]


@pytest.mark.parametrize("settings", [{}, {"recipe": "paper"}, {"documents": False}, {"objective": "joint"}])
@pytest.mark.parametrize("workers", [1, 3])
def test_any_objective_trains_on_workers(tmp_path, workers, settings):
    options = {"epochs": 2, "vector_size": 8, "deterministic": True, "threads": 1, "min_count": 1}
    recipe = settings.get("recipe", "default")
    config = TrainConfig.recipe(recipe, **options | {k: v for k, v in settings.items() if k != "recipe"})
    with encode(texts(), tmp_path / "c", min_count=1) as corpus, inline_runtime(workers, workdir=tmp_path) as machines:
        model = train_corpus(corpus, config, runtime=machines)
        corpus.spread = {}
        plain = train_corpus(corpus, config)
    assert model.provenance["workers"] == workers
    if workers == 1:
        np.testing.assert_array_equal(model.words.vectors, plain.words.vectors)
    assert np.isfinite(model.words.vectors).all() and (model.docs is None) == (plain.docs is None)


@pytest.mark.parametrize(("workers", "interval", "snapshots"), [(3, None, False), (2, 3000, False), (3, None, True)])
def test_a_worker_that_is_replaced_goes_on_with_the_same_bits(tmp_path, monkeypatch, workers, interval, snapshots):
    """The same as with a killed process, in this one: a new worker is brought up in the middle of a run.

    It starts from the beginning, or from a snapshot after every exchange.
    """
    if snapshots:
        monkeypatch.setattr(backend, "MOST_SECONDS", 0.0)
        monkeypatch.setattr(backend, "TIMES_THE_COST", 0.0)
    config = TrainConfig(epochs=3, vector_size=8, deterministic=True, threads=1, min_count=1)
    found = []
    for dies in (False, True):
        with (
            encode(texts() * 2, tmp_path / f"c{dies}", min_count=1) as corpus,
            inline_runtime(workers, interval) as machines,
        ):
            pool, asked = machines.pool, machines.pool.ask

            def die(progress, pool=pool, dies=dies):
                if dies and progress.phase == "finishing":
                    pool.replace(1)

            def ask(ask, numbers=None, times=10.0, again=None, pool=pool, asked=asked, dies=dies):
                answers = asked(ask, numbers, times, again)
                if dies and times == 1 and hasattr(answers[0], "word_bias"):  # in the middle of every exchange
                    pool.replace(0)
                return answers

            pool.ask = ask

            found.append(train_corpus(corpus, config, runtime=machines, progress=die))
    for table in ("words", "docs"):
        first, second = (getattr(model, table).vectors for model in found)
        np.testing.assert_array_equal(first, second)


class StandIn:
    """What `WorkerPool.ask` uses of Ray: references are answers, and worker 1 dies once."""

    exceptions = SimpleNamespace(RayTaskError=KeyError, UnserializableException=KeyError, RayError=OSError)

    def wait(self, references, num_returns, timeout):
        return references, []

    def get(self, reference, timeout=None):
        if isinstance(reference, Exception):
            raise reference
        return reference


def test_a_worker_that_answered_and_is_replaced_meanwhile_is_asked_again():
    pool = object.__new__(WorkerPool)
    pool.ray, pool.workers, pool.replacing, pool.log = StandIn(), 2, threading.RLock(), []
    pool._actors, pool._deaths, pool._timeout, pool._slowest = ["a0", "b0"], [0, 0], 600.0, 0.0
    did = []

    def step(number):
        did.append(pool._actors[number])
        if pool._actors == ["a0", "b1"]:
            pool._actors[0] = "a1"  # another thread has found worker 0 dead
        return OSError("died") if did[-1] == "b0" else number

    def replace(number, error, actor):
        pool._actors[number] = "b1"

    pool.replace = replace
    assert pool.ask(step) == [0, 1] and did == ["a0", "b0", "b1", "a1"]


def test_workers_start_from_given_words_as_one_machine_does(tmp_path):
    config = TrainConfig(epochs=1, vector_size=8, deterministic=True, threads=1, min_count=1)
    with encode(texts(), tmp_path / "c", min_count=1) as corpus, inline_runtime(1) as machines:
        known = KeyedVectors(corpus.vocabulary.words[5:50], np.eye(8, dtype=np.float32)[np.arange(45) % 8])
        model = train_corpus(corpus, config, runtime=machines, initial=known)
        corpus.spread = {}
        plain = train_corpus(corpus, config, initial=known)
    np.testing.assert_array_equal(model.words.vectors, plain.words.vectors)


def test_a_run_goes_on_with_as_many_workers(tmp_path):
    config = TrainConfig(epochs=2, vector_size=8, deterministic=True, threads=1, min_count=1)
    how = {"checkpoint": tmp_path / "run", "checkpoint_every": "1e"}
    with encode(texts(), tmp_path / "c", min_count=1) as corpus:
        with inline_runtime(2) as machines:
            first = train_corpus(corpus, config, runtime=machines, **how)
        with inline_runtime(2) as machines:
            again = train_corpus(corpus, config, runtime=machines, resume=True, **how)
        np.testing.assert_array_equal(first.docs.vectors, again.docs.vectors)
        with inline_runtime(3) as machines, pytest.raises(ConfigError, match=r"workers=2 .* then, workers=3"):
            train_corpus(corpus, config, runtime=machines, resume=True, **how)
        corpus.spread = {}
        with pytest.raises(ConfigError, match=r"workers=2 .* then, one machine now"):
            train_corpus(corpus, config, resume=True, **how)


def test_settings_of_a_cluster_are_checked_first():
    with pytest.raises(ConfigError, match="bandwidth must be"):
        spherevec.train(texts(), ray="local", workers=2, cluster={"bandwidth": -1})


def test_a_cluster_that_is_not_there_is_one_line():
    pytest.importorskip("ray")
    with (
        pytest.raises(ConfigError, match=r"no Ray cluster at '127\.0\.0\.1:1'.*ray start --head"),
        connected("127.0.0.1:1", 1),
    ):
        pass


def test_the_command_line_wants_ray_for_workers(tmp_path):
    (tmp_path / "text.txt").write_text("a b c\n")
    arguments = ["train", str(tmp_path / "text.txt"), "--out", str(tmp_path / "model"), "--workers", "2"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2 and "--workers needs --ray" in done.output
