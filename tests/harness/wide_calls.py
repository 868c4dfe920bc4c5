"""Calls that are wide on purpose: rows of very many or very large cells, arguments by the hundred thousand, and filters
that take long.

    python -m tests.harness.wide_calls NAME PORT SCALE

is an attacker as those of attackers.py: it prints `ready ...`, carries one of them out again and again until its input
closes, from another address than other clients, and prints as JSON how often, the longest of them in seconds, and what
became of the last: "answered", or the first line of the error. Each has a function that prepares what it reads; `scale`
multiplies the numbers.
"""

import contextlib
import json
import random
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import happybase
from Hbase_thrift import BatchMutation, Mutation, TIncrement, TScan
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TClient, TException
from thriftpy2.transport import TBufferedTransport, TSocket

from hbtable.model.aggregation import MOST_AGGREGATES
from tests.harness.attackers import OTHER_ADDRESS, say_ready, stopped
from tests.harness.interfaces import interface

TWO: Any = interface("hbase2")
ADMIN: Any = interface("admin")
Setup = Callable[[happybase.Connection, float], None]
Call = Callable[[happybase.Connection, float], None]
TABLE = "wide"
_PUT_CELLS = 20_000


@dataclass(frozen=True)
class WideCall:
    """`setup` once before it, `call` beside healthy clients."""

    name: str
    setup: Setup
    call: Call
    memory_bytes: int = 256 << 20
    """It may cost this much."""


def connect(port: int) -> happybase.Connection:
    return happybase.Connection("127.0.0.1", port, timeout=600_000)


def _nothing(_: happybase.Connection, __: float) -> None:
    return


def _many_cells(connection: happybase.Connection, scale: float) -> None:
    """The row `many`: 200,000 small cells."""
    table = connection.table(TABLE)
    if table.row(b"many", [b"f:%09d" % 0]):
        return
    count = int(200_000 * scale)
    for first in range(0, count, _PUT_CELLS):
        cells = {b"f:%09d" % number: b"v%015d" % number for number in range(first, min(first + _PUT_CELLS, count))}
        table.put(b"many", cells)


def _large_rows(connection: happybase.Connection, scale: float) -> None:
    """80 rows `large..` of 8 MB each, one cell a row, and `heavy`: 80 such cells in one row."""
    table = connection.table(TABLE)
    if table.row(b"large000", [b"g:0"]):
        return
    for number in range(int(80 * scale)):
        value = struct.pack(">I", number) * (2 << 20)
        table.put(b"large%03d" % number, {b"g:0": value})
        table.put(b"heavy", {b"g:%03d" % number: value})


def _get_many(connection: happybase.Connection, _: float) -> None:
    connection.table(TABLE).row(b"many")


def _get_heavy(connection: happybase.Connection, _: float) -> None:
    connection.table(TABLE).row(b"heavy")


def _get_large(connection: happybase.Connection, scale: float) -> None:
    connection.table(TABLE).rows([b"large%03d" % number for number in range(int(80 * scale))])


def _scan(connection: happybase.Connection, **arguments: Any) -> None:
    for _ in connection.table(TABLE).scan(**arguments):
        pass


def _scan_batched(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"many", scan_batching=100, batch_size=100)


def _scan_many(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"many")


def _scan_heavy(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"heavy", scan_batching=1, batch_size=1000)


def _scan_reversed(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_start=b"many", row_stop=b"m", reverse=True, scan_batching=1000)


def _scan_filtered(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"many", filter=b"ValueFilter(=, 'substring:777')")


def _scan_counted(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"many", filter=b"KeyOnlyFilter() AND FirstKeyOnlyFilter()")


def _columns(connection: happybase.Connection, scale: float) -> None:
    names = [b"f:%09d" % number for number in range(int(100_000 * scale))]
    connection.table(TABLE).row(b"many", names)


def _columns_of_rows(connection: happybase.Connection, scale: float) -> None:
    names = [b"f:%09d" % number for number in range(int(100_000 * scale))]
    connection.table(TABLE).rows([b"r%d" % number for number in range(100)], names)


def _rows(connection: happybase.Connection, scale: float) -> None:
    names = [b"r%d" % number for number in range(int(1_000_000 * scale))]
    connection.table(TABLE).rows(names)


def _put_many(connection: happybase.Connection, scale: float) -> None:
    connection.table(TABLE).put(b"put", {b"f:%09d" % number: b"v" for number in range(int(200_000 * scale))})


