"""The paper's two theorems, checked by numbers: what they say, and what they leave unsaid."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import vonmises_fisher

from method import cosine_factor, normalize, random_directions, retraction, tangent_projection
from spherevec.sphere import vmf_log_normalizer, vmf_mean_resultant

# Theorem 1: with the whole sphere as vocabulary, p(v | u) ∝ exp(cos(v, u)) is von Mises–Fisher with concentration 1.


def sphere_area(dim):
    return 2 * math.pi ** (dim / 2) / math.gamma(dim / 2)


def integral_over_the_sphere(function_of_cosine, dim):
    """∫ f(cos θ) dx over the unit sphere, by quadrature over the angle θ to a fixed direction."""
    value, _ = quad(lambda a: function_of_cosine(math.cos(a)) * math.sin(a) ** (dim - 2), 0, math.pi, epsabs=1e-13)
    # A circle's two points at angle θ, a sphere's circle of radius sin θ, ...
    return value * (2 if dim == 2 else sphere_area(dim - 1))


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_theorem_1_normalised_exponential_of_the_cosine_is_von_mises_fisher(dim):
    u, *vs = random_directions(20, dim, np.random.default_rng(dim))
    total = integral_over_the_sphere(math.exp, dim)
    for v in vs:
        assert math.exp(u @ v) / total == pytest.approx(vonmises_fisher(u, 1).pdf(v), rel=1e-9)
    assert -math.log(total) == pytest.approx(float(vmf_log_normalizer(1.0, dim)), rel=1e-11)


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_theorem_1_fails_for_any_other_concentration(dim):
    u, v = random_directions(2, dim, np.random.default_rng(dim))
    total = integral_over_the_sphere(math.exp, dim)
    assert abs(math.exp(u @ v) / total - vonmises_fisher(u, 1.2).pdf(v)) > 1e-3


@pytest.mark.parametrize("dim", [3, 50])
def test_theorem_1_finite_vocabularies_approach_it_at_the_monte_carlo_rate(dim):
    """A word's probability times |V|, over the area, misses the density by a relative error of order |V|^−1/2."""
    rng = np.random.default_rng(7)
    u = random_directions(1, dim, rng)[0]
    limit = math.exp(float(vmf_log_normalizer(1.0, dim))) * sphere_area(dim)  # of |V| p(v | u) / exp(cos(v, u))
    sizes = np.array([100, 1_000, 10_000])
    rms = []
    for size in sizes:
        totals = [np.exp(random_directions(size, dim, rng) @ u).mean() for _ in range(60)]
        rms.append(math.sqrt(np.mean((1 / np.array(totals) / limit - 1) ** 2)))
    rate = np.polyfit(np.log(sizes), np.log(rms), 1)[0]
    assert rate == pytest.approx(-0.5, abs=0.08)
    # The spread of exp(cos) over the sphere, c(1)² / (c(2) c(0)) − 1, gives the constant too.
    c0, c1, c2 = (float(vmf_log_normalizer(kappa, dim)) for kappa in (0, 1, 2))
    assert rms[-1] == pytest.approx(math.sqrt(math.expm1(2 * c1 - c2 - c0) / sizes[-1]), rel=0.25)


def test_theorem_1_words_drawn_from_the_model_have_the_mean_resultant_of_concentration_one():
    dim, rng = 5, np.random.default_rng(8)
    u, words = random_directions(1, dim, rng)[0], random_directions(200_000, dim, rng)
    weights = np.exp(words @ u)
    mean = weights @ words / weights.sum()
    np.testing.assert_allclose(mean, float(vmf_mean_resultant(1.0, dim)) * u, atol=0.006)


def test_theorem_1_needs_a_vocabulary_spread_over_the_whole_sphere():
    """Its proof turns the sum over words into an integral over the sphere: words that gather break it at any |V|."""
    dim, rng = 5, np.random.default_rng(9)
    u = random_directions(1, dim, rng)[0]
    gathered = vonmises_fisher(u, 5).rvs(100_000, random_state=9)
    limit = math.exp(float(vmf_log_normalizer(1.0, dim))) * sphere_area(dim)
    assert 1 / np.exp(gathered @ u).mean() < 0.7 * limit


# Theorem 2: with Σ η = ∞ and Σ η² < ∞, the paper's update brings the Riemannian gradient to zero.
#
# The problem: one vector x on the sphere and anchors a_i, as a word and its contexts while their hinges are open. There
# the hinge is linear in the vectors, f_i(x) = −x·a_i; its kinks are left out, since at a kink there is no gradient to
# speak of. The full loss is L = mean_i f_i. It has one minimum, the anchors' mean direction.

DIM, STARTS, STEPS = 5, 32, 20_000


def decaying(t):
    """Σ η = ∞, Σ η² < ∞."""
    return 2.0 / (t + 10) ** 0.75


def constant(t):
    return 0.5


def uneven_anchors():
    """Eight anchors about one axis, and four about another, at nearly a right angle."""
    noise = 0.3 * random_directions(12, DIM, np.random.default_rng(2))
    return normalize(np.repeat(np.eye(DIM)[:2], (8, 4), axis=0) + noise)


def cone_of_anchors():
    """Eight anchors, all at one angle from their mean direction."""
    return normalize(np.hstack([np.ones((8, 1)), np.kron(np.eye(DIM - 1), [[1.0], [-1.0]])]))


def linear_gradient(x, anchors):
    """grad L of L = −mean x·a, at every row of x."""
    return tangent_projection(x, np.broadcast_to(-anchors.mean(axis=0), x.shape))


