"""What has been measured: one small file a cell, under a key that covers everything the result depends on."""

from __future__ import annotations

import ast
import hashlib
import json
import platform
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spherevec.errors import FormatError
from spherevec.io.files import atomic_file
from spherevec.reproduction.corpora import ORDER_SEED, Corpora
from spherevec.reproduction.machine import processor, version_of
from spherevec.reproduction.methods import METHODS, Method
from spherevec.reproduction.plan import Cell, Scale

FORMAT = 1
_ROOT = Path(__file__).parent.parent


class Store:
    """The measurements below a report's folder."""

    def __init__(self, out: Path, corpora: Corpora, scale: Scale, threads: int) -> None:
        self.measurements = out / "measurements"
        self.vectors = out / "cache" / "vectors"
        self._keys: dict[Cell, str] = {}
        self._corpora, self._scale, self._threads = corpora, scale, threads

    def key(self, cell: Cell) -> str:
        """Stays as it is during a run, even while somebody changes the code."""
        if cell not in self._keys:
            self._keys[cell] = self._new_key(cell)
        return self._keys[cell]

    def _new_key(self, cell: Cell) -> str:
        return hashlib.sha256(json.dumps(self.inputs(cell), sort_keys=True).encode()).hexdigest()[:16]

    def inputs(self, cell: Cell) -> dict[str, Any]:
        """Everything that a result depends on."""
        scale = self._scale
        about: dict[str, Any] = {
            "format": FORMAT,
            "cell": {**cell.as_dict(), "needs": self.key(cell.needs) if cell.needs else None},
            "corpus": self._corpora.identity(cell.data),
            "order_seed": ORDER_SEED,
            "training": [scale.dim, scale.window, scale.epochs[cell.data], self._threads],
            "evaluation": [scale.clusterings, scale.splits, scale.mapped if cell.mapped else None],
            "method": _fingerprint(METHODS[cell.method]),
        }
        if cell.kind == "time":
            about["machine"] = [platform.machine(), processor(), scale.sampled]
        return about

    def path(self, cell: Cell) -> Path:
        return self.measurements / f"{cell.slug}-{self.key(cell)}.json"

    def load(self, cell: Cell) -> dict[str, Any] | None:
        """The figures of a cell, or None where it has not been measured."""
        path = self.path(cell)
        try:
            figures: dict[str, Any] = json.loads(path.read_text("utf-8"))["figures"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{path}: cannot be read ({error}); delete it and run again") from None
        return figures

    def save(self, cell: Cell, figures: dict[str, Any]) -> None:
        with atomic_file(self.path(cell), overwrite=True) as file:
            about = {"cell": cell.as_dict(), "inputs": self.inputs(cell), "figures": figures}
            file.write_text(json.dumps(about), "utf-8")

    def words_path(self, cell: Cell) -> Path:
        """Where the word vectors of a cell are kept while another cell needs them."""
        return self.vectors / f"{cell.slug}-{self.key(cell)}.npz"


def _fingerprint(method: Method) -> dict[str, Any]:
    """What makes a method what it is: settings, versions and code, but not the rest of the package."""
    about: dict[str, Any] = {"versions": [version_of(name) for name in method.packages], "code": _code(method.code)}
    if method.recipe:
        from spherevec.config import TrainConfig

        about["recipe"] = asdict(TrainConfig.recipe(method.recipe))
    return about


def _code(patterns: Iterable[str]) -> str:
    """A digest of what files do: comments, docstrings and layout do not count."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in patterns for path in _ROOT.glob(pattern)):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and _is_text(body[0]):
                del body[0]
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()[:16]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