def _put_rows(connection: happybase.Connection, scale: float) -> None:
    batches = [
        BatchMutation(row=b"p%d" % number, mutations=[Mutation(isDelete=False, column=b"f:a", value=b"v")])
        for number in range(int(500_000 * scale))
    ]
    connection.client.mutateRows(TABLE.encode(), batches, {})


def _put_tiny(connection: happybase.Connection, scale: float) -> None:
    """One row of 1.9 million cells of a few bytes: a message just below both limits, of bytes and of elements. Objects
    of them would take the attacker longer than the call."""
    count = int(1_900_000 * scale)
    cells = (b"\x0b\0\2\0\0\0\x09f:%07d\x0b\0\3\0\0\0\x08tiny val\0" % number for number in range(count))
    call = b"\x80\1\0\1\0\0\0\x09mutateRow\0\0\0\0\x0b\0\1\0\0\0\x04wide\x0b\0\2\0\0\0\x04tiny\x0f\0\3\x0c"
    connection.transport.write(call + struct.pack(">I", count) + b"".join(cells) + b"\0")
    connection.transport.flush()
    connection.client._recv("mutateRow")
    connection.client.deleteAllRow(TABLE.encode(), b"tiny", {})


def _put_heavy(connection: happybase.Connection, scale: float) -> None:
    """One row of six cells of 9 MB: a message just below the limit."""
    value = bytes(int((9 << 20) * scale))
    connection.table(TABLE).put(b"put_heavy", {b"g:%d" % number: value for number in range(6)})


def _put_heavy_rows(connection: happybase.Connection, scale: float) -> None:
    value = bytes(56 << 10)
    batches = [
        BatchMutation(row=b"q%d" % number, mutations=[Mutation(isDelete=False, column=b"f:a", value=value)])
        for number in range(int(1000 * scale))
    ]
    connection.client.mutateRows(TABLE.encode(), batches, {})


def _delete_many(connection: happybase.Connection, scale: float) -> None:
    connection.table(TABLE).delete(b"put", [b"f:%09d" % number for number in range(int(200_000 * scale))])


def _increment(connection: happybase.Connection, _: float) -> None:
    table = connection.table(TABLE)
    for number in range(20):
        table.counter_inc(b"many", b"g:counter%d" % number)
    connection.client.deleteAllRow(TABLE.encode(), b"put", {})


def _open_columns(connection: happybase.Connection, scale: float) -> None:
    names = [b"f:%09d" % number for number in range(int(100_000 * scale))]
    number = connection.client.scannerOpenWithScan(TABLE.encode(), TScan(columns=names), {})
    connection.client.scannerGetList(number, 100)
    connection.client.scannerClose(number)


def _compact(connection: happybase.Connection, _: float) -> None:
    connection.compact_table(TABLE, major=True)


def _pattern_that_backtracks(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"heavy", filter=b"ValueFilter(=, 'regexstring:(.*)(.*)(.*)x')")


def _pattern_of_many_states(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"heavy", filter=b"ValueFilter(=, 'regexstring:(a?){0,500}(a?){0,500}b')")


def _deleted_rows(connection: happybase.Connection, scale: float) -> None:
    """800,000 rows `d..` of which the markers are left."""
    table = connection.table(TABLE)
    if table.row(b"deleted"):
        return
    count = int(800_000 * scale)
    gone = [Mutation(isDelete=True, column=b"f:a")]
    for first in range(0, count, _PUT_CELLS):
        rows = range(first, min(first + _PUT_CELLS, count))
        batches = [BatchMutation(row=b"d%09d" % number, mutations=gone) for number in rows]
        connection.client.mutateRows(TABLE.encode(), batches, {})
    table.put(b"deleted", {b"f:a": b"yes"})


def _scan_deleted(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"d0", batch_size=1000)


def _deleted_cells(connection: happybase.Connection, scale: float) -> None:
    """The row `desert`: 400,000 markers of columns, and one cell behind them."""
    table = connection.table(TABLE)
    if table.row(b"desert", [b"f:z"]):
        return
    count = int(400_000 * scale)
    for first in range(0, count, _PUT_CELLS):
        gone = range(first, min(first + _PUT_CELLS, count))
        table.delete(b"desert", [b"f:%09d" % number for number in gone])
    table.put(b"desert", {b"f:z": b"yes"})


def _get_deleted(connection: happybase.Connection, _: float) -> None:
    assert connection.table(TABLE).row(b"desert") == {b"f:z": b"yes"}


def _scan_desert(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"desert", scan_batching=10)
    _scan(connection, row_start=b"desert", row_stop=b"deseru", filter=b"ValueFilter(=, 'binary:none')")
    _scan(connection, row_start=b"desert", row_stop=b"deser", reverse=True)


