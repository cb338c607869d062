"""What the study varies: settings of a training, one at a time."""

from __future__ import annotations

from typing import Any

DEFAULT = "default"

VARIANTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    **{f"concentration {kappa:g}": {"concentration": kappa} for kappa in (4.0, 6.0, 10.0, 12.0, 16.0)},
    **{f"bias from {start:g}": {"bias": start} for start in (-2.0, 4.0)},
    **{f"{count} negatives": {"negative": count} for count in (3, 10)},
    **{f"batches of {count}": {"batch": count} for count in (1, 4, 16)},
    **{f"sample {share:g}": {"sample": share} for share in (1e-5, 1e-4, 3e-4, 1e-3)},
    **{f"alpha {alpha:g}": {"alpha": alpha} for alpha in (0.005, 0.02)},
    **{f"window {reach}": {"window": reach} for reach in (5, 15)},
    **{f"{count} epochs": {"epochs": count} for count in (10, 20, 40)},
    **{
        f"dimension {size}, concentration {kappa:g}": {"vector_size": size, "concentration": kappa}
        for size in (50, 300)
        for kappa in (4.0, 6.0, 8.0, 11.0, 16.0)
    },
    "hinge": {"objective": "hinge", "margin": 0.3, "sample": 1e-4, "alpha": 0.04, "batch": 4},
}

# How documents are fitted to the finished words: shares of the training's concentration and sample, multiples of its
# negatives, and alpha. The first is the default.
REFITS: dict[str, dict[str, float]] = {
    "default": {},
    "1 of the concentration": {"concentration": 1.0},
    "0.625 of the concentration": {"concentration": 0.625},
    "1 of sample": {"sample": 1.0},
    "0.1 of sample": {"sample": 0.1},
    "twice the negatives": {"negative": 2.0},
    "0.1 of sample, twice the negatives": {"sample": 0.1, "negative": 2.0},
    "alpha 0.03": {"alpha": 0.03},
}
