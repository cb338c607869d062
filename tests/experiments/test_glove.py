"""GloVe and Poincaré GloVe: counts and steps against obvious twins, and words that mean something."""

import gzip
import os
from itertools import pairwise

import numpy as np
import pytest

from experiments.datasets import wiki_path
from experiments.peers import PEERS, Task, cooccurrence
from experiments.peers import glove as room
from experiments.peers import glove_kernel as kernel
from experiments.peers.cooccurrence import count_cooccurrences
from experiments.peers.glove import _points, _table, seen_from_origin
from spherevec.corpus import encode
from spherevec.errors import ConfigError, TrainingError


def random_corpus(folder, documents=60, words=25, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 40, size=documents)
    texts = [[f"w{n}" for n in (rng.zipf(1.5, size=length) - 1) % words] for length in lengths]
    return encode(texts, folder, min_count=1)


def dense(cells, words):
    """The full symmetric matrix of counts."""
    matrix = np.zeros((words, words))
    for row in range(words):
        mine = slice(cells.row_starts[row], cells.row_starts[row + 1])
        matrix[row, cells.columns[mine]] = cells.counts[mine]
    return np.tril(matrix) + np.tril(matrix, -1).T


def counted_slowly(corpus, window):
    matrix = np.zeros((len(corpus.vocabulary),) * 2)
    for number in range(corpus.n_documents):
        document = corpus.document(number).tolist()
        for place, word in enumerate(document):
            for later in range(place + 1, min(place + window, len(document) - 1) + 1):
                matrix[word, document[later]] += 1 / (later - place)
                matrix[document[later], word] += 1 / (later - place)
    return matrix


# Counting


@pytest.mark.parametrize("window", [1, 3, 10])
@pytest.mark.parametrize("threads", [1, 3])
def test_counts_are_those_of_the_slow_twin(tmp_path, window, threads):
    corpus = random_corpus(tmp_path / "corpus")
    cells = count_cooccurrences(corpus, window, threads)
    np.testing.assert_allclose(dense(cells, len(corpus.vocabulary)), counted_slowly(corpus, window), rtol=1e-6)
    assert (cells.counts > 0).all()
    for row in range(len(corpus.vocabulary)):
        columns = cells.columns[cells.row_starts[row] : cells.row_starts[row + 1]]
        assert len(set(columns.tolist())) == len(columns)
        assert columns.max(initial=0) <= row


def test_counts_by_hand(tmp_path):
    corpus = encode([["a", "b", "a"], ["b", "c"]], tmp_path / "corpus", min_count=1)
    at = corpus.vocabulary.word_to_id
    matrix = dense(count_cooccurrences(corpus, 5, 1), 3)
    a, b, c = at["a"], at["b"], at["c"]
    assert matrix[a, b] == matrix[b, a] == 2
    assert matrix[a, a] == 1  # both directions at distance 2
    assert matrix[b, c] == 1
    assert matrix[a, c] == matrix[c, c] == 0  # documents do not touch


def test_too_many_cells_are_refused_before_they_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(cooccurrence, "MOST_CELLS", 20)
    with pytest.raises(ConfigError, match=r"pairs of words occur together and GloVe keeps at most 20 .* min_count"):
        count_cooccurrences(random_corpus(tmp_path / "corpus"), 5, 1)


# One step of GloVe


def random_tables(rng, spread, dim=21, words=5, planes=1):
    tables = [
        _table([rng.uniform(-spread, spread, (words, dim)).astype(np.float32) for _ in range(planes)]) for _ in "wc"
    ]
    squares = [_table([rng.uniform(0, 3, (words, dim)).astype(np.float32)]) + np.float32(1) for _ in "wc"]
    for table in tables:
        table[:, -kernel.LANES] = rng.uniform(-1, 1, words)  # biases
    return tables, [np.ascontiguousarray(square) for square in squares]


