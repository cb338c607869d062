"""Real English on every machine: what Python, numpy, scipy and scikit-learn say about themselves, as prose.

Source files are parsed, never imported: importing a thousand modules is slow and has side effects.
"""

from __future__ import annotations

import ast
import re
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from typing import NamedTuple

from spherevec.errors import CorpusError

STANDARD_LIBRARY = "python"
PACKAGES = ("numpy", "scipy", "sklearn")
_REFERENCE = "language"  # pydoc_data/topics.py: chapters of the language reference, which help("assert") shows

# Tests, programs, copies of other projects and tables.
_SKIPPED = {
    *("test", "tests", "idlelib", "turtledemo", "site-packages", "dist-packages", "lib2to3", "ensurepip", "distutils"),
    *("encodings", "externals", "_vendor", "__pycache__", "f2py", "_pyrepl", "array_api_compat", "conftest.py"),
    *("_lib", "imp.py", "asyncore.py", "asynchat.py"),  # helpers, and what is deprecated
    # Say of others what numpy and chebyshev.py say.
    *("matrixlib", "ma", "hermite.py", "hermite_e.py", "laguerre.py", "legendre.py"),
}
_FEWEST_WORDS = 12  # a shorter text says too little to place a document

_Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# Sections of a docstring that are tables, lists of names or code.
_TABLES = {
    *("Parameters", "Other Parameters", "Returns", "Yields", "Raises", "Warns", "Attributes", "Methods"),
    *("See Also", "References", "Examples", "Example"),
}
_HEADING = re.compile(r"^([A-Z][A-Za-z ]+):?\n[-=~*]{3,}$", re.MULTILINE)
# Paragraphs that are no sentences: calls, examples, directives, fields, lists of options and tables.
_NOT_PROSE = re.compile(
    r"\s*(>>>|\.\. |:\w+|[-+=|*]{3,}|\$ |@|\w+ ?= |[\w.]+\([^)]*\)\s*(->.*)?$"
    r"|(Arg(ument)?s?|Returns?|Raises|Usage|Examples?|Alias(es)?)( \([^)]*\))?:)"
)
_MARKUP = re.compile(r":math:`[^`]*`|:\w+(?::\w+)?:`~?(?:[\w.]*\.)?([^`<]*?)(?:\s*<[^>]*>)?`_?|[`*]")
# Within what only programs read: n_samples, a.b, f(x), fileObject.
_CODE = re.compile(r"[_=(){}\[\]\\@^<>|~%/+]|\w\.\w|--|[a-z][A-Z]")
_BOILERPLATE = re.compile(r"[^.]*\b(?:[Rr]ead more|refer to|[Ss]ee) [^.]*\b(?:Guide|Glossary|entry)\b[^.]*\.")


class Docstring(NamedTuple):
    """One document: its qualified name, such as scipy.stats.pearsonr, its package and module, and its prose."""

    name: str
    package: str
    module: str
    text: str

    @property
    def title(self) -> str:
        """The name of the function or class itself; that of a module is whole."""
        return self.name if self.name == self.module else self.name.rpartition(".")[2]


def collect_docstrings() -> list[Docstring]:
    """The prose of every public function, class and module. Of equal names the longest counts, of equal texts the
    first.
    """
    found: dict[str, Docstring] = {}
    for package, root in _roots():
        for path in sorted(root.rglob("*.py")):
            relative = path.relative_to(root)
            if not _SKIPPED.isdisjoint(relative.parts):
                continue
            prefix = [] if package == STANDARD_LIBRARY else [package]
            module = _public([*prefix, *relative.with_suffix("").parts])
            for defined, text in _docstrings_of(path, module) if module else ():
                name = defined.removesuffix("_gen")  # scipy.stats.norm is an instance of norm_gen
                one = Docstring(name, package, module, prose(text))
                # scipy.stats.pearsonr is defined for masked arrays too, in fewer words.
                if name not in found or len(one.text) > len(found[name].text):
                    found[name] = one
    if not found:
        raise CorpusError("this Python comes without its source files, so there are no docstrings; use --corpus FILE")
    first_names = {one.text: one.name for one in reversed(found.values())}
    return [
        one for one in found.values() if first_names[one.text] == one.name and len(one.text.split()) >= _FEWEST_WORDS
    ]


def prose(text: str) -> str:
    """The sentences of a docstring, without code, signatures, tables of parameters and markup.

    >>> prose("f(x)\\n\\nSort the `rows` of an array::\\n\\n    f([3, 1])\\n\\nParameters\\n----------\\nx : a number")
    'Sort the rows of an array.'
    """
    sections = _HEADING.split(cleandoc(text))
    named = zip(sections[1::2], sections[2::2], strict=True)
    kept = [sections[0], *(body for name, body in named if name not in _TABLES)]
    paragraphs: list[str] = []
    code = False
    for paragraph in re.split(r"\n\s*\n", "\n\n".join(kept)):
        if code and paragraph[:1].isspace():
            continue
        code = paragraph.rstrip().endswith("::") or paragraph.lstrip().startswith("..")
        if not _NOT_PROSE.match(paragraph):
            paragraphs.append(re.sub(r"::$", ".", paragraph.rstrip()))
    plain = _MARKUP.sub(lambda found: found[1] or "", " ".join(paragraphs))
    words = _BOILERPLATE.sub("", " ".join(plain.split())).split()
    return " ".join(word for word in words if not _CODE.search(word.strip("()[]\"'.,;:!?")))


def _roots() -> Iterator[tuple[str, Path]]:
    yield STANDARD_LIBRARY, Path(sysconfig.get_path("stdlib"))
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            yield package, Path(spec.submodule_search_locations[0])


def _docstrings_of(path: Path, module: str) -> Iterator[tuple[str, str]]:
    """Qualified names and docstrings of one source file; a file that cannot be parsed has none."""
    try:
        source = path.read_bytes()
        tree = ast.parse(source) if b'"""' in source else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return
    for name, definition in _definitions(module, tree):
        text = ast.get_docstring(definition)
        if text:
            yield name, text
    for statement in tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield from _added_docstring(module, statement.value)
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict) and module == _REFERENCE:
            for key, value in ast.literal_eval(statement.value).items():
                yield f"{module}.{key}", value


def _definitions(name: str, node: _Definition) -> Iterator[tuple[str, _Definition]]:
    """The node and what is public in it, also under `if` and `try`, but not inside functions."""
    yield name, node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    statements: list[ast.stmt] = list(node.body)
    while statements:
        statement = statements.pop(0)
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if not statement.name.startswith("_"):
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
        if not any(name.startswith("_") for name in names):
            yield ".".join([prefix, *names]), text


def _public(module: list[str]) -> str:
    """Where users find what a private module defines: numpy._core.fromnumeric → numpy, _pydecimal → decimal."""
    parts = [part for part in module if part != "__init__"]
    if parts == ["pydoc_data", "topics"]:
        return _REFERENCE
    parts[0] = parts[0].removeprefix("_py")
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[:private])
