"""The method in plain NumPy: its geometry, its gradients, and the page that shows it."""

import doctest
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import method
from method import (
    cosine_factor,
    exponential_map,
    normalize,
    random_directions,
    retraction,
    tangent_projection,
)
from spherevec.engine import fit, sampling

PAGE = Path(__file__).parents[3] / "docs" / "design" / "method.md"

# The sphere

seeds = st.integers(0, 2**32 - 1)
dims = st.integers(2, 300)
lengths = st.floats(1e-6, 3.1)


def angle(x, y):
    """The angle between unit vectors; unlike that of arccos(x·y), its digits hold near 0 and near π, too."""
    return 2 * math.atan2(np.linalg.norm(x - y), np.linalg.norm(x + y))


def point_and_tangent(seed, dim, length):
    """A random point and a random tangent vector there, of the given length."""
    rng = np.random.default_rng(seed)
    x = random_directions(1, dim, rng)[0]
    return x, length * normalize(tangent_projection(x, rng.standard_normal(dim)))


@given(seeds, dims)
def test_projection_is_tangent_idempotent_and_keeps_the_rest(seed, dim):
    rng = np.random.default_rng(seed)
    x, g = random_directions(7, dim, rng), rng.standard_normal((7, dim))
    z = tangent_projection(x, g)
    assert np.abs(np.sum(x * z, axis=-1)).max() < 1e-12 * dim
    np.testing.assert_allclose(tangent_projection(x, z), z, atol=1e-12 * dim)
    np.testing.assert_allclose(z + np.sum(x * g, axis=-1, keepdims=True) * x, g, atol=1e-12)


def test_projection_is_the_matrix_of_the_definition():
    rng = np.random.default_rng(0)
    x, g = random_directions(1, 5, rng)[0], rng.standard_normal(5)
    np.testing.assert_allclose(tangent_projection(x, g), (np.eye(5) - np.outer(x, x)) @ g, atol=1e-15)


@given(seeds, dims, lengths)
def test_exponential_map_stays_on_the_sphere_and_goes_as_far_as_the_step_is_long(seed, dim, length):
    x, z = point_and_tangent(seed, dim, length)
    y = exponential_map(x, z)
    assert abs(np.linalg.norm(y) - 1) < 1e-14 * dim
    assert angle(x, y) == pytest.approx(length, rel=1e-9)


@given(seeds, dims)
def test_exponential_map_leaves_along_its_step(seed, dim):
    x, z = point_and_tangent(seed, dim, 1.0)
    small = 1e-5
    np.testing.assert_allclose(
        (exponential_map(x, small * z) - exponential_map(x, -small * z)) / (2 * small), z, atol=1e-9
    )


def test_exponential_map_of_zero_is_the_point_itself():
    x = random_directions(3, 4, np.random.default_rng(0))
    np.testing.assert_array_equal(exponential_map(x, np.zeros_like(x)), x)
    np.testing.assert_allclose(retraction(x, np.zeros_like(x)), x, atol=1e-15)


@given(seeds, dims, st.floats(1e-3, 0.2))
def test_retraction_differs_from_the_exponential_map_in_the_third_order(seed, dim, length):
    """The paper promises O(‖z‖²); on the sphere the angle is ‖z‖ − arctan‖z‖ = ‖z‖³/3, so halving z divides it by 8."""
    x, z = point_and_tangent(seed, dim, length)
    gaps = [angle(retraction(x, s * z), exponential_map(x, s * z)) for s in (1, 0.5)]
    assert gaps[0] <= length**2
    assert gaps[0] == pytest.approx(length - math.atan(length), rel=1e-4)
    assert 7.5 < gaps[0] / gaps[1] < 8.1


@given(seeds, dims, st.floats(1e-6, 1e6))
def test_retraction_stays_on_the_sphere(seed, dim, length):
    x, z = point_and_tangent(seed, dim, length)
    assert abs(np.linalg.norm(retraction(x, z)) - 1) < 1e-14 * dim


def test_random_directions_are_uniform():
    """Mean 0 and covariance I/d, each within five standard errors."""
    n, dim = 40_000, 4
    xs = random_directions(n, dim, np.random.default_rng(5))
    assert np.abs(np.linalg.norm(xs, axis=1) - 1).max() < 1e-14
    assert np.abs(xs.mean(axis=0)).max() < 5 / math.sqrt(n * dim)
    np.testing.assert_allclose(xs.T @ xs / n, np.eye(dim) / dim, atol=5 / math.sqrt(n) / dim)


@given(seeds, dims)
def test_cosine_factor_is_the_cosine_distance_to_the_descent_direction(seed, dim):
    rng = np.random.default_rng(seed)
    x, g = random_directions(3, dim, rng), rng.standard_normal((3, dim))
    expected = [1 - math.cos(angle(a, normalize(-b))) for a, b in zip(x, g, strict=True)]
    for length in (1, 1000):
        np.testing.assert_allclose(cosine_factor(x, length * g)[:, 0], expected, atol=1e-12)


def test_cosine_factor_in_the_papers_example():
    """At (0, 1), the descent directions (1, 1) and (1, −1) have one Riemannian gradient but different factors."""
    x, gradients = np.array([0.0, 1.0]), -np.array([[1.0, 1.0], [1.0, -1.0]])
    np.testing.assert_allclose(tangent_projection(x, -gradients), [[1, 0], [1, 0]])
    np.testing.assert_allclose(cosine_factor(x, gradients)[:, 0], [1 - math.sqrt(0.5), 1 + math.sqrt(0.5)])


