"""The geometry of the unit sphere, and the von Mises–Fisher distribution on it, in plain NumPy.

Arrays have any leading shape; the last axis holds the coordinates. Functions keep the floating-point type they are
given, except where the docstring says float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spherevec.errors import SpherevecError

Floats = NDArray[np.float32]
FloatArray = NDArray[np.floating[Any]]

# Rows with a norm inside this range are divided by it in their own type: no square overflows or loses digits in
# float64, and the norm itself is an ordinary number of that type.
_SAFE_NORMS = {
    np.dtype(np.float16): (1e-3, 6e4),
    np.dtype(np.float32): (1e-30, 1e38),
    np.dtype(np.float64): (1e-100, 1e100),
}

_CONCENTRATION_STEPS = 40


class DirectionError(SpherevecError, ValueError):
    """A vector has no direction: it is zero, or not finite."""


def normalize(x: ArrayLike) -> FloatArray:
    """Every row divided by its norm.

    A zero row has no direction, nor has one with NaN or infinity: both raise `DirectionError`. Any other row gets
    its direction, whatever its length, from the smallest number of its type to the largest.

    Examples:
        >>> normalize([[3.0, 4.0], [3e-320, 4e-320]]).round(3).tolist()
        [[0.6, 0.8], [0.6, 0.8]]
    """
    rows = _floating(x)
    norms = _norms(rows)
    low, high = _SAFE_NORMS.get(rows.dtype, _SAFE_NORMS[np.dtype(np.float64)])
    extreme = ~((norms > low) & (norms < high))
    if not extreme.any():
        return np.asarray(rows / norms[..., None].astype(rows.dtype))
    # Extreme rows are done apart, so that no row's result depends on the others.
    norms[extreme] = 1
    unit = np.asarray(rows / norms[..., None].astype(rows.dtype))
    unit[extreme] = _extreme_directions(rows[extreme], np.flatnonzero(extreme))
    return unit


def _extreme_directions(rows: FloatArray, numbers: NDArray[np.intp]) -> FloatArray:
    """Unit rows (n, dim) of rows that are very long or very short; `numbers` (n,) name them in an error."""
    largest = np.max(np.abs(rows), axis=-1, keepdims=True, initial=0)
    lost = np.flatnonzero(~((largest > 0) & np.isfinite(largest)))
    if len(lost):
        what = "is zero" if largest.ravel()[lost[0]] == 0 else "is not finite"
        raise DirectionError(f"row {numbers[lost[0]]} {what} and has no direction; drop it or replace it")
    # A power of two brings each row to magnitude 1 without rounding.
    wide = np.ldexp(rows.astype(np.promote_types(rows.dtype, np.float64)), -np.frexp(largest)[1])
    return np.asarray((wide / _norms(wide)[..., None]).astype(rows.dtype))


def mean_resultant_length(xs: ArrayLike) -> FloatArray:
    """The length of the mean of unit vectors, shape (..., n, dim) → (...), in float64.

    0 is perfectly spread, 1 is all the same vector.
    """
    return _norms(np.mean(_floating(xs), axis=-2, dtype=np.float64))


def vmf_log_normalizer(kappa: ArrayLike, dim: int) -> NDArray[np.float64]:
    """log c_d(κ), where c_d(κ) exp(κ μᵀx) is the von Mises–Fisher density on the sphere in `dim` coordinates.

    Relative accuracy about 1e-14 for every κ ≥ 0 and `dim` ≥ 2: nothing under- or overflows. κ = 0 is the uniform
    density.
    """
    at = _concentrations(kappa, dim)
    small = _in_series_range(at, dim)
    large = at[~small]
    order = dim / 2 - 1
    result = np.empty_like(at)
    # c_d(κ) = Γ(d/2) / (2 π^{d/2} ₀F₁(; d/2; κ²/4)) = κ^order / ((2π)^{d/2} I_order(κ))
    result[small] = (
        math.lgamma(dim / 2) - math.log(2) - dim / 2 * math.log(math.pi) - np.log(_hyp0f1(dim / 2, at[small]))
    )
    result[~small] = order * np.log(large) - dim / 2 * math.log(2 * math.pi) - _log_scaled_bessel(order, large) - large
    return result


def vmf_mean_resultant(kappa: ArrayLike, dim: int) -> NDArray[np.float64]:
    """A_d(κ) = I_{d/2}(κ) / I_{d/2−1}(κ), the expected mean resultant length at concentration κ."""
    at = _concentrations(kappa, dim)
    small = _in_series_range(at, dim)
    few, large = at[small], at[~small]
    result = np.empty_like(at)
    result[small] = few / dim * _hyp0f1(dim / 2 + 1, few) / _hyp0f1(dim / 2, few)
    result[~small] = np.exp(_log_scaled_bessel(dim / 2, large) - _log_scaled_bessel(dim / 2 - 1, large))
    return result


def vmf_concentration(rbar: ArrayLike, dim: int) -> NDArray[np.float64]:
    """The κ with A_d(κ) = `rbar`: the maximum-likelihood concentration of a mean resultant length in [0, 1].

    0 gives 0 and 1 gives infinity.
    """
    lengths = np.asarray(rbar, dtype=np.float64)
    outside = ~((lengths >= 0) & (lengths <= 1))
    if np.any(outside):
        raise DirectionError(f"a mean resultant length lies between 0 and 1, not {lengths[outside][0]}")
    wanted = np.where(lengths < 1, lengths, 0.0)
    # Banerjee et al.'s closed form is within a few per cent.
    kappa = np.asarray(wanted * (dim - wanted**2) / (1 - wanted**2))
    for _ in range(_CONCENTRATION_STEPS):
        # Newton, with the slope of the close bound κ / (a + √(b² + κ²)): the exact slope cancels at large κ.
        root = np.hypot((dim + 1) / 2, kappa)
        below = (dim - 1) / 2 + root
        slope = ((dim - 1) / 2 + ((dim + 1) / 2) ** 2 / root) / below**2
        step = (vmf_mean_resultant(kappa, dim) - wanted) / slope
        # No step leaves the positive half line or more than doubles the concentration.
        kappa = np.clip(kappa - step, kappa / 2, 2 * kappa)
        if np.all(np.abs(step) <= 1e-14 * kappa):
            break
    return np.where(lengths < 1, kappa, np.inf)


def _floating(x: ArrayLike) -> FloatArray:
    array = np.asarray(x)
    return array if np.issubdtype(array.dtype, np.floating) else array.astype(np.float64)


def _norms(x: FloatArray) -> NDArray[np.float64]:
    """Norms over the last axis, summed in float64."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.einsum("...i,...i->...", x, x, dtype=np.float64)))


