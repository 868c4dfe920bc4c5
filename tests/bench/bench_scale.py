"""What an operation costs the server's processor as something grows: rows, columns of a row, versions of a column,
SSTables, tablets, bytes of a value.

    make bench-scale                                         # some ten minutes
    make bench-scale ARGS="--most 1000 --turns 3"            # a look, in one
    make bench-scale ARGS="--series rows,tablets --svg scale.svg"

An operation whose work does not grow by itself may cost a little more with each tenfold: a tree is deeper, a cache
misses more often. The last column is the growth from the smallest size to the largest, and has a mark where that is
more than one half of the first cost for each tenfold. Costs are the least of the turns.
"""

import argparse
import math
import random
import tempfile
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

import thriftpy2

from tests.bench.bench_trees import IDL, Server, key, message

ADMIN = thriftpy2.load(
    str(Path(__file__).resolve().parent.parent.parent / "thrift" / "admin.thrift"),
    module_name="hbase_bench_scale_admin_thrift",
)
_CALLS = 200
_ROWS_AT_ONCE = 1000


class Case(NamedTuple):
    """An operation at one size. `counts`: what one message stands for, as the rows of a page."""

    operation: str
    size: int
    messages: list[bytes]
    counts: int = 1


def put(table: bytes, row: bytes, cells: dict[bytes, bytes], timestamp: int | None = None) -> bytes:
    mutations = [IDL.Mutation(column=column, value=value) for column, value in cells.items()]
    if timestamp is None:
        return message("mutateRow", tableName=table, row=row, mutations=mutations, attributes={})
    return message("mutateRowTs", tableName=table, row=row, mutations=mutations, timestamp=timestamp, attributes={})


def get(table: bytes, row: bytes, columns: list[bytes] | None = None) -> bytes:
    return message("getRowWithColumns", tableName=table, row=row, columns=columns, attributes={})


def create(server: Server, table: bytes, versions: int = 1, splits: list[bytes] | None = None) -> None:
    family = ADMIN.AdminFamily(name=b"f", maxVersions=versions, blockCache=True)
    made = ADMIN.AdminTable(name=table, families=[family])
    server.call("create", message("adminCreateTable", ADMIN.HbtableAdmin, table=made, splitRows=splits or []))


def load(server: Server, table: bytes, rows: list[bytes], value: bytes) -> None:
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        batches = [
            IDL.BatchMutation(row=row, mutations=[IDL.Mutation(column=b"f:q", value=value)])
            for row in rows[start : start + _ROWS_AT_ONCE]
        ]
        server.call("load", message("mutateRows", tableName=table, rowBatches=batches, attributes={}))


def flush(server: Server, table: bytes) -> None:
    server.call("flush", message("adminFlush", ADMIN.HbtableAdmin, name=table, tabletId=0))


def _some(choose: random.Random, rows: list[bytes]) -> list[bytes]:
    return [choose.choice(rows) for _ in range(_CALLS)]


# Each series makes its data on the server and yields the cases of one size after the other.


def of_rows(server: Server, most: int, choose: random.Random) -> Iterator[Case]:
    for size in _tenfolds(1000, 100 * most):
        table = b"rows-%d" % size
        create(server, table)
        rows = [key(number) for number in range(size)]
        load(server, table, rows, bytes(100))
        flush(server, table)
        yield Case("get", size, [get(table, row) for row in _some(choose, rows)])
        yield Case("put", size, [put(table, row, {b"f:q": bytes(100)}) for row in _some(choose, rows)])


