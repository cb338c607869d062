"""What the study varies: settings of a training, one at a time."""

from __future__ import annotations

from typing import Any

DEFAULT = "default"

VARIANTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    **{f"concentration {kappa:g}": {"concentration": kappa} for kappa in (4.0, 6.0, 10.0, 12.0, 16.0)},
    **{f"offset from {start:g}": {"offset": start} for start in (-2.0, 4.0)},
    **{f"{count} drawn words": {"negative": count} for count in (3, 10)},
    **{f"batches of {count}": {"batch": count} for count in (1, 4, 16)},
    **{f"sample {share:g}": {"sample": share} for share in (1e-5, 1e-4, 1e-3)},
    **{f"alpha {alpha:g}": {"alpha": alpha} for alpha in (0.005, 0.02)},
    **{f"window {reach}": {"window": reach} for reach in (5, 15)},
    **{
        f"dimension {size}, concentration {kappa:g}": {"vector_size": size, "concentration": kappa}
        for size in (50, 300)
        for kappa in (4.0, 6.0, 8.0, 11.0, 16.0)
    },
    "hinge": {"objective": "hinge", "margin": 0.3, "sample": 1e-4, "alpha": 0.04, "batch": 4},
}

# The share of the trained concentration that documents are fitted with at the end.
REFIT_SHARES = (1.0, 0.75, 0.625)
