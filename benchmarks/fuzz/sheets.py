"""Targets: spreadsheets, whole or with one of the files in them replaced."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from inspect import getsource
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.fuzz.base import Target, cached

_SCHEMAS = "http://schemas.openxmlformats.org"
_RELATION = f"{_SCHEMAS}/officeDocument/2006/relationships"
_MAIN = f"{_SCHEMAS}/spreadsheetml/2006/main"
_FORMATS = '<numFmts><numFmt numFmtId="164" formatCode="yyyy-mm-dd"/></numFmts>'
_CELLS = (
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>n</t></is></c><c r="C1" t="str"><v>u</v></c>'
    '</row><row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2"><f>1+1</f><v>2.5</v></c><c r="C2" s="1"><v>45000</v></c>'
    '</row><row r="4"><c r="A4" t="b"><v>1</v></c><c r="B4" t="e"><v>#N/A</v></c><c r="C4" t="d"><v>2024-01-01</v></c>'
    "</row>"
)
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
_TABLE = (
    '<table:table table:name="rows"><table:table-row>'
    '<table:table-cell office:value-type="string"><text:p>t</text:p></table:table-cell>'
    '<table:table-cell office:value-type="string"><text:p>u</text:p></table:table-cell>'
    '</table:table-row><table:table-row table:number-rows-repeated="2">'
    '<table:table-cell office:value-type="float" office:value="2.5"/><table:covered-table-cell/>'
    '<table:table-cell office:value-type="date" office:date-value="2024-01-01" table:number-columns-repeated="2"/>'
    "</table:table-row><table:table-row>"
    '<table:table-cell office:value-type="time" office:time-value="PT1H2M3S"/>'
    '<table:table-cell office:value-type="percentage" office:value="1"/></table:table-row></table:table>'
)
# The files in a spreadsheet of each kind.
_PARTS = {
    ".xlsx": {
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><dimension ref="A1:C4"/><sheetData>{_CELLS}'
        '</sheetData><mergeCells><mergeCell ref="A2:B2"/></mergeCells></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}" count="2" uniqueCount="2"><si><t>t</t></si>'
        "<si><r><t>a </t></r><r><t>text</t></r></si></sst>",
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">{_FORMATS}<cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="164" applyNumberFormat="1"/></cellXfs></styleSheet>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATION}"><workbookPr date1904="0"/><sheets>'
        '<sheet name="rows" sheetId="1" r:id="a"/></sheets><definedNames><definedName name="x">rows!$A$1</definedName>'
        "</definedNames></workbook>",
        "_rels/.rels": f'<Relationships xmlns="{_SCHEMAS}/package/2006/relationships">'
        f'<Relationship Id="a" Type="{_RELATION}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_SCHEMAS}/package/2006/relationships">'
        f'<Relationship Id="a" Type="{_RELATION}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    },
    ".ods": {
        "content.xml": f'<office:document-content xmlns:office="{_OFFICE}:office:1.0" '
        f'xmlns:table="{_OFFICE}:table:1.0" xmlns:text="{_OFFICE}:text:1.0"><office:body><office:spreadsheet>'
        f"{_TABLE}</office:spreadsheet></office:body></office:document-content>",
        "META-INF/manifest.xml": f'<m:manifest xmlns:m="{_OFFICE}:manifest:1.0"><m:file-entry m:full-path="/" '
        'm:media-type="application/vnd.oasis.opendocument.spreadsheet"/></m:manifest>',
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
    },
}

# The process that reads a sheet, forked from one that has the reader already: a new interpreter for each input would
# take most of the time, and so would the seconds that a reader may take which never ends, as that of an .ods file does
# where the text of its cells breaks off.
_SERVER = """
import json, os, signal, sys, traceback
import python_calamine
for line in sys.stdin:
    out, errors, *given, memory, seconds = json.loads(line)
    child = os.fork()
    if not child:
        status = 1
        try:
            for file, number in ((out, 1), (errors, 2)):
                os.dup2(os.open(file, os.O_WRONLY), number)
            signal.setitimer(signal.ITIMER_PROF, 0.5)
            _print_sheet(*given, int(memory), int(seconds))
            sys.stdout.flush()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def _server() -> subprocess.Popen[bytes]:
    from spherevec.corpus.read.tables import _print_sheet

    code = f"{getsource(_print_sheet)}\n{_SERVER}"
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


class _Forked:
    """What the reader makes use of in `subprocess.Popen`."""

    def __init__(self, folder: Path, server: subprocess.Popen[bytes], command: list[str], errors: Any) -> None:
        self._server, self._ended = server, False
        self._errors, self._written = errors, folder / "errors"
        pipe = folder / "pipe"
        if not pipe.exists():
            os.mkfifo(pipe)
        self._written.write_bytes(b"")
        assert server.stdin is not None
        given = [str(pipe), str(self._written), *command[4:]]
        server.stdin.write(json.dumps(given).encode() + b"\n")
        server.stdin.flush()
        self.stdout = pipe.open("rb")

    def __enter__(self) -> _Forked:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        if not self._ended:
            self.wait()

    def wait(self) -> int:
        self._ended = True
        self.stdout.close()
        assert self._server.stdout is not None
        status = int(self._server.stdout.readline())
        self._errors.write(self._written.read_bytes())
        return status


def _packed(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in parts.items():
            file.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def _parts(ending: str) -> dict[str, bytes]:
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return {name: (head * (name != "mimetype") + text).encode() for name, text in _PARTS[ending].items()}


def _seeds(ending: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        parts = _parts(ending)
        return [bytes([row]) + content for row, content in enumerate(parts.values())] + [b"\xff" + _packed(parts)]

    return seeds


def _read_sheet(ending: str) -> Callable[[bytes, Path], None]:
    """The first byte picks the file that the rest replaces, or says that it is the whole."""

    def read(data: bytes, folder: Path) -> None:
        from spherevec.corpus.read.options import ReadOptions
        from spherevec.corpus.read.readers import open_source

        parts, path, server = _parts(ending), folder / f"t{ending}", cached("server", _server)
        which = data[0] if data else 0
        changed = {**parts, list(parts)[which % len(parts)]: data[1:]}
        path.write_bytes(data[1:] if which == 0xFF else _packed(changed))

        def forked(command: list[str], *, stdout: int, stderr: Any) -> _Forked:
            return _Forked(folder, server, command, stderr)

        with mock.patch.object(subprocess, "Popen", forked):
            source = open_source(path, ReadOptions(text_field="t", keep=["u"]), records_in=folder)
            assert source.records is not None
            with source.records:
                assert all(isinstance(text, str) for text in source.texts())

    return read


_WORDS = (
    b"</", b"/>", b"<!--", b"<![CDATA[", b"&#x0;", b"&#55296;", b"&amp;", b'<!DOCTYPE a [<!ENTITY b "c">]>', b"PK\5\6",
    b' r="1048576"', b' r="XFD1048576"', b' r="A0"', b' t="s"', b' t="d"', b' t="inlineStr"', b' s="1"', b"4294967296",
    b"-1", b"1e999", b"nan", b"9999-12-31", b"0000-00-00", b"2958466", b' table:number-columns-repeated="1000000"',
    b' table:number-rows-repeated="1000000"', b' office:value-type="date"', b' office:time-value="PT',
)  # fmt: skip

SHEETS: dict[str, Target] = {ending[1:]: Target(_seeds(ending), _read_sheet(ending), 2048, _WORDS) for ending in _PARTS}
