"""The sphere's identities as properties, and the von Mises–Fisher functions against independent computations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from scipy.special import gammaln, roots_legendre
from scipy.stats import vonmises_fisher

from method import random_directions
from spherevec.sphere import (
    DirectionError,
    _log_scaled_bessel_debye,
    mean_resultant_length,
    normalize,
    vmf_concentration,
    vmf_log_normalizer,
    vmf_mean_resultant,
)

seeds = st.integers(0, 2**32 - 1)
dims = st.integers(2, 300)


# Norms and means


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=8))
def test_normalize_finds_the_direction_of_any_finite_vector(values):
    x = np.array(values)
    if np.abs(x).max() < 1e-290:
        return
    unit = normalize(x)
    assert np.linalg.norm(unit) == pytest.approx(1, abs=1e-14)
    scaled = x / np.abs(x).max()
    np.testing.assert_allclose(unit, scaled / np.linalg.norm(scaled), atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floating_type_is_kept(dtype):
    rng = np.random.default_rng(0)
    x = normalize(rng.standard_normal((2, 3, 5)).astype(dtype))
    assert x.dtype == dtype
    assert np.abs(np.linalg.norm(x, axis=-1) - 1).max() < 1e-6


def test_whole_numbers_are_taken_as_coordinates():
    np.testing.assert_allclose(normalize([[3, 4]]), [[0.6, 0.8]])


@pytest.mark.parametrize(
    ("bad", "message"),
    [([0.0, 0.0], "row 1 is zero"), ([np.nan, 1.0], "row 1 is not"), ([np.inf, 1.0], "row 1 is not")],
)
def test_a_row_without_direction_is_refused_by_number(bad, message):
    with pytest.raises(DirectionError, match=message):
        normalize([[1.0, 0.0], bad])


def test_mean_of_vectors_symmetric_about_an_axis():
    angle = 0.7
    xs = np.array([[math.cos(angle), math.sin(angle)], [math.cos(angle), -math.sin(angle)]], dtype=np.float32)
    assert mean_resultant_length(xs) == pytest.approx(math.cos(angle), rel=1e-6)
    stacked = np.stack([xs, xs[:, ::-1]])
    assert mean_resultant_length(stacked).shape == (2,)


def test_mean_of_opposite_vectors_has_length_zero():
    assert mean_resultant_length(np.array([[1.0, 0.0], [-1.0, 0.0]])) == 0


# Von Mises–Fisher


@pytest.mark.parametrize("dim", [2, 3, 5, 10, 50])
@pytest.mark.parametrize("kappa", [0.01, 1.0, 8.0, 40.0, 200.0])
def test_normalizer_agrees_with_scipys_density(dim, kappa):
    rng = np.random.default_rng(1)
    mu, x = random_directions(2, dim, rng)
    ours = vmf_log_normalizer(kappa, dim) + kappa * mu @ x
    assert ours == pytest.approx(vonmises_fisher(mu, kappa).logpdf(x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kappa", [1e-3, 0.5, 3.0, 70.0, 400.0, 1e4, 1e6])
def test_normalizer_in_three_dimensions_is_elementary(kappa):
    """c₃(κ) = κ / (4π sinh κ), and log sinh κ = κ + log((1 − e^−2κ) / 2)."""
    expected = math.log(kappa / (4 * math.pi)) - kappa - math.log(-math.expm1(-2 * kappa) / 2)
    assert vmf_log_normalizer(kappa, 3) == pytest.approx(expected, rel=1e-13)
    assert vmf_mean_resultant(kappa, 3) == pytest.approx(1 / math.tanh(kappa) - 1 / kappa, rel=1e-9)


def moments_by_quadrature(kappa, dim):
    """log c_d(κ) and A_d(κ) from the density of t = μᵀx, exp(κt) (1 − t²)^{(d−3)/2}, integrated around its peak.

    With t = tanh(s) the integrand has one smooth peak and exponential tails, so that one Gauss rule over the width of
    the peak reaches rounding; exponents are shifted by their largest value.
    """

    def exponent(s):
        return kappa * np.tanh(s) - (dim - 1) * np.logaddexp(s, -s) + (dim - 1) * math.log(2)

    grid = np.linspace(-20, 20, 400_001)
    values = exponent(grid)
    inside = grid[values > values.max() - 60]
    nodes, weights = roots_legendre(400)
    s = (inside[-1] - inside[0]) / 2 * nodes + (inside[-1] + inside[0]) / 2
    shift = values.max()
    mass = weights * np.exp(exponent(s) - shift) * (inside[-1] - inside[0]) / 2
    log_integral = math.log(mass.sum()) + shift
    log_area = math.log(2) + (dim - 1) / 2 * math.log(math.pi) - gammaln((dim - 1) / 2)  # of the sphere one lower
    return -log_area - log_integral, float((mass * np.tanh(s)).sum() / mass.sum())


@pytest.mark.parametrize("dim", [4, 30, 100, 300, 599, 1024])
@pytest.mark.parametrize("kappa", [1e-3, 1.0, 20.0, 33.0, 46.0, 250.0, 299.0, 301.0, 1e3, 3e4, 1e6])
def test_normalizer_and_mean_resultant_agree_with_quadrature(dim, kappa):
    log_c, resultant = moments_by_quadrature(kappa, dim)
    assert vmf_log_normalizer(kappa, dim) == pytest.approx(log_c, rel=1e-11)
    assert vmf_mean_resultant(kappa, dim) == pytest.approx(resultant, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("dim", [2, 3, 100, 1024])
def test_no_concentration_is_the_uniform_density(dim):
    log_area = math.log(2) + dim / 2 * math.log(math.pi) - gammaln(dim / 2)
    assert vmf_log_normalizer(0, dim) == pytest.approx(-log_area, rel=1e-14)
    assert vmf_mean_resultant(0, dim) == 0


@pytest.mark.parametrize("dim", [2, 3, 100, 602, 1024])
def test_ranges_of_the_bessel_function_join_without_a_step(dim):
    """A_d is the derivative of −log c_d: across each change of method, the difference matches the integral."""
    edges = [math.sqrt(2 * dim), *([math.sqrt(300**2 - order**2)] if (order := dim / 2 - 1) < 300 else [])]
    for edge in edges:
        step = 1e-3 * edge
        below, above = edge - step, edge + step
        rise = float(vmf_log_normalizer(below, dim) - vmf_log_normalizer(above, dim))
        slope = float(np.mean(vmf_mean_resultant([below, edge, edge, edge, edge, above], dim)))  # Simpson
        assert rise == pytest.approx(2 * step * slope, rel=1e-7)
        around = vmf_mean_resultant(edge * np.array([1 - 1e-12, 1 + 1e-12]), dim)
        assert around[1] == pytest.approx(around[0], rel=1e-10)


def test_coefficients_of_debyes_expansion_follow_its_recurrence():
    """u_{k+1}(t) = ½ t² (1 − t²) u_k'(t) + ⅛ ∫₀ᵗ (1 − 5s²) u_k(s) ds, u₀ = 1; compared where every term weighs."""
    u, us = Polynomial([1.0]), []
    for _ in range(4):
        u = Polynomial([0, 0, 0.5, 0, -0.5]) * u.deriv() + (Polynomial([1, 0, -5]) * u).integ() / 8
        us.append(u)
    for order, kappa in ((2.0, 0.5), (1.5, 2.0), (1.0, 4.0)):
        q = math.hypot(order, kappa)
        leading = q - kappa - order * math.asinh(order / kappa) - 0.5 * math.log(2 * math.pi * q)
        tail = sum(u(order / q) / order**k for k, u in enumerate(us, start=1))
        found = float(_log_scaled_bessel_debye(order, np.array(kappa)))
        assert found == pytest.approx(leading + math.log1p(tail), rel=1e-12)


