"""How long tablets are away when their server dies: python tests/bench/bench_recovery.py [--address A] [--mib 64]
[--tablets 50] [--profile]

One process with a master and three tablet servers, each with a file system and a session of its own; the log of one
server takes all the writes (values of 1 KiB), then that server dies. Prints seconds from its death being known to the
first cell of every tablet read again. --address: a folder (default: a temporary one), webhdfs://... or hdfs://....
"""

import argparse
import cProfile
import logging
import os
import pstats
import random
import tempfile
import time

from hbtable.client.client import Client
from hbtable.fs.opened import open_file_system
from hbtable.master.master import Master
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator
from hbtable.metrics.registry import Registry
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import EVERYTHING
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.rpc.local import LocalTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.tabletserver.role import TabletServerOptions, TabletServerRole
from hbtable.testing.memory_lockservice import MemoryLockService

TABLE = b"t"


class Cluster:
    """Everything in one process, over one file system."""

    def __init__(self, address: str) -> None:
        self.runtime = GeventRuntime()
        self.address = address
        self.locks = MemoryLockService(self.runtime)
        self.transport = LocalTransport()
        session = self.locks.open_session("master")
        self.master = Master(self.runtime, session, self._fs(), self.transport, lambda: None)
        self.transport.register_master(self.master.calls)
        self.master.start()

    def _fs(self):  # type: ignore[no-untyped-def]
        return open_file_system(self.address, self.runtime)

    def start_server(self) -> TabletServerRole:
        session = self.locks.open_session("server")
        fs = self._fs()
        catalog = Catalog(session, Locator(session, self.transport, self.runtime), fs)
        role = TabletServerRole(
            self.runtime,
            session,
            fs,
            catalog,
            Registry(),
            lambda: None,
            TabletServerOptions(block_cache_bytes=64 << 20),
        )
        role.session = session  # type: ignore[attr-defined]
        self.transport.register_server(role.incarnation, role.service, role.admin)
        role.start()
        return role

    def client(self) -> Client:
        return Client(self.runtime, self.locks.open_session("client"), self.transport)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="")
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--tablets", type=int, default=50)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(relativeCreated)6d %(message)s")
    logging.getLogger("hbtable.master").setLevel(logging.INFO)
    with tempfile.TemporaryDirectory() as folder:
        run(Cluster(options.address or folder), options)


def run(cluster: Cluster, options: argparse.Namespace) -> None:
    victim = cluster.start_server()
    client = cluster.client()
    rows = options.mib << 10
    per_tablet = rows // options.tablets
    splits = [b"%08d" % (number * per_tablet) for number in range(1, options.tablets)]
    client.admin.create_table(TableSchema(TABLE, {b"f": FamilySchema(b"f")}), splits)
    table = client.table(TABLE)
    order = list(range(rows))
    random.Random(1).shuffle(order)
    began = time.perf_counter()
    for start in range(0, rows, 512):
        batch = [b"%08d" % number for number in order[start : start + 512]]
        table.mutate([RowMutation(row, [(PUT, b"f", b"q", SERVER_TIME, os.urandom(1024))]) for row in batch])
    print(f"{options.mib} MiB in {rows} rows written in {time.perf_counter() - began:.1f} s")
    for _ in range(2):
        cluster.start_server()
    victim._maintenance.stop()
    cluster.transport.remove_server(victim.incarnation)
    profile = cProfile.Profile()
    began, cpu = time.perf_counter(), time.process_time()
    if options.profile:
        profile.enable()
    print(f"{(time.time() - logging._startTime) * 1000:6.0f} dies", flush=True)
    cluster.locks.expire(victim.session)  # type: ignore[attr-defined]
    cluster.master.wake()
    reader = cluster.client().table(TABLE)
    away = []
    for number in range(options.tablets):
        assert reader.read_rows([b"%08d" % (number * per_tablet)], EVERYTHING)
        away.append(time.perf_counter() - began)
    profile.disable()
    print(
        f"first tablet read after {away[0]:.2f} s, all {options.tablets} after {max(away):.2f} s, "
        f"{time.process_time() - cpu:.2f} s of processor"
    )
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(22)
    os._exit(0)


if __name__ == "__main__":
    main()
