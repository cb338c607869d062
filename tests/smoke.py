"""Run every command once, and what each extra adds, with the package that is installed beside this Python.

    python tests/smoke.py [EXTRA...]

Needs nothing but the package and the extras that are named; `make release` runs it in empty environments.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

SUBJECTS = {
    "garden": "rose soil spade seed leaf root bloom hedge water bed compost prune",
    "harbour": "ship crane tide dock cargo rope anchor pilot quay hull buoy sail",
}
ROWS = [
    {"id": f"{name}-{i}", "text": " ".join(words.split()[(i * k) % 12] for k in range(1, 15)), "kind": name}
    for name, words in SUBJECTS.items()
    for i in range(60)
]
SMALL = ("--vector-size", "16", "--epochs", "3", "--min-count", "1", "--threads", "1")
FIELDS = ("--text-field", "text", "--id-field", "id", "--keep", "kind")
TRIED: set[str] = set()


def spherevec(*arguments: object, code: int = 0) -> str:
    """What a command prints."""
    TRIED.add(str(arguments[0]))
    command = [sys.executable, "-m", "spherevec", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != code:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stderr


def every_command() -> None:
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    Path("rows.txt").write_text("".join(row["text"] + "\n" for row in ROWS), "utf-8")
    with gzip.open("new.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write('{"id": "new", "text": "rose ship tulip tulip", "kind": "garden"}\n')
    Path("labels.txt").write_text("".join(row["kind"] + "\n" for row in ROWS), "utf-8")
    Path("pairs.txt").write_text("rose soil 9\nrose ship 1\ncrane dock 8\nseed tide 2\n", "utf-8")
    Path("questions.txt").write_text(": kind\nrose soil ship crane\nseed leaf tide dock\n", "utf-8")
    spherevec("tokenize", "rows.txt")
    spherevec("train", "rows.jsonl", "--out", "model", *FIELDS, *SMALL)
    spherevec("check", "model")
    assert json.loads(spherevec("info", "model", "--json"))["documents"] == len(ROWS)
    assert "garden" in spherevec("search", "model", "rose and soil", "--where", "kind=garden")
    spherevec("neighbors", "model", "rose")
    spherevec("analogy", "model", "rose", "soil", "ship")
    spherevec("topics", "model", "--k", 2, "--by", "kind", "--keep")
    spherevec("explore", "model", "--out", "page.html")
    spherevec("infer", "model", "rows.txt", "--out", "vectors.npy", "--ids", "ids.txt")
    spherevec("update", "model", "new.jsonl.gz", "--out", "second", "--threads", 1)
    assert json.loads(spherevec("info", "second", "--json"))["documents"] == len(ROWS) + 1
    spherevec("export", "model", "--words", "words.txt", "--docs", "docs.npy")
    spherevec("import", "words.txt", "--out", "third")
    spherevec("evaluate", "similarity", "model", "--pairs", "pairs.txt")
    spherevec("evaluate", "analogy", "model", "--questions", "questions.txt")
    spherevec("evaluate", "clustering", "model", "--labels", "labels.txt")
    spherevec("demo", "--corpus", "rows.jsonl", "--text-field", "text", "--out", "demo.html")


def _serve() -> None:
    command = [sys.executable, "-m", "spherevec", "serve", "model", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            address = next(word for word in process.stderr.readline().split() if word.startswith("http"))
            with urllib.request.urlopen(f"{address.rstrip(':')}/search?q=rose", timeout=900) as answer:
                assert json.load(answer)
        finally:
            process.terminate()


def _zstd() -> None:
    import zstandard

    Path("rows.txt.zst").write_bytes(zstandard.compress(Path("rows.txt").read_bytes()))
    spherevec("tokenize", "rows.txt.zst")


def _parquet() -> None:
    spherevec("export", "model", "--docs", "docs.parquet")
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), "rows.parquet")
    spherevec("train", "rows.parquet", "--out", "of-parquet", *FIELDS, *SMALL)


def _sheets() -> None:
    """A workbook of two columns, as small as the format allows."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    schemas = "http://schemas.openxmlformats.org"
    table = [["id", "text", "kind"], *([row["id"], row["text"], row["kind"]] for row in ROWS)]
    cells = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>" for row in table
    )
    relation = f"{schemas}/officeDocument/2006/relationships"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{schemas}/package/2006/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{schemas}/package/2006/relationships">'
        f'<Relationship Id="a" Type="{relation}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{schemas}/spreadsheetml/2006/main" xmlns:r="{relation}">'
        '<sheets><sheet name="rows" sheetId="1" r:id="a"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{schemas}/package/2006/relationships">'
        f'<Relationship Id="a" Type="{relation}/worksheet" Target="sheet1.xml"/></Relationships>',
        "xl/sheet1.xml": f'<worksheet xmlns="{schemas}/spreadsheetml/2006/main">'
        f"<sheetData>{cells}</sheetData></worksheet>",
    }
    with zipfile.ZipFile("rows.xlsx", "w") as file:
        for name, content in parts.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    spherevec("train", "rows.xlsx", "--out", "of-sheet", *FIELDS, *SMALL)


def _pandas() -> None:
    import spherevec as package

    assert len(package.load("model").topics().to_pandas()) == 2


def _plots() -> None:
    import matplotlib

    matplotlib.use("agg")
    import spherevec as package

    package.load("model").topics().plot()


def _spacy() -> None:
    spherevec("export", "model", "--words", "of-spacy", "--format", "spacy")


def _sentence_transformers() -> None:
    spherevec("export", "model", "--words", "of-sentences", "--format", "sentence-transformers")
    from sentence_transformers import SentenceTransformer

    assert SentenceTransformer("of-sentences", device="cpu").encode(["rose soil"]).shape == (1, 16)


def _cjk() -> None:
    Path("cjk.txt").write_text("我们今天去学校学习中文\n" * 5, "utf-8")
    assert "学校" in spherevec("tokenize", "cjk.txt")


def _ray() -> None:
    spherevec("train", "rows.jsonl", "--out", "of-ray", *FIELDS, *SMALL[:-2], "--ray", "local", "--workers", "1")


EXTRAS: dict[str, Callable[[], None]] = {
    "serve": _serve,
    "zstd": _zstd,
    "parquet": _parquet,
    "sheets": _sheets,
    "pandas": _pandas,
    "plots": _plots,
    "spacy": _spacy,
    "sentence-transformers": _sentence_transformers,
    "cjk": _cjk,
    "ray": _ray,
}


def main(extras: list[str]) -> None:
    import click

    from spherevec.cli import cli

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        every_command()
        if "serve" not in extras:
            assert "spherevec[serve]" in spherevec("serve", "model", "--port", "0", code=2)
        for extra in extras:
            EXTRAS[extra]()
        TRIED.add("serve")
        missing = set(cli.list_commands(click.Context(cli))) - TRIED
        assert not missing, f"not tried: {sorted(missing)}"


if __name__ == "__main__":
    main(sys.argv[1:])