@given(st.floats(-6, 6), st.integers(2, 1024))
def test_concentration_inverts_the_mean_resultant(log_kappa, dim):
    kappa = 10**log_kappa
    resultant = float(vmf_mean_resultant(kappa, dim))
    # One rounding of A moves κ by 1 / A'(κ) of it, with A' ≈ (d − 1) / 2κ² at large κ.
    tolerance = 1e-9 + 1e-13 * kappa / (dim - 1)
    assert vmf_concentration(resultant, dim) == pytest.approx(kappa, rel=tolerance)


@given(st.floats(0, 1, exclude_max=True), st.integers(2, 1024))
def test_mean_resultant_inverts_the_concentration(resultant, dim):
    assert vmf_mean_resultant(vmf_concentration(resultant, dim), dim) == pytest.approx(resultant, rel=1e-11, abs=1e-300)


def test_concentration_at_the_ends_and_on_arrays():
    np.testing.assert_array_equal(vmf_concentration([0.0, 1.0], 100), [0, np.inf])
    kappas = np.array([[0.5, 8.0], [50.0, 5e5]])
    found = vmf_concentration(vmf_mean_resultant(kappas, 100), 100)
    np.testing.assert_allclose(found, kappas, rtol=1e-8)


def test_concentration_of_a_sample_drawn_by_scipy():
    sample = vonmises_fisher(np.eye(10)[0], 20).rvs(20_000, random_state=3)
    assert vmf_concentration(mean_resultant_length(sample), 10) == pytest.approx(20, rel=0.03)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vmf_log_normalizer(-1.0, 3), "at least 0, not -1"),
        (lambda: vmf_log_normalizer([1.0, np.inf], 3), "not inf"),
        (lambda: vmf_mean_resultant(1.0, 1), "at least 2 dimensions, not 1"),
        (lambda: vmf_concentration(1.5, 3), "between 0 and 1, not 1.5"),
        (lambda: vmf_concentration(np.nan, 3), "not nan"),
    ],
)
def test_values_out_of_range_are_named(call, message):
    with pytest.raises(DirectionError, match=message):
        call()


@pytest.mark.parametrize("magnitude", [1e-44, 1e-38, 1e-30, 1e-7, 1.0, 1e19, 1e37, 3e38])
def test_normalize_of_float32_neither_overflows_nor_underflows(magnitude):
    """Each row as it would be alone, and right to the last bits, from the smallest numbers to the largest."""
    random = np.random.default_rng(5).uniform(-1, 1, (4, 9))
    extreme = (random / np.abs(random).max() * magnitude).astype(np.float32)
    ordinary = np.random.default_rng(6).standard_normal((2, 9)).astype(np.float32)
    rows = normalize(np.concatenate([ordinary, extreme]))
    wide = extreme.astype(np.float64)
    expected = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    np.testing.assert_allclose(rows[2:], expected, atol=1e-7)
    np.testing.assert_array_equal(rows[:2], normalize(ordinary))