def _increment_desert(connection: happybase.Connection, _: float) -> None:
    for number in range(20):
        connection.table(TABLE).counter_inc(b"desert", b"f:y%d" % number)
    connection.table(TABLE).delete(b"desert", [b"f:y%d" % number for number in range(20)])


def _increment_rows(connection: happybase.Connection, scale: float) -> None:
    counters = range(int(100_000 * scale))
    connection.client.incrementRows([TIncrement(TABLE.encode(), b"i%d" % one, b"f:c", 1) for one in counters])


@contextmanager
def _client(connection: happybase.Connection, service: Any) -> Iterator[Any]:
    """Of another service at the same port, from the attackers' address."""
    transport = TBufferedTransport(_FromElsewhere("127.0.0.1", connection.port, socket_timeout=600_000))
    transport.open()
    try:
        yield TClient(service, TBinaryProtocol(transport))
    finally:
        transport.close()


def _thrift2(connection: happybase.Connection) -> Any:
    return _client(connection, TWO.THBaseService)


def _admin(connection: happybase.Connection) -> Any:
    return _client(connection, ADMIN.HbtableAdmin)


def _increment_columns(connection: happybase.Connection, scale: float) -> None:
    columns = [TWO.TColumnIncrement(b"f", b"%09d" % one, 1) for one in range(int(100_000 * scale))]
    with _thrift2(connection) as client:
        client.increment(TABLE.encode(), TWO.TIncrement(b"counters", columns))


def _append_columns(connection: happybase.Connection, scale: float) -> None:
    columns = [TWO.TColumnValue(b"f", b"%09d" % one, b"v") for one in range(int(100_000 * scale))]
    with _thrift2(connection) as client:
        client.append(TABLE.encode(), TWO.TAppend(b"appended", columns))
        client.deleteSingle(TABLE.encode(), TWO.TDelete(b"appended"))  # or its cells grow with each call


def _append_again(connection: happybase.Connection, scale: float) -> None:
    """One column of 8 MB, named 400 times."""
    with _thrift2(connection) as client:
        client.append(TABLE.encode(), TWO.TAppend(b"large000", [TWO.TColumnValue(b"g", b"0", b"v")] * int(400 * scale)))


def _put_and_delete_structs(connection: happybase.Connection, scale: float) -> None:
    rows = [b"s%d" % one for one in range(int(100_000 * scale))]
    with _thrift2(connection) as client:
        client.putMultiple(TABLE.encode(), [TWO.TPut(row, [TWO.TColumnValue(b"f", b"q", b"v")]) for row in rows])
        client.deleteMultiple(TABLE.encode(), [TWO.TDelete(row) for row in rows])


def _get_struct(connection: happybase.Connection, _: float) -> None:
    with _thrift2(connection) as client:
        client.get(TABLE.encode(), TWO.TGet(b"many"))


def _admin_columns(connection: happybase.Connection, scale: float) -> None:
    columns = [ADMIN.AdminColumn(b"f", b"%09d" % one) for one in range(int(100_000 * scale))]
    with _admin(connection) as client:
        client.adminGet(TABLE.encode(), b"many", ADMIN.AdminRead(columns=columns))


def _small_rows(connection: happybase.Connection, scale: float) -> None:
    """100,000 rows `g..` of a small cell each, and the row `cost` with a cell that searches take long in."""
    table = connection.table(TABLE)
    if table.row(b"cost"):
        return
    with table.batch(batch_size=2000) as batch:
        for number in range(int(100_000 * scale)):
            batch.put(b"g%08d" % number, {b"f:a": b"%d" % number})
    table.put(b"cost", {b"f:a": b"x" * int(2_000_000 * scale), b"f:b": b"1"})


def _all_pages(ask: Callable[[Any], Any], start: bytes, stop: bytes, text: bytes | None = None) -> None:
    read = ADMIN.AdminRead(filter=text)
    position = None
    while True:
        page = ask(ADMIN.AdminScan(read=read, startRow=start, stopRow=stop, maxRows=1 << 20, position=position))
        position = page.position
        if position is None:
            return


def _aggregate_groups(connection: happybase.Connection, _: float) -> None:
    """A group for each row."""
    counts = ADMIN.AdminAggregation(aggregates=[ADMIN.AdminAggregate("count", b"f", b"a", "")], rowBytes=9)
    with _admin(connection) as client:
        _all_pages(lambda scan: client.adminAggregate(TABLE.encode(), scan, counts), b"g", b"h")


