"""Labelled texts in other languages: manual pages of Debian packages, one document a page, the section as class.

    apt-get download manpages-de manpages-de-dev && for f in *.deb; do dpkg -x $f de; done
    python -m experiments.languages.manual_pages de --out DATA/manual_de

The folder has the layout that experiments/datasets.py reads.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections import Counter
from pathlib import Path

import numpy as np

# Of roff: what stands before the first heading and macros that a page defines print nothing; nor do formats of tables,
# some requests, and changes of font and zero-width escapes inside words.
_HEADING = re.compile(r"^[.'] *S[Hh]\b", re.M)
_DEFINITION = re.compile(r"^\.de.*?^\.\.", re.M | re.S)
_TABLE_FORMAT = re.compile(r"^\.TS.*?\.[ \t]*$", re.M | re.S)
_WORDLESS = "TH Dd Dt Os IX so if ie el ds nr mso hy nh ad na ft ps tr ne sp in ti ta".replace(" ", "|")
_REQUEST = re.compile(rf"""^[.'] *(?:\\"|(?:{_WORDLESS})\b).*$""", re.M)
_MDOC_LINE, _MDOC_MACRO = re.compile(r"^\.[A-Z][a-z]\b.*$", re.M), re.compile(r"(?<!\S)[A-Z][a-z](?!\S)")
_MACRO = re.compile(r"^[.'] *\w*|^\.\.$|\bT[{}]", re.M)
_SILENT = re.compile(r"\\(?:f(?:\[[^]]*\]|\(..|[^[(])|s[-+]?\d|[%&:,/|^)])")
_GLYPH = re.compile(r"\\(?:\*?\((aq|Aq|cq|at|hy)|\*?\[(aq|Aq|cq|at|hy)\])")
_GLYPHS = {"aq": "'", "Aq": "'", "cq": "'", "at": "@", "hy": "-"}
_ESCAPE = re.compile(r'\\(?:".*|\*?\[[^]]*\]|\*?\(..|\*.|.)')
_LETTER = re.compile(r"[^\W\d_]")
MIN_LETTERS, MIN_PAGES = 200, 20


def page_text(roff: str) -> str:
    """The words of a page in one line."""
    text = _DEFINITION.sub("", roff)
    heading = _HEADING.search(text)
    text = _REQUEST.sub("", _TABLE_FORMAT.sub("", text[heading.start() :] if heading else text))
    text = _MDOC_LINE.sub(lambda line: _MDOC_MACRO.sub(" ", line[0][3:]), text)
    text = _MACRO.sub(" ", text.replace(r"\-", "-"))
    text = _GLYPH.sub(lambda glyph: _GLYPHS[glyph[1] or glyph[2]], _SILENT.sub("", text))
    return " ".join(_ESCAPE.sub(" ", text).split())


def read_pages(folder: Path) -> dict[str, int]:
    """The section of each page by its text; pages that only point to another are left out, equal ones are kept once."""
    pages: dict[str, int] = {}
    for file in sorted(folder.rglob("man[1-8]/*.gz")):
        text = page_text(gzip.decompress(file.read_bytes()).decode("utf-8", "replace"))
        if len(_LETTER.findall(text)) >= MIN_LETTERS:
            pages.setdefault(text, int(file.parent.name[3]))
    sizes = Counter(pages.values())
    return {text: section for text, section in pages.items() if sizes[section] >= MIN_PAGES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the packages were unpacked")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pages = read_pages(arguments.folder)
    sections = sorted(set(pages.values()))
    split = np.where(np.random.default_rng(1).random(len(pages)) < 0.8, "train", "test")
    columns = {
        "text": pages,
        "label": (sections.index(section) for section in pages.values()),
        "split": split,
        "classes": (f"section {section}" for section in sections),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, lines in columns.items():
        (arguments.out / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{arguments.out}: {len(pages)} pages in {len(sections)} sections")


if __name__ == "__main__":
    main()