def glove_twin(target, weight, rate, w, c, bw, bc, squares_w, squares_c, square_bw, square_bc):
    """One AdaGrad step on weight · error² / 2, coordinate by coordinate; sums are of (rate · gradient)²."""
    error = w @ c + bw + bc - target
    gradients = [weight * error * c, weight * error * w, weight * error, weight * error]
    new = [
        x - rate * g / np.sqrt(s)
        for x, g, s in zip([w, c, bw, bc], gradients, [squares_w, squares_c, square_bw, square_bc], strict=True)
    ]
    sums = [s + (rate * g) ** 2 for s, g in zip([squares_w, squares_c, square_bw, square_bc], gradients, strict=True)]
    return 0.5 * weight * error**2, new, sums


def test_glove_step_is_the_twins():
    rng = np.random.default_rng(0)
    (words, contexts), (word_squares, context_squares) = random_tables(rng, 1.0)
    before = [array.copy() for array in (words, word_squares, contexts, context_squares)]
    bias = words.shape[1] - kernel.LANES
    f32 = np.float32
    loss = kernel.glove_step(f32(1.5), f32(0.3), f32(0.05), 2, 4, words, word_squares, contexts, context_squares)
    w, sw, c, sc = (array.astype(np.float64) for array in before)
    expected, new, sums = glove_twin(
        1.5, 0.3, 0.05, w[2, :21], c[4, :21], w[2, bias], c[4, bias], sw[2, :21], sc[4, :21], sw[2, bias], sc[4, bias]
    )
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(words[2, :21], new[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(contexts[4, :21], new[1], rtol=1e-5, atol=1e-6)
    assert (words[2, bias], contexts[4, bias]) == (pytest.approx(new[2], rel=1e-5), pytest.approx(new[3], rel=1e-5))
    np.testing.assert_allclose(word_squares[2, :21], sums[0], rtol=1e-5)
    np.testing.assert_allclose(context_squares[4, :21], sums[1], rtol=1e-5)
    assert word_squares[2, bias] == pytest.approx(sums[2], rel=1e-5)
    assert context_squares[4, bias] == pytest.approx(sums[3], rel=1e-5)
    for now, old, row in ((words, before[0], 2), (contexts, before[2], 4), (word_squares, before[1], 2)):
        np.testing.assert_array_equal(np.delete(now, row, 0), np.delete(old, row, 0))
    assert (words[2, 21:bias] == 0).all()  # the padding


@pytest.mark.parametrize(("count", "expected"), [(10, 1), (25, 1), (2.5, 0.25**0.75)])
def test_weights_of_cells(count, expected):
    assert kernel.cell_weight(count, 10.0, 0.75) == pytest.approx(expected, rel=1e-6)


def test_an_epoch_trains_every_cell_in_both_directions_once(tmp_path):
    corpus = random_corpus(tmp_path / "corpus")
    cells = count_cooccurrences(corpus, 4, 1)
    rng = np.random.default_rng(0)
    (words, contexts), (word_squares, context_squares) = random_tables(rng, 0.5, words=len(corpus.vocabulary))
    twin = [array.astype(np.float64) for array in (words, word_squares, contexts, context_squares)]
    bias = words.shape[1] - kernel.LANES
    runs = rng.permutation(-(-len(cells.columns) // kernel.RUN))
    rows = np.repeat(np.arange(len(corpus.vocabulary)), np.diff(cells.row_starts))
    expected = 0.0
    for run in runs:
        for cell in range(run * kernel.RUN, min((run + 1) * kernel.RUN, len(rows))):
            i, j, x = rows[cell], cells.columns[cell], float(cells.counts[cell])
            for a, b in {(i, j): 0, (j, i): 0}:
                w, sw, c, sc = twin
                loss, new, sums = glove_twin(
                    np.log(x), min(1, x / 10) ** 0.75, 0.05,
                    w[a, :21], c[b, :21], w[a, bias], c[b, bias], sw[a, :21], sc[b, :21], sw[a, bias], sc[b, bias],
                )  # fmt: skip
                w[a, :21], c[b, :21], w[a, bias], c[b, bias] = new
                sw[a, :21], sc[b, :21], sw[a, bias], sc[b, bias] = sums
                expected += loss
    loss = kernel.train_glove(
        cells.row_starts, cells.columns, cells.counts, runs,
        words, word_squares, contexts, context_squares, 10.0, 0.75, np.float32(0.05),
    )  # fmt: skip
    assert loss == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(words[:, :21], twin[0][:, :21], atol=1e-4)
    np.testing.assert_allclose(contexts[:, bias], twin[2][:, bias], atol=1e-4)


# One step of Poincaré GloVe


@pytest.mark.parametrize("s", [0.0, 1e-8, 1e-3, 0.1, 1.0, 3.0, 10.0])
def test_arsinh_ratio(s):
    expected = np.arcsinh(s) / s if s else 1.0
    assert kernel.arsinh_ratio(np.float32(s * s)) == pytest.approx(expected, rel=3e-6)


@pytest.mark.parametrize("x", [0.0, 1e-8, 1e-3, 0.1, 0.7, 2.0, 4.0, 50.0])
def test_tanh_ratio(x):
    expected = np.tanh(x) / x if x else 1.0
    assert kernel.tanh_ratio(np.float32(x * x)) == pytest.approx(expected, rel=1e-3 if x > 2 else 2e-6)


def distance(v, w):
    """Hyperbolic distance in the disk."""
    apart = np.sum((v - w) ** 2, axis=-1)
    return np.arccosh(1 + 2 * apart / ((1 - np.sum(v * v, axis=-1)) * (1 - np.sum(w * w, axis=-1))))


def poincare_loss(v, w, biases, target, weight):
    """v, w: (disks, 2)."""
    total = np.sqrt(np.sum(distance(v, w) ** 2))
    return 0.5 * weight * (biases - np.cosh(total) ** 2 - target) ** 2


def gradient(function, point, h=1e-6):
    """By central differences."""
    found = np.zeros_like(point)
    for index in np.ndindex(point.shape):
        step = np.zeros_like(point)
        step[index] = h
        found[index] = (function(point + step) - function(point - step)) / (2 * h)
    return found


def mobius_add(x, y):
    xy, xx, yy = x @ y, x @ x, y @ y
    return ((1 + 2 * xy + yy) * x + (1 - xx) * y) / (1 + 2 * xy + xx * yy)


def moved(points, gradients, sums, rate):
    """Riemannian AdaGrad: gradients in the metric, one sum a disk, a step along the geodesic. Shapes (disks, 2)."""
    new, new_sums = np.zeros_like(points), np.zeros_like(sums)
    for k, (point, slope) in enumerate(zip(points, gradients, strict=True)):
        inside = 1 - point @ point
        riemannian = np.clip(slope * inside**2 / 4, -10, 10)
        step = -rate / np.sqrt(sums[k]) * riemannian
        length = np.linalg.norm(step)
        new[k] = mobius_add(point, np.tanh(length / inside) * step / length)
        new_sums[k] = sums[k] + riemannian @ riemannian / 2
    return new, new_sums


@pytest.mark.parametrize("spread", [0.05, 0.3])
def test_poincare_step_is_the_twins(spread):
    rng = np.random.default_rng(1)
    disks, f32 = 7, np.float32
    (words, contexts), (word_squares, context_squares) = random_tables(rng, spread, disks, planes=2)
    v, w = _points(words, disks)[1].astype(np.float64), _points(contexts, disks)[3].astype(np.float64)
    bias, square = words.shape[1] - kernel.LANES, word_squares.shape[1] - kernel.LANES
    biases = float(words[1, bias]) + float(contexts[3, bias])
    old_sums = word_squares[1, :disks].astype(np.float64), context_squares[3, :disks].astype(np.float64)
    old_bias, old_square = float(words[1, bias]), float(word_squares[1, square])
    target, weight, rate = 1.2, 0.4, 0.05

    loss = kernel.poincare_step(
        f32(target), f32(weight), f32(rate), 1, 3,
        words, word_squares, contexts, context_squares, np.zeros(kernel.SCRATCH, f32),
    )  # fmt: skip
    assert loss == pytest.approx(poincare_loss(v, w, biases, target, weight), rel=1e-4)
    by_v = gradient(lambda point: poincare_loss(point, w, biases, target, weight), v)
    by_w = gradient(lambda point: poincare_loss(v, point, biases, target, weight), w)
    new_v, sums_v = moved(v, by_v, old_sums[0], rate)
    new_w, sums_w = moved(w, by_w, old_sums[1], rate)
    np.testing.assert_allclose(_points(words, disks)[1], new_v, atol=2e-6)
    np.testing.assert_allclose(_points(contexts, disks)[3], new_w, atol=2e-6)
    np.testing.assert_allclose(word_squares[1, :disks], sums_v, rtol=1e-4)
    np.testing.assert_allclose(context_squares[3, :disks], sums_w, rtol=1e-4)
    by_bias = weight * (biases - np.cosh(np.sqrt(np.sum(distance(v, w) ** 2))) ** 2 - target)
    assert words[1, bias] == pytest.approx(old_bias - rate * by_bias / np.sqrt(old_square), rel=1e-4)
    assert np.abs(new_v - v).max() > 1e-4  # there was a step to compare


def test_points_stay_inside_their_disks():
    rng = np.random.default_rng(2)
    disks, f32 = 7, np.float32
    (words, contexts), (word_squares, context_squares) = random_tables(rng, 0.7, disks, planes=2)
    words[1, : words.shape[1] - kernel.LANES] = 0
    words[1, :disks] = 0.9999
    for _ in range(50):
        kernel.poincare_step(
            f32(-300), f32(1), f32(5), 1, 3,
            words, word_squares, contexts, context_squares, np.zeros(kernel.SCRATCH, f32),
        )  # fmt: skip
    radii = np.linalg.norm(np.concatenate([_points(words, disks)[1], _points(contexts, disks)[3]]), axis=-1)
    assert np.isfinite(radii).all()
    assert radii.max() < 1


def test_the_vector_of_a_word_points_to_the_midpoint():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-0.6, 0.6, (2, 1, 6, 2))
    mapped = seen_from_origin(x, y).reshape(6, 2).astype(np.float64)
    # The map doubles lengths of the midpoint's own logarithm: tanh(|m|/2) is its radius.
    lengths = np.linalg.norm(mapped, axis=1, keepdims=True)
    midpoints = np.tanh(lengths / 2) * mapped / lengths
    np.testing.assert_allclose(distance(midpoints, x[0]), distance(midpoints, y[0]), rtol=1e-4)
    np.testing.assert_allclose(distance(midpoints, x[0]), distance(x[0], y[0]) / 2, rtol=1e-4)


# The whole


def fit(name, corpus, **settings):
    return PEERS[name](Task(corpus, **{"vector_size": 10, "window": 5, "threads": 1, **settings}))


@pytest.mark.parametrize(
    ("name", "threads"), [("glove", 1), ("glove", 3), ("poincare-glove", 1), ("poincare-glove", 3)]
)
def test_the_objective_falls(topical, name, threads):
    losses = fit(name, topical[0], epochs=12, threads=threads).losses
    assert len(losses) == 12
    assert losses[-1] < 0.3 * losses[0]
    assert all(later < earlier * 1.05 for earlier, later in pairwise(losses))


def test_a_run_that_diverges_is_stopped(topical, monkeypatch):
    monkeypatch.setattr(room, "RATE", 1e20)
    with pytest.raises(TrainingError, match="diverged in epoch"):
        fit("glove", topical[0], epochs=3)


def test_poincare_glove_needs_an_even_dimension(tmp_path):
    with pytest.raises(ConfigError, match="even dimension, not 11"):
        fit("poincare-glove", random_corpus(tmp_path / "c"), vector_size=11, epochs=1)


@pytest.mark.skipif("SPHEREVEC_DATA" not in os.environ, reason="SPHEREVEC_DATA is not set: no Wikipedia text")
@pytest.mark.parametrize("name", ["glove", "poincare-glove"])
def test_neighbours_on_wikipedia(tmp_path, name):
    with gzip.open(wiki_path(), "rt", encoding="utf-8") as lines:
        texts = [line for line, _ in zip(lines, range(13_000), strict=False)]
    corpus = encode(texts, tmp_path / "corpus", min_count=100)
    words = fit(name, corpus, vector_size=50, epochs=8, window=10, threads=2).words
    for word, akin in (
        ("three", {"two", "four", "five", "six", "seven", "eight", "ten"}),
        ("his", {"her", "he", "him", "she", "himself", "who"}),
    ):
        near = {neighbour for neighbour, _ in words.most_similar(word, topn=10)}
        assert len(near & akin) >= 3, f"{word}: {sorted(near)}"
