"""What a call between processes costs: one caller, a server in another process, over loopback.

    python -m tests.bench.bench_rpc [calls]

First against a service that does nothing (the transport alone), then against an embedded cluster in memory, called in
its own process and from this one.
"""

import multiprocessing
import sys
import time

from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import EVERYTHING, ScanPage, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.sockets import serve
from hbtable.testing.memory_lockservice import MemoryLockService

HOST = "127.0.0.1"
ROWS = [(b"row%06d" % number, [(b"f:q", 1700000000000, b"v" * 100)]) for number in range(1000)]


class Nothing:
    """Answers at once."""

    def mutate(self, tablet_id, mutations):
        return None

    def read_rows(self, tablet_id, rows, spec):
        return ROWS[:1]

    def scan(self, tablet_id, request):
        return ScanPage(ROWS, None)


def calls(service, tablet_id):
    put = [RowMutation(b"row000001", [(PUT, b"f", b"q", -1, b"v" * 100)])]
    many = [RowMutation(row, [(PUT, b"f", b"q", -1, b"v" * 100)]) for row, _ in ROWS]
    return {
        "put": (lambda: service().mutate(tablet_id, put), 1),
        "get": (lambda: service().read_rows(tablet_id, [b"row000001"], EVERYTHING), 1),
        "put of 1000 rows": (lambda: service().mutate(tablet_id, many), 100),
        "scan of 1000 rows": (lambda: service().scan(tablet_id, ScanRequest()), 100),
    }


def measure(title, service, tablet_id, times):
    for name, (call, share) in calls(service, tablet_id).items():
        count = max(10, times // share)
        for _ in range(count // 10):
            call()
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(count):
            call()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        print(
            f"{title:22} {name:18} {count / wall:8.0f}/s {wall / count * 1e6:7.0f} us, {cpu / count * 1e6:7.0f} us CPU"
        )


def server(pipe, times):
    runtime = GeventRuntime()
    idle = LocalTransport()
    idle.register_server("idle", Nothing(), Nothing())
    cluster = EmbeddedCluster(runtime, MemoryFileSystem(runtime), MemoryLockService(runtime))
    cluster.start()
    cluster.client.admin.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f")}))
    record = cluster.client.admin.tablets(b"t")[0]
    measure("embedded, own process", lambda: cluster.transport.tablet_service(record.owner), record.tablet_id, times)
    ports = [
        RpcServer(runtime, roles, lambda handle: serve(HOST, 0, handle)).start() for roles in (idle, cluster.transport)
    ]
    pipe.send((ports, record.owner, record.tablet_id))
    runtime.event().wait(600)


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=server, args=(there, times), daemon=True)
    process.start()
    ports, owner, tablet_id = here.recv()
    runtime = GeventRuntime()
    addresses = {"idle": f"{HOST}:{ports[0]}", owner: f"{HOST}:{ports[1]}"}
    transport = RpcTransport(runtime, addresses.get, lambda: None)
    measure("transport alone", lambda: transport.tablet_service("idle"), 1, times)
    measure("embedded, over Thrift", lambda: transport.tablet_service(owner), tablet_id, times)
    process.kill()


if __name__ == "__main__":
    main()
