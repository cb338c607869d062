"""Topics that were kept with a model: their stored form, whatever topics are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.storage import schema

_ABOUT = "about"


@dataclass(frozen=True)
class StoredTopics:
    """What is stored of topics; `spherevec.topics` makes it and makes topics of it again.

    Attributes:
        about: numbers, titles and settings, in JSON's own types.
        arrays: the directions that the topics are made of.
    """

    about: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> StoredTopics:
        """The topics of the arrays of a file."""
        about = schema.parsed(tensors[_ABOUT].tobytes())
        schema.map_of(schema.plain)(about, "topics")
        return cls(about, {name: array for name, array in tensors.items() if name != _ABOUT})

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file."""
        encoded = json.dumps(self.about, allow_nan=False).encode()
        return {**self.arrays, _ABOUT: np.frombuffer(encoded, np.uint8)}
