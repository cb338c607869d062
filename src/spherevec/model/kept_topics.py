"""Topics that were kept with a model: their stored form, whatever topics are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import FormatError
from spherevec.storage import schema
from spherevec.storage.tensors import read_tensors

_ABOUT = "about"


@dataclass(frozen=True)
class KeptTopics:
    """What is stored of topics; `spherevec.topics` makes it and makes topics of it again.

    Attributes:
        about: numbers, titles and settings, in JSON's own types.
        arrays: the directions that the topics are made of.
    """

    about: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    def open(cls, path: Path, *, opened: BinaryIO | None = None) -> KeptTopics:
        """Read them, all into memory."""
        arrays = read_tensors(path, memory_map=False, opened=opened)
        try:
            about = schema.parsed(arrays.pop(_ABOUT).tobytes())
            schema.map_of(schema.plain)(about, "topics")
        except (KeyError, ValueError) as error:
            raise FormatError(f"{path}: holds no topics ({error}); copy it again") from None
        return cls(about, arrays)

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file."""
        encoded = json.dumps(self.about, allow_nan=False).encode()
        return {**self.arrays, _ABOUT: np.frombuffer(encoded, np.uint8)}
