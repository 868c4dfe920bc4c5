"""The checks of languages/README.md for Thrift2 in Python: Apache Thrift's library, code generated from
thrift/hbase2.thrift.

    program.py HOST PORT buffered|framed binary|compact

Prints `ok <number of checks>` and ends with 0, or says what was wrong and ends with 1.
"""

import os
import struct
import sys
from collections.abc import Callable

from hbase2 import THBaseService
from hbase2.ttypes import (
    TAppend,
    TColumn,
    TColumnFamilyDescriptor,
    TColumnIncrement,
    TColumnValue,
    TCompareOperator,
    TDelete,
    TGet,
    TIllegalArgument,
    TIncrement,
    TIOError,
    TMutation,
    TPut,
    TRowMutations,
    TScan,
    TTableDescriptor,
    TTableName,
    TTimeRange,
)
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport

TRANSPORTS = {"buffered": TBufferedTransport, "framed": TFramedTransport}
PROTOCOLS = {"binary": TBinaryProtocol, "compact": TCompactProtocol}
SPLITS = [b"b", b"\x80\x00"]
BINARY = {b"\x00": bytes(range(256)), b"\x80\xc3\x28": b"\xff\xfe\x00", b"\xff": b""}
TEXTS = {b"a1": b"1", b"a2": b"2", b"b1": b"3", b"c1": b"4"}
ROWS = sorted([*BINARY, *TEXTS])
Client = THBaseService.Client
checks = 0


def check(what: str, got: object, expected: object) -> None:
    global checks
    checks += 1
    if got != expected:
        raise AssertionError(f"{what}: got {got!r}, expected {expected!r}")


def refused(what: str, error: type[Exception], message: str, call: Callable[..., object], *arguments: object) -> None:
    """`call` raises `error`, whose message holds `message`."""
    try:
        answer = call(*arguments)
    except error as raised:
        check(what, message in raised.message, True)
    else:
        raise AssertionError(f"{what}: got {answer!r}, expected {error.__name__}")


def put(row: bytes, value: bytes, family: bytes = b"f", time: int | None = None) -> TPut:
    return TPut(row, [TColumnValue(family, b"\x00q", value, time)])


def rows(results: list) -> list[bytes]:
    return [result.row for result in results]


def make_table(client: Client, name: TTableName, table: bytes) -> None:
    families = [TColumnFamilyDescriptor(name=b"f", maxVersions=5), TColumnFamilyDescriptor(name=b"n")]
    client.createTable(TTableDescriptor(name, families), SPLITS)
    check("the new table is there", client.tableExists(name), True)
    check("versions of f", client.getTableDescriptor(name).columns[0].maxVersions, 5)
    ends = [location.regionInfo.endKey for location in client.getAllRegionLocations(table)]
    check("the ends of its regions", ends, [*SPLITS, b""])
    refused("second create", TIOError, table.decode(), client.createTable, TTableDescriptor(name, families), None)


def write_and_read(client: Client, table: bytes) -> None:
    client.putMultiple(table, [put(row, value) for row, value in {**BINARY, **TEXTS}.items()])
    for row, value in BINARY.items():
        check(f"value of row {row!r}", client.get(table, TGet(row)).columnValues[0].value, value)
    check("a row that is not there", client.get(table, TGet(b"none")).row, None)
    gets = [TGet(b"a1", [TColumn(b"f", b"\x00q")]), TGet(b"none")]
    check("several gets", rows(client.getMultiple(table, gets)), [b"a1", None])
    check("existsAll", client.existsAll(table, gets), [True, False])
    for time in 1000, 2000:
        client.put(table, put(b"versions", b"%d" % time, time=time))
    found = client.get(table, TGet(b"versions", maxVersions=5)).columnValues
    check("versions, newest first", [cell.timestamp for cell in found], [2000, 1000])
    client.deleteSingle(table, TDelete(b"versions"))
    check("a deleted row", client.exists(table, TGet(b"versions")), False)


