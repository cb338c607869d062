"""Co-occurrence counts, and the steps of GloVe and of Poincaré GloVe: the compiled loops, all in one file.

Counts X are symmetric; only the cells (row, column ≤ row) are kept, row by row. Words are numbered by frequency, so the
row is the rarer word of the two. A cell trains both directions: row with column as context, and the other way round.

Threads train without locks on the same rows, each on its own runs of `RUN` neighbouring cells, taken in random order.
"""

from __future__ import annotations

import math

import numpy as np

from spherevec.compiling import njit
from spherevec.engine.cpu.vector_ops import prefetch, row_address

# NaN and infinity stay visible: no "nnan", no "ninf".
# Division by zero gives infinity instead of an exception, whose branch would keep loops from running in lanes.
compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"nsz", "arcp", "contract", "afn", "reassoc"})

LANES = 16
RUN = 32  # cells trained one after the other; they share the vectors of their row
AHEAD = 2  # cells between asking memory for a row and using it
NOTHING = -1  # stands between documents

DISKS = 2048 + LANES  # room for one value of each disk in the scratch of a step
SCRATCH = 5 * DISKS
LARGEST_STEP = np.float32(10.0)  # Riemannian gradients are cut off here, as the authors do
ONE, TWO, FOUR, TINY = np.float32(1), np.float32(2), np.float32(4), np.float32(1e-30)  # a plain 1 means float64
FARTHEST = 20.0  # distances count as no more than this, so that cosh² and its slope stay within single precision
RIM = np.float32(1 - 1e-5)  # points stay inside this radius


# --- counting ---------------------------------------------------------------------------------------------------------


@compiled
def pad_documents(ids, offsets, window, padded):
    """Copy the documents with `window` times `NOTHING` before, between and after them."""
    padded[:] = NOTHING
    for document in range(len(offsets) - 1):
        shift = (document + 1) * window
        for token in range(offsets[document], offsets[document + 1]):
            padded[token + shift] = ids[token]


@compiled
def list_places(padded, starts, places):
    """Where each word occurs: places[starts[word]:starts[word + 1]], in the order of the text."""
    filled = starts[:-1].copy()
    for place in range(len(padded)):
        word = padded[place]
        if word != NOTHING:
            places[filled[word]] = place
            filled[word] += 1


@compiled
def count_cells(padded, starts, places, first, last, window, distinct):
    """How many cells the rows [first, last) have."""
    seen_by = np.full(last, -1, np.int32)
    for row in range(first, last):
        cells = 0
        for index in range(starts[row], starts[row + 1]):
            place = places[index]
            for neighbour in range(place - window, place + window + 1):
                column = padded[neighbour]
                if column != NOTHING and column <= row and neighbour != place and seen_by[column] != row:
                    seen_by[column] = row
                    cells += 1
        distinct[row] = cells


@compiled
def fill_cells(padded, starts, places, row_starts, first, last, window, columns, counts):
    """Σ 1/distance over all neighbours within `window`, for the cells of the rows [first, last)."""
    sums = np.zeros(last, np.float64)
    for row in range(first, last):
        end = row_starts[row]
        for index in range(starts[row], starts[row + 1]):
            place = places[index]
            for neighbour in range(place - window, place + window + 1):
                column = padded[neighbour]
                if column != NOTHING and column <= row and neighbour != place:
                    if sums[column] == 0:
                        columns[end] = column
                        end += 1
                    sums[column] += 1 / abs(neighbour - place)
        for cell in range(row_starts[row], end):
            counts[cell] = sums[columns[cell]]
            sums[columns[cell]] = 0


# --- GloVe ------------------------------------------------------------------------------------------------------------


@compiled
def glove_step(target, weight, rate, word, context, words, word_squares, contexts, context_squares):
    """One AdaGrad step on weight · (word·context + biases − target)²/2; returns that loss before the step.

    Rows are coordinates padded with zeros, then `LANES` numbers that begin with the bias. As in the authors' program,
    AdaGrad sums the squares of rate · gradient, so that steps shrink slowly.
    """
    width = words.shape[1] - LANES
    score = np.float32(0)
    for k in range(width):
        score += words[word, k] * contexts[context, k]
    error = score + words[word, width] + contexts[context, width] - target
    slope = weight * error
    for k in range(width):
        mine, other = words[word, k], contexts[context, k]
        step, step_other = rate * slope * other, rate * slope * mine
        words[word, k] = mine - step / np.sqrt(word_squares[word, k])
        contexts[context, k] = other - step_other / np.sqrt(context_squares[context, k])
        word_squares[word, k] += step * step
        context_squares[context, k] += step_other * step_other
    step_biases(slope, rate, word, context, words, word_squares, contexts, context_squares)
    return np.float64(0.5) * slope * error