def test_cosine_factor_of_no_gradient_is_one():
    assert cosine_factor(np.array([1.0, 0.0]), np.zeros(2)) == 1


# Objectives


def by_differences(loss, x):
    """The Riemannian gradient of a loss at x, from small steps along every coordinate."""
    small = 1e-6
    unit = np.eye(len(x))
    return tangent_projection(x, np.array([(loss(x + small * e) - loss(x - small * e)) / (2 * small) for e in unit]))


def replaced(rows, number, row):
    return np.vstack([rows[:number], row, rows[number + 1 :]])


def test_gradients_of_the_likelihood_are_those_of_its_loss():
    rng = np.random.default_rng(1)
    anchors, targets, biases = random_directions(3, 6, rng), random_directions(4, 6, rng), rng.standard_normal((3, 1))
    found = method.likelihood_gradients(anchors, targets, 5.0, biases)
    for number, anchor in enumerate(anchors):
        expected = by_differences(
            lambda x, n=number: method.likelihood_loss(replaced(anchors, n, x) @ targets.T, 5.0, biases), anchor
        )
        np.testing.assert_allclose(tangent_projection(anchor, found[0][number]), expected, atol=1e-7)
    for number, target in enumerate(targets):
        expected = by_differences(
            lambda x, n=number: method.likelihood_loss(anchors @ replaced(targets, n, x).T, 5.0, biases), target
        )
        np.testing.assert_allclose(tangent_projection(target, found[1][number]), expected, atol=1e-7)


@pytest.mark.parametrize("margin", [-3.0, 0.1, 3.0])  # no hinge is violated, some are, all are
def test_gradients_of_a_hinge_are_those_of_its_loss_times_the_factors(margin):
    u, n, a = random_directions(3, 6, np.random.default_rng(2))
    by_anchor, by_targets = method.hinge_gradients(a[None], np.stack([u, n]), margin, "1+h")

    def loss(u, n, a):
        return method.hinge_losses(np.array([[u @ a, n @ a]]), margin).item()

    # Of word and negative it is the paper's factor; of the anchor, the paper's but for the length of u - n.
    for x, gradient, factor, of_x in (
        (u, by_targets[0], cosine_factor(u, -a), lambda x: loss(x, n, a)),
        (n, by_targets[1], cosine_factor(n, a), lambda x: loss(u, x, a)),
        (a, by_anchor[0], 1 - u @ a + n @ a, lambda x: loss(u, n, x)),
    ):
        np.testing.assert_allclose(tangent_projection(x, gradient), factor * by_differences(of_x, x), atol=1e-7)
    assert (loss(u, n, a) > 0) == bool(np.abs(by_anchor).max() > 0)


def test_gradients_of_many_hinges_are_the_sums_of_single_ones():
    rng = np.random.default_rng(3)
    anchors, targets = random_directions(4, 5, rng), random_directions(3, 5, rng)
    found = method.hinge_gradients(anchors, targets, 0.2, "2h")
    by_anchors, by_targets = np.zeros((4, 5)), np.zeros((3, 5))
    for number, anchor in enumerate(anchors):
        for negative in (1, 2):
            one = method.hinge_gradients(anchor[None], targets[[0, negative]], 0.2, "2h")
            by_anchors[number] += one[0][0]
            by_targets[[0, negative]] += one[1]
    np.testing.assert_allclose(found[0], by_anchors, atol=1e-12)
    np.testing.assert_allclose(found[1], by_targets, atol=1e-12)


def test_gradients_of_the_joint_hinge_are_those_of_its_loss_times_the_factors():
    vectors = random_directions(4, 6, np.random.default_rng(4))
    assert method.joint_loss(*vectors, 3.0) > 0
    found = method.joint_gradients(*vectors, "1+h")
    for number, x in enumerate(vectors):
        plain = by_differences(lambda x, n=number: method.joint_loss(*replaced(vectors, n, x), 3.0), x)
        u, n, v, d = vectors
        full = (-(v + d), v + d, n - u, n - u)[number]
        np.testing.assert_allclose(tangent_projection(x, found[number]), cosine_factor(x, full) * plain, atol=1e-7)


# Sampling


def test_sampling_is_that_of_the_engine():
    counts = np.array([5000, 900, 300, 20, 20, 1, 1])
    np.testing.assert_allclose(
        sampling.keep_probabilities(counts, 0.01) / 2**32, method.keep_probabilities(counts, 0.01)
    )
    share, other = sampling.alias_table(counts)
    own = share / 2**32
    drawn = (own + np.bincount(other, 1 - own, len(counts))) / len(counts)
    np.testing.assert_allclose(drawn, method.negative_probabilities(counts), atol=1e-9)
    inputs = random_directions(len(counts), 4, np.random.default_rng(5)).astype(np.float32)
    for ours, theirs in zip(
        fit.negative_moments(inputs, counts),
        method.negative_moments(inputs.astype(float), method.negative_probabilities(counts)),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


# The page


def test_the_page_shows_every_function():
    shown = re.findall(r"^:pyobject: (\w+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    functions = re.findall(r"^def (\w+)", Path(method.__file__).read_text("utf-8"), re.MULTILINE)
    assert sorted(shown) == sorted(functions)


def test_the_toy_run_of_the_page_learns_what_it_says():
    results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.failed == 0 and results.attempted > 5
