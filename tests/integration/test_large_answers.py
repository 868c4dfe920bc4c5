"""Many clients with large answers and requests at once, more than fit into the memory for them: they wait for each
other or are told to try again, and nobody who reads or writes is cut off."""

import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import happybase
from Hbase_thrift import Hbase
from Hbase_thrift import IOError as ThriftIOError
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TMessageType
from thriftpy2.transport import TMemoryBuffer

from tests.harness.commands import LONG_SECONDS
from tests.harness.tiers import long_test
from tests.harness.warm_server import WarmServer

CLIENTS = 10
TIMES = 6
ROW = {b"f:%04d" % number: bytes([number % 256]) * 4000 for number in range(1000)}
ROW_BYTES = 4_000_000
READERS = 40
OPTIONS = [
    "log.durability=os",
    f"thrift.transfer_bytes={20 << 20}",
    f"thrift.cell_bytes={1 << 20}",
    f"thrift.message_bytes={8 << 20}",
    f"thrift.answer_bytes={8 << 20}",
]


def scan_it(table: happybase.Table) -> None:
    assert [data for _, data in table.scan(batch_size=1)] == [ROW, ROW]


def get_it(table: happybase.Table) -> None:
    assert table.row(b"a") == ROW


def put_it(table: happybase.Table) -> None:
    table.put(b"z", ROW)


def outcomes(server: WarmServer, work: Callable[[happybase.Table], None]) -> Counter[str]:
    """Of each client's calls, of which it makes each until it is done: done, or the beginning of what it was told. How
    often, depends on the machine: who has waited for ten seconds is told."""

    def live(_: int) -> Counter[str]:
        connection, found = server.connect(), Counter[str]()
        table = connection.table("t")
        while found["done"] < TIMES:
            try:
                work(table)
                found["done"] += 1
            except ThriftIOError as error:
                found[bytes(error.message).partition(b":")[0].decode()] += 1
                connection.close()  # which is over where a put was refused: nobody knows where it would end
                connection = server.connect()
                table = connection.table("t")
        connection.close()
        return found

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(live, range(CLIENTS)), Counter[str]())


@long_test("steady clients with large rows")
def test_steady_clients_with_large_rows_wait_or_are_told_and_are_not_cut_off(tmp_path: Path) -> None:
    with WarmServer(tmp_path / "data", OPTIONS) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {"max_versions": 1}})
        for row in (b"a", b"b"):
            connection.table("t").put(row, ROW)
        for work in (scan_it, get_it, put_it):
            found = outcomes(server, work)
            print(work.__name__, dict(found))
            assert set(found) <= {"done", "org.apache.hadoop.hbase.CallQueueTooBigException"}
            assert found["done"] == CLIENTS * TIMES
        assert server.stop() == 0
        assert "cut off" not in server.errors.read_text()


def read_slowly(server: WarmServer, call: bytes, bytes_a_second: int) -> str:
    """Of one get of ROW: done, told or cut off."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        client.settimeout(LONG_SECONDS)
        client.connect(("127.0.0.1", server.port))
        client.sendall(call)
        taken, began = 0, 0.0
        while taken < ROW_BYTES:
            try:
                data = client.recv(64 << 10)
            except ConnectionResetError:
                data = b""
            if not data:
                return "cut off"
            if not taken and b"CallQueueTooBig" in data:
                return "told"
            began, taken = began or time.monotonic(), taken + len(data)
            time.sleep(max(0.0, began + taken / bytes_a_second - time.monotonic()))
        return "done"


def test_readers_who_are_slow_and_steady_are_not_cut_off_for_others_room(tmp_path: Path) -> None:
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    protocol.write_message_begin("getRow", TMessageType.CALL, 1)
    Hbase.getRow_args(tableName=b"t", row=b"a", attributes={}).write(protocol)
    protocol.write_message_end()
    call = buffer.getvalue()
    with WarmServer(tmp_path / "data", OPTIONS) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {"max_versions": 1}})
        connection.table("t").put(b"a", ROW)
        with ThreadPoolExecutor(READERS) as pool:
            found = Counter(pool.map(lambda _: read_slowly(server, call, 1 << 20), range(READERS)))
        print(dict(found))
        assert set(found) <= {"done", "told"}
        assert found["done"] >= CLIENTS
        assert server.stop() == 0
        assert "cut off" not in server.errors.read_text()