def _many_aggregates(connection: happybase.Connection, scale: float) -> None:
    """As many as a call may have, each of every row."""
    kinds = ("count", "min", "max", "sum", "avg")
    wanted = [
        ADMIN.AdminAggregate(kinds[one % 5], b"f", b"a", "number" if one % 5 else "")
        for one in range(max(1, int(MOST_AGGREGATES * scale)))
    ]
    with _admin(connection) as client:
        _all_pages(
            lambda scan: client.adminAggregate(TABLE.encode(), scan, ADMIN.AdminAggregation(aggregates=wanted)),
            b"g",
            b"h",
        )


def _forged_positions(connection: happybase.Connection, _: float) -> None:
    """Positions of a scan that no page gave: each is refused, or answered as a page is."""
    chances = random.Random(1)
    with _admin(connection) as client:
        scan = ADMIN.AdminScan(read=ADMIN.AdminRead(), startRow=b"g", stopRow=b"h", maxRows=10)
        given = client.adminScan(TABLE.encode(), scan).position
        for number in range(300):
            row = bytearray(given.row or b"g")
            row[chances.randrange(len(row))] ^= 1 << chances.randrange(8)
            done = chances.choice((given.cellsDone, -1, -2, 0, 1, 2**31 - 1, -(2**31), chances.randrange(2**31)))
            scan.position = ADMIN.AdminPosition(
                bytes(row) + chances.randbytes(chances.choice((0, 1, 20_000))), done, chances.randbytes(number % 100)
            )
            with contextlib.suppress(TException):
                client.adminScan(TABLE.encode(), scan)


def _arrow_wide(connection: happybase.Connection, _: float) -> None:
    with _admin(connection) as client:
        _all_pages(lambda scan: client.adminScanArrow(TABLE.encode(), scan, None), b"many", b"manz")


def _arrow_rows(connection: happybase.Connection, _: float) -> None:
    columns = [ADMIN.AdminArrowColumn(b"f", b"%d" % number, "binary") for number in range(200)]
    with _admin(connection) as client:
        _all_pages(lambda scan: client.adminScanArrow(TABLE.encode(), scan, columns), b"g", b"h")


def _scan_in_one_call(connection: happybase.Connection, _: float) -> None:
    scan = TWO.TScan(startRow=b"g", stopRow=b"h")
    with _thrift2(connection) as client:
        client.getScannerResults(TABLE.encode(), scan, 1_000_000)


COSTLY = b"ValueFilter(=, 'regexstring:(?=x)(x?){0,300}(x?){0,300}y')"


def _costly_condition(connection: happybase.Connection, _: float) -> None:
    read = ADMIN.AdminRead(columns=[ADMIN.AdminColumn(b"f", b"a")], filter=COSTLY)
    change = [ADMIN.AdminOperation(kind=8, family=b"f", qualifier=b"c", value=b"v")]
    with _admin(connection) as client:
        client.adminMutateIf(TABLE.encode(), b"cost", read, "", None, change)


def _costly_patterns(connection: happybase.Connection, _: float) -> None:
    _scan(connection, row_prefix=b"cost", filter=COSTLY)


def _expressions(connection: happybase.Connection, _: float) -> None:
    """In CEL, over cells of 8 MB."""
    text = b"CelFilter('size(a) > 5 && a == b\"nothing\"', 'a bytes g:0')"
    _scan(connection, row_prefix=b"large", filter=text)


def _many_nodes(connection: happybase.Connection, scale: float) -> None:
    nodes = b" OR ".join(b"ValueFilter(=, 'binary:%d')" % number for number in range(int(10_000 * scale)))
    _scan(connection, row_prefix=b"g", filter=nodes)


def _delete_ranges(connection: happybase.Connection, scale: float) -> None:
    with _admin(connection) as client:
        for number in range(int(100 * scale)):
            client.adminDeleteRange(TABLE.encode(), b"y%08d" % number, b"y%08d" % (number + 1), -1)


def _load(connection: happybase.Connection, scale: float) -> None:
    """At full speed, with flushes and compactions."""
    pool = random.Random(1).randbytes(1 << 20)
    with connection.table(TABLE).batch(batch_size=500) as batch:
        for number in range(int(20_000 * scale)):
            at = number * 7919 % ((1 << 20) - 1000)
            batch.put(b"l%09d" % (number * 1_000_003 % 20_000), {b"f:q": pool[at : at + 1000]})


