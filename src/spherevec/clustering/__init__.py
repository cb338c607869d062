"""Clusters on the unit sphere, as scikit-learn clusterers, and names for them.

Rows that are not of length 1 are put on the sphere first; a zero row has no direction and is refused.
"""

from spherevec.clustering.kmeans import SphericalKMeans
from spherevec.clustering.mixture import VonMisesFisherMixture
from spherevec.clustering.naming import name_clusters

__all__ = ["SphericalKMeans", "VonMisesFisherMixture", "name_clusters"]
