"""Many documents: a table that is opened without its rows, and a search that holds a few bytes for each."""

import tracemalloc

import numpy as np

from spherevec.corpus.table.records import schema_array
from spherevec.model.documents import DocumentTable
from spherevec.search.hybrid import Query, ranked

ROWS = 300_000


def test_a_table_is_opened_without_reading_its_rows(tmp_path):
    digits = np.arange(ROWS)[:, None] // 10 ** np.arange(7, -1, -1) % 10 + ord("0")
    column = {"offsets": np.arange(ROWS + 1) * 8, "bytes": digits.astype(np.uint8).reshape(-1)}
    roles = [{"role": role, "name": role, "kind": "text"} for role in ("id", "title")]
    arrays = {f"{number}.{part}": array for number in range(2) for part, array in column.items()}
    DocumentTable({"schema": schema_array(ROWS, roles), **arrays}).save(tmp_path / "table")
    assert (tmp_path / "table").stat().st_size > 32 * ROWS
    tracemalloc.start()
    try:
        table = DocumentTable.open(tmp_path / "table")
        assert len(table) == ROWS and table.ids[ROWS - 1] == "00299999" and table.title(7) == "00000007"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_search_holds_a_few_bytes_for_each_document():
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((ROWS, 8), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = Query("q", vectors[5], np.zeros(0, np.int32))
    tracemalloc.start()
    try:
        ((rows, scores, _, _),) = ranked([query], vectors, None, "dense", 10)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    exact = vectors.astype(np.float64) @ vectors[5].astype(np.float64)
    assert rows.tolist() == np.argsort(-exact, kind="stable")[:10].tolist()
    np.testing.assert_allclose(scores, np.sort(exact)[::-1][:10], atol=1e-7)
    assert peak < 24 * ROWS
