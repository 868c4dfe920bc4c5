"""What an operation costs the server's processor, of several source trees in turns: is a commit dearer than another?

    git worktree add --detach /somewhere/old COMMIT
    python -m tests.bench.bench_trees . /somewhere/old [...] [--turns 25] [--workloads put,get,...] [--value-bytes 1000]

Each tree's server runs at once, with the Python that runs this. One client sends messages that were made beforehand
and only counts the bytes of the answers, so that it leaves the processors to the servers. In each turn every server
gets the same operations, in an order that changes from turn to turn. What counts is the processor time of the
server's process, in us for an operation (a row, of batches and scans; a cell, of batches of rows of ten columns): the
median over the turns, and the median of the ratios within turns to the first tree. Time that the same machine gives to
others does not count, but it warms and cools caches: servers of one tree differ by up to 3 in a hundred, which
`python -m tests.bench.bench_trees . .` shows. What worker processes add (flushes, compactions)
is printed as a mean, because it comes in lumps.
"""

import argparse
import os
import random
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import happybase
from thriftpy2.protocol.cybin import TCyBinaryProtocol
from thriftpy2.thrift import TMessageType
from thriftpy2.transport import TMemoryBuffer
from thriftpy2.transport.buffered import TCyBufferedTransport

from tests.harness.interfaces import interface

IDL = interface("hbase")
IDL2 = interface("hbase2")
ROWS = 20_000
PAGE = 1000
COLUMNS = 10
"""Of each row in a wide batch."""
TABLE = b"written"
READ = b"read"
IN_MEMORY = b"memory"
UNCACHED = b"uncached"


def key(number: int) -> bytes:
    return b"%010d" % number


def message(method: str, service: object = IDL.Hbase, **arguments: object) -> bytes:
    buffer = TMemoryBuffer()
    transport = TCyBufferedTransport(buffer)
    protocol = TCyBinaryProtocol(transport)
    protocol.write_message_begin(method, TMessageType.CALL, 0)
    getattr(service, method + "_args")(**arguments).write(protocol)
    protocol.write_message_end()
    transport.flush()
    return bytes(buffer.getvalue())


