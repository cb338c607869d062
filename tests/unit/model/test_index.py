"""An index that grows and shrinks, against one that is built anew."""

from __future__ import annotations

import struct
import subprocess
import sys

import numpy as np
import pytest

from spherevec import KeyedVectors, Model
from spherevec.errors import ConfigError, FormatError, MissingExtraError
from spherevec.model.folder import INDEX
from spherevec.model.index import AnnIndex, GrowingIndex, StoredIndex
from spherevec.model.index_file import check_index_file
from spherevec.search.neighbors import nearest_neighbors

pytest.importorskip("usearch")


def unit(n, dim, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def recall(index, vectors, queries, k=10):
    exact, _ = nearest_neighbors(queries, vectors, k)
    found, _ = index.search(queries, k, threads=1)
    return np.mean([len({*a} & {*b}) / k for a, b in zip(exact.tolist(), found.tolist(), strict=True)])


def test_ten_changes_leave_an_index_as_good_as_new():
    rng = np.random.default_rng(1)
    vectors = unit(1500, 24)
    index = GrowingIndex.build(vectors, threads=1)
    for step in range(10):
        # A tenth is removed, a tenth is replaced, a fifth is added.
        kept = np.sort(rng.permutation(len(vectors))[: len(vectors) * 9 // 10])
        origin = kept.copy()
        origin[rng.permutation(len(kept))[: len(kept) // 10]] = -1
        origin = np.concatenate([origin, np.full(len(kept) // 5, -1)])
        fresh = unit(np.count_nonzero(origin < 0), 24, seed=step + 2)
        new = np.empty((len(origin), 24), np.float32)
        new[origin >= 0], new[origin < 0] = vectors[origin[origin >= 0]], fresh
        index, vectors = index.moved(new, origin, threads=1), new
        assert len(index) == len(vectors) and index.fits(vectors)
    queries = unit(100, 24, seed=99)
    assert recall(index, vectors, queries) > recall(GrowingIndex.build(vectors, threads=1), vectors, queries) - 0.03


def test_cosines_belong_to_the_rows():
    vectors = unit(300, 16)
    index = GrowingIndex.build(vectors, threads=1).moved(vectors[100:], np.arange(100, 300), threads=1)
    rows, cosines = index.search(vectors[150:151], 5, threads=1)
    assert rows[0, 0] == 50
    assert np.allclose(cosines[0], vectors[100:][rows[0]] @ vectors[150], atol=2e-3)


def test_an_index_on_disk_stays_as_it_is(tmp_path):
    vectors = unit(200, 8)
    GrowingIndex.build(vectors, threads=1).save(tmp_path / "index")
    mapped = GrowingIndex.load(tmp_path / "index", np.arange(200))
    before = (tmp_path / "index").read_bytes()
    smaller = mapped.moved(vectors[:50], np.arange(50), threads=1)
    assert (len(mapped), len(smaller)) == (200, 50)
    assert mapped.fits(vectors) and not smaller.fits(vectors)
    assert (tmp_path / "index").read_bytes() == before


def test_what_does_not_fit_is_refused():
    vectors = unit(20, 8)
    with pytest.raises(ConfigError, match="19 origins do not fit 20 vectors"):
        GrowingIndex.build(vectors, threads=1).moved(vectors, np.arange(19))
    with pytest.raises(FormatError, match="20 vectors does not fit 19 rows"):
        GrowingIndex(AnnIndex.build(vectors, threads=1), np.arange(19))


def model_of(n, dim=8, seed=0):
    words = KeyedVectors([f"w{i}" for i in range(5)], unit(5, dim, seed + 1))
    return Model(words, docs=KeyedVectors([f"d{i}" for i in range(n)], unit(n, dim, seed)))


class TestInAModel:
    def test_it_is_saved_mapped_and_dropped(self, tmp_path):
        model = model_of(300)
        exact = model.docs.most_similar("d7", topn=5)
        model.docs.build_index(threads=1)
        model.save(tmp_path / "m")
        for mmap in (True, False):
            again = Model.load(tmp_path / "m", mmap=mmap, verify=True)
            assert again.docs.indexed and again.describe()["index"]
            assert again.docs.most_similar("d7", topn=5) == exact
        # Saved again without having been opened, it is the same file.
        again = Model.load(tmp_path / "m")
        again.save(tmp_path / "n")
        assert (tmp_path / "n" / INDEX).read_bytes() == (tmp_path / "m" / INDEX).read_bytes()
        again.docs.use_index(None)
        again.save(tmp_path / "n", overwrite=True)
        assert not (tmp_path / "n" / INDEX).exists() and not Model.load(tmp_path / "n").docs.indexed

    def test_it_follows_ten_removals(self, tmp_path):
        model = model_of(600)
        model.docs.build_index(threads=1)
        rng = np.random.default_rng(3)
        for step in range(10):
            model = model.remove([str(one) for one in rng.choice(list(model.documents.ids), 20, replace=False)])
            if step % 3 == 0:
                model.save(tmp_path / "m", overwrite=True)
                model = Model.load(tmp_path / "m", verify=True)
        assert model.docs.indexed and len(model.docs.index) == len(model.docs) == 400
        assert recall(model.docs.index, model.docs.vectors, unit(50, 8, seed=9)) > 0.97

    def test_search_by_direction_goes_through_it(self):
        model = model_of(400)
        exact = model.search(model.words["w1"], topn=7)
        model.docs.build_index(threads=1)
        found = model.search(model.words["w1"], topn=7)
        assert found.ids == exact.ids and np.allclose([hit.score for hit in found], [hit.score for hit in exact])

    def test_without_the_extra_search_is_exact(self, tmp_path, monkeypatch):
        model = model_of(60)
        model.docs.build_index(threads=1)
        model.save(tmp_path / "m")
        monkeypatch.setitem(sys.modules, "usearch", None)
        monkeypatch.setitem(sys.modules, "usearch.index", None)
        again = Model.load(tmp_path / "m", verify=True)
        assert again.docs.most_similar("d7", topn=5) == model_of(60).docs.most_similar("d7", topn=5)
        with pytest.raises(MissingExtraError, match=r"spherevec\[ann\]"):
            again.remove(["d3"])

    def test_an_index_of_other_documents_is_refused(self, tmp_path):
        model, other = model_of(60), model_of(60, seed=7)
        other.docs.build_index(threads=1)
        other.docs.index.save(tmp_path / "other")
        with pytest.raises(FormatError, match="built from other vectors"):
            StoredIndex((tmp_path / "other").read_bytes(), np.arange(60), "it").open(model.docs.vectors)
        for slots in (np.arange(1, 61), np.arange(59), np.zeros(60, np.int64), np.arange(-1, 59)):
            with pytest.raises(FormatError, match="build it again"):
                StoredIndex((tmp_path / "other").read_bytes(), slots, "it").open(other.docs.vectors)


# Run apart: should a damaged file get through to native code, this process must not fall with it.
DAMAGE = """
import sys
import numpy as np
from spherevec.errors import FormatError
from spherevec.model.index import StoredIndex

folder, seed = sys.argv[1], int(sys.argv[2])
data = open(folder + "/index", "rb").read()
vectors, slots = np.load(folder + "/vectors.npy"), np.load(folder + "/slots.npy")
rng = np.random.default_rng(seed)
refused = 0
for _ in range(400):
    damaged = bytearray(data)
    kind = rng.integers(4)
    first = 8 + 2 * vectors.shape[1] * len(vectors)  # what follows the vectors
    for place in rng.integers(first if rng.random() < 0.8 else 0, len(data), rng.integers(1, 4)):
        damaged[place] = rng.integers(256) if kind else 255
    if kind == 3:
        damaged = damaged[: rng.integers(len(data))]
    try:
        StoredIndex(bytes(damaged), slots, "it").open(vectors).search(vectors[:20], 10, threads=1)
    except FormatError as error:
        refused += 1
        assert str(error).startswith("it: ") and "build it again" in str(error), error
print(refused)
"""


def test_damaged_files_never_reach_native_code(tmp_path):
    vectors = unit(400, 8)
    origin = np.concatenate([np.arange(50, 400), np.full(20, -1)])
    grown = np.concatenate([vectors[50:], unit(20, 8, seed=4)])
    index = GrowingIndex.build(vectors, threads=1).moved(grown, origin, threads=1)
    index.save(tmp_path / "index")
    np.save(tmp_path / "vectors.npy", grown)
    np.save(tmp_path / "slots.npy", index.slots)
    done = subprocess.run([sys.executable, "-c", DAMAGE, tmp_path, "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 50 < int(done.stdout) < 400


def test_links_and_levels_that_lead_astray_are_named(tmp_path):
    vectors = unit(300, 8)
    AnnIndex.build(vectors, threads=1).save(tmp_path / "index")
    sound = (tmp_path / "index").read_bytes()
    graph = 8 + 300 * 16 + 64
    first_node = graph + 40 + 2 * 300
    faults = [
        (graph + 32, struct.pack("<Q", 300), "entry"),
        (graph + 8, struct.pack("<Q", 0), "links"),
        (graph + 40, struct.pack("<h", -1), "levels"),
        (first_node + 8, struct.pack("<h", 7), "levels contradict"),
        (first_node + 10, struct.pack("<I", 65), "too many links"),
        (first_node + 14, struct.pack("<I", 300), "leads nowhere"),
        (first_node, struct.pack("<Q", 5), "keys are not distinct"),
        (8 + 300 * 16 + 7, struct.pack("<H", 3), "version 3"),
        (0, struct.pack("<I", 2**32 - 1), "too short"),
    ]
    for place, bytes_there, message in faults:
        damaged = sound[:place] + bytes_there + sound[place + len(bytes_there) :]
        with pytest.raises(FormatError, match=message):
            check_index_file(damaged, "it")
    check_index_file(sound, "it")
