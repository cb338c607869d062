"""The rows of spreadsheets, read by a process of their own: the native reader may ask for any amount of memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from spherevec.corpus.read.guard import DecompressionLimit, UnreadableError, guarded
from spherevec.corpus.read.options import listed
from spherevec.corpus.read.streams import InputFile, unchanged
from spherevec.corpus.read.tables import LONGEST_RECORD, make_row
from spherevec.corpus.table.field_types import written
from spherevec.corpus.table.records import Row
from spherevec.errors import CorpusError, MissingExtraError

_PROCESS = Path(__file__).with_name("sheet_process.py")


def sheet_rows(file: InputFile) -> Iterator[Row]:
    """The rows of one sheet of a spreadsheet, the first of which names its columns; empty rows are left out."""
    path, options = file.path, file.options
    if find_spec("python_calamine") is None:
        raise MissingExtraError("reading spreadsheets", "sheets")
    with guarded(path), unchanged(path):
        path.open("rb").close()  # a file that cannot be opened is no damaged one
        rows = _cells(file)
        sheets: list[str] = next(rows, [])
        wanted = sheets[0] if options.sheet is None and sheets else options.sheet
        if wanted not in sheets:
            raise CorpusError(f"{path}: holds no sheet named {wanted!r:.60}; choose sheet=NAME among {listed(sheets)}")
        if options.sheet is None and len(sheets) > 1:
            others = listed(sheets[1:])
            file.notes.append(f"{path}: read its first sheet, {wanted!r}, not {others}; sheet=NAME chooses another")
        header = [written(cell) for cell in next(rows, [])]
        if not header:
            return
        options.check_fields(header, str(path))
        places = [(name, header.index(name)) for name in options.names]
        for number, row in enumerate(rows, 2):
            if any(cell != "" for cell in row):
                cells = {name: row[place] for name, place in places}
                cells |= {name: written(cells[name]) for name in options.text_fields}
                yield make_row(options, cells, f"{path}, row ", number)


def _cells(file: InputFile) -> Iterator[Any]:
    """What the process prints: the names of the sheets, then lists of cells."""
    path, size = file.path, file.path.stat().st_size
    limit = DecompressionLimit(path)
    command = [sys.executable, "-P", str(_PROCESS), str(path.absolute()), file.options.sheet or "", str(size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            while line := process.stdout.readline(LONGEST_RECORD + 1):
                if len(line) > LONGEST_RECORD:
                    raise CorpusError(f"{path}: a row of over {LONGEST_RECORD >> 20} MB; split it")
                limit.add(len(line), size)
                yield json.loads(line, object_hook=lambda cell: datetime.fromisoformat(cell["date"]))
            raise_reason(process.stderr, path, process.wait())
        finally:
            process.kill()
    file.meter.done += size


def raise_reason(errors: IO[bytes], path: Path, status: int) -> None:
    """Raise `UnreadableError` where the process failed: by its last line, or by a limit that ended it."""
    last = errors.read()[-2000:].decode(errors="replace").strip().rpartition("\n")[2]
    if status < 0 or "MemoryError" in last:
        raise UnreadableError(f"{path}: needs more memory or time than its size allows; save the sheet as .csv")
    if status:
        raise UnreadableError(f"{path}: not a valid spreadsheet ({last[:200]}); copy it again")
