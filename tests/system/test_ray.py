"""Training on workers of a Ray cluster: real processes, real nodes, which are really killed."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import spherevec
from experiments.distributed.inline import inline_runtime
from helpers import small_disk
from spherevec.cli import cli
from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.errors import ConfigError, CorpusError, SpherevecError
from spherevec.training import train_corpus

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'spherevec[ray]'")

PLACES = [str(Path(__file__).parents[up]) for up in range(3)]  # where a script finds this file and what it imports
SETTINGS = {"vector_size": 20, "epochs": 6, "min_count": 2, "seed": 3, "progress": False, "deterministic": True}
PATIENCE = 900  # seconds, until nodes are there
CLUSTER = {"exchange_tokens": 4500}  # twice an epoch


def texts(documents=300):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(400)]
    topics = [rng.permutation(400)[:80] for _ in range(5)]
    return [" ".join(words[i] for i in rng.choice(topics[d % 5], 60)) for d in range(documents)]


@pytest.fixture(scope="module")
def cluster():
    """A head and two nodes on this machine."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_health_check_initial_delay_ms", "0")
    os.environ.setdefault("RAY_health_check_period_ms", "500")
    os.environ.setdefault("RAY_health_check_failure_threshold", "3")
    made = Cluster(initialize_head=True, head_node_args={"wait": False, "num_cpus": 2, "include_dashboard": False})
    made.wait_for_nodes(PATIENCE)  # the head comes first: the driver connects to it
    made.add_node(wait=False, num_cpus=2)
    made.wait_for_nodes(PATIENCE)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def without_faults(cluster):
    """What two workers learn when nothing happens."""
    return spherevec.train(texts(), ray="auto", workers=2, cluster=CLUSTER, **SETTINGS)


def same(one, other):
    for table in ("words", "contexts", "docs"):
        np.testing.assert_array_equal(getattr(one, table).vectors, getattr(other, table).vectors)


class Killer:
    """A progress callback that kills something once, some way into the training."""

    def __init__(self, kill, at=0.4):
        self._kill, self._at, self.killed = kill, at, False

    def __call__(self, progress):
        if progress.phase == "training" and (progress.done or 0) > self._at and not self.killed:
            self.killed = True
            self._kill()


def processes():
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    return [
        (int(pid), int(parent), command) for pid, parent, command in (row.split(None, 2) for row in listed.splitlines())
    ]


def parents_of_processes():
    return {pid: parent for pid, parent, _ in processes()}


def workers_of_this_run():
    """Processes below this one that Ray calls workers, by number."""
    parents = parents_of_processes()

    def ours(pid):
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid == os.getpid()

    return sorted(pid for pid, _, command in processes() if command.startswith("ray::Worker") and ours(pid))


def test_one_worker_learns_what_one_machine_does(cluster):
    model = spherevec.train(texts(), ray="auto", **SETTINGS)
    plain = spherevec.train(texts(), **SETTINGS)
    same(model, plain)
    assert model.record[-1]["loss"] == plain.record[-1]["loss"]
    assert model.parameters == plain.parameters
    np.testing.assert_array_equal(model.word_weights, plain.word_weights)


def test_workers_of_one_process_learn_what_those_of_ray_do(without_faults, tmp_path):
    """Studies and quick tests rely on it."""
    config = TrainConfig(**{name: value for name, value in SETTINGS.items() if name != "progress"})
    with encode(texts(), tmp_path / "corpus", min_count=2) as corpus, inline_runtime(2, **CLUSTER) as machines:
        same(train_corpus(corpus, config, runtime=machines), without_faults)


def test_workers_learn_together(without_faults):
    """Documents of a topic are together, whoever trained them."""
    found = without_faults.docs.vectors
    near = found @ found.T
    alike = np.equal.outer(np.arange(300) % 5, np.arange(300) % 5)
    assert near[alike].mean() > near[~alike].mean() + 0.3


def test_a_killed_worker_is_replaced_and_the_bits_are_the_same(cluster, without_faults):
    killer = Killer(lambda: os.kill(workers_of_this_run()[0], signal.SIGKILL))
    with pytest.warns(UserWarning, match=r"worker \d died .*another goes on"):
        model = spherevec.train(texts(), ray="auto", workers=2, cluster=CLUSTER, **SETTINGS | {"progress": killer})
    assert killer.killed
    same(model, without_faults)


def test_a_killed_node_is_replaced_and_the_bits_are_the_same(cluster, without_faults):
    """Other threads, too: they change nothing."""
    cluster.add_node(wait=False, num_cpus=2)
    cluster.wait_for_nodes(PATIENCE)

    def kill():
        hosts = {parents_of_processes()[pid] for pid in workers_of_this_run()}
        nodes = [node for node in cluster.worker_nodes if node.all_processes["raylet"][0].process.pid in hosts]
        cluster.remove_node(nodes[0], allow_graceful=False)

    killer = Killer(kill)
    with pytest.warns(UserWarning, match=r"worker \d died"):
        how = SETTINGS | {"progress": killer, "threads": 3}
        model = spherevec.train(texts(), ray="auto", workers=2, cluster=CLUSTER, **how)
    assert killer.killed
    same(model, without_faults)


