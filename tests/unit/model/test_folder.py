"""The model folder: what goes in comes out, and nothing but a complete model is ever there."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import longest_file, small_disk
from spherevec.config import TrainConfig
from spherevec.corpus.count.vocabulary import RareCounts
from spherevec.errors import FormatError, SpherevecError
from spherevec.model import KeyedVectors, Model
from spherevec.model import folder as native
from spherevec.model.parts import folder_files
from spherevec.storage import checksums, files

ODD = ["", " ", "a b", "\n", '"', "\\", "\u00a0", "👩‍🚀", "\x00", "\u2028", "\udcff", "[UNK]", "é", "e\u0301", ","]

NOT_THERE = {"terms.safetensors", "fit.safetensors", "topics.safetensors"}


def unit(n, dim=6, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def a_model(n=20, seed=0, **extra):
    names = [f"w{i}" for i in range(n)]
    return Model(
        KeyedVectors(names, unit(n, seed=seed), np.arange(n)),
        KeyedVectors(names, unit(n, seed=seed + 1)),
        KeyedVectors(None, unit(7, seed=seed + 2)),
        inputs=KeyedVectors(names, unit(n, seed=seed + 3)),
        config=TrainConfig(objective="vmf", epochs=3).as_dict(),
        record=[{"epoch": 1, "loss": 0.5}],
        rare_counts=RareCounts.of({"heron": 2, "egret": 1}),
        **extra,
    )


def same(a, b):
    for name in ("words", "contexts", "inputs", "docs"):
        ours, theirs = getattr(a, name), getattr(b, name)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.names == theirs.names
            np.testing.assert_array_equal(ours.vectors, theirs.vectors)
            assert (ours.counts is None) == (theirs.counts is None)
            if ours.counts is not None:
                np.testing.assert_array_equal(ours.counts, theirs.counts)
    assert (a.rare_counts and a.rare_counts.as_dict()) == (b.rare_counts and b.rare_counts.as_dict())
    assert (a.config, a.record, a.tokenizer, a.parameters) == (b.config, b.record, b.tokenizer, b.parameters)
    assert a.provenance == b.provenance
    return True


def leftovers(folder):
    return [entry.name for entry in folder.iterdir() if entry.name.startswith(".")]


names = st.lists(st.sampled_from(ODD) | st.text(max_size=8), min_size=1, max_size=12, unique=True)


@given(
    words=names,
    docs=st.none() | names,
    contexts=st.booleans(),
    inputs=st.booleans(),
    mmap=st.booleans(),
    data=st.data(),
)
@settings(max_examples=40)
def test_what_goes_in_comes_out(words, docs, contexts, inputs, mmap, data):
    model = Model(
        KeyedVectors(words, unit(len(words)), data.draw(st.none() | st.just(range(len(words))))),
        KeyedVectors(words, unit(len(words), seed=1)) if contexts else None,
        None if docs is None else KeyedVectors(docs, unit(len(docs), seed=2)),
        inputs=KeyedVectors(words, unit(len(words), seed=3)) if inputs else None,
        tokenizer="whitespace",
        parameters={"concentration": 8.25},
        provenance={"source": data.draw(st.text())},
    )
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        assert same(Model.load(Path(folder) / "model", mmap=mmap, verify=True), model)


def test_a_model_without_a_single_document(tmp_path):
    model = Model(KeyedVectors(["a"], unit(1)), docs=KeyedVectors(None, np.empty((0, 6), np.float32)))
    model.save(tmp_path / "m")
    assert len(Model.load(tmp_path / "m", verify=True).docs) == 0


def test_numbers_that_json_lacks_become_null(tmp_path):
    model = a_model()
    model.record = [{"loss": float("nan"), "rate": np.float32(2.5), "steps": np.int64(3), "by": (1, np.arange(2))}]
    model.save(tmp_path / "m")
    assert Model.load(tmp_path / "m").record == [{"loss": None, "rate": 2.5, "steps": 3, "by": [1, [0, 1]]}]
    json.loads((tmp_path / "m" / "model.json").read_text(), parse_constant=pytest.fail)


def test_the_safetensors_library_reads_our_files(tmp_path):
    from safetensors.numpy import load_file

    model = a_model()
    model.save(tmp_path / "m")
    tensors = load_file(tmp_path / "m" / "words.safetensors")
    np.testing.assert_array_equal(tensors["vectors"], model.words.vectors)
    np.testing.assert_array_equal(tensors["counts"], model.words.counts)


@pytest.mark.process
def test_loading_maps_and_does_not_copy(tmp_path):
    n = 200_000
    rows = np.tile(unit(1000, 100), (n // 1000, 1))
    Model(KeyedVectors(["a"], rows[:1]), docs=KeyedVectors(None, rows)).save(tmp_path / "m")  # 80 MB
    script = """
        import resource, sys
        from spherevec.model import Model
        def resident():
            return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1]) / 1024
        before = resident()
        model = Model.load(sys.argv[1])
        mapped = resident() - before
        first = model.docs[123_456].sum()
        copy = Model.load(sys.argv[1], mmap=False)
        copied = resident() - before
        assert not model.docs.vectors.flags.writeable and not copy.docs.vectors.flags.writeable
        assert mapped < 10, mapped
        assert copied > 70, copied
    """
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc to see resident memory")
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), tmp_path / "m"], check=True)


class TestExisting:
    def test_is_refused_and_left_alone(self, tmp_path):
        a_model().save(tmp_path / "m")
        with pytest.raises(SpherevecError, match="already exists"):
            a_model(seed=5).save(tmp_path / "m")
        assert same(Model.load(tmp_path / "m"), Model.load(tmp_path / "m", verify=True))
        np.testing.assert_array_equal(Model.load(tmp_path / "m").words.vectors, a_model().words.vectors)
        assert leftovers(tmp_path) == []

    def test_is_replaced_on_request_while_it_is_mapped(self, tmp_path):
        a_model().save(tmp_path / "m")
        old = Model.load(tmp_path / "m")
        new = a_model(seed=5)
        new.save(tmp_path / "m", overwrite=True)
        assert same(Model.load(tmp_path / "m", verify=True), new)
        np.testing.assert_array_equal(old.words.vectors, a_model().words.vectors)
        assert leftovers(tmp_path) == []

    def test_is_replaced_on_systems_that_cannot_swap(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files.sys, "platform", "other")
        a_model().save(tmp_path / "m")
        new = a_model(seed=5)
        new.save(tmp_path / "m", overwrite=True)
        assert same(Model.load(tmp_path / "m", verify=True), new)
        assert leftovers(tmp_path) == []

    def test_with_foreign_files_is_never_replaced(self, tmp_path):
        a_model().save(tmp_path / "m")
        (tmp_path / "m" / "thesis.tex").write_text("years of work")
        with pytest.raises(SpherevecError, match=r"thesis\.tex"):
            a_model().save(tmp_path / "m", overwrite=True)
        assert (tmp_path / "m" / "thesis.tex").read_text() == "years of work"

    def test_file_in_the_way_is_left_alone(self, tmp_path):
        (tmp_path / "m").write_text("mine")
        with pytest.raises(SpherevecError, match="is a file"):
            a_model().save(tmp_path / "m", overwrite=True)
        assert (tmp_path / "m").read_text() == "mine"

    def test_empty_folder_is_used(self, tmp_path):
        (tmp_path / "m").mkdir()
        a_model().save(tmp_path / "m")
        Model.load(tmp_path / "m", verify=True)

    def test_that_appears_or_goes_while_we_write_is_respected(self, tmp_path):
        with pytest.raises(SpherevecError, match="already exists"), files.atomic_folder(tmp_path / "m") as new:
            (new / "model.json").write_text("ours")
            a_model().save(tmp_path / "m")
        Model.load(tmp_path / "m", verify=True)
        with files.atomic_folder(tmp_path / "m", overwrite=True, ours=folder_files()) as new:
            (new / "model.json").write_text("ours")
            shutil.rmtree(tmp_path / "m")
        assert (tmp_path / "m" / "model.json").read_text() == "ours"
        assert leftovers(tmp_path) == []

    def test_parent_that_goes_while_we_write_is_told(self, tmp_path):
        with (
            pytest.raises(SpherevecError, match="cannot write: No such file"),
            files.atomic_folder(tmp_path / "a" / "m") as new,
        ):
            (new / "model.json").write_text("ours")
            shutil.rmtree(tmp_path / "a")

    def test_link_is_followed(self, tmp_path):
        a_model().save(tmp_path / "real")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        a_model(seed=5).save(tmp_path / "link", overwrite=True)
        assert (tmp_path / "link").is_symlink()
        np.testing.assert_array_equal(Model.load(tmp_path / "real").words.vectors, a_model(seed=5).words.vectors)


NOT_IN_A_PLAIN_MODEL = {"documents.json", "targets.safetensors", "terms.safetensors", "fit.safetensors"}


class TestDamage:
    @pytest.fixture
    def folder(self, tmp_path):
        a_model().save(tmp_path / "m")
        return tmp_path / "m"

    def refused(self, folder, match=None, verify=False):
        with pytest.raises(FormatError, match=match) as caught:
            Model.load(folder, verify=verify)
        assert "\n" not in str(caught.value) and str(folder) in str(caught.value)

    @pytest.mark.parametrize(
        "name", ["words.safetensors", "contexts.safetensors", "docs.safetensors", "vocabulary.json"]
    )
    def test_truncation_and_corruption_are_told_apart(self, folder, name):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-5])
        self.refused(folder, f"{name}: truncated")
        (folder / name).write_bytes(content + b"x")
        self.refused(folder, f"{name}: of the wrong size")
        (folder / name).write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
        self.refused(folder, f"{name}: corrupt", verify=False)
        (folder / name).unlink()
        self.refused(folder, f"{name}: missing")

    def edit(self, folder, **changes):
        manifest = json.loads((folder / "model.json").read_text())
        manifest.update(changes)
        (folder / "model.json").write_text(json.dumps(checksums.with_checksum(manifest)))

    def test_an_unknown_version_is_refused(self, folder):
        self.edit(folder, format_version=99)
        self.refused(folder, "format version 99 is unknown")

    @pytest.mark.parametrize(
        "changes",
        [
            {"format": "pickle"},
            {"files": []},
            {"files": {}},
            {"files": {"words.safetensors": 3}},
            {"record": [3]},
            {"config": "x"},
            {"tokenizer": 5},
            {"provenance": None},
            {"parameters": []},
            {"parameters": {"document_bias": -1e30}},
        ],
    )
    def test_a_strange_description_is_refused(self, folder, changes):
        self.edit(folder, **changes)
        self.refused(folder)

    @pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"null", b"1" * 5000])
    def test_a_broken_description_is_refused(self, folder, content):
        (folder / "model.json").write_bytes(content)
        self.refused(folder, r"model\.json")

    def test_names_cannot_point_outside(self, folder):
        outside = folder.parent / "secret.safetensors"
        shutil.copy(folder / "words.safetensors", outside)
        manifest = json.loads((folder / "model.json").read_text())
        manifest["files"]["../secret.safetensors"] = manifest["files"]["words.safetensors"]
        self.edit(folder, files=manifest["files"])
        Model.load(folder)  # an entry that is no part of the format is not opened
        (folder / "words.safetensors").unlink()
        (folder / "words.safetensors").symlink_to(outside)
        self.refused(folder, "not a plain file")

    def replace(self, folder, name, content):
        """Put other bytes in the place of a file, with a description that agrees."""
        (folder / name).write_bytes(content)
        manifest = json.loads((folder / "model.json").read_text())
        manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        self.edit(folder, files=manifest["files"])

    @pytest.mark.parametrize(
        "header",
        [
            {"vectors": {"dtype": "F32", "shape": [10**9, 100], "data_offsets": [0, 4 * 10**11]}},
            {"vectors": {"dtype": "F32", "shape": [20, 6], "data_offsets": [0, 4]}},
            {"vectors": {"dtype": "F32", "shape": [-20, -6], "data_offsets": [0, 480]}},
            {"vectors": {"dtype": "F32", "shape": [20, 6], "data_offsets": [-480, 0]}},
            {"vectors": {"dtype": "F32", "shape": [20.0, 6], "data_offsets": [0, 480]}},
            {"vectors": {"dtype": "F32", "shape": [2**63, 0], "data_offsets": [0, 0]}},
            {"vectors": {"dtype": "F32", "shape": [0, 2**39], "data_offsets": [0, 0]}},
            {"vectors": {"dtype": "F32", "shape": [120], "data_offsets": [0, 480]}},
            {"vectors": {"dtype": "F32", "shape": [10, 6], "data_offsets": [0, 240]}},
            {"vectors": {"dtype": "F32", "shape": [20, 6], "data_offsets": [2, 482]}},
            {"vectors": {"dtype": "O", "shape": [20, 6], "data_offsets": [0, 480]}},
            {"vectors": {"dtype": ["F32"], "shape": [20, 6], "data_offsets": [0, 480]}},
            {"vectors": {"dtype": "I64", "shape": [10, 6], "data_offsets": [0, 480]}},
            {"vectors": {"dtype": "F32", "shape": 5, "data_offsets": [0, 480]}},
            {"vectors": {"dtype": "F32"}},
            {"vectors": 7},
            {},
            [],
            7,
        ],
    )
    def test_a_lying_header_is_refused_before_allocation(self, folder, header):
        encoded = json.dumps(header).encode()
        self.replace(folder, "words.safetensors", len(encoded).to_bytes(8, "little") + encoded + bytes(490))
        self.refused(folder, r"words\.safetensors")

    @pytest.mark.parametrize("content", [b"", b"1234567", b"\xff" * 8 + b"{}", (2**40).to_bytes(8, "little") + b"{}"])
    def test_what_is_no_safetensors_file_is_refused(self, folder, content):
        self.replace(folder, "docs.safetensors", content)
        self.refused(folder, r"docs\.safetensors")

    @pytest.mark.parametrize("content", [b'["a"]', b"{}", b"[1]", b'["a"', b"\xff"])
    def test_a_vocabulary_that_does_not_fit_is_refused(self, folder, content):
        self.replace(folder, "vocabulary.json", content)
        self.refused(folder)

    @pytest.mark.parametrize("value", [np.nan, np.inf, 0.5])
    def test_rows_off_the_sphere_are_refused_on_request(self, tmp_path, value):
        model = a_model()
        model.words.vectors.flags.writeable = True
        model.words.vectors[4] = value
        model.save(tmp_path / "m")
        self.refused(tmp_path / "m", "words: row 4", verify=True)

    def test_a_repeated_word_is_refused_on_request(self, tmp_path):
        Model(KeyedVectors(["a", "a"], unit(2))).save(tmp_path / "m")
        self.refused(tmp_path / "m", "'a' occurs more than once", verify=True)

    def test_what_is_not_there_is_told(self, tmp_path):
        self.refused(tmp_path / "absent", "no such model folder")
        self.refused(tmp_path, "not a model folder")
        a_model().save(tmp_path / ".m.previous")
        self.refused(tmp_path / "m", r"rename .*\.m\.previous")

    @given(
        name=st.sampled_from(sorted(name for name in folder_files() - NOT_THERE if not name.startswith("docs-"))),
        data=st.data(),
    )
    @settings(max_examples=80)
    def test_random_damage_raises_nothing_but_our_errors(self, name, data):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m"
            a_model().save(path)
            content = bytearray((path / name).read_bytes())
            for _ in range(data.draw(st.integers(1, 4))):
                content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
            (path / name).write_bytes(content)
            try:
                Model.load(path)
            except SpherevecError as error:
                assert "\n" not in str(error)


def test_nothing_is_unpickled():
    sources = Path(native.__file__).parent.parent.rglob("*.py")
    for source in sources:
        text = source.read_text()
        assert "import pickle" not in text and "allow_pickle=True" not in text, source


SAVER = """
    import sys
    import numpy as np
    from spherevec.model import KeyedVectors, Model
    n = 20_000
    rows = np.zeros((n, 20), np.float32)
    generation = int(sys.argv[2])
    print("ready", flush=True)
    while True:
        rows[:] = 0
        rows[:, generation % 20] = 1  # every row tells which generation it belongs to
        names = [f"{generation} {i}" for i in range(n)]
        table = KeyedVectors(names, rows, np.full(n, generation))
        model = Model(table, docs=KeyedVectors(None, rows), provenance={"generation": generation})
        model.save(sys.argv[1], overwrite=True)
        print("saved", flush=True)
        generation += 1