@compiled
def step_biases(slope, rate, word, context, words, word_squares, contexts, context_squares):
    """One AdaGrad step of the two biases."""
    bias, square = words.shape[1] - LANES, word_squares.shape[1] - LANES
    step = rate * slope
    words[word, bias] -= step / np.sqrt(word_squares[word, square])
    contexts[context, bias] -= step / np.sqrt(context_squares[context, square])
    word_squares[word, square] += step * step
    context_squares[context, square] += step * step


@compiled
def cell_weight(count, largest, power):
    return np.float32(1) if count >= largest else np.float32((count / largest) ** power)


@compiled
def fetch_word(word, words, word_squares, contexts, context_squares):
    """Ask memory for everything about a word."""
    prefetch(row_address(words, word), words.shape[1])
    prefetch(row_address(contexts, word), words.shape[1])
    prefetch(row_address(word_squares, word), word_squares.shape[1])
    prefetch(row_address(context_squares, word), word_squares.shape[1])


@compiled
def train_glove(
    row_starts, columns, counts, runs, words, word_squares, contexts, context_squares, largest, power, rate
):
    """Train the cells of some runs, in the order given; returns the sum of their losses."""
    loss = 0.0
    for run in runs:
        first, end = run * RUN, min((run + 1) * RUN, len(columns))
        row = np.searchsorted(row_starts, first, side="right") - 1
        for cell in range(first, end):
            while cell >= row_starts[row + 1]:
                row += 1
            if cell + AHEAD < end:
                fetch_word(columns[cell + AHEAD], words, word_squares, contexts, context_squares)
            column = columns[cell]
            weight = cell_weight(counts[cell], largest, power)
            target = np.float32(math.log(counts[cell]))
            loss += glove_step(target, weight, rate, row, column, words, word_squares, contexts, context_squares)
            if column != row:
                loss += glove_step(target, weight, rate, column, row, words, word_squares, contexts, context_squares)
    return loss


# --- Poincaré GloVe ---------------------------------------------------------------------------------------------------


@compiled
def arsinh_ratio(square):
    """asinh(s)/s from s² ≥ 0, to 2e-6 up to s² = 100.

    With s = sinh y, y/sinh y is (y/2)/sinh(y/2) over cosh(y/2); three halvings bring the power series into its range.
    """
    half = square / (TWO + TWO * np.sqrt(ONE + square))
    quarter = half / (TWO + TWO * np.sqrt(ONE + half))
    eighth = quarter / (TWO + TWO * np.sqrt(ONE + quarter))
    series = ONE + eighth * (
        np.float32(-1 / 6)
        + eighth * (np.float32(3 / 40) + eighth * (np.float32(-5 / 112) + eighth * np.float32(35 / 1152)))
    )
    return series / np.sqrt((ONE + half) * (ONE + quarter) * (ONE + eighth))


@compiled
def tanh_ratio(square):
    """tanh(x)/x from x² ≥ 0, to 1e-6 up to x = 2: a quotient of polynomials, cut off where tanh would exceed 1."""
    above = np.float32(135135) + square * (np.float32(17325) + square * (np.float32(378) + square))
    below = np.float32(135135) + square * (np.float32(62370) + square * (np.float32(3150) + square * np.float32(28)))
    return min(above / below, ONE / np.sqrt(square + TINY))


@compiled
def squared_distance(word, context, words, contexts, scratch):
    """The sum over all disks of the squared hyperbolic distance.

    Leaves in `scratch`, each in a stretch of `DISKS`: the slopes of the squared distances by δ, the two coordinates
    of the word, and the two of the context. δ = |v−w|² / ((1−|v|²)(1−|w|²)), and the distance is 2 asinh √δ.
    """
    disks = (words.shape[1] - LANES) // 2
    total = np.float32(0)
    for k in range(disks):
        vx, vy = words[word, k], words[word, disks + k]
        wx, wy = contexts[context, k], contexts[context, disks + k]
        apart = (vx - wx) * (vx - wx) + (vy - wy) * (vy - wy)
        delta = apart / ((ONE - vx * vx - vy * vy) * (ONE - wx * wx - wy * wy))
        ratio = arsinh_ratio(delta)
        total += FOUR * delta * ratio * ratio
        scratch[k] = FOUR * ratio / np.sqrt(ONE + delta)
        scratch[DISKS + k] = vx
        scratch[2 * DISKS + k] = vy
        scratch[3 * DISKS + k] = wx
        scratch[4 * DISKS + k] = wy
    return total