def test_a_straggler_is_replaced(cluster, without_faults):
    stopped = []

    def stop():
        stopped.append(workers_of_this_run()[0])
        os.kill(stopped[0], signal.SIGSTOP)

    with pytest.warns(UserWarning, match="has not answered"):
        model = spherevec.train(
            texts(),
            ray="auto",
            workers=2,
            cluster=CLUSTER | {"worker_timeout": 8.0},  # ten times as long to begin
            **SETTINGS | {"progress": Killer(stop)},
        )
    same(model, without_faults)


def test_a_run_is_resumed_after_its_driver_died(cluster, without_faults, tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(
        f"""
import os, sys
sys.path[:0] = {PLACES!r}
from test_ray import *

def die(progress):
    if progress.phase == "training" and (progress.done or 0) > 0.6:
        os.kill(os.getpid(), signal.SIGKILL)

spherevec.train(texts(), ray={cluster.address!r}, workers=2, cluster=CLUSTER, checkpoint={str(tmp_path / "run")!r},
                checkpoint_every="2e", **SETTINGS | {{"progress": die}})
"""
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=900)
    assert done.returncode == -signal.SIGKILL, done.stderr
    how = {"checkpoint": tmp_path / "run", "resume": True, "cluster": CLUSTER}
    model = spherevec.train(texts(), ray="auto", workers=2, **how, **SETTINGS)
    same(model, without_faults)


def test_too_many_workers_are_refused(cluster):
    with pytest.raises(ConfigError, match=r"workers=100, but the Ray cluster has \d+ CPUs"):
        spherevec.train(texts(), ray="auto", workers=100, **SETTINGS)
    with pytest.raises(ConfigError, match="2 documents; lower workers"):
        spherevec.train(["a b c d", "a b c d"], ray="auto", workers=3, **SETTINGS)


def test_gpus_are_asked_for_and_the_option_reaches_the_backend_of_a_worker(cluster):
    """A node that only says it has a GPU: the worker gets it, and its backend finds none there."""
    how = {**SETTINGS, "deterministic": False, "device": "cuda"}
    with pytest.raises(ConfigError, match="workers=1, but the Ray cluster has 0 GPUs"):
        spherevec.train(texts(), ray="auto", **how)
    node = cluster.add_node(wait=False, num_cpus=1, num_gpus=1)
    cluster.wait_for_nodes(PATIENCE)
    with pytest.raises(SpherevecError, match=r"CUDA|CuPy|cuda") as told:
        spherevec.train(texts(), ray="auto", **how)
    cluster.remove_node(node)
    assert "\n" not in str(told.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A text of several megabytes, so that workers read it."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "text.txt").write_text("\n".join(texts(300) * 8) + "\n")
    return folder


def test_the_command_line_reads_trains_and_infers_on_workers(cluster, files, tmp_path):
    """By ranges of bytes, through fsspec, whose file:// every process can open; memory:// lives in one process."""
    model, vectors, ids = tmp_path / "model", tmp_path / "vectors.npy", tmp_path / "ids.txt"
    address = ("--ray", cluster.address, "--workers", 2)
    small = ("--vector-size", 20, "--epochs", 2, "--seed", 3, "--quiet")
    asked = ("train", (files / "text.txt").as_uri(), "--out", model, *address, *small)
    command = [sys.executable, "-m", "spherevec", *map(str, asked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    loaded = spherevec.load(model)
    assert len(loaded.docs) == 2400
    assert loaded.provenance["workers"] == 2 and loaded.search("w1 w2")
    text = files / "text.txt"
    asked = ("infer", model, text, "--out", vectors, "--ids", ids, *address)
    done = CliRunner().invoke(cli, [str(one) for one in asked])
    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(np.load(vectors), loaded.infer(text.read_text().splitlines()))
    assert ids.read_text().split() == [str(row) for row in range(2400)]
    # Ids with line feeds are written as without Ray.
    odd, plain = tmp_path / "odd.jsonl", tmp_path / "plain.txt"
    odd.write_text("".join(json.dumps({"id": f"a\n{n}", "text": "w1 w2"}) + "\n" for n in range(3)))
    fields = ("--text-field", "text", "--id-field", "id", "--out", vectors, "--force")
    for asked in (("--ids", ids, *address), ("--ids", plain)):
        done = CliRunner().invoke(cli, [str(one) for one in ("infer", model, odd, *fields, *asked)])
        assert done.exit_code == 0, done.output
    assert ids.read_text() == plain.read_text() == "a\\n0\na\\n1\na\\n2\n"


def test_what_goes_wrong_on_a_worker_is_one_line(cluster, files, tmp_path):
    path = tmp_path / "bad.txt"
    text = (files / "text.txt").read_bytes()[:1_000_000] + "\nfüne\n".encode()
    path.write_bytes(text + b"\xff\n" + b"a b c\n" * 1000)
    with pytest.raises(CorpusError, match=r"bad\.txt \(from byte .*not valid utf-8") as told:
        spherevec.train(path, ray="auto", workers=2, **SETTINGS)
    assert "\n" not in str(told.value)
    with pytest.raises(CorpusError, match=r"s3x://bucket/text\.txt"):
        spherevec.train("s3x://bucket/text.txt", ray="auto")


def test_a_file_that_vanishes_while_workers_read_is_one_line(cluster, files, tmp_path):
    paths = [tmp_path / f"{number}.txt" for number in range(4)]
    for path in paths:
        shutil.copy(files / "text.txt", path)

    def vanish(progress):
        if progress.phase == "reading" and progress.done:
            paths[-1].unlink(missing_ok=True)

    with pytest.raises(CorpusError, match=r"3\.txt: no such file") as told:
        spherevec.train(paths, ray="auto", workers=2, **SETTINGS | {"progress": vanish})
    assert "\n" not in str(told.value)


def test_a_full_disk_is_one_line(cluster, tmp_path):
    """Of a worker, which keeps its text there."""
    with (
        encode(texts(), tmp_path / "corpus", min_count=2) as corpus,
        small_disk(tmp_path / "disk", 40_000) as disk,
        pytest.raises(SpherevecError, match=r"worker \d: no space left on its disk") as told,
    ):
        spherevec.train(corpus, ray="local", workers=2, workdir=disk, **SETTINGS)
    assert "\n" not in str(told.value)


def test_a_full_object_store_is_one_line(tmp_path):
    """One of a megabyte, and a disk of a few pages for what it cannot hold."""
    with small_disk(tmp_path / "disk", 100_000) as disk:
        script = tmp_path / "driver.py"
        script.write_text(
            f"""
import sys
sys.path[:0] = {PLACES!r}
from test_ray import *
from ray._private import ray_constants

ray_constants.OBJECT_STORE_MINIMUM_MEMORY_BYTES = 1
store = {{"object_store_memory": 1_000_000, "object_spilling_directory": {str(disk)!r}}}
ray.init("local", num_cpus=2, include_dashboard=False, **store)
try:
    spherevec.train(texts(600), ray="local", workers=2, **SETTINGS | {{"vector_size": 1000}})
except SpherevecError as error:
    print("told:", error)
"""
        )
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=900)
    assert "told: " in done.stdout and "Ray's object store is full" in done.stdout, done.stderr


def test_a_local_cluster_is_out_of_reach_and_leaves_nothing_at_home(tmp_path):
    """Every listening socket of its processes is on the loopback; a stranger without the token is refused.

    Nor do its workers import what lies in the working directory.
    """
    home, work, temporary = tmp_path / "home", tmp_path / "work", tempfile.mkdtemp(prefix="t", dir="/tmp")
    home.mkdir()
    work.mkdir()
    script = tmp_path / "driver.py"
    script.write_text(
        f"""
import json, sys
sys.path[:0] = {PLACES!r}
from test_ray import *
from spherevec.distributed.cluster import connected

with connected("local", 1) as ray:
    @ray.remote
    class Other:
        def ready(self):
            return os.environ["RAY_AUTH_MODE"], [os.path.abspath(place) for place in sys.path]
    other = Other.remote()
    mode, path = ray.get(other.ready.remote())
    stranger = {{name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}}
    code = f"import ray; ray.init(address={{ray.get_runtime_context().gcs_address!r}}, log_to_driver=False)"
    tried = subprocess.run([sys.executable, "-c", code], env=stranger, capture_output=True, timeout=900)
    print(json.dumps({{"mode": mode, "path": path, "sockets": listening(), "stranger": tried.returncode}}))
"""
    )
    around = {**os.environ, "HOME": str(home), "TMPDIR": temporary}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=900, env=around, cwd=work)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["mode"] == "token" and found["stranger"] != 0
    assert found["path"] and str(work) not in found["path"]
    assert len(found["sockets"]) > 3 and set(found["sockets"]) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    left = [path for folder in (home, Path(temporary)) for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in left if "numba" not in str(path) and "spherevec" not in str(path)]
    shutil.rmtree(temporary)


def listening():
    """The addresses at which this process and those below it listen, by /proc."""
    children = {}
    for pid, parent, _ in processes():
        children.setdefault(parent, []).append(pid)
    ours, inodes = [os.getpid()], set()
    for pid in ours:
        ours += children.get(pid, [])
        with contextlib.suppress(OSError):
            links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
            inodes |= {link[8:-1] for link in links if link.startswith("socket:[")}
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:  # listening
                words = bytes.fromhex(fields[1].rpartition(":")[0])
                address = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
                found.append(socket.inet_ntop(family, address))
    return found