"""


@pytest.mark.process
def test_a_killed_process_leaves_a_complete_model_or_none(tmp_path):
    """SIGKILL at random moments: what is there loads, checks, and is of one piece."""
    target, latest, seen = tmp_path / "m", -1, set()
    delays = random.Random(4)
    seconds = 0.0  # that one save takes on this machine
    for attempt in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(SAVER), target, str(latest + 1)], stdout=subprocess.PIPE
        ) as process:
            process.stdout.readline()
            if attempt % 4 == 0:
                started = time.perf_counter()
                process.stdout.readline()
                seconds = time.perf_counter() - started
            time.sleep(delays.uniform(0, 2 * seconds))
            process.send_signal(signal.SIGKILL)
        if not target.exists():
            assert latest == -1
            continue
        model = Model.load(target, verify=True)
        generation = model.provenance["generation"]
        assert generation >= latest
        assert model.words.names[-1] == f"{generation} 19999"
        assert model.words.vectors[:, generation % 20].min() == model.docs.vectors[:, generation % 20].min() == 1
        assert model.counts.min() == model.counts.max() == generation
        latest = generation
        seen.update(leftovers(tmp_path))
    assert latest >= 0 and seen, "no process was killed while it was saving"
    a_model().save(target, overwrite=True)
    assert leftovers(tmp_path) == []  # the next save cleans up after the killed ones


CRASHER = """
    import os, signal, sys
    from pathlib import Path
    import numpy as np
    from spherevec.storage import files
    from spherevec.model import KeyedVectors, Model

    target, overwrite, files.sys.platform = Path(sys.argv[1]), sys.argv[2] == "overwrite", sys.argv[3]
    STEPS = {"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "shutil.rmtree", "tempfile.mkdtemp"}

    def a_model(generation):
        rows = np.zeros((5, 50), np.float32)
        rows[:, generation % 50] = 1
        return Model(KeyedVectors([f"{generation} {i}" for i in range(5)], rows), provenance={"generation": generation})

    def die_at(step):
        done = 0
        def hook(event, args):
            nonlocal done
            if event in STEPS or event.startswith("ctypes."):
                done += 1
                if done > step:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)

    if overwrite:
        a_model(0).save(target)
    before, crashes = 0, 0
    for step in range(1000):
        child = os.fork()
        if child == 0:
            new = a_model(step + 1)
            die_at(step)
            new.save(target, overwrite=overwrite)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        crashes += status != 0
        waiting = files.previous_version(target)
        if target.exists() or overwrite:
            model = Model.load(target if target.exists() else waiting, verify=True)
            generation = model.provenance["generation"]
            assert generation in (before, step + 1), (generation, before, step)
            assert model.words.names == a_model(generation).words.names
            assert (model.words.vectors[:, generation % 50] == 1).all()
            before = generation
            if overwrite and not target.exists():
                waiting.rename(target)
        if status == 0:
            break
        if target.exists() and not overwrite:
            break  # it was complete before the last step
    assert target.exists() and crashes > 5, crashes
