"""The beginnings of lines, compared with plain Python."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spherevec.storage.text_kernel import line_beginnings

LINES = st.lists(st.text("aaaaaabc é\t\r漢😀", max_size=12), min_size=1, max_size=8)


@settings(max_examples=300)
@given(lines=LINES, cuts=st.sets(st.integers(0, 60), max_size=4), characters=st.integers(1, 9))
def test_beginnings_of_lines_are_those_of_plain_python(lines, cuts, characters):
    text = "\n".join([*lines, ""]).encode()
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    kept, kept_ends, taken = b"", [], 0
    for first, last in pairwise(edges):
        block = np.frombuffer(text[first:last], np.uint8)
        newlines = np.flatnonzero(block == ord("\n"))
        out, ends = np.empty(len(block), np.uint8), np.empty(len(newlines), np.int64)
        filled, taken = line_beginnings(block, newlines, characters, taken, out, ends)
        kept_ends += (ends + len(kept)).tolist()
        kept += out[:filled].tobytes()
    slow = [line.replace("\r", "").replace("\t", " ").lstrip(" ")[:characters] for line in lines]
    assert kept_ends[-1] == len(kept)
    assert [kept[first:last].decode() for first, last in pairwise([0, *kept_ends])] == slow
