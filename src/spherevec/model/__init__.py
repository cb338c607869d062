"""The trained model and what it answers: vectors with names, neighbours, vectors of new documents, its files."""

from spherevec.model.keyed_vectors import KeyedVectors, UnknownKeyError
from spherevec.model.model import Model, load

__all__ = ["KeyedVectors", "Model", "UnknownKeyError", "load"]
