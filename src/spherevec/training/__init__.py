"""From an encoded corpus to unit vectors."""

from spherevec.training.progress import Progress
from spherevec.training.trainer import train, train_corpus

__all__ = ["Progress", "train", "train_corpus"]