def _concentrations(kappa: ArrayLike, dim: int) -> NDArray[np.float64]:
    at = np.asarray(kappa, dtype=np.float64)
    if dim < 2:
        raise DirectionError(f"the von Mises-Fisher distribution needs at least 2 dimensions, not {dim}")
    outside = ~((at >= 0) & np.isfinite(at))
    if np.any(outside):
        raise DirectionError(f"a concentration is finite and at least 0, not {at[outside][0]}")
    return at


def _in_series_range(kappa: NDArray[np.float64], dim: int) -> NDArray[np.bool_]:
    """Where the terms of ₀F₁(; d/2; κ²/4) fall at least as fast as 1/k!."""
    return np.asarray(kappa**2 <= 2 * dim)


def _hyp0f1(b: float, kappa: NDArray[np.float64]) -> NDArray[np.float64]:
    """₀F₁(; b; κ²/4)."""
    from scipy.special import hyp0f1

    return np.asarray(hyp0f1(b, kappa**2 / 4))


def _log_scaled_bessel(order: float, kappa: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(I_order(κ) e^−κ) beyond the range of the series.

    There SciPy's function cannot underflow while √(order² + κ²) ≤ 300; further out Debye's expansion takes over.
    """
    from scipy.special import ive

    far = np.hypot(order, kappa) > 300
    result = np.empty_like(kappa)
    result[~far] = np.log(ive(order, kappa[~far]))
    result[far] = _log_scaled_bessel_debye(order, kappa[far])
    return result


def _log_scaled_bessel_debye(order: float, kappa: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(I_order(κ) e^−κ) in powers of 1/q, q = √(order² + κ²), uniformly in s = (order/q)²."""
    q = np.hypot(order, kappa)
    s = (order / q) ** 2
    corrections = (
        (3 - 5 * s) / 24,
        (81 + s * (-462 + 385 * s)) / 1152,
        (30375 + s * (-369603 + s * (765765 - 425425 * s))) / 414720,
        (4465125 + s * (-94121676 + s * (349922430 + s * (-446185740 + 185910725 * s)))) / 39813120,
    )
    tail = sum(c / q**k for k, c in enumerate(corrections, start=1))
    # √(order² + κ²) − κ, without the cancellation
    exponent = order**2 / (q + kappa) - order * np.arcsinh(order / kappa)
    return np.asarray(exponent - 0.5 * np.log(2 * math.pi * q) + np.log1p(tail))
