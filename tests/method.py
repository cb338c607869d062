"""The method in plain NumPy: words and documents as unit vectors, learned from text.

Slow and obvious, in float64. docs/design/method.md explains it, and the tests compare the compiled kernels with
these very functions. Shapes: A anchors (context or document vectors), T targets (a word, then its negatives); a table
has one unit vector a row, and a row is named by its table and its number: ("docs", 3).
"""

import numpy as np

# --- the sphere -------------------------------------------------------------------------------------------------------


def normalize(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def random_directions(n, dim, rng):
    """Unit vectors (n, dim), uniform on the sphere."""
    return normalize(rng.standard_normal((n, dim)))


def tangent_projection(x, g):
    """The part of a gradient that is tangent to the sphere at `x`."""
    return g - np.sum(x * g, axis=-1, keepdims=True) * x


def retraction(x, z):
    """The cheap way back to the sphere after a tangent step."""
    return normalize(x + z)


def exponential_map(x, z):
    """The exact way: as far along the great circle as the step is long."""
    angle = np.linalg.norm(z, axis=-1, keepdims=True)
    return np.cos(angle) * x + np.sinc(angle / np.pi) * z


def cosine_factor(x, g):
    """The cosine distance from `x` to −g, between 0 and 2; 1 for a zero gradient."""
    length = np.linalg.norm(g, axis=-1, keepdims=True)
    return 1 + np.sum(x * g, axis=-1, keepdims=True) / np.where(length > 0, length, 1)


def step(x, g, rate, back=retraction):
    """One step down a gradient, and back to the sphere."""
    return back(x, -rate * tangent_projection(x, g))


# --- objectives -------------------------------------------------------------------------------------------------------


def likelihood_loss(scores, kappa, biases):
    """Of cosines (A, T), with a bias for each anchor (A, 1)."""
    s = kappa * scores - biases
    # −log σ(s) of the word and −log(1 − σ(s)) of the negatives
    return np.logaddexp(0, -s[:, :1]).sum() + np.logaddexp(0, s[:, 1:]).sum()


def likelihood_gradients(anchors, targets, kappa, biases):
    """By the anchors (A, dim) and by the targets (T, dim)."""
    s = kappa * anchors @ targets.T - biases
    slopes = kappa * np.exp(-np.logaddexp(0, -s))  # κ σ(s), without overflow
    slopes[:, 0] -= kappa
    return slopes @ targets, slopes.T @ anchors


def hinge_losses(scores, margin):
    """One hinge for each anchor and negative, (A, T − 1)."""
    return np.maximum(0, margin - scores[:, :1] + scores[:, 1:])


# How far a negative at cosine h is pushed away.
PUSH = {"1+h": lambda h: 1 + h, "h": lambda h: h, "2h": lambda h: 2 * h}


def hinge_gradients(anchors, targets, margin, rule):
    """By the anchors (A, dim) and by the targets (T, dim), times their factors."""
    scores = anchors @ targets.T
    f, h = scores[:, :1], scores[:, 1:]  # cosines of the word and of the negatives
    violated = f - h < margin
    both = violated * (1 - f + h)
    word, push = violated.sum(axis=1) * (1 - f[:, 0]), violated * PUSH[rule](h)
    by_anchors = both @ targets[1:] - both.sum(axis=1, keepdims=True) * targets[0]
    return by_anchors, np.vstack([-word @ anchors, push.T @ anchors])


def joint_loss(u, n, v, d, margin):
    """Of a word, a negative, a context and the document."""
    return np.maximum(0, margin - u @ v - u @ d + n @ v + n @ d)


def joint_gradients(u, n, v, d, rule):
    """Where the loss is not 0: by u, n, v and d, times their factors."""
    near, apart = v + d, n - u
    return (
        -cosine_factor(u, -near) * near,
        PUSH[rule](n @ normalize(near)) * near,
        cosine_factor(v, apart) * apart,
        cosine_factor(d, apart) * apart,
    )


# --- training ---------------------------------------------------------------------------------------------------------


def keep_probabilities(counts, sample):
    """The share of each word's occurrences that is trained on."""
    ratio = counts / (sample * counts.sum())
    return np.minimum(1, (np.sqrt(ratio) + 1) / ratio)


def negative_probabilities(counts):
    return counts**0.75 / np.sum(counts**0.75)


def words_around(words, center, before, after):
    left, right = words[max(0, center - before) : center], words[center + 1 :]
    return [*left, *right[:after]]


def rows_of(tables, rows):
    return np.stack([tables[name][row] for name, row in rows])


def move_rows(tables, rows, gradients, rate, back=retraction):
    """Move some rows at once; one that is named twice keeps its later step."""
    moved = step(rows_of(tables, rows), gradients, rate, back)
    for (name, row), vector in zip(rows, moved, strict=True):
        tables[name][row] = vector


def learn(documents, dim=12, epochs=10, seed=1):
    """The vectors of words, contexts and documents, learned with the likelihood."""
    kappa, alpha, window, negative, sample = 8.0, 0.05, 3, 5, 0.02
    rng = np.random.default_rng(seed)
    counts = np.bincount(np.concatenate(documents))
    keep, noise = keep_probabilities(counts, sample), negative_probabilities(counts)
    tables = {name: random_directions(len(counts), dim, rng) for name in ("inputs", "contexts")}
    tables["docs"] = random_directions(len(documents), dim, rng)
    bias = {"contexts": 0.0, "docs": 0.0}
    for epoch in range(epochs):
        rate = alpha * (1 - epoch / epochs)
        for document in rng.permutation(len(documents)):
            words = [word for word in documents[document] if rng.random() < keep[word]]
            for center, word in enumerate(words):
                around = words_around(words, center, *rng.integers(1, window + 1, 2))
                anchors = [("contexts", context) for context in around]
                anchors.append(("docs", document))
                drawn = rng.choice(len(counts), negative, p=noise)
                targets = [("inputs", one) for one in (word, *drawn[drawn != word])]
                a, t = rows_of(tables, anchors), rows_of(tables, targets)
                biases = np.array([[bias[name]] for name, _ in anchors])
                by_anchors, by_targets = likelihood_gradients(a, t, kappa, biases)
                move_rows(tables, anchors, by_anchors, rate)
                move_rows(tables, targets, by_targets, rate)
                for (name, _), cosines in zip(anchors, a @ t[1:].T, strict=True):
                    bias[name] -= 0.001 * kappa * cosines.sum()
    return tables


# --- documents, words fixed -------------------------------------------------------------------------------------------


def negative_moments(inputs, noise):
    """Mean (dim,) and covariance (dim, dim) of the vectors of negative samples."""
    mean = noise @ inputs
    return mean, (inputs * noise[:, None]).T @ inputs - np.outer(mean, mean)


def fit_document(rows, pulls, moments, kappa, bias, negative, passes, share=1.0):
    """The document whose words have the vectors `rows` and pull by `pulls`.

    None where its words have no direction.
    """
    mean, covariance = moments
    start = pulls @ rows
    if np.linalg.norm(start) < 1e-6:
        return None
    d, negatives = normalize(start), negative * pulls.sum()
    for _ in range(passes):
        pull = (pulls / (1 + np.exp(kappa * rows @ d - bias))) @ rows
        variance = kappa**2 * d @ covariance @ d
        root = np.sqrt(1 + np.pi / 8 * variance)
        likely = 1 / (1 + np.exp((bias - kappa * mean @ d) / root))  # E σ(s)
        slope = likely * (1 - likely) / root
        push = negatives * (likely * mean + slope * kappa * covariance @ d)
        curvature = np.linalg.norm(pull) + negatives * slope * variance
        d = step(d, push - pull, share / curvature)
    return d