def scan(client: Client, table: bytes) -> None:
    scanner = client.openScanner(table, TScan(limit=5))
    check("two rows", rows(client.getScannerRows(scanner, 2)), ROWS[:2])
    check("up to the limit, in the next region, too", rows(client.getScannerRows(scanner, 100)), ROWS[2:5])
    check("the end of a scan", client.getScannerRows(scanner, 100), [])
    client.closeScanner(scanner)
    refused("closed scanner", TIllegalArgument, "Invalid scanner Id", client.getScannerRows, scanner, 1)
    paged = TScan(filterString=b"PageFilter(4)")
    counted = ROWS if "AGAINST_HBASE" in os.environ else ROWS[:4]  # HBase's counts in each region
    check("PageFilter over regions", rows(client.getScannerResults(table, paged, 100)), counted)
    back = TScan(startRow=b"c1", stopRow=b"a1", reversed=True)
    check("backwards", rows(client.getScannerResults(table, back, 100)), [b"c1", b"b1", b"a2"])
    client.putMultiple(table, [put(b"t", b"", family, time=5) for family in (b"f", b"n")])
    times = TScan(startRow=b"t", stopRow=b"u", colFamTimeRangeMap={b"f": TTimeRange(0, 5)})
    found = client.getScannerResults(table, times, 10)[0].columnValues
    check("a time range for one family", [cell.family for cell in found], [b"n"])


def change(client: Client, table: bytes) -> None:
    def add(amount: int) -> bytes:
        counter = TIncrement(b"count", [TColumnIncrement(b"n", b"c", amount)])
        return client.increment(table, counter).columnValues[0].value

    check("increment", add(1 << 40), struct.pack(">q", 1 << 40))
    check("increment by less than nothing", add(-2), struct.pack(">q", (1 << 40) - 2))
    appended = client.append(table, TAppend(b"a1", [TColumnValue(b"f", b"\x00q", b"\x00\xff")]))
    check("append", appended.columnValues[0].value, b"1\x00\xff")
    where = table, b"a2", b"f", b"\x00q"
    mutations = TRowMutations(b"a2", [TMutation(put=put(b"a2", b"9"))])
    check("2 > 2", client.checkAndMutate(*where, TCompareOperator.GREATER, b"2", mutations), False)
    check("3 > 2", client.checkAndMutate(*where, TCompareOperator.GREATER, b"3", mutations), True)
    check("checkAndPut", client.checkAndPut(*where, b"9", put(b"a2", b"10")), True)
    client.mutateRow(table, TRowMutations(b"a2", [TMutation(put=put(b"a2", b"n", b"n"))]))
    check("cells of a row", [cell.value for cell in client.get(table, TGet(b"a2")).columnValues], [b"10", b"n"])


def refusals_and_end(client: Client, name: TTableName, table: bytes) -> None:
    refused("missing table", TIOError, table.decode() + "_no", client.get, table + b"_no", TGet(b"r"))
    get = TGet(b"a1", [TColumn(b"none")])
    refused("missing family", TIOError, "NoSuchColumnFamilyException", client.get, table, get)
    refused("drop while enabled", TIOError, "TableNotDisabledException", client.deleteTable, name)
    client.disableTable(name)
    check("disabled", client.isTableDisabled(name), True)
    client.deleteTable(name)
    check("the dropped table is there", client.tableExists(name), False)


def main() -> int:
    host, port, transport_name, protocol_name = sys.argv[1:]
    transport = TRANSPORTS[transport_name](TSocket(host, int(port)))
    client = Client(PROTOCOLS[protocol_name](transport))
    table = b"languages_python2_" + os.urandom(6).hex().encode()
    name = TTableName(None, table)
    transport.open()
    try:
        make_table(client, name, table)
        for part in write_and_read, scan, change:
            part(client, table)
        refusals_and_end(client, name, table)
    except Exception as error:
        print(f"after {checks} checks on {table.decode()}: {type(error).__name__}: {error}")
        return 1
    finally:
        transport.close()
    print(f"ok {checks}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
