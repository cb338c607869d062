// A typed sentence on the sphere: the model's own objective for new documents, with its words fixed.
//
// Where the words have weights, this is `Model.infer` itself, over quantised vectors. Where they have none, `Model.infer`
// takes steps with negative samples chosen by a hash of the text. Here each of these steps uses the expectation over a
// fixed set of negative samples, along the same schedule of learning rates: the same vector, without the noise.

const MICRO_STEPS = 4; // steps of the model's schedule that one step here stands for
const SHORT = 16, LEAST_DAMPING = 0.5, MOST_SHARPENING = 3; // of the exponents of counts and weights in long texts

// The length of each row of int8 numbers; rows of zeros count as 1.
export function rowLengths(rows, dim) {
  const lengths = new Float32Array(rows.length / dim);
  for (let i = 0; i < lengths.length; i++) {
    let square = 0;
    for (let d = i * dim; d < (i + 1) * dim; d++) square += rows[d] * rows[d];
    lengths[i] = Math.sqrt(square) || 1;
  }
  return lengths;
}

// A table of directions: int8 rows, read as unit vectors.
export function table(rows, dim) {
  return { rows, dim, lengths: rowLengths(rows, dim), count: rows.length / dim };
}

export function cosine(vectors, row, vector) {
  const start = row * vectors.dim;
  let total = 0;
  for (let d = 0; d < vectors.dim; d++) total += vectors.rows[start + d] * vector[d];
  return total / vectors.lengths[row];
}

function addRow(vectors, row, weight, sum) {
  const start = row * vectors.dim;
  const factor = weight / vectors.lengths[row];
  for (let d = 0; d < vectors.dim; d++) sum[d] += factor * vectors.rows[start + d];
}

export function normalized(vector) {
  const length = Math.hypot(...vector);
  return length > 1e-9 ? vector.map((value) => value / length) : null;
}

