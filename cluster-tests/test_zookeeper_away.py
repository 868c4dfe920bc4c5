"""ZooKeeper stops for less than a session, and for longer (issue 5): no client error; no wrong answer, and serving
again within 5 s of its return."""

import threading
import time
from pathlib import Path

import happybase
import pytest
from Hbase_thrift import IOError as HBaseError

from tests.harness.real_servers import HdfsServers, running_zookeeper
from tests.harness.role_processes import ProcessCluster, RoleProcess

pytestmark = [pytest.mark.java, pytest.mark.slow]

SESSION_SECONDS = 4.0
BACK_SECONDS = 5.0


class Counting:
    """Puts and reads one row again and again; what was acknowledged, what failed, what was read wrongly."""

    def __init__(self, server: RoleProcess) -> None:
        self._server = server
        self.acknowledged = -1
        self.errors: list[str] = []
        self.stale: list[tuple[int, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        table, number = self._server.connect().table("counted"), 0
        while not self._stop.is_set():
            number += 1
            try:
                table.put(b"row", {b"f:n": b"%d" % number})
                self.acknowledged = number
                read = int(table.row(b"row")[b"f:n"])
                if read < self.acknowledged:
                    self.stale.append((read, self.acknowledged))
            except HBaseError as error:
                self.errors.append(f"{time.strftime('%X')} {error.message!r:.200}")
            except Exception as error:
                self.errors.append(f"{time.strftime('%X')} {error!r:.200}")
                table = self._again()
            time.sleep(0.01)

    def _again(self) -> happybase.Table:
        while not self._stop.is_set():
            try:
                return self._server.connect().table("counted")
            except Exception:
                time.sleep(0.1)
        return None

    def end(self) -> None:
        self._stop.set()
        self._thread.join(60)


@pytest.mark.parametrize("away_seconds", [1.0, 10.0])
def test_zookeeper_away(hdfs_servers: HdfsServers, own_folder: str, tmp_path: Path, away_seconds: float) -> None:
    longer = away_seconds > SESSION_SECONDS
    address = hdfs_servers.hdfs(own_folder)
    with (
        running_zookeeper() as zookeeper,  # one of its own: the others' sessions must not end with it
        ProcessCluster(tmp_path, zookeeper.address, own_folder, address, SESSION_SECONDS) as cluster,
    ):
        # Each of the two must come back by itself or by its supervisor, whatever the service decided about its session.
        cluster.start_master("--supervised")
        server = cluster.start_server("--supervised", "--port", "0")
        cluster.wait_until_served()
        cluster.create_table("counted", [])
        counting = Counting(server)
        time.sleep(1)
        zookeeper.stop()
        time.sleep(away_seconds)
        zookeeper.start()
        back = time.monotonic()
        before = counting.acknowledged
        while counting.acknowledged <= before and time.monotonic() - back < 60:
            time.sleep(0.05)
        taken = time.monotonic() - back
        time.sleep(1)
        counting.end()
        print(f"\naway {away_seconds} s: serving {taken:.1f} s after its return; {len(counting.errors)} errors")
        assert counting.stale == []
        assert taken <= BACK_SECONDS
        if not longer:
            assert counting.errors == []