def _create_tablets(connection: happybase.Connection, scale: float) -> None:
    """A table of 5,000 tablets, made and dropped."""
    rows = [b"%06d" % number for number in range(1, int(5000 * scale))]
    with _admin(connection) as client:
        client.adminCreateTable(ADMIN.AdminTable(name=b"split", families=[ADMIN.AdminFamily(name=b"f")]), rows)
    connection.delete_table("split", disable=True)


CALLS = {
    one.name: one
    for one in (
        WideCall("get_many", _many_cells, _get_many),
        WideCall("scan_many", _many_cells, _scan_many),
        WideCall("scan_batched", _many_cells, _scan_batched),
        WideCall("scan_reversed", _many_cells, _scan_reversed),
        WideCall("scan_filtered", _many_cells, _scan_filtered),
        WideCall("scan_counted", _many_cells, _scan_counted),
        WideCall("columns", _many_cells, _columns),
        WideCall("columns_of_rows", _many_cells, _columns_of_rows),
        WideCall("open_columns", _many_cells, _open_columns),
        WideCall("rows", _nothing, _rows),
        WideCall("put_many", _nothing, _put_many),
        WideCall("put_rows", _nothing, _put_rows),
        WideCall("put_tiny", _nothing, _put_tiny, 1024 << 20),
        WideCall("put_heavy", _nothing, _put_heavy, 512 << 20),
        WideCall("put_heavy_rows", _nothing, _put_heavy_rows, 512 << 20),
        WideCall("delete_many", _nothing, _delete_many),
        WideCall("increment", _many_cells, _increment),
        WideCall("increment_rows", _nothing, _increment_rows),
        WideCall("increment_columns", _nothing, _increment_columns),
        WideCall("append_columns", _nothing, _append_columns),
        WideCall("append_again", _large_rows, _append_again),
        WideCall("put_structs", _nothing, _put_and_delete_structs),
        WideCall("get_struct", _many_cells, _get_struct),
        WideCall("admin_columns", _many_cells, _admin_columns),
        WideCall("get_large", _large_rows, _get_large),
        WideCall("get_heavy", _large_rows, _get_heavy),
        WideCall("scan_heavy", _large_rows, _scan_heavy),
        WideCall("compact", _many_cells, _compact),
        WideCall("backtracking", _large_rows, _pattern_that_backtracks),
        WideCall("many_states", _large_rows, _pattern_of_many_states),
        WideCall("deleted_rows", _deleted_rows, _scan_deleted),
        WideCall("get_desert", _deleted_cells, _get_deleted),
        WideCall("scan_desert", _deleted_cells, _scan_desert),
        WideCall("increment_desert", _deleted_cells, _increment_desert),
        WideCall("load", _nothing, _load),
        WideCall("aggregate_groups", _small_rows, _aggregate_groups),
        WideCall("many_aggregates", _small_rows, _many_aggregates),
        WideCall("forged_positions", _small_rows, _forged_positions),
        WideCall("arrow_wide", _many_cells, _arrow_wide),
        WideCall("arrow_rows", _small_rows, _arrow_rows),
        WideCall("scan_in_one_call", _small_rows, _scan_in_one_call),
        WideCall("costly_condition", _small_rows, _costly_condition),
        WideCall("costly_patterns", _small_rows, _costly_patterns),
        WideCall("expressions", _large_rows, _expressions),
        WideCall("many_nodes", _small_rows, _many_nodes),
        WideCall("delete_ranges", _nothing, _delete_ranges),
        WideCall("tablets", _nothing, _create_tablets),
    )
}


class _FromElsewhere(TSocket):  # type: ignore[misc]
    """Its own address, as another client's."""

    def _init_sock(self) -> None:
        super()._init_sock()
        self.sock.bind((OTHER_ADDRESS, 0))


def carry_out(connection: happybase.Connection, name: str, scale: float) -> str:
    """ "answered", or what the server said instead."""
    try:
        CALLS[name].call(connection, scale)
    except TException as error:
        return str(getattr(error, "message", error)).splitlines()[0][:200]
    return "answered"


def again_and_again(name: str, port: int, scale: float) -> dict[str, object]:
    with mock.patch("happybase.connection.TSocket", _FromElsewhere):
        connection = connect(port)
    say_ready(scale=scale)
    calls, longest, answer = 0, 0.0, ""
    while not calls or not stopped():
        began = time.monotonic()
        answer = carry_out(connection, name, scale)
        longest = max(longest, time.monotonic() - began)
        calls += 1
    connection.close()
    return {"calls": calls, "longest": round(longest, 2), "answer": answer}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(again_and_again(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))) + "\n")
