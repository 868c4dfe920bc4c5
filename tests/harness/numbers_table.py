"""A table of the numbers 0 to N - 1, a row each, with a long and a group, and what there is to count and sum."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from itertools import pairwise
from multiprocessing import get_context
from typing import Final

import happybase
import pyarrow as pa

import hbtable

NAME: Final = "numbers"
TYPES: Final[dict[str, pa.DataType | None]] = {"c:n": pa.int64(), "c:group": pa.string()}
TABLETS: Final = 18
_GROUPS: Final = 7
_FACTOR: Final = 12_345
_OFFSET: Final = 10**10
"""Longs are so much less: some are below zero, and most need more than 32 bits."""
_BATCH: Final = 20_000

Total = tuple[int, int]
"""How many rows, and the sum of their longs."""
Totals = dict[str | None, Total]
"""By group; None: of all rows."""


def total(first: int, step: int, count: int) -> Total:
    """Of the rows first, first + step, ..."""
    return count, _FACTOR * (count * first + step * (count * (count - 1) // 2)) - _OFFSET * count


def expected(rows: int) -> Totals:
    groups: Totals = {f"group {at}": total(at, _GROUPS, (rows - at + _GROUPS - 1) // _GROUPS) for at in range(_GROUPS)}
    return {None: total(0, 1, rows), **groups}


def key(number: int) -> str:
    return f"{number:08d}"


def _load(port: int, first: int, stop: int) -> None:
    """A part of the table, in a process of its own."""

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(first, stop, _BATCH):
            numbers = range(start, min(start + _BATCH, stop))
            longs = [number * _FACTOR - _OFFSET for number in numbers]
            groups = [f"group {number % _GROUPS}" for number in numbers]
            yield pa.record_batch({"row": [key(number) for number in numbers], "c:n": longs, "c:group": groups})

    with hbtable.connect("127.0.0.1", port) as db:
        assert db.table(NAME).write_arrow(batches(), "row") == stop - first


def load(port: int, rows: int) -> None:
    """By two processes that write at once. It prints how far it is."""
    cuts = _cuts(rows)
    with hbtable.connect("127.0.0.1", port) as db:
        if not db.table_exists(NAME):  # else a load was broken off, and the same rows are written again
            db.create_table(NAME, ["c"], split_rows=[key(cut) for cut in cuts[1:-1]])
    with ProcessPoolExecutor(2, get_context("spawn")) as writers:
        for done, stop in [(writers.submit(_load, port, first, stop), stop) for first, stop in pairwise(cuts)]:
            done.result()
            print(f"  {stop:,} of {rows:,} rows are loaded", flush=True)


def _cuts(rows: int) -> list[int]:
    return [rows * at // TABLETS for at in range(TABLETS + 1)]


def _scanned(port: int, first: int, stop: int) -> Totals:
    with closing(happybase.Connection("127.0.0.1", port, timeout=60_000)) as connection:
        counts, sums = Counter[str](), Counter[str]()
        for _, data in connection.table(NAME).scan(key(first).encode(), key(stop).encode(), batch_size=5000):
            group = data[b"c:group"].decode()
            counts[group] += 1
            sums[group] += int.from_bytes(data[b"c:n"], "big", signed=True)
    return {group: (counts[group], sums[group]) for group in counts}


def scanned(port: int, rows: int) -> Totals:
    """The count and the sums of plain happybase scans, by two processes at once. It prints how far they are."""
    found: Totals = {}
    with ProcessPoolExecutor(2, get_context("spawn")) as readers:
        parts = [(readers.submit(_scanned, port, first, stop), stop) for first, stop in pairwise(_cuts(rows))]
        for part, stop in parts:
            for group, (count, sum) in part.result().items():
                for name in (None, group):
                    before = found.get(name, (0, 0))
                    found[name] = before[0] + count, before[1] + sum
            print(f"  {stop:,} of {rows:,} rows are scanned", flush=True)
    return found
