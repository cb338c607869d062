"""Training in rounds of shards: the same bits for any number of threads, and what the definitions say."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections import Counter
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError

import spherevec
from helpers import digest, random_documents
from oracle import OracleBackend, mix
from spherevec import TrainConfig, sphere
from spherevec.compiling import njit
from spherevec.corpus import encode
from spherevec.engine import schedule
from spherevec.engine.base import PIECE, SETTLING, Block, TrainingData
from spherevec.engine.cpu import kernels, rounds
from spherevec.engine.cpu.deterministic import DeterministicCpuBackend
from spherevec.engine.cpu.kernels import PEERS
from spherevec.engine.cpu.rounds import COMMON, SHARDS
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.errors import ConfigError
from spherevec.training.runtime import prepare

SETTINGS = {"vector_size": 12, "window": 3, "min_count": 1, "epochs": 2, "sample": 1e-2}
OBJECTIVES = [
    {},
    {"documents": False, "batch": 3},
    {"step": "exponential", "order": "file"},
    {"objective": "hinge"},
    {"objective": "hinge", "batch": 1, "negative": 2},
    {"objective": "joint", "step": "exponential"},
]
TABLES = ("inputs", "contexts", "docs")


def long_documents(seed=1, lengths=(2 * PIECE + 50, PIECE + 1)):
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 151)
    return [[f"w{word}" for word in rng.choice(150, size=length, p=shares / shares.sum())] for length in lengths]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    documents = [*random_documents(100), *long_documents()]
    return encode(documents, tmp_path_factory.mktemp("corpus") / "encoded", min_count=1)


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory):
    """A long document, so that shards share it, frequent words, so that they share those, and rare ones."""
    rare = [f"rare{number}" for number in range(COMMON + 10 * PEERS)]
    short = [rare[first : first + 40] for first in range(0, len(rare), 40)]
    documents = [*random_documents(60, words=80, longest=30), *short, *long_documents(2, [3 * PIECE + 300])]
    return encode(documents, tmp_path_factory.mktemp("small") / "encoded", min_count=1)


def told(model):
    """All that a run must reproduce: its bits, learned numbers and figures."""
    times = ("seconds", "tokens_per_second")
    record = [{name: value for name, value in epoch.items() if name not in times} for epoch in model.record]
    return digest(model), model.parameters, record


# --- the same bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", OBJECTIVES, ids=str)
def test_the_number_of_threads_changes_no_bit(corpus, settings):
    config = TrainConfig(**SETTINGS | settings, deterministic=True)
    one, *others = (told(spherevec.train_corpus(corpus, config.with_(threads=threads))) for threads in (1, 2, 3, 5, 16))
    assert all(other == one for other in others)


def test_more_threads_than_shards(corpus):
    config = TrainConfig(**SETTINGS, deterministic=True)
    one, many = (told(spherevec.train_corpus(corpus, config.with_(threads=threads))) for threads in (1, SHARDS + 3))
    assert many == one


def test_from_text_to_model_threads_change_no_bit(tmp_path):
    documents = random_documents(300)
    one, three = (
        told(spherevec.train(documents, **SETTINGS, deterministic=True, threads=threads)) for threads in (1, 3)
    )
    assert one == three


@pytest.fixture(scope="module")
def texts():
    return [" ".join(words) for words in random_documents(120, words=60, longest=20)]


@pytest.fixture(scope="module")
def by_default(texts):
    """The bits of a default training of these texts, as a list, on one thread."""
    return digest(spherevec.train(texts, epochs=2, threads=1, progress=False))


def test_by_default_the_number_of_threads_changes_no_bit(texts, by_default):
    for threads in (2, 3, 5, 16):
        assert digest(spherevec.train(texts, epochs=2, threads=threads, progress=False)) == by_default


@pytest.mark.parametrize("form", ["file", "csv", "gzip", "generator"])
def test_the_form_of_the_text_changes_no_bit(texts, by_default, form, tmp_path):
    lines = "".join(f"{text}\n" for text in texts)
    table = "text,number\n" + "".join(f"{text},{number}\n" for number, text in enumerate(texts))
    path = tmp_path / {"file": "t.txt", "csv": "t.csv", "gzip": "t.txt.gz"}.get(form, "t")
    content = {"file": lines.encode(), "csv": table.encode(), "gzip": gzip.compress(lines.encode())}.get(form)
    if content is not None:
        path.write_bytes(content)
    fields = {"text_field": "text"} if form == "csv" else {}
    source = path if content is not None else (text for text in texts)
    assert digest(spherevec.train(source, epochs=2, threads=2, progress=False, **fields)) == by_default


@pytest.mark.process
def test_another_process_changes_no_bit(texts, by_default, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("".join(f"{text}\n" for text in texts))
    script = (
        "import sys, spherevec; from helpers import digest\n"
        "print(digest(spherevec.train(sys.argv[1], epochs=2, threads=3, progress=False)))"
    )
    tests = str(Path(__file__).parents[2])
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    done = [
        subprocess.run([sys.executable, "-c", script, path], env=around, capture_output=True, text=True) for _ in "ab"
    ]
    assert [one.stdout.strip() for one in done] == [by_default] * 2, done[0].stderr


def test_nothing_in_a_round_can_fail_for_want_of_memory():
    """A thread that raised an error would leave the others waiting for ever."""

    @njit(**kernels._OPTIONS)
    def allocate():
        return np.empty(3).size

    with pytest.raises(NumbaError, match="Only accept returning of array passed"):
        allocate()
    for module in (kernels, rounds):
        used = [one for one in vars(module).values() if hasattr(one, "targetoptions")]
        assert len(used) > 10 and all(one.targetoptions["_nrt"] is False for one in used)


def test_a_seed_still_matters(corpus):
    one, other = (
        spherevec.train(corpus, **SETTINGS, deterministic=True, threads=1, seed=seed).words.vectors for seed in (1, 2)
    )
    assert np.abs(one - other).max() > 0.1


# --- the definitions --------------------------------------------------------------------------------------------------


class Counted(np.ndarray):
    """A table that counts how often each row is set."""

    moves = None

    def __setitem__(self, row, value):
        if self.moves is not None:
            self.moves[row] += 1
        super().__setitem__(row, value)


def trained_by_definition(data, config, start, block, positions, peer):
    """All tables after one shard, trained from a copy of everything, and the steps that each row took."""
    shard = OracleBackend(data, config)
    for name in TABLES:
        shard.vectors[name] = start[name].copy().view(Counted)
        shard.vectors[name].moves = np.zeros(len(start[name]), int)
    shard.train_block(block, positions, peer)
    vectors = {name: np.asarray(table) for name, table in shard.vectors.items()}
    return vectors, {name: table.moves for name, table in shard.vectors.items()}, shard.closest_call


def merged_by_definition(start, copies, moves, rate):
    """`start` (R, dim), moved by what the shards (S, R, dim) made of it in so many steps (S, R)."""
    result = start.copy()
    for row in np.flatnonzero(moves.sum(axis=0)):
        ours = moves[:, row] > 0
        gone = 1 - np.exp(-rate * moves[ours, row])
        weight = (1 - np.exp(-rate * moves[:, row].sum())) / gone.sum()
        result[row] = sphere.normalize(start[row] + weight * (copies[ours, row] - start[row]).sum(axis=0))
    return result


def drawn_by_definition(texts, words, shift):
    """Which word each shard draws of each group: its own one, if it has one that no other has, or the next in turn."""
    shards_with = Counter(chain(*map(set, texts)))
    drawn = [[group + (shard + shift) % PEERS for shard in range(SHARDS)] for group in range(0, words, PEERS)]
    for shard, text in enumerate(texts):
        own = {word for word in text if shards_with[word] == 1 and COMMON <= word < words - words % PEERS}
        for word in dict.fromkeys(text):
            group = drawn[word // PEERS]
            if word in own and group[shard] not in own:
                other = group.index(word)
                group[other], group[shard] = group[shard], word
    return drawn


@pytest.mark.parametrize(
    ("settings", "seed"),
    [
        ({}, 1),
        ({"documents": False}, 1),
        ({"objective": "hinge", "margin": 0.3}, 1),
        ({"objective": "hinge", "batch": 1, "negative": 2, "alpha": 0.04, "margin": 0.3}, 1),
        ({"objective": "joint", "negative": 2, "alpha": 0.04, "margin": 0.3}, 1),
    ],
    ids=str,
)
def test_a_round_does_what_the_definition_says(small_corpus, settings, seed):
    # Few words are kept of the long document: rounding errors grow with every step.
    config = TrainConfig(**SETTINGS | {"sample": 1e-4} | settings, threads=1, seed=seed)
    data = prepare(small_corpus, config)
    backend = DeterministicCpuBackend(data, config)
    backend.fill()
    words = data.words
    peers = not config.objective_info.one_by_one(config.batch)
    alpha = config.alpha
    for turn in range(2):
        start = {name: backend.read(name, 0, len(backend._tables[name])).astype(np.float64) for name in TABLES}
        block = Block(0, data.units, 0, 12345 + turn, alpha, alpha / 2, 1.0, 1.5)
        backend.begin([block]).train(0)
        edges, units = backend.round.edges, backend.round.units[: data.units]
        assert edges[0] == 0 and edges[-1] == data.units
        texts = [
            [backend.round.kept[unit[rounds.START] :][: unit[rounds.COUNT]].tolist() for unit in units[first:last]]
            for first, last in pairwise(edges)
        ]
        drawn = drawn_by_definition([list(chain(*text)) for text in texts], words, mix(block.sample_key) >> 32)

        def peer(word, shard, drawn=drawn):
            rare = peers and COMMON <= word < words - words % PEERS
            return drawn[word // PEERS][shard] if rare else word

        loads, shards = Counter(), []
        for shard, (first, last) in enumerate(pairwise(edges)):
            loads[shard] = units[first:last, rounds.COUNT].sum()
            shards.append(
                trained_by_definition(
                    data, config, start, block, range(first, last), lambda word, s=shard: peer(word, s)
                )
            )
        largest = backend.round.units[: data.units, rounds.COUNT].max()
        assert max(loads.values()) <= sum(loads.values()) / SHARDS + largest
        for name in TABLES if config.documents else TABLES[:2]:
            copies = np.stack([vectors[name] for vectors, _, _ in shards])
            moves = np.stack([steps[name] for _, steps, _ in shards])
            expected = merged_by_definition(start[name], copies, moves, SETTLING * alpha)
            ours = backend.read(name, 0, len(expected))
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5)
            if name == "docs":
                long = data.pieces[0, 0]
                assert (moves[:, long] > 0).sum() > 1  # its pieces lie in several shards
            else:
                assert ((moves > 0).sum(axis=0) > 3).any()
                assert np.abs(expected - start[name]).max() > 0.01
        if config.objective != "vmf":
            # The seeds are chosen for this: no comparison so close to the margin that rounding may decide it.
            assert min(closest for *_, closest in shards) > 1e-6


@njit(cache=False)
def merge_copies(copies, given, rate, known):
    for shard in range(len(copies.used)):
        copies.used[shard, 0] = 1
        copies.rows[0, 0] = given[shard]
        rounds.add_copies(copies, shard, 0, known, rate)
    rounds.merge_copies(copies, 0, 1, known, rate)


def merged(start, copies, rate):
    """A row of 16 numbers of which each of some shards has a copy that took five steps."""
    table, learned = padded_rows(1, 16), padded_rows(1, 16).view(np.int32)
    table[:] = start
    shared = rounds.Copies(
        table=table,
        slots=np.zeros((1, 1), np.int32),
        touched=np.zeros((1, 1), np.int32),
        moves=np.full((1, 2), 5, np.int32),
        rows=padded_rows(1, 16).reshape(1, 1, 16),
        used=np.zeros((len(copies), rounds.CELL), np.int64),
        numbers=np.zeros(1, np.int32),
        shared=np.array([0, 1], np.int32),
        locks=np.zeros(1, np.int64),
        learned=learned,
        steps=np.zeros(1, np.int64),
        gone=np.zeros(1, np.int64),
        unit=np.float32(2.0**-25),
        sums=padded_rows(1, 16),
    )
    merge_copies(shared, copies, rate, -np.expm1(-rate * np.arange(8.0)))
    assert not learned.any() and not shared.steps.any() and not shared.gone.any() and not shared.locks.any()
    return table


@pytest.mark.parametrize(("rate", "expected"), [(1e-12, "sum"), (1e3, "mean")])
def test_few_steps_add_up_and_many_are_averaged(rate, expected):
    rng = np.random.default_rng(0)
    start = sphere.normalize(rng.standard_normal((1, 16))).astype(np.float32)
    copies = sphere.normalize(start + 0.1 * rng.standard_normal((3, 16))).astype(np.float32)
    steps = (copies - start).sum(axis=0) if expected == "sum" else (copies - start).mean(axis=0)
    np.testing.assert_allclose(merged(start, copies, rate), sphere.normalize(start + steps), atol=1e-6)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_copy_that_is_not_finite_shows_in_the_table(number):
    start = np.full((1, 16), 0.25, np.float32)
    copies = np.repeat(start, 3, axis=0)
    copies[1, 4] = number
    assert np.isnan(merged(start, copies, 0.1)).all()


def test_what_is_left_of_an_epoch_does_not_decide_how_exactly_steps_add_up(tmp_path):
    text = [f"w{number % 900}" for number in range(40_000)]
    data = prepare(
        encode([text, text[:50]], tmp_path / "encoded", min_count=1), config := TrainConfig(**SETTINGS, threads=1)
    )
    units = set()
    for last in (data.units, 2):
        backend = DeterministicCpuBackend(data, config)
        backend.begin([Block(0, last, 0, 1, 0.01, 0.01, 1.0, 1.0)])
        units.add(backend.documents.unit)
    assert len(units) == 1


def test_rounds_train_every_unit_once(corpus):
    config = TrainConfig(**SETTINGS, threads=1)
    free, rounds = (
        spherevec.train_corpus(corpus, config.with_(deterministic=deterministic)) for deterministic in (False, True)
    )
    for figure in ("words", "pairs", "alpha"):
        assert [epoch[figure] for epoch in rounds.record] == [epoch[figure] for epoch in free.record]


def test_rounds_learn_as_much_as_lock_free_training(corpus):
    settings = SETTINGS | {"epochs": 15, "threads": 2}
    free, rounds = (spherevec.train(corpus, **settings, deterministic=deterministic) for deterministic in (False, True))
    assert rounds.record[0]["loss"] - rounds.record[-1]["loss"] > 0.05
    assert rounds.record[-1]["loss"] == pytest.approx(free.record[-1]["loss"], rel=0.03)
    for table in (rounds.words, rounds.contexts, rounds.docs):
        assert np.abs(np.linalg.norm(table.vectors.astype(np.float64), axis=1) - 1).max() < 1e-5


# --- rounds and room --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "rounds"), [(10_000_000, 39), (60_000, 8), (3000, 8), (600, 6)])
def test_an_epoch_has_several_rounds_however_short_the_text(tokens, rounds):
    documents = tokens // 100
    offsets = np.linspace(0, tokens, documents + 1).astype(np.int64)
    nothing = np.zeros(0, np.int64)
    data = TrainingData(np.broadcast_to(np.int32(0), tokens), offsets, nothing.reshape(0, 2), *[nothing] * 4)
    config = TrainConfig(epochs=1, sample=0.1, deterministic=True)
    assert len(schedule.epoch_blocks(data, config, 0)) == rounds


@pytest.mark.parametrize(
    "settings",
    [
        {"window": 1, "batch": 16, "negative": 2},
        {"window": 4, "batch": 1, "negative": 7},
        {"objective": "hinge", "batch": 1, "window": 2, "negative": 3, "documents": False},
        {"objective": "joint", "window": 3, "negative": 2},
    ],
    ids=str,
)
def test_there_is_always_room_for_the_copies(tmp_path, settings):
    """Copies are written without a look at the end of their array: what is reserved must be enough."""
    words = [f"w{number}" for number in range(30_000)]
    documents = [words[150 * number : 150 * number + [1, 2, 40][number % 3]] for number in range(200)]
    documents += [words[5000:10_000], words]
    corpus = encode(documents, tmp_path / "encoded", min_count=1)
    config = TrainConfig(vector_size=4, min_count=1, epochs=1, sample=0.0, threads=1).with_(**settings)
    data = prepare(corpus, config)
    backend = DeterministicCpuBackend(data, config)
    backend.fill()
    blocks = schedule.epoch_blocks(data, config, 0)
    backend.begin(blocks)
    fullest = {"inputs": 0.0, "contexts": 0.0}
    for block in blocks:
        backend.begin([block]).train(0)
        for name in fullest:
            copies = getattr(backend, name)
            room, used = copies.touched.shape[1], copies.used[:, 0]
            assert used.max() <= room
            fullest[name] = max(fullest[name], used.max() / room)
    assert min(fullest.values()) > 0.1


def test_it_is_for_the_cpu_alone():
    with pytest.raises(ConfigError, match=r"deterministic=True works with device='cpu', not 'cuda'"):
        TrainConfig(deterministic=True, device="cuda")
