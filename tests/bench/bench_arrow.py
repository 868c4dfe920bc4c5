"""Table.to_arrow of a server beside a happybase scan of the same table: rows a second, in turns.

The table has two columns a row, a long and a text, and is in SSTables. Both read all of it: happybase makes a dict of
each row, in pages of 1000; to_arrow makes record batches with an int64 and a string. Counts and sums are compared, so
nobody is quick by leaving something out. Prints each round's rates, the medians, and the median of the ratios within
rounds.

    bench_arrow.py [--rows 200000] [--rounds 5] [--json FILE]
"""

import argparse
import json
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import happybase
import pyarrow as pa
import pyarrow.compute as pc

import hbtable
from tests.harness.server import ServerProcess

TARGET = 5.0
_BATCH = 5000
Total = tuple[int, int]
"""How many rows, and the sum of their longs."""


def load(db: hbtable.ConnectedDatabase, rows: int) -> None:
    table = db.create_table("t", ["e"])
    with table.batch(batch_size=_BATCH) as batch:
        for number in range(rows):
            batch.put(b"row%08d" % number, {b"e:n": struct.pack(">q", number), b"e:text": b"text %d" % (number % 1000)})
    db.flush_table("t")
    db.compact_table("t", major=True)


def by_happybase(port: int) -> Total:
    rows = total = 0
    connection = happybase.Connection("127.0.0.1", port, timeout=60_000)
    for _, data in connection.table("t").scan(columns=[b"e:n", b"e:text"], batch_size=1000):
        rows += 1
        total += struct.unpack(">q", data[b"e:n"])[0]
    connection.close()
    return rows, total


def by_arrow(port: int) -> Total:
    rows = total = 0
    with hbtable.connect("127.0.0.1", port) as db:
        for batch in db.table("t").to_arrow({"e:n": pa.int64(), "e:text": pa.string()}):
            rows += batch.num_rows
            total += pc.sum(batch.column(1)).as_py()
    return rows, total


def rate(way: Callable[[int], Total], port: int, expected: Total) -> float:
    began = time.perf_counter()
    found = way(port)
    seconds = time.perf_counter() - began
    if found != expected:
        raise SystemExit(f"{way.__name__} gave {found} instead of {expected}")
    return expected[0] / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = arguments.rows
    expected = rows, rows * (rows - 1) // 2
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder)) as server:
        with hbtable.connect("127.0.0.1", server.port) as db:
            load(db, rows)
        for way in (by_happybase, by_arrow):
            rate(way, server.port, expected)  # blocks come into the cache, and pyarrow into the server
        rounds = []
        for number in range(arguments.rounds):
            ways = [by_happybase, by_arrow] if number % 2 else [by_arrow, by_happybase]
            found = {way.__name__: rate(way, server.port, expected) for way in ways}
            rounds.append((found["by_happybase"], found["by_arrow"]))
            print("happybase {:9.0f} rows/s   to_arrow {:9.0f} rows/s".format(*rounds[-1]), flush=True)
    ratio = statistics.median(arrow / plain for plain, arrow in rounds)
    plain, arrow = (statistics.median(one) for one in zip(*rounds, strict=True))
    print(f"medians: happybase {plain:,.0f}, to_arrow {arrow:,.0f} rows/s; ratio {ratio:.2f} (target {TARGET:g})")
    if arguments.json:
        arguments.json.write_text(json.dumps({"rounds": rounds, "ratio": ratio}))


if __name__ == "__main__":
    main()