def of_columns(server: Server, most: int, _: random.Random) -> Iterator[Case]:
    create(server, b"columns")
    for size in _tenfolds(1, most):
        row = b"row-%d" % size
        for start in range(0, size, _ROWS_AT_ONCE):
            cells = {b"f:%08d" % number: b"value" for number in range(start, min(start + _ROWS_AT_ONCE, size))}
            server.call("load", put(b"columns", row, cells))
        flush(server, b"columns")
        middle = b"f:%08d" % (size // 2)
        yield Case("get of one column", size, [get(b"columns", row, [middle])] * _CALLS)
        yield Case("get of all, a cell", size, [get(b"columns", row)] * max(2, _CALLS // size), size)
        yield Case("put of one column", size, [put(b"columns", row, {middle: b"value"})] * _CALLS)


def of_versions(server: Server, most: int, _: random.Random) -> Iterator[Case]:
    create(server, b"versions", versions=1_000_000)
    for size in _tenfolds(1, most):
        row = b"row-%d" % size
        for number in range(1, size + 1):
            server.call("load", put(b"versions", row, {b"f:q": b"value"}, number))
        yield Case("get of the newest, in memory", size, [get(b"versions", row)] * _CALLS)
        flush(server, b"versions")
        yield Case("get of the newest, in a file", size, [get(b"versions", row)] * _CALLS)


def of_sstables(server: Server, most: int, choose: random.Random) -> Iterator[Case]:
    rows = [key(number) for number in range(2000)]
    for size in (1, 2, 4, 8, 16):
        table = b"sstables-%d" % size
        create(server, table)
        for number in range(size):
            load(server, table, rows[16 + number :: size] + rows[:16], bytes(100))  # the first rows are in all files
            flush(server, table)
        yield Case("get of a row in one", size, [get(table, row) for row in _some(choose, rows[16:])])
        yield Case("get of a row in all", size, [get(table, row) for row in _some(choose, rows[:16])])


def of_tablets(server: Server, most: int, choose: random.Random) -> Iterator[Case]:
    rows = [key(number) for number in range(10_000)]
    for size in _tenfolds(1, min(most, 1000)):
        table = b"tablets-%d" % size
        create(server, table, splits=[rows[len(rows) * number // size] for number in range(1, size)])
        load(server, table, rows, bytes(100))
        yield Case("get", size, [get(table, row) for row in _some(choose, rows)])
        yield Case("put", size, [put(table, row, {b"f:q": bytes(100)}) for row in _some(choose, rows)])


def of_value_bytes(server: Server, most: int, _: random.Random) -> Iterator[Case]:
    create(server, b"values")
    for size in _tenfolds(1, 100 * most):
        value = random.Random(size).randbytes(size)
        kilobytes = max(1, size // 1000)
        calls = max(5, _CALLS // kilobytes)
        row = b"row-%d" % size
        yield Case("put, a kilobyte", size, [put(b"values", row, {b"f:q": value})] * calls, kilobytes)
        yield Case("get, a kilobyte", size, [get(b"values", row)] * calls, kilobytes)


SERIES: dict[str, Callable[[Server, int, random.Random], Iterator[Case]]] = {
    "rows": of_rows,
    "columns": of_columns,
    "versions": of_versions,
    "sstables": of_sstables,
    "tablets": of_tablets,
    "value-bytes": of_value_bytes,
}


def _tenfolds(first: int, most: int) -> list[int]:
    return [first * 10**power for power in range(9) if first * 10**power <= most]


def measured(server: Server, cases: list[Case], turns: int) -> Iterator[tuple[Case, float]]:
    """us of the processor for each case, the least of the turns; each turn goes through all of them."""
    found: dict[int, list[float]] = {}
    for _ in range(turns + 1):  # the first one warms
        for number, case in enumerate(cases):
            begin = server.cpu()
            for one in case.messages:
                server.call(f"case {number}", one)
            found.setdefault(number, []).append((server.cpu() - begin) / len(case.messages) / case.counts * 1e6)
    for number, case in enumerate(cases):
        yield case, min(found[number][1:])


Costs = dict[int, float]


def grows(costs: Costs) -> bool:
    sizes = sorted(costs)
    tenfolds = math.log10(sizes[-1] / sizes[0]) if len(sizes) > 1 else 0.0
    return costs[sizes[-1]] > costs[sizes[0]] * (1 + tenfolds / 2)


def plot(found: dict[tuple[str, str], Costs]) -> str:
    """An SVG: a small diagram for each operation, both axes logarithmic, a decade as wide as it is high."""
    width, height, parts = 300, 150, []
    for place, ((series, operation), costs) in enumerate(found.items()):
        left, bottom = 40 + place % 3 * (width + 20), 30 + (place // 3 + 1) * (height + 40)
        points = [(math.log10(size), math.log10(max(us, 0.1))) for size, us in sorted(costs.items())]
        marks = [(left + 35 * x, bottom - 35 * (y + 1)) for x, y in points]
        line = " ".join(f"{x:.0f},{y:.0f}" for x, y in marks)
        parts.append(f'<text x="{left}" y="{bottom - height}">{escape(f"{series}: {operation}, us")}</text>')
        parts.append(f'<polyline points="{line}" fill="none" stroke="#3b6ea5"/>')
        parts += [
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="2"/><text x="{x - 8:.0f}" y="{y - 6:.0f}">{us:.1f}</text>'
            f'<text x="{x - 8:.0f}" y="{bottom + 12}" fill="#777">{size:g}</text>'
            for (x, y), (size, us) in zip(marks, sorted(costs.items()), strict=True)
        ]
    rows = -(-len(found) // 3)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{3 * (width + 20) + 40}" height="{rows * (height + 40) + 60}" '
        f'font-family="sans-serif" font-size="10">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", default=",".join(SERIES))
    parser.add_argument("--most", type=int, default=10_000, help="columns and versions; a hundredth of rows and bytes")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--svg", type=Path)
    arguments = parser.parse_args()
    found: dict[tuple[str, str], Costs] = {}
    # Merging compactions would take away the SSTables that are to be read.
    options = ["log.durability=os", "tablet.merge_files=1000", "tablet.max_files=1000", "tablet.stall_files=1001"]
    for series in arguments.series.split(","):
        with tempfile.TemporaryDirectory(prefix="hbtable-bench-") as folder:
            server = Server(".", folder, options)
            try:
                cases = list(SERIES[series](server, arguments.most, random.Random(1)))
                for case, us in measured(server, cases, arguments.turns):
                    found.setdefault((series, case.operation), {})[case.size] = us
            finally:
                server.stop()
        for (of, operation), costs in found.items():
            if of == series:
                shown = "  ".join(f"{size:g}: {us:.1f}" for size, us in sorted(costs.items()))
                growth = costs[max(costs)] / costs[min(costs)]
                print(f"{series:<12}{operation:<30}{shown}   x{growth:.2f}{' !' if grows(costs) else ''}", flush=True)
    if arguments.svg is not None:
        arguments.svg.write_text(plot(found))


if __name__ == "__main__":
    main()
