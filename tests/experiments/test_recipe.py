"""The study of fits fits documents as training does."""

from __future__ import annotations

import numpy as np

import spherevec
from experiments.recipe.lengths import FITS, fitted


def test_the_first_fit_is_the_one_that_is_built_in():
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{word}" for word in rng.zipf(1.5, size) % 50) for size in (5, 40, 300, 20) * 5]
    model = spherevec.train(texts, vector_size=12, epochs=2, threads=1, min_count=1)
    built = model.docs.vectors.copy()
    found = {name: fitted(model, *fit, "cpu") for name, fit in FITS.items()}
    np.testing.assert_allclose(found.pop("as built"), built, atol=1e-6)
    assert all(np.abs(vectors - built).max() > 1e-4 for vectors in found.values())
