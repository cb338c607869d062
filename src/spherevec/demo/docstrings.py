"""Real English on every machine: the docstrings of Python and of the installed numpy, scipy and scikit-learn.

Source files are parsed, never imported: importing a thousand modules is slow and has side effects.
"""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from spherevec.errors import CorpusError

STANDARD_LIBRARY = "python"
PACKAGES = ("numpy", "scipy", "sklearn")

# Tests, programs, copies of other projects and tables.
_SKIPPED = {
    *("test", "tests", "idlelib", "turtledemo", "site-packages", "dist-packages", "lib2to3", "ensurepip", "distutils"),
    *("encodings", "pydoc_data", "externals", "_vendor", "__pycache__"),
}
# A shorter docstring says too little to place a document.
_FEWEST_WORDS = 5

_Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Docstring(NamedTuple):
    """One document: its qualified name, such as scipy.stats.pearsonr, its package, and its text."""

    name: str
    package: str
    text: str


def collect_docstrings() -> list[Docstring]:
    """Every docstring of five words or more. Of equal names the longest text counts, of equal texts the first."""
    found: dict[str, Docstring] = {}
    for package, root in _roots():
        for path in sorted(root.rglob("*.py")):
            relative = path.relative_to(root)
            if not _SKIPPED.isdisjoint(relative.parts):
                continue
            prefix = [] if package == STANDARD_LIBRARY else [package]
            for name, text in _docstrings_of(path, [*prefix, *relative.with_suffix("").parts]):
                # scipy.stats.pearsonr is defined for masked arrays too, in fewer words.
                if name not in found or len(text) > len(found[name].text):
                    found[name] = Docstring(name, package, text)
    if not found:
        raise CorpusError("this Python comes without its source files, so there are no docstrings; use --corpus FILE")
    first_names = {one.text: one.name for one in reversed(found.values())}
    return [
        one for one in found.values() if first_names[one.text] == one.name and len(one.text.split()) >= _FEWEST_WORDS
    ]


def _roots() -> Iterator[tuple[str, Path]]:
    yield STANDARD_LIBRARY, Path(sysconfig.get_path("stdlib"))
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            yield package, Path(spec.submodule_search_locations[0])


def _docstrings_of(path: Path, module: list[str]) -> Iterator[tuple[str, str]]:
    """Qualified names and docstrings of one source file; a file that cannot be parsed has none."""
    try:
        source = path.read_bytes()
        tree = ast.parse(source) if b'"""' in source else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return
    public = _public(module)
    for name, definition in _definitions(public, tree):
        text = ast.get_docstring(definition)
        if text:
            yield name, text
    for statement in tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield from _added_docstring(public, statement.value)


def _definitions(name: str, node: _Definition) -> Iterator[tuple[str, _Definition]]:
    """The node and what is defined in it, also under `if` and `try`, but not inside functions."""
    yield name, node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    statements: list[ast.stmt] = list(node.body)
    while statements:
        statement = statements.pop(0)
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _definitions(f"{name}.{statement.name}", statement)
        elif isinstance(statement, ast.If | ast.Try):
            statements += statement.body


def _added_docstring(module: str, call: ast.Call) -> Iterator[tuple[str, str]]:
    """What numpy and scipy say of compiled functions: add_newdoc("numpy._core.umath", "exp", text) and the like."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "add_newdoc"):
        return
    given = [arg for outer in call.args for arg in (outer.elts if isinstance(outer, ast.Tuple) else [outer])]
    strings = [arg.value for arg in given if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if len(strings) == len(given) >= 2:
        *names, text = strings
        prefix = _public(names.pop(0).split(".")) if len(names) > 1 else module
        yield ".".join([prefix, *names]), text


def _public(module: list[str]) -> str:
    """Where users find what a private module defines: numpy._core.fromnumeric → numpy."""
    parts = [part for part in module if part != "__init__"]
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[: max(private, 1)])
