"""Places of document vectors by other projections; runs in a virtual environment of its own.

    python -m venv rivals && rivals/bin/pip install umap-learn pacmap openTSNE scikit-learn
    rivals/bin/python experiments/map/rivals.py VECTORS.npy PLACES_FOLDER --seeds 1 2 3

For each method and seed it writes METHOD-SEED.npy, (n, 2) or (n, 3), and METHOD-SEED.json with the seconds it took.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def umap(vectors: Floats, seed: int) -> Any:
    from umap import UMAP

    return UMAP(n_components=2, metric="cosine", random_state=seed).fit_transform(vectors)


def umap_sphere(vectors: Floats, seed: int) -> Any:
    """UMAP's own spherical output, as points of the unit sphere."""
    from umap import UMAP

    angles = UMAP(n_components=2, metric="cosine", output_metric="haversine", random_state=seed).fit_transform(vectors)
    latitude, longitude = angles[:, 0], angles[:, 1]
    return np.stack(
        [np.sin(latitude) * np.cos(longitude), np.sin(latitude) * np.sin(longitude), np.cos(latitude)], axis=1
    )


def pacmap(vectors: Floats, seed: int) -> Any:
    from pacmap import PaCMAP

    # Unit rows: Euclidean distance orders neighbours as the cosine does.
    return PaCMAP(n_components=2, random_state=seed).fit_transform(vectors)


def opentsne(vectors: Floats, seed: int) -> Any:
    from openTSNE import TSNE

    return TSNE(metric="cosine", random_state=seed).fit(vectors)


def tsne(vectors: Floats, seed: int) -> Any:
    from sklearn.manifold import TSNE

    return TSNE(2, metric="cosine", init="pca", random_state=seed).fit_transform(vectors.astype(np.float64))


METHODS = {"umap": umap, "umap-sphere": umap_sphere, "pacmap": pacmap, "opentsne": opentsne, "tsne": tsne}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--methods", nargs="+", choices=[*METHODS], default=[*METHODS])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    arguments = parser.parse_args()
    vectors = np.load(arguments.vectors)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for method in arguments.methods:
        for seed in arguments.seeds:
            start = time.perf_counter()
            places = np.asarray(METHODS[method](vectors, seed), np.float32)
            seconds = time.perf_counter() - start
            np.save(arguments.out / f"{method}-{seed}.npy", places)
            (arguments.out / f"{method}-{seed}.json").write_text(json.dumps({"seconds": round(seconds, 1)}) + "\n")
            print(method, seed, f"{seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
