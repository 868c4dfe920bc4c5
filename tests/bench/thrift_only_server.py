"""The yardstick of `make bench`: a server that only speaks Thrift.

Our own IDL, thriftpy2's own decoding and encoding, gevent, constant answers of the size that the benchmark's values
have. What hbtable adds to this is the price of everything behind the gateway.

    thrift_only_server.py [VALUE_BYTES [PAGE_ROWS]]      prints its port
"""

import os
import sys

import thriftpy2
from gevent.server import StreamServer
from thriftpy2.protocol.cybin import TCyBinaryProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TSocket
from thriftpy2.transport.buffered import TCyBufferedTransport

IDL = thriftpy2.load(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "thrift", "hbase.thrift"),
    module_name="hbase_bench_thrift",
)


class ConstantAnswers:
    """Enough of HBase's interface for the benchmark client; nothing is stored."""

    def __init__(self, value_bytes: int) -> None:
        self.value = os.urandom(value_bytes)
        self.left: dict[int, int] = {}
        self.opened = 0

    def row(self, key: bytes) -> object:
        return IDL.TRowResult(row=key, columns={b"f:q": IDL.TCell(value=self.value, timestamp=1700000000000)})

    def getTableNames(self) -> list[bytes]:
        return []

    def createTable(self, tableName: bytes, columnFamilies: object) -> None:
        pass

    def mutateRows(self, tableName: bytes, rowBatches: object, attributes: object) -> None:
        pass

    def getRowWithColumns(self, tableName: bytes, row: bytes, columns: object, attributes: object) -> list[object]:
        return [self.row(row)]

    def scannerOpenWithScan(self, tableName: bytes, scan: object, attributes: object) -> int:
        start = getattr(scan, "startRow", b"") or b"0"
        stop = getattr(scan, "stopRow", b"") or start
        self.opened += 1
        self.left[self.opened] = int(stop) - int(start)
        return self.opened

    def scannerGetList(self, id: int, nbRows: int) -> list[object]:
        count = min(nbRows, self.left[id])
        self.left[id] -= count
        return [self.row(b"%010d" % number) for number in range(count)]

    def scannerClose(self, id: int) -> None:
        del self.left[id]

    def majorCompact(self, tableNameOrRegionName: bytes) -> None:
        pass


def main() -> None:
    processor = TProcessor(IDL.Hbase, ConstantAnswers(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))

    def serve(connection: object, address: object) -> None:
        connection.setsockopt(6, 1, 1)  # type: ignore[attr-defined]  # TCP_NODELAY
        socket = TSocket()
        socket.set_handle(connection)
        transport = TCyBufferedTransport(socket)
        protocol = TCyBinaryProtocol(transport, decode_response=False)
        try:
            while True:
                processor.process(protocol, protocol)
        except Exception:
            transport.close()

    server = StreamServer(("127.0.0.1", 0), serve)
    server.start()
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
