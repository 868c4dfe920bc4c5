"""ZooKeeper stops for less than a session, and for longer (issue 5): no client error; no wrong answer, and serving
again within 5 s of its return."""

import threading
import time
from pathlib import Path

import happybase
import pytest
from Hbase_thrift import IOError as HBaseError

from tests.harness.free_ports import free_ports
from tests.harness.real_servers import HdfsServers, running_zookeeper
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.waiting import SOON_SECONDS, eventually, in_time

pytestmark = [pytest.mark.java, pytest.mark.slow]

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
        connection, number = self._server.connect(), 0
        while not self._stop.is_set():
            table = connection.table("counted")
            number += 1
            try:
                table.put(b"row", {b"f:n": b"%d" % number})
                self.acknowledged = number
                read = int(table.row(b"row").get(b"f:n", b"0"))
                if read < self.acknowledged:
                    self.stale.append((read, self.acknowledged))
            except HBaseError as error:
                self.errors.append(f"{time.strftime('%X')} {error.message!r:.200}")
            except Exception as error:
                self.errors.append(f"{time.strftime('%X')} {error!r:.200}")
                connection.close()
                connection = self._again(connection)
            time.sleep(0.01)
        connection.close()

    def _again(self, broken: happybase.Connection) -> happybase.Connection:
        while not self._stop.is_set():
            try:
                return self._server.connect()
            except Exception:
                time.sleep(0.1)
        return broken

    def end(self) -> None:
        self._stop.set()
        self._thread.join(2 * SOON_SECONDS)
        assert not self._thread.is_alive()


# ZooKeeper takes seconds to start, and many on a busy machine; they are part of the shorter time, too.
# Only the longer one measures, and alone: it is then that roles may have to be started again.
@pytest.mark.parametrize(
    ("away_seconds", "session_seconds"), [(1.0, 40.0), pytest.param(10.0, 4.0, marks=pytest.mark.alone)]
)
def test_zookeeper_away(
    hdfs_servers: HdfsServers, own_folder: str, tmp_path: Path, away_seconds: float, session_seconds: float
) -> None:
    longer = away_seconds > session_seconds
    address = hdfs_servers.hdfs(own_folder)
    with (
        running_zookeeper() as zookeeper,  # one of its own: the others' sessions must not end with it
        ProcessCluster(tmp_path, zookeeper.address, own_folder, address, session_seconds) as cluster,
    ):
        # Each of the two must come back by itself or by its supervisor, whatever the service decided about its session.
        cluster.start_master("--supervised")
        server = cluster.start_server("--supervised", "--port", str(free_ports(1)))
        cluster.wait_until_served()
        cluster.create_table("counted", [])
        counting = Counting(server)
        eventually(lambda: counting.acknowledged > 0, SOON_SECONDS, "the first write")
        zookeeper.stop()
        time.sleep(away_seconds)
        zookeeper.start()
        back = time.monotonic()
        before = counting.acknowledged
        eventually(lambda: counting.acknowledged > before, 2 * SOON_SECONDS, "the first write after its return")
        taken = time.monotonic() - back
        time.sleep(1)
        counting.end()
        print(f"\naway {away_seconds} s: serving {taken:.1f} s after its return; {len(counting.errors)} errors")
        assert counting.stale == []
        if longer:
            assert taken <= in_time(BACK_SECONDS)
        else:
            assert counting.errors == []
