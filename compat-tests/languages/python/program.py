"""The checks of languages/README.md in Python: Apache Thrift's library, code generated from thrift/hbase.thrift.

    program.py HOST PORT buffered|framed|sasl|tls|https binary|compact

With sasl it logs in by PLAIN, with https by Basic, as LANGUAGES_USER with LANGUAGES_SECRET; tls and https trust the CA
of LANGUAGES_CA.
Prints `ok <number of checks>` and ends with 0, or says what was wrong and ends with 1.
"""

import base64
import os
import ssl
import struct
import sys
from collections.abc import Callable

from hbase import Hbase
from hbase.ttypes import (
    AlreadyExists,
    BatchMutation,
    ColumnDescriptor,
    IllegalArgument,
    IOError,
    Mutation,
    TAppend,
    TIncrement,
    TScan,
)
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport, TSaslClientTransport


def with_login(socket: TSocket) -> TSaslClientTransport:
    user, secret = os.environ["LANGUAGES_USER"], os.environ["LANGUAGES_SECRET"]
    return TSaslClientTransport(socket, "localhost", "hbase", mechanism="PLAIN", username=user, password=secret)


def opening(name: str, host: str, port: int) -> object:
    if name == "tls":
        safe = TSSLSocket(host, port, ca_certs=os.environ["LANGUAGES_CA"], cert_reqs=ssl.CERT_REQUIRED)
        return TBufferedTransport(safe)
    if name == "https":
        posts = THttpClient(f"https://{host}:{port}/", cafile=os.environ["LANGUAGES_CA"])
        pair = f"{os.environ['LANGUAGES_USER']}:{os.environ['LANGUAGES_SECRET']}"
        posts.setCustomHeaders({"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()})
        return posts
    return TRANSPORTS[name](TSocket(host, port))


TRANSPORTS = {"buffered": TBufferedTransport, "framed": TFramedTransport, "sasl": with_login}
PROTOCOLS = {"binary": TBinaryProtocol, "compact": TCompactProtocol}
BINARY = {
    b"\x00": bytes(range(256)),
    b"\x00\xff": b"",
    b"\x80\xc3\x28": b"\xff\xfe\x00",  # not UTF-8, in the key and in the value
    b"\xff": b"\xc3\x28",
}
checks = 0


def check(what: str, got: object, expected: object) -> None:
    global checks
    checks += 1
    if got != expected:
        raise AssertionError(f"{what}: got {got!r}, expected {expected!r}")


def refused(what: str, error: type[Exception], message: str, call: Callable[..., object], *arguments: object) -> None:
    """`call` raises `error`, whose message begins with `message`."""
    try:
        answer = call(*arguments)
    except error as raised:
        check(what, raised.message[: len(message)], message)
    else:
        raise AssertionError(f"{what}: got {answer!r}, expected {error.__name__}")


def make_table(client: Hbase.Client, table: bytes) -> None:
    client.createTable(table, [ColumnDescriptor(name=b"f", maxVersions=5), ColumnDescriptor(name=b"n:")])
    check("the new table is listed", table in client.getTableNames(), True)
    families = client.getColumnDescriptors(table)
    check("families", sorted(families), [b"f:", b"n:"])
    check("versions of f", families[b"f:"].maxVersions, 5)
    again = [ColumnDescriptor(name=b"f")]
    refused("second create", AlreadyExists, "table name already in use", client.createTable, table, again)


def write_and_read(client: Hbase.Client, table: bytes) -> None:
    batches = [BatchMutation(row, [Mutation(column=b"f:v", value=value)]) for row, value in BINARY.items()]
    client.mutateRows(table, batches, {})
    for row, value in BINARY.items():
        check(f"value of row {row!r}", client.get(table, row, b"f:v", {})[0].value, value)
    (result,) = client.getRow(table, b"\xff", {})
    check("row of getRow", result.row, b"\xff")
    check("columns of getRow", {name: cell.value for name, cell in result.columns.items()}, {b"f:v": b"\xc3\x28"})
    check("a row that is not there", client.getRow(table, b"\xff\xff", {}), [])

    client.mutateRow(table, b"\x00", [Mutation(column=b"f:\x00\xff:\x80", value=b"by name")], {})
    check("a column with a binary name", client.get(table, b"\x00", b"f:\x00\xff:\x80", {})[0].value, b"by name")
    client.mutateRow(table, b"\x00", [Mutation(isDelete=True, column=b"f:\x00\xff:\x80")], {})
    check("the column after its delete", client.get(table, b"\x00", b"f:\x00\xff:\x80", {}), [])

    for timestamp, value in (1000, b"old"), (2000, b"new"):
        client.mutateRowTs(table, b"versions", [Mutation(column=b"f:v", value=value)], timestamp, {})
    versions = [(cell.timestamp, cell.value) for cell in client.getVer(table, b"versions", b"f:v", 5, {})]
    check("versions, newest first", versions, [(2000, b"new"), (1000, b"old")])
    client.deleteAllRow(table, b"versions", {})


def scan(client: Hbase.Client, table: bytes) -> None:
    texts = {b"text-1": b"keep 1", b"text-2": b"drop", b"text-3": b"keep 3"}
    client.mutateRows(table, [BatchMutation(row, [Mutation(column=b"f:v", value=texts[row])]) for row in texts], {})
    scanner = client.scannerOpenWithScan(table, TScan(columns=[b"f"], sortColumns=True), {})
    rows = client.scannerGetList(scanner, 100)
    check("rows in the order of their bytes", [row.row for row in rows], sorted([*BINARY, *texts]))
    check("a sorted column", rows[0].sortedColumns[0].columnName, b"f:v")
    check("its value", rows[0].sortedColumns[0].cell.value, BINARY[b"\x00"])
    check("the end of a scan", client.scannerGetList(scanner, 100), [])
    client.scannerClose(scanner)
    refused("closed scanner", IllegalArgument, "scanner ID is invalid", client.scannerGetList, scanner, 1)
    refused("unknown scanner", IllegalArgument, "scanner ID is invalid", client.scannerGetList, 2147480000, 1)

    chosen = b"PrefixFilter('text-') AND ValueFilter(=, 'substring:keep')"
    scanner = client.scannerOpenWithScan(table, TScan(filterString=chosen), {})
    found = [(row.row, row.columns[b"f:v"].value) for row in client.scannerGetList(scanner, 100)]
    client.scannerClose(scanner)
    check("rows of a filtered scan", found, [(b"text-1", b"keep 1"), (b"text-3", b"keep 3")])


def count_and_compare(client: Hbase.Client, table: bytes) -> None:
    check("first increment", client.atomicIncrement(table, b"count", b"n:c", 1 << 40), 1 << 40)
    check("increment by less than nothing", client.atomicIncrement(table, b"count", b"n:c", -2), (1 << 40) - 2)
    client.increment(TIncrement(table, b"count", b"n:c", 3))
    check("counter as stored", client.get(table, b"count", b"n:c", {})[0].value, struct.pack(">q", (1 << 40) + 1))
    put = Mutation(column=b"f:v", value=b"after")
    check("checkAndPut of another value", client.checkAndPut(table, b"text-2", b"f:v", b"keep", put, {}), False)
    check("checkAndPut of the value", client.checkAndPut(table, b"text-2", b"f:v", b"drop", put, {}), True)
    appended = client.append(TAppend(table, b"text-2", [b"f:v"], [b"\x00\xff"]))
    check("append", [cell.value for cell in appended], [b"after\x00\xff"])


def refusals_and_end(client: Hbase.Client, table: bytes) -> None:
    package = "org.apache.hadoop.hbase."
    refused("missing table", IOError, package + "TableNotFoundException", client.getRow, table + b"_no", b"r", {})
    family = package + "regionserver.NoSuchColumnFamilyException"
    refused("missing family", IOError, family, client.get, table, b"r", b"none:v", {})
    refused("drop while enabled", IOError, package + "TableNotDisabledException", client.deleteTable, table)
    client.disableTable(table)
    check("enabled after disableTable", client.isTableEnabled(table), False)
    client.deleteTable(table)
    check("the dropped table is listed", table in client.getTableNames(), False)


def main() -> int:
    host, port, transport_name, protocol_name = sys.argv[1:]
    transport = opening(transport_name, host, int(port))
    client = Hbase.Client(PROTOCOLS[protocol_name](transport))
    table = b"languages_python_" + os.urandom(6).hex().encode()
    transport.open()
    try:
        for part in make_table, write_and_read, scan, count_and_compare, refusals_and_end:
            part(client, table)
    except Exception as error:
        print(f"after {checks} checks on {table.decode()}: {type(error).__name__}: {error}")
        return 1
    finally:
        transport.close()
    print(f"ok {checks}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
