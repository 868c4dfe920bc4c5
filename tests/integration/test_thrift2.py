"""HBase's Thrift2 service on Thrift1's port: what a call means follows from its name and the kinds of its fields."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from thriftpy2.protocol import TBinaryProtocolFactory, TCompactProtocolFactory
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.rpc import make_client
from thriftpy2.thrift import TApplicationException, TMessageType
from thriftpy2.transport import TBufferedTransportFactory, TFramedTransportFactory, TSocket
from thriftpy2.transport.buffered import TBufferedTransport

from tests.harness.interfaces import interface
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

ONE = interface("hbase")
TWO = interface("hbase2")
WIRES = {
    "binary": {"proto_factory": TBinaryProtocolFactory(), "trans_factory": TBufferedTransportFactory()},
    "framed": {"proto_factory": TBinaryProtocolFactory(), "trans_factory": TFramedTransportFactory()},
    "compact": {"proto_factory": TCompactProtocolFactory(), "trans_factory": TBufferedTransportFactory()},
    "framed compact": {"proto_factory": TCompactProtocolFactory(), "trans_factory": TFramedTransportFactory()},
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with WarmServer(tmp_path_factory.mktemp("thrift2") / "data") as server:
        yield server.port


def client(service: Any, port: int, wire: str = "binary") -> Any:
    return make_client(service, "127.0.0.1", port, timeout=60_000, **WIRES[wire])


def value(family: bytes, qualifier: bytes, content: bytes, time: int | None = None) -> Any:
    return TWO.TColumnValue(family=family, qualifier=qualifier, value=content, timestamp=time)


def cells(result: Any) -> list[tuple[bytes, bytes, bytes]]:
    return [(one.family, one.qualifier, one.value) for one in result.columnValues]


@pytest.mark.parametrize("wire", WIRES)
def test_a_table_is_made_written_read_scanned_and_dropped(port: int, wire: str) -> None:
    two = client(TWO.THBaseService, port, wire)
    name = TWO.TTableName(qualifier=b"two_" + wire.replace(" ", "_").encode())
    two.createTable(
        TWO.TTableDescriptor(tableName=name, columns=[TWO.TColumnFamilyDescriptor(name=b"f", maxVersions=3)]), [b"m"]
    )
    table = name.qualifier
    two.put(table, TWO.TPut(row=b"a", columnValues=[value(b"f", b"q", b"1", 5), value(b"f", b"r", b"2")]))
    two.putMultiple(table, [TWO.TPut(row=b"r%d" % n, columnValues=[value(b"f", b"q", b"%d" % n)]) for n in range(5)])
    assert cells(two.get(table, TWO.TGet(row=b"a"))) == [(b"f", b"q", b"1"), (b"f", b"r", b"2")]
    assert two.get(table, TWO.TGet(row=b"a", columns=[TWO.TColumn(b"f", b"q")])).columnValues[0].timestamp == 5
    assert two.get(table, TWO.TGet(row=b"none")).row is None
    assert two.existsAll(table, [TWO.TGet(row=b"a"), TWO.TGet(row=b"none")]) == [True, False]
    scanner = two.openScanner(table, TWO.TScan(startRow=b"r1", limit=3))
    assert [one.row for one in two.getScannerRows(scanner, 2)] == [b"r1", b"r2"]
    assert [one.row for one in two.getScannerRows(scanner, 2)] == [b"r3"]
    assert two.getScannerRows(scanner, 2) == []
    two.closeScanner(scanner)
    with pytest.raises(TWO.TIllegalArgument, match="Invalid scanner Id"):
        two.getScannerRows(scanner, 2)
    back = two.getScannerResults(table, TWO.TScan(startRow=b"r1", reversed=True), 10)
    assert [one.row for one in back] == [b"r1", b"r0", b"a"]
    assert two.checkAndMutate(
        table, b"a", b"f", b"q", TWO.TCompareOperator.GREATER, b"2",
        TWO.TRowMutations(b"a", [TWO.TMutation(put=TWO.TPut(row=b"a", columnValues=[value(b"f", b"q", b"3")]))]),
    )  # fmt: skip
    assert cells(two.get(table, TWO.TGet(row=b"a", columns=[TWO.TColumn(b"f", b"q")]))) == [(b"f", b"q", b"3")]
    two.deleteSingle(table, TWO.TDelete(row=b"a"))
    assert not two.exists(table, TWO.TGet(row=b"a"))
    assert [one.regionInfo.endKey for one in two.getAllRegionLocations(table)] == [b"m", b""]
    two.disableTable(name)
    two.deleteTable(name)
    with pytest.raises(TWO.TIOError) as refused:
        two.get(table, TWO.TGet(row=b"a"))
    assert not refused.value.canRetry
    two.close()


@pytest.mark.parametrize("wire", WIRES)
def test_names_that_both_services_have_go_to_the_one_that_was_meant(port: int, wire: str) -> None:
    """Alternately on one port: get, append, increment, checkAndPut and the calls on tables."""
    one, two = client(ONE.Hbase, port, wire), client(TWO.THBaseService, port, wire)
    assert (one.getThriftServerType(), two.getThriftServerType()) == (1, 1)  # nothing tells yet
    table = b"both_" + wire.replace(" ", "_").encode()
    two.createTable(
        TWO.TTableDescriptor(
            tableName=TWO.TTableName(qualifier=table), columns=[TWO.TColumnFamilyDescriptor(name=b"f")]
        ),
        [b"b", b"c"],
    )
    assert len(one.getTableRegions(table)) == 3
    assert (one.getThriftServerType(), two.getThriftServerType()) == (1, 2)
    one.mutateRow(table, b"r", [ONE.Mutation(column=b"f:q", value=b"x")], {})
    assert [cell.value for cell in one.get(table, b"r", b"f:q", {})] == [b"x"]
    assert cells(two.get(table, TWO.TGet(row=b"r"))) == [(b"f", b"q", b"x")]
    assert [cell.value for cell in one.append(ONE.TAppend(table, b"r", [b"f:q"], [b"y"]))] == [b"xy"]
    assert cells(two.append(table, TWO.TAppend(row=b"r", columns=[value(b"f", b"q", b"z")]))) == [(b"f", b"q", b"xyz")]
    one.increment(ONE.TIncrement(table, b"r", b"f:n", 2))
    counted = two.increment(table, TWO.TIncrement(row=b"r", columns=[TWO.TColumnIncrement(b"f", b"n", 3)]))
    assert cells(counted) == [(b"f", b"n", (5).to_bytes(8, "big"))]
    assert one.checkAndPut(table, b"r", b"f:q", b"xyz", ONE.Mutation(column=b"f:q", value=b"1"), {})
    assert two.checkAndPut(table, b"r", b"f", b"q", b"1", TWO.TPut(row=b"r", columnValues=[value(b"f", b"q", b"2")]))
    assert not two.checkAndPut(
        table, b"r", b"f", b"q", b"1", TWO.TPut(row=b"r", columnValues=[value(b"f", b"q", b"3")])
    )
    assert one.isTableEnabled(table)
    assert two.isTableEnabled(TWO.TTableName(qualifier=table))
    one.disableTable(table)
    two.enableTable(TWO.TTableName(qualifier=table))
    two.disableTable(TWO.TTableName(qualifier=table))
    one.deleteTable(table)
    one.createTable(table, [ONE.ColumnDescriptor(name=b"f:")])
    assert two.tableExists(TWO.TTableName(qualifier=table))
    one.disableTable(table)
    two.deleteTable(TWO.TTableName(qualifier=table))
    one.close()
    two.close()


def test_after_a_missing_field_the_connection_goes_on(port: int) -> None:
    """HBase leaves the rest of such a call unread: its next one hangs."""
    socket = TSocket("127.0.0.1", port, socket_timeout=60_000)
    transport = TBufferedTransport(socket)
    transport.open()
    protocol = TBinaryProtocol(transport)
    call = b"\x0b\0\1\0\0\0\1t\x0c\0\2" + b"\x08\0\5\0\0\0\1" + b"\0\0"  # a TGet of one version and no row
    for number in (1, 2, 3):
        protocol.write_message_begin("get", TMessageType.CALL, number)
        transport.write(call)
        transport.flush()
        _, kind, sequence = protocol.read_message_begin()
        refused = TApplicationException()
        refused.read(protocol)
        assert (kind, sequence, refused.type) == (TMessageType.EXCEPTION, number, 7)
        assert refused.message == "Required field 'row' was not present! Struct: TGet"
    transport.close()


def test_limits_of_answers_and_of_scanners_hold(tmp_path: Path) -> None:
    with WarmServer(tmp_path / "data", ["thrift.answer_bytes=4194304"]) as server:
        two = client(TWO.THBaseService, server.port)
        name = TWO.TTableName(qualifier=b"t")
        two.createTable(TWO.TTableDescriptor(tableName=name, columns=[TWO.TColumnFamilyDescriptor(name=b"f")]), [])
        rows = [TWO.TPut(row=b"r%d" % n, columnValues=[value(b"f", b"q", b"v", n)]) for n in range(9)]
        two.putMultiple(b"t", rows)
        scan = TWO.TScan(limit=4, timeRange=TWO.TTimeRange(2, 9), maxVersions=2)
        scanner = two.openScanner(b"t", scan)
        assert [one.row for one in two.getScannerRows(scanner, 3)] == [b"r2", b"r3", b"r4"]
        for row in (b"x", b"y"):
            two.put(b"t", TWO.TPut(row=row, columnValues=[value(b"f", b"q", b"v" * (3 << 20))]))
        assert two.get(b"t", TWO.TGet(row=b"y")).row == b"y"
        with pytest.raises(TWO.TIOError, match="bytes") as refused:  # each fits into an answer, both do not
            two.getMultiple(b"t", [TWO.TGet(row=b"x"), TWO.TGet(row=b"y")])
        assert not refused.value.canRetry
        two.close()
        assert server.stop() == 0
        server.start()
        two = client(TWO.THBaseService, server.port)
        assert [one.row for one in two.getScannerRows(scanner, 3)] == [b"r5"]
        assert two.getScannerRows(scanner, 3) == []
        two.close()