"""


@pytest.mark.process
@pytest.mark.parametrize("system", ["linux", "other"])
@pytest.mark.parametrize("existing", ["overwrite", "fresh"])
def test_a_crash_at_any_step_of_a_save_loses_nothing(tmp_path, system, existing):
    """One crash before every step that Python reports to its auditors: opening, renaming, removing."""
    script = [sys.executable, "-c", textwrap.dedent(CRASHER), tmp_path / "m", existing, system]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_saves_at_the_same_time_do_not_disturb_each_other(tmp_path):
    failures = []

    def save(seed):
        try:
            for _ in range(10):
                a_model(seed=seed).save(tmp_path / "m", overwrite=True)
        except SpherevecError as error:
            failures.append(error)

    a_model().save(tmp_path / "m")
    threads = [threading.Thread(target=save, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    Model.load(tmp_path / "m", verify=True)
    assert leftovers(tmp_path) == []


def test_a_disk_that_fills_up_loses_nothing(tmp_path):
    """The size limit of files stands in for the disk's end, at every length up to the whole."""
    old, new = a_model(), a_model(seed=5)
    old.save(tmp_path / "m")
    longest = max(entry.stat().st_size for entry in (tmp_path / "m").iterdir())
    for limit in [0, 1, *range(50, longest, longest // 12)]:
        for target in ("m", "fresh"):
            with longest_file(limit), pytest.raises(SpherevecError, match=f"{target}: cannot write: ") as caught:
                new.save(tmp_path / target, overwrite=True)
            assert "\n" not in str(caught.value)
    assert same(Model.load(tmp_path / "m", verify=True), old)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["m"]


@pytest.mark.process
def test_a_full_disk_loses_nothing(tmp_path):
    """A real one, where the system lets us mount a tiny one."""
    with small_disk(tmp_path / "disk", "400k") as disk:
        old = a_model(300)
        old.save(disk / "m")
        with pytest.raises(SpherevecError, match="cannot write: No space left"):
            a_model(6000).save(disk / "m", overwrite=True)
        assert same(Model.load(disk / "m", mmap=False, verify=True), old)
        assert [entry.name for entry in disk.iterdir()] == ["m"]


def test_places_that_cannot_be_written_are_told(tmp_path):
    places = [tmp_path / "file" / "m", tmp_path / ("x" * 300), tmp_path / "nul\0l", "/proc/nowhere/m"]
    (tmp_path / "file").write_text("")
    for place in places:
        with pytest.raises(SpherevecError) as caught:
            a_model().save(place)
        assert "\n" not in str(caught.value)


def test_a_read_only_folder_is_told(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(SpherevecError, match="cannot write: Permission denied"):
        a_model().save(folder / "m")
