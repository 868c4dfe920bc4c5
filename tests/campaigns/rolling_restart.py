"""Stops and starts three tablet servers, one after the other, on a real ZooKeeper and HDFS, while clients write.

    python -m tests.campaigns.rolling_restart [--tablets 5000] [--rows 60] [--seed N]

The clients come by a gateway without tablets (`hbtable thrift`), as behind a balancer: connections to a server that
stops end with it. Each writes a row of its own again and again, and the longest time between two acknowledged puts of a
row, in the whole restart, is that row's pause. No client may see an error, and every row holds its last put in the end.
"""

import argparse
import random
import shutil
import statistics
import tempfile
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import happybase

from tests.harness.free_ports import free_ports
from tests.harness.real_servers import running_hdfs, running_zookeeper
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.waiting import SOON_SECONDS, eventually

_LONG = 20 * SOON_SECONDS


class Writer(threading.Thread):
    """Puts one row, through one connection, until told to stop."""

    def __init__(self, row: bytes, port: int) -> None:
        super().__init__(daemon=True)
        self.row, self.port = row, port
        self.last = 0
        """The number that was acknowledged last."""
        self.pause = 0.0
        self.paused_at = 0.0
        """When the longest pause began, as the logs tell the time."""
        self.errors: list[str] = []
        self.halt = threading.Event()

    def run(self) -> None:
        while not self.halt.is_set():
            try:
                with closing(happybase.Connection("127.0.0.1", self.port, timeout=120_000)) as connection:
                    self._put(connection.table("t"))
            except Exception as error:
                self.errors.append(repr(error)[:300])
                self.halt.wait(0.5)

    def _put(self, table: happybase.Table) -> None:
        before = time.monotonic()
        while not self.halt.wait(0.1):
            table.put(self.row, {b"f:v": b"%d" % (self.last + 1)})
            self.last += 1
            now = time.monotonic()
            if now - before > self.pause:
                self.pause, self.paused_at = now - before, time.time() - (now - before)
            before = now


def restart(cluster: ProcessCluster, server: RoleProcess, tablets: int) -> None:
    """On return it serves again, and has its share."""
    began = time.monotonic()
    code = server.stop(_LONG)
    stopped = time.monotonic()
    cluster.servers.remove(server)
    server.end()
    new = cluster.start_server("--port", str(server.port))
    eventually(lambda: cluster.owners("t").count(new.port) > 0.9 * tablets / 3, _LONG, "it has its share again")
    print(
        f"{_clock(time.time())} {server.incarnation} stopped with {code} after {stopped - began:.1f} s and had its "
        f"share again {time.monotonic() - stopped:.1f} s later",
        flush=True,
    )


def run(cluster: ProcessCluster, tablets: int, rows: int, chance: random.Random) -> list[str]:
    """What went wrong."""
    cluster.start_master()
    for _ in range(3):
        cluster.start_server("--port", str(free_ports(1)))
    cluster.wait_until_served()
    gateway = cluster.start_gateway()
    splits = [b"%05d" % number for number in range(1, tablets)]
    began = time.monotonic()
    cluster.create_table("t", splits)
    eventually(lambda: min(map(cluster.owners("t").count, ports(cluster))) > 0.9 * tablets / 3, _LONG, "spread")
    print(f"{tablets} tablets were made and spread in {time.monotonic() - began:.1f} s", flush=True)
    writers = [Writer(b"%05d-row" % number, gateway.port) for number in chance.sample(range(tablets), rows)]
    for writer in writers:
        writer.start()
    eventually(lambda: all(writer.last > 3 for writer in writers), _LONG, "all of them write")
    for writer in writers:
        writer.pause = 0.0
    time.sleep(10)
    _tell("at rest", writers)
    for server in list(cluster.servers):
        restart(cluster, server, tablets)
    for writer in writers:
        writer.halt.set()
    for writer in writers:
        writer.join()
    _tell("in the rolling restart", writers)
    with closing(gateway.connect()) as connection:
        found = {row: int(cells[b"f:v"]) for row, cells in connection.table("t").scan()}
    wrong = [f"{writer.row!r}: {error}" for writer in writers for error in writer.errors]
    return wrong + [
        f"{one.row!r} is {found.get(one.row)}, not {one.last}" for one in writers if found.get(one.row) != one.last
    ]


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S.%f")[:-3]


def ports(cluster: ProcessCluster) -> list[int]:
    return [server.port for server in cluster.servers]


def _tell(when: str, writers: list[Writer]) -> None:
    pauses = sorted(writer.pause for writer in writers)
    print(
        f"{when}: pause of a row {statistics.median(pauses):.2f} s in the median, "
        f"{pauses[len(pauses) * 99 // 100]:.2f} s in 99 of 100, {pauses[-1]:.2f} s at worst; "
        f"{sum(writer.last for writer in writers)} puts, {sum(len(writer.errors) for writer in writers)} errors",
        flush=True,
    )
    for writer in sorted(writers, key=lambda one: -one.pause)[:8]:
        print(f"  {writer.row.decode()} {writer.pause:.2f} s from {_clock(writer.paused_at)}", flush=True)
    for writer in writers:
        writer.pause = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tablets", type=int, default=5000)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="hbtable-restart-") as folder,
        running_hdfs(3) as hdfs,
        running_zookeeper() as zookeeper,
        ProcessCluster(Path(folder), zookeeper.address, "/r", hdfs.hdfs("/r"), session_seconds=20.0) as cluster,
    ):
        wrong = run(cluster, arguments.tablets, arguments.rows, random.Random(seed))
        kept = Path(tempfile.gettempdir()) / f"hbtable-restart-logs-{seed}"
        if wrong:
            shutil.copytree(folder, kept, ignore=shutil.ignore_patterns("*.sock"))
    if wrong:
        raise SystemExit("\n".join([*wrong[:30], f"seed {seed}; the roles' logs are in {kept}"]))
    print(f"no client saw an error, and every row holds its last put (seed {seed})")


if __name__ == "__main__":
    main()