// One row as a unit vector.
export function unitRow(vectors, row) {
  const sum = new Float64Array(vectors.dim);
  addRow(vectors, row, 1, sum);
  return sum;
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// Pulls of the von Mises–Fisher likelihood: of each word, and of each negative sample.
function likelihoodPulls(settings, weights, near, far, pulls, pushes) {
  const { concentration, bias, negative } = settings;
  let total = 0;
  near.forEach((cosine_, i) => {
    pulls[i] = weights[i] * concentration * (1 - sigmoid(concentration * cosine_ - bias));
    total += weights[i];
  });
  const share = (total * negative * concentration) / far.length;
  far.forEach((cosine_, j) => { pushes[j] = share * sigmoid(concentration * cosine_ - bias); });
}

// Pulls of the hinges: a word counts against each negative sample that comes within the margin.
function hingePulls(settings, weights, near, far, pulls, pushes) {
  pulls.fill(0);
  pushes.fill(0);
  near.forEach((f, i) => {
    far.forEach((h, j) => {
      if (f - h >= settings.margin) return;
      const step = (2 * weights[i] * (1 - f + h)) / far.length;
      pulls[i] += step;
      pushes[j] += step;
    });
  });
}

// The direction of a text, or null where no word is known.
//   known: numbers of its words; words: a table; settings: how the model fits documents;
//   with: weights of all words, and the moments or a table of negatives.
export function fitText(known, words, { weights: all, moments, negatives }, settings) {
  if (known.length === 0) return null;
  const times = new Map();
  for (const word of known) times.set(word, (times.get(word) ?? 0) + 1);
  const rows = [...times.keys()];
  const doublings = Math.max(Math.log2(known.length / SHORT), 0);
  const damping = Math.max(1 - settings.by_length[0] * doublings, LEAST_DAMPING);
  const sharpening = Math.min(1 + settings.by_length[1] * doublings, MOST_SHARPENING);
  const weights = rows.map((row) => times.get(row) ** damping * all[row] ** sharpening);
  const start = new Float64Array(words.dim);
  rows.forEach((row, i) => addRow(words, row, weights[i], start));
  const place = normalized(start);
  if (place === null) return unitRow(words, known[0]);
  return moments.length
    ? fitWeighted(rows, weights, words, moments, settings, place)
    : fitSampled(known, rows, weights, words, negatives, settings, place);
}

// Each pass takes a share of a step along the gradient: words pull, and negative samples push as they do on average.
//   moments: the covariance of negative samples, a row a dimension, and their mean.
function fitWeighted(rows, weights, words, moments, settings, start) {
  const { concentration, bias, negative, alpha } = settings;
  const dim = words.dim, mean = moments.subarray(dim * dim);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let place = start;
  for (let pass = 0; pass < settings.epochs; pass++) {
    const pull = new Float64Array(dim), spread = new Float64Array(dim);
    rows.forEach((row, i) => {
      addRow(words, row, weights[i] * sigmoid(bias - concentration * cosine(words, row, place)), pull);
    });
    let along = 0, square = 0;
    for (let i = 0; i < dim; i++) {
      for (let d = 0; d < dim; d++) spread[d] += place[i] * moments[i * dim + d];
      along += mean[i] * place[i];
    }
    for (let d = 0; d < dim; d++) square += spread[d] * place[d];
    const variance = concentration ** 2 * square, root = Math.sqrt(1 + (Math.PI / 8) * variance);
    const likely = sigmoid((concentration * along - bias) / root);
    const slope = (likely * (1 - likely)) / root, negatives = total * negative;
    const step = alpha / (Math.hypot(...pull) + negatives * slope * variance);
    if (!Number.isFinite(step)) break;
    let radial = 0;
    for (let d = 0; d < dim; d++) {
      pull[d] -= negatives * (likely * mean[d] + slope * concentration * spread[d]);
      radial += pull[d] * place[d];
    }
    place = normalized(place.map((value, d) => value + step * (pull[d] - radial * value))) ?? place;
  }
  return place;
}

function fitSampled(known, rows, weights, words, negatives, settings, start) {
  let place = start;
  const passes = Math.max(settings.epochs, Math.ceil(settings.least_steps / known.length));
  const kept = weights.reduce((sum, weight) => sum + weight, 0) * passes;
  const steps = Math.max(20, Math.min(400, Math.ceil(kept / MICRO_STEPS)));
  const near = new Float64Array(rows.length), pulls = new Float64Array(rows.length);
  const far = new Float64Array(negatives.count), pushes = new Float64Array(negatives.count);
  const pullsOf = settings.objective === "vmf" ? likelihoodPulls : hingePulls;
  for (let step = 0; step < steps; step++) {
    rows.forEach((row, i) => { near[i] = cosine(words, row, place); });
    for (let j = 0; j < far.length; j++) far[j] = cosine(negatives, j, place);
    pullsOf(settings, weights, near, far, pulls, pushes);
    const rate = (settings.alpha * (1 - (step + 0.5) / steps) * passes) / steps;
    const move = new Float64Array(words.dim);
    let along = 0;
    rows.forEach((row, i) => { addRow(words, row, rate * pulls[i], move); along += rate * pulls[i] * near[i]; });
    for (let j = 0; j < far.length; j++) {
      addRow(negatives, j, -rate * pushes[j], move);
      along -= rate * pushes[j] * far[j];
    }
    // A step in the tangent plane, and back to the sphere by normalising.
    place = normalized(place.map((value, d) => value * (1 - along) + move[d]));
  }
  return place;
}

// The rows nearest to a vector, best first: [{row, cosine}]. `allowed(row)` may leave some out.
export function nearest(vectors, vector, count, allowed = () => true) {
  const best = [];
  for (let row = 0; row < vectors.count; row++) {
    if (!allowed(row)) continue;
    const score = cosine(vectors, row, vector);
    if (best.length === count && score <= best[count - 1].cosine) continue;
    let place = best.length;
    while (place > 0 && best[place - 1].cosine < score) place--;
    best.splice(place, 0, { row, cosine: score });
    if (best.length > count) best.pop();
  }
  return best;
}

// A vector in the coordinates of a table that keeps only its main directions; the vector itself where it keeps all.
export function inBasis(vector, basis) {
  if (!basis) return vector;
  const dim = vector.length;
  const small = new Float64Array(basis.length / dim);
  for (let i = 0; i < small.length; i++) {
    for (let d = 0; d < dim; d++) small[i] += basis[i * dim + d] * vector[d];
  }
  return normalized(small) ?? small;
}

// Back from a basis to all coordinates.
export function outOfBasis(small, basis, dim) {
  if (!basis) return small;
  const vector = new Float64Array(dim);
  for (let i = 0; i < small.length; i++) {
    for (let d = 0; d < dim; d++) vector[d] += basis[i * dim + d] * small[i];
  }
  return normalized(vector) ?? vector;
}