class Server:
    """hbtable of a source tree, with a folder of its own, and a connection to it."""

    def __init__(self, tree: str, folder: str, options: list[str]) -> None:
        command = [sys.executable, "-m", "hbtable", "start", "--data", folder, "--port", "0"]
        for option in options:
            command += ["-D", option]
        environment = os.environ | {"PYTHONPATH": os.path.abspath(tree)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=tree
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                self.port = int(found.group(1))
                break
        else:
            raise SystemExit(f"hbtable of {tree} did not start")
        self.socket = socket.create_connection(("127.0.0.1", self.port), 60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lengths: dict[str, int] = {}
        self.buffer = bytearray(1 << 22)

    def cpu(self) -> float:
        return cpu_of(self.process.pid)

    def cpu_of_workers(self) -> float:
        return sum(cpu_of(child) for child in children(self.process.pid))

    def call(self, kind: str, request: bytes) -> memoryview:
        """The answer; those of one kind have one length, which the first one tells."""
        self.socket.sendall(request)
        length = self.lengths.get(kind)
        view = memoryview(self.buffer)
        received = self.socket.recv_into(view)
        if length is None:
            self.socket.settimeout(0.3)
            try:
                while got := self.socket.recv_into(view[received:]):
                    received += got
            except TimeoutError:
                pass
            self.socket.settimeout(60)
            self.lengths[kind] = received
            if view[3] != TMessageType.REPLY:
                raise SystemExit(f"{kind} was answered by {bytes(view[:200])!r}")
            return view[:received]
        while received < length:
            received += self.socket.recv_into(view[received:])
        if received != length:
            raise SystemExit(f"{kind} was answered by {received} bytes instead of {length}")
        return view[:received]

    def stop(self) -> None:
        self.socket.close()
        self.process.terminate()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


def cpu_of(pid: int) -> float:
    """Seconds of the processor that a process has had, all its threads (the clock that clock_getcpuclockid names)."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def children(pid: int) -> list[int]:
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
            found += [int(child), *children(int(child))]
    return found


Operation = tuple[str, bytes]


class Workloads:
    """Messages for each kind of operation, the same ones for every server."""

    def __init__(self, value_bytes: int) -> None:
        self.random = random.Random(7)
        pool = self.random.randbytes(1 << 18)
        self.values = [pool[start : start + value_bytes] for start in range(0, 4096, 64)]
        self.prepared: dict[str, list[bytes]] = {}

    def value(self) -> bytes:
        return self.random.choice(self.values)

    def batch(self, table: bytes, rows: list[bytes]) -> bytes:
        batches = [
            IDL.BatchMutation(row=row, mutations=[IDL.Mutation(column=b"f:q", value=self.value())]) for row in rows
        ]
        return message("mutateRows", tableName=table, rowBatches=batches, attributes={})

    def wide_batch(self, rows: list[bytes]) -> bytes:
        columns = [b"f:column%d" % number for number in range(COLUMNS)]
        batches = [
            IDL.BatchMutation(row=row, mutations=[IDL.Mutation(column=one, value=self.value()) for one in columns])
            for row in rows
        ]
        return message("mutateRows", tableName=TABLE, rowBatches=batches, attributes={})

    def batch2(self, rows: list[bytes]) -> bytes:
        puts = [
            IDL2.TPut(
                row=row,
                columnValues=[IDL2.TColumnValue(family=b"f", qualifier=b"q", value=self.value())],
                attributes={},
            )
            for row in rows
        ]
        return message("putMultiple", IDL2.THBaseService, table=TABLE, tputs=puts)

    def put(self, row: bytes) -> bytes:
        mutations = [IDL.Mutation(column=b"f:q", value=self.value())]
        return message("mutateRow", tableName=TABLE, row=row, mutations=mutations, attributes={})

    def get(self, table: bytes, row: bytes) -> bytes:
        return message("getRowWithColumns", tableName=table, row=row, columns=None, attributes={})

    def increment(self, row: bytes) -> bytes:
        return message("atomicIncrement", tableName=b"counted", row=row, column=b"f:n", value=1)

    def made(self, name: str, make: Callable[[int], bytes], count: int) -> list[bytes]:
        if name not in self.prepared:
            self.prepared[name] = [make(number) for number in range(count)]
        return self.prepared[name]

    def row(self) -> bytes:
        return key(self.random.randrange(ROWS))

    # Each runs one turn on one server; the operations done.

    def run(self, name: str, server: Server, turn: int) -> int:
        if name.startswith("scan"):
            return self.scan(server, READ, int(name[4:] or PAGE))
        if name == "uncached-scan":
            return self.scan(server, UNCACHED, PAGE)
        count, make = {
            "put": (500, lambda number: self.put(key((number * 7 + 3) % ROWS))),
            "random-put": (500, lambda _: self.put(self.row())),
            "get": (500, lambda _: self.get(READ, self.row())),
            "sequential-get": (500, lambda number: self.get(READ, key(number))),
            "memory-get": (500, lambda _: self.get(IN_MEMORY, self.row())),
            "increment": (500, lambda number: self.increment(key(number % 10))),
            "wide-batch": (
                5,
                lambda number: self.wide_batch(
                    [key((number * PAGE + n) % ROWS) for n in range(0, PAGE, COLUMNS)],
                ),
            ),
            "thrift2-batch": (5, lambda number: self.batch2([key((number * PAGE + n) % ROWS) for n in range(PAGE)])),
            "batch": (5, lambda number: self.batch(TABLE, [key((number * PAGE + n) % ROWS) for n in range(PAGE)])),
        }[name]
        messages = self.made(name, make, count)
        for request in messages:
            server.call(name, request)
        return count * (PAGE if name.endswith("batch") else 1)

    def scan(self, server: Server, table: bytes, page: int) -> int:
        scan = IDL.TScan(startRow=key(0), stopRow=key(ROWS), caching=page)
        opening = message("scannerOpenWithScan", tableName=table, scan=scan, attributes={})
        answer = server.call("open", opening)
        scanner = struct.unpack_from(">i", answer, len(answer) - 5)[0]
        fetch = message("scannerGetList", id=scanner, nbRows=page)
        for _ in range(ROWS // page):
            server.call(f"page{page}", fetch)
        server.call("close", message("scannerClose", id=scanner))
        return ROWS

    def load(self, server: Server) -> None:
        connection = happybase.Connection("127.0.0.1", server.port, timeout=60000)
        # Thrift's default is a family whose blocks scans leave in the file.
        for table in (TABLE, READ, b"counted"):
            connection.create_table(table, {"f": {"block_cache_enabled": True, "bloom_filter_type": "ROW"}})
        connection.create_table(UNCACHED, {"f": {"bloom_filter_type": "ROW"}})
        connection.create_table(IN_MEMORY, {"f": {"in_memory": True, "block_cache_enabled": True}})
        for table in (READ, UNCACHED, IN_MEMORY):
            for start in range(0, ROWS, PAGE):
                server.call("load", self.batch(table, [key(number) for number in range(start, start + PAGE)]))
            connection.compact_table(table, major=True)
        connection.close()


NAMES = (
    "put",
    "random-put",
    "batch",
    "wide-batch",
    "thrift2-batch",
    "get",
    "sequential-get",
    "memory-get",
    "scan",
    "scan10",
    "uncached-scan",
    "increment",
)


def turns(servers: list[Server], workloads: Workloads, name: str, count: int) -> Iterator[list[tuple[float, float]]]:
    """For each turn, of each server: (us of the processor an operation, of its workers)."""
    for turn in range(-1, count):
        costs = [(0.0, 0.0)] * len(servers)
        for place in range(len(servers)):
            number = (place + turn) % len(servers)
            server = servers[number]
            begin, workers = server.cpu(), server.cpu_of_workers()
            done = workloads.run(name, server, turn)
            costs[number] = (server.cpu() - begin) / done * 1e6, (server.cpu_of_workers() - workers) / done * 1e6
        if turn >= 0:  # the one before it warms
            yield costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+")
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--value-bytes", type=int, default=1000)
    parser.add_argument("--durability", choices=("os", "sync"), default="os")
    parser.add_argument("--workloads", default=",".join(NAMES), help=f"of {', '.join(NAMES)}; scanN: pages of N rows")
    arguments = parser.parse_args()
    servers: list[Server] = []
    with tempfile.TemporaryDirectory(prefix="hbtable-bench-") as folder:
        try:
            workloads = Workloads(arguments.value_bytes)
            for number, tree in enumerate(arguments.trees):
                servers.append(Server(tree, f"{folder}/{number}", [f"log.durability={arguments.durability}"]))
                workloads.load(servers[-1])
            print(f"us of the processor an operation, {arguments.turns} turns; ratios to {arguments.trees[0]}")
            for name in arguments.workloads.split(","):
                table = list(turns(servers, workloads, name, arguments.turns))
                for number, tree in enumerate(arguments.trees):
                    own = [costs[number][0] for costs in table]
                    ratio = statistics.median(costs[number][0] / costs[0][0] for costs in table)
                    workers = statistics.mean(costs[number][1] for costs in table)
                    print(
                        f"{name:<15}{tree:<28}{statistics.median(own):>9.2f} ({min(own):.2f}-{max(own):.2f})"
                        f"{ratio:>8.3f}   workers {workers:.2f}",
                        flush=True,
                    )
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()
