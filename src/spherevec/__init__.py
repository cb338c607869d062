"""Word and document vectors from your own text, learned together on the unit sphere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spherevec._version import __version__

# Public names and their homes. They are imported when first used, so that `import spherevec` stays quick.
_HOMES = {
    "train": "spherevec.training",
    "train_corpus": "spherevec.training",
    "load": "spherevec.model",
    "Model": "spherevec.model",
    "KeyedVectors": "spherevec.model.keyed_vectors",
    "TrainConfig": "spherevec.config",
    "SphericalEmbedding": "spherevec.estimators",
    "SphericalTopics": "spherevec.estimators",
    "NamedTopics": "spherevec.estimators",
    "SphericalKMeans": "spherevec.clustering",
    "VonMisesFisherMixture": "spherevec.clustering",
    "name_clusters": "spherevec.clustering",
    "SpherevecError": "spherevec.errors",
}

__all__ = [
    "KeyedVectors",
    "Model",
    "NamedTopics",
    "SpherevecError",
    "SphericalEmbedding",
    "SphericalKMeans",
    "SphericalTopics",
    "TrainConfig",
    "VonMisesFisherMixture",
    "__version__",
    "load",
    "name_clusters",
    "train",
    "train_corpus",
]

if TYPE_CHECKING:
    from spherevec.clustering import SphericalKMeans, VonMisesFisherMixture, name_clusters
    from spherevec.config import TrainConfig
    from spherevec.errors import SpherevecError
    from spherevec.estimators import NamedTopics, SphericalEmbedding, SphericalTopics
    from spherevec.model import KeyedVectors, Model, load
    from spherevec.training import train, train_corpus


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spherevec' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
