"""Cells that a spreadsheet would run are guarded."""

import pytest

from spherevec.storage.csv_file import guarded


@pytest.mark.parametrize("number", ["-0.5", "+1", "-1e-3", "-.5", "+12.", "-7 "])
def test_numbers_stay_numbers(number):
    assert guarded(number) == number


@pytest.mark.parametrize("cell", ["-1x", "+1+1", "-.", "-", "-1e", "=1", "＝1"])
def test_what_is_no_number_is_guarded(cell):
    assert guarded(cell) == f"'{cell}"


def test_long_cells_take_time_in_proportion():
    digits = "-" + "1" * 1_000_000
    assert guarded(digits) == digits and guarded(f"{digits}x") == f"'{digits}x"  # minutes, if it went back and forth