def squared_gradient(x, anchors):
    """grad S of S = mean ½ (1 − x·a)², at every row of x."""
    return tangent_projection(x, -(1 - x @ anchors.T) @ anchors / len(anchors))


def rms_norm(gradients):
    return math.sqrt(np.mean(np.sum(gradients**2, axis=-1)))


def descend(anchors, rate, *, sampled, multiplied):
    """Run the update from `STARTS` random points side by side; x after 100, 1,000, 10,000 and `STEPS` steps."""
    rng = np.random.default_rng(3)
    x = random_directions(STARTS, DIM, rng)
    snapshots = {}
    for t in range(1, STEPS + 1):
        targets = anchors[rng.integers(len(anchors), size=STARTS)] if sampled else anchors.mean(axis=0)
        gradient = np.broadcast_to(-targets, x.shape)
        factor = cosine_factor(x, gradient) if multiplied else 1.0
        x = retraction(x, -rate(t) * factor * tangent_projection(x, gradient))
        if t in (100, 1_000, 10_000, STEPS):
            snapshots[t] = x
    return snapshots


def test_theorem_2_on_the_full_gradient():
    """Eq. (update) on the loss itself: the Riemannian gradient goes to zero from every start.

    Slowly: at a minimum the descent direction is x itself, where the multiplier 1 − cos θ vanishes as θ²/2. With
    ρ = ‖∇L‖ the angle follows θ' = −ρ (1 − cos θ) sin θ in the time Σ η, that is θ ≈ 1/√(ρ Σ η).
    """
    anchors = uneven_anchors()
    found = descend(anchors, decaying, sampled=False, multiplied=True)
    norms = {t: np.linalg.norm(linear_gradient(x, anchors), axis=1) for t, x in found.items()}
    assert (norms[1_000] < norms[100]).all() and (norms[10_000] < norms[1_000]).all()
    rho, time = np.linalg.norm(anchors.mean(axis=0)), sum(decaying(t) for t in range(1, STEPS + 1))
    np.testing.assert_allclose(norms[STEPS], rho / math.sqrt(rho * time), rtol=0.1)


def test_theorem_2_on_the_full_gradient_gets_near_zero_where_the_steps_add_up_faster():
    anchors = uneven_anchors()
    found = descend(anchors, lambda t: 5 / t**0.55, sampled=False, multiplied=True)
    assert np.linalg.norm(linear_gradient(found[STEPS], anchors), axis=1).max() < 0.03


def test_plain_riemannian_steps_on_sampled_terms_reach_the_minimum():
    """Without the multiplier, sampled terms suffice: this is the classical theorem that the paper's proof builds on."""
    anchors = uneven_anchors()
    found = descend(anchors, decaying, sampled=True, multiplied=False)
    norms = {t: rms_norm(linear_gradient(x, anchors)) for t, x in found.items()}
    assert norms[STEPS] < 0.5 * norms[1_000] < 0.25 * norms[100]
    held = descend(anchors, constant, sampled=True, multiplied=False)
    assert min(rms_norm(linear_gradient(x, anchors)) for x in held.values()) > 10 * norms[STEPS]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_multiplier_changes_the_loss_that_a_sampled_step_descends(sign):
    """(1 + xᵀ∇f/‖∇f‖) grad f for f = ∓x·a is the Riemannian gradient of ½ (1 ∓ x·a)², by central differences."""
    x, a = random_directions(2, DIM, np.random.default_rng(4))
    gradient = -sign * a
    step = cosine_factor(x, gradient) * tangent_projection(x, gradient)
    small = 1e-5
    differences = [
        ((1 - sign * retraction(x, small * z) @ a) ** 2 - (1 - sign * retraction(x, -small * z) @ a) ** 2) / (4 * small)
        for z in tangent_projection(x, np.eye(DIM))
    ]
    np.testing.assert_allclose(step, differences, atol=1e-9)


def test_theorem_2_on_sampled_terms_holds_for_another_loss():
    """Eq. (update) on sampled terms, as in training, converges to a critical point of S = mean ½ (1 − x·a)², not of L.

    The multiplier depends on the sampled term, so the mean step is not along grad L, which the paper's proof takes for
    granted. With a constant step not even grad S vanishes.
    """
    anchors = uneven_anchors()
    found = descend(anchors, decaying, sampled=True, multiplied=True)
    norms = {t: rms_norm(squared_gradient(x, anchors)) for t, x in found.items()}
    assert norms[STEPS] < 0.5 * norms[1_000] < 0.25 * norms[100]
    assert np.linalg.norm(linear_gradient(found[STEPS], anchors), axis=1).min() > 10 * norms[STEPS]
    held = descend(anchors, constant, sampled=True, multiplied=True)
    assert min(rms_norm(squared_gradient(x, anchors)) for x in held.values()) > 10 * norms[STEPS]


def test_theorem_2_on_sampled_terms_holds_for_the_loss_itself_where_all_anchors_are_equally_far():
    """On a cone of anchors both gradients vanish at the axis, and the paper's claim holds for sampled terms as well."""
    anchors = cone_of_anchors()
    found = descend(anchors, decaying, sampled=True, multiplied=True)
    norms = {t: rms_norm(linear_gradient(x, anchors)) for t, x in found.items()}
    assert norms[STEPS] < 0.5 * norms[1_000] < 0.25 * norms[100]
    held = descend(anchors, constant, sampled=True, multiplied=True)
    assert min(rms_norm(linear_gradient(x, anchors)) for x in held.values()) > 5 * norms[STEPS]