@compiled
def move_points(slope, rate, row, own, other, points, squares, scratch):
    """One step of Riemannian AdaGrad for all disks of a row, along the geodesic.

    Args:
        slope: of the loss by the sum of squared distances.
        own, other: where the coordinates of the two points start in `scratch`.
        squares: one sum for each disk, of the mean squared coordinate of its Riemannian gradients.
    """
    disks = (points.shape[1] - LANES) // 2
    for k in range(disks):
        vx, vy = scratch[own + k], scratch[own + DISKS + k]
        wx, wy = scratch[other + k], scratch[other + DISKS + k]
        inside, inside_other = ONE - vx * vx - vy * vy, ONE - wx * wx - wy * wy
        apart = (vx - wx) * (vx - wx) + (vy - wy) * (vy - wy)
        # ∂δ/∂v = 2 (v−w)/(inside·inside') + 2 δ v/inside, and the metric divides it by 4/inside².
        factor = slope * scratch[k] * inside / (TWO * inside_other)
        gx = factor * ((vx - wx) + apart / inside * vx)
        gy = factor * ((vy - wy) + apart / inside * vy)
        gx = min(max(gx, -LARGEST_STEP), LARGEST_STEP)
        gy = min(max(gy, -LARGEST_STEP), LARGEST_STEP)
        pace = -rate / np.sqrt(squares[row, k])
        squares[row, k] += (gx * gx + gy * gy) / TWO
        # exp_v(s) = v ⊕ tanh(|s|/inside) s/|s|: a Möbius addition
        sx, sy = pace * gx, pace * gy
        far = tanh_ratio((sx * sx + sy * sy) / (inside * inside)) / inside
        sx, sy = far * sx, far * sy
        along, step = vx * sx + vy * sy, sx * sx + sy * sy
        below = ONE + TWO * along + (ONE - inside) * step
        keep, add = (ONE + TWO * along + step) / below, inside / below
        x, y = keep * vx + add * sx, keep * vy + add * sy
        shrink = min(ONE, RIM / np.sqrt(x * x + y * y + TINY))
        points[row, k] = shrink * x
        points[row, disks + k] = shrink * y


@compiled
def poincare_step(target, weight, rate, word, context, words, word_squares, contexts, context_squares, scratch):
    """One step on weight · (−cosh²(distance) + biases − target)²/2; returns that loss before the step."""
    width = words.shape[1] - LANES
    square = squared_distance(word, context, words, contexts, scratch)
    distance = min(math.sqrt(square), FARTHEST)
    grown = math.exp(distance)
    cosh = np.float32(0.5 * (grown + 1 / grown))
    error = words[word, width] + contexts[context, width] - cosh * cosh - target
    pull = weight * error
    # d cosh²(√q)/dq = cosh(d) · sinh(d)/d
    slope = -pull * cosh * np.float32(0.5 * (grown - 1 / grown) / distance if distance > 1e-3 else 1)
    move_points(slope, rate, word, DISKS, 3 * DISKS, words, word_squares, scratch)
    move_points(slope, rate, context, 3 * DISKS, DISKS, contexts, context_squares, scratch)
    pull_biases = min(max(pull, -LARGEST_STEP), LARGEST_STEP)
    step_biases(pull_biases, rate, word, context, words, word_squares, contexts, context_squares)
    return np.float64(0.5) * pull * error


@compiled
def train_poincare(
    row_starts, columns, counts, runs, words, word_squares, contexts, context_squares, largest, power, rate
):
    """Train the cells of some runs, in the order given; returns the sum of their losses."""
    scratch = np.zeros(SCRATCH, np.float32)
    loss = 0.0
    for run in runs:
        first, end = run * RUN, min((run + 1) * RUN, len(columns))
        row = np.searchsorted(row_starts, first, side="right") - 1
        for cell in range(first, end):
            while cell >= row_starts[row + 1]:
                row += 1
            if cell + AHEAD < end:
                fetch_word(columns[cell + AHEAD], words, word_squares, contexts, context_squares)
            column = columns[cell]
            weight = cell_weight(counts[cell], largest, power)
            target = np.float32(math.log(counts[cell]))
            loss += poincare_step(
                target, weight, rate, row, column, words, word_squares, contexts, context_squares, scratch
            )
            if column != row:
                loss += poincare_step(
                    target, weight, rate, column, row, words, word_squares, contexts, context_squares, scratch
                )
    return loss
