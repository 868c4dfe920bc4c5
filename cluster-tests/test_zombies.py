"""A tablet server stopped by SIGSTOP for 0.5 to 3 session lengths at random moments under load (issue 5): nothing
acknowledged is lost, nothing stale is read after another server took over, and if its session ended it exits within 1 s
of waking. HBTABLE_ZOMBIE_TRIALS says how often (20; 4 in CI).
"""

import os
import random
import threading
import time
from pathlib import Path

import happybase
import pytest
from Hbase_thrift import IOError as HBaseError

from tests.harness.fresh_seed import fresh_seed
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually, in_time

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(1500)]

TRIALS = int(os.environ.get("HBTABLE_ZOMBIE_TRIALS", "4" if os.environ.get("CI") else "20"))
SESSION_SECONDS = in_time(3.0)
ROWS = 6


class Worker:
    """Raises one row's number by one, then reads it, through one server. Only this worker writes the row, so a read
    must show at least the last acknowledged number, whoever answers."""

    def __init__(self, cluster: ProcessCluster, server: RoleProcess, row: bytes) -> None:
        self._cluster = cluster
        self._server = server
        self.row = row
        self.acknowledged = 0
        self.tried = 0
        self.stale: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        connection: happybase.Connection | None = None
        while not self._stop.is_set():
            try:
                connection = connection or self._server.connect(20000)
                self._once(connection.table("zombies"))
            except HBaseError:
                pass  # unknown or refused: the number was not acknowledged
            except Exception:
                if connection is not None:
                    connection.close()
                connection = None
                if self._server.process.poll() is not None:
                    self._server = next(one for one in self._cluster.servers if one.process.poll() is None)
            time.sleep(0.005)
        if connection is not None:
            connection.close()

    def _once(self, table: happybase.Table) -> None:
        self.tried += 1
        table.put(self.row, {b"f:n": b"%d" % self.tried})
        self.acknowledged = self.tried
        floor = self.acknowledged
        shown = int(table.row(self.row).get(b"f:n", b"0"))
        if shown < floor:
            self.stale.append(f"{self.row!r}: {shown} after {floor} was acknowledged")

    def end(self) -> None:
        self._stop.set()
        self._thread.join(2 * SOON_SECONDS)
        assert not self._thread.is_alive()


@long_test("zombies")
def test_a_server_that_was_stopped_and_wakes_does_no_harm(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    chance = random.Random(fresh_seed())
    address = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, address, SESSION_SECONDS) as cluster:
        cluster.start(3)
        rows = [b"%d" % number for number in range(ROWS)]
        cluster.create_table("zombies", rows[1:])
        workers = [Worker(cluster, cluster.servers[number % 3], row) for number, row in enumerate(rows)]
        for _ in range(TRIALS):
            time.sleep(chance.uniform(0.3, 1.5))
            stop_and_wake(cluster, chance)
        for worker in workers:
            worker.end()
        connection = cluster.connect()
        table = connection.table("zombies")
        lost = [w.row for w in workers if int(table.row(w.row).get(b"f:n", b"0")) < w.acknowledged]
        connection.close()
        print(f"{sum(worker.acknowledged for worker in workers)} writes, the last of each acknowledged")
        assert lost == []
        assert [line for worker in workers for line in worker.stale] == []


def stop_and_wake(cluster: ProcessCluster, chance: random.Random) -> None:
    living = [one for one in cluster.servers if one.process.poll() is None]
    while len(living) < 3:  # one whose session ended just as it was woken
        living.append(cluster.start_server())
    victim = chance.choice(living)
    sessions = chance.uniform(0.5, 3)
    try:
        victim.freeze()
    except ProcessLookupError:
        return  # its session ended just as it was woken, and a worker has seen it end since
    time.sleep(sessions * SESSION_SECONDS)
    expired = f"log {victim.incarnation}: fenced" in cluster.masters[0].log()
    victim.thaw()
    if expired:
        what = f"the end of a zombie after {sessions:.1f} sessions"
        eventually(lambda: victim.process.poll() is not None, in_time(1), what)
        assert victim.process.returncode == 3
        cluster.start_server()
