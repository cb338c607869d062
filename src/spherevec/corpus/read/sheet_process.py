"""Run as a script: print the rows of a sheet as JSON lines, within limits of memory and processor time.

A spreadsheet of a few bytes can stand for billions of cells, and the native reader ends its process where memory does.
"""

import json
import sys
from datetime import date, timedelta
from typing import Any


def main(path: str, sheet: str, size: int) -> None:
    """Print the names of the sheets, then the rows of the one that is wanted, the first for ''."""
    try:
        import resource  # not on Windows
    except ImportError:
        pass
    else:
        memory, seconds = (2 << 30) + 100 * size, 20 + (size >> 18)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    import python_calamine

    book = python_calamine.load_workbook(path)
    sys.stdout.write(json.dumps(book.sheet_names) + "\n")
    if book.sheet_names and (not sheet or sheet in book.sheet_names):
        for row in book.get_sheet_by_name(sheet or book.sheet_names[0]).iter_rows():
            sys.stdout.write(json.dumps(row, default=_typed) + "\n")


def _typed(value: Any) -> Any:
    """Dates are told from text; times of day and durations are text."""
    if isinstance(value, timedelta):
        return str(value)
    return {"date": value.isoformat()} if isinstance(value, date) else value.isoformat()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
