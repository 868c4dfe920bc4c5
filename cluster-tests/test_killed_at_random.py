"""Masters and tablet servers are killed at random, their supervisors start them again, and clients write on: all that
was acknowledged is there, nothing else is, and nobody waits for long. Printed: how many, and the longest wait.
HBTABLE_KILLING_SECONDS says how long (120; 20 in CI).
"""

import os
import random
import signal
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import happybase
import pytest
from Hbase_thrift import IOError as HBaseError

from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, RoleProcess

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(900)]

SECONDS = float(os.environ.get("HBTABLE_KILLING_SECONDS", "20" if os.environ.get("CI") else "120"))
WRITERS = 4
SPLITS = [b"%02d" % number for number in range(10, 100, 10)]


class Writer(threading.Thread):
    """Puts rows that nobody else puts, by one gateway."""

    def __init__(self, number: int, port: int, stop: threading.Event) -> None:
        super().__init__()
        self.acknowledged: set[bytes] = set()
        self.doubtful: set[bytes] = set()
        """They may be there, or may not."""
        self.not_to_retry: list[str] = []
        """Errors that forbid what is harmless: to send the put again."""
        self.longest_wait = 0.0
        self._number = number
        self._port = port
        self._stop_writing = stop
        self._random = random.Random(number)

    def run(self) -> None:
        with closing(happybase.Connection("127.0.0.1", self._port, timeout=120000)) as connection:
            self._write(connection.table("t"))

    def _write(self, table: happybase.Table) -> None:
        count = 0
        while not self._stop_writing.is_set():
            count += 1
            row = b"%02d-%d-%d" % (self._random.randrange(100), self._number, count)
            began = time.monotonic()
            try:
                table.put(row, {b"f:v": row})
                self.acknowledged.add(row)
            except HBaseError as error:  # its server died with the call in its hands
                self.doubtful.add(row)
                if b"DoNotRetry" in error.message:
                    self.not_to_retry.append(str(error))
            self.longest_wait = max(self.longest_wait, time.monotonic() - began)


def kill_at_random(roles: list[RoleProcess], seconds: float) -> int:
    """kill -9 of supervised roles, whose supervisors start them again; how many there were."""
    chance = random.Random(5)
    kills = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(chance.uniform(3, 8))
        for child in chance.choice(roles).children():
            with suppress(ProcessLookupError):  # it is being started again just now
                os.kill(child, signal.SIGKILL)
                kills += 1
    return kills


def test_what_was_acknowledged_is_there_whoever_was_killed(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    files = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files, 10.0) as cluster:
        cluster.start_master("--supervised")
        for _ in range(3):
            cluster.start_server("--supervised")
        cluster.wait_until_served()
        cluster.begin_master("--supervised")
        cluster.create_table("t", SPLITS)
        mortal = [*cluster.masters, *cluster.servers]
        gateway = cluster.start_server()
        stop = threading.Event()
        writers = [Writer(number, gateway.port, stop) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        try:
            kills = kill_at_random(mortal, SECONDS)
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        connection = gateway.connect()
        found = {row: cells[b"f:v"] for row, cells in connection.table("t").scan(batch_size=1000)}
        connection.close()
    acknowledged = set[bytes]().union(*(writer.acknowledged for writer in writers))
    doubtful = set[bytes]().union(*(writer.doubtful for writer in writers))
    longest = max(writer.longest_wait for writer in writers)
    print(f"\n{kills} kills, {len(acknowledged)} acknowledged, {len(doubtful)} in doubt, longest wait {longest:.1f} s")
    assert kills
    assert acknowledged
    assert [text for writer in writers for text in writer.not_to_retry] == []
    assert not acknowledged - found.keys(), "lost"
    assert not found.keys() - acknowledged - doubtful, "never written"
    assert all(row == value for row, value in found.items())
