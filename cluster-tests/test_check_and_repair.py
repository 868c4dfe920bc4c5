"""`hbtable check` and `hbtable repair` of a real cluster: checked as it serves, damaged, crashed, repaired, served."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hbtable.fs.interface import FileSystem
from hbtable.fs.opened import close_file_system, open_file_system
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.metadata.catalog import ROOT_COPY_PATH
from hbtable.metadata.layout import ROOT_PATH
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.long_timeouts import LONG_TIMEOUTS
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, until_put
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java

SPLITS = [b"b", b"c"]
ROWS = [b"%c-%d" % (letter, number) for letter in b"abc" for number in range(5)]
SOUND, DAMAGED, UNSERVICEABLE = 0, 1, 2


class Operator:
    """At the command line, and with his hands in the files."""

    def __init__(self, cluster: ProcessCluster, files: str) -> None:
        self.cluster = cluster
        self.runtime = GeventRuntime()
        self.fs: FileSystem = open_file_system(files, self.runtime, LONG_TIMEOUTS)

    def run(self, command: str, *arguments: str) -> tuple[int, str]:
        """The exit code, and what was said."""
        line = [sys.executable, "-m", "hbtable", command, "--config", str(self.cluster.config), *arguments]
        done = subprocess.run(line, capture_output=True, text=True, timeout=4 * SOON_SECONDS)
        print(f"--- hbtable {command} {' '.join(arguments)}: {done.returncode}", done.stdout, done.stderr, sep="\n")
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    def user_files(self) -> list[str]:
        paths = [status.path for status in self.fs.list_files("sstables")]
        return [path for path in paths if not path.startswith("sstables/00000000/")]

    def lose_root(self) -> None:
        """Its record, its copy, and METADATA's SSTables."""
        options = ZooKeeperOptions(20.0, call_seconds=15.0)
        service = ZooKeeperLockService(self.runtime, self.cluster.zookeeper, self.cluster.root, options)
        with closing(service.open_session("test")) as session:
            session.delete(ROOT_PATH)
        self.fs.delete(ROOT_COPY_PATH)
        for status in self.fs.list_files("sstables/00000000"):
            self.fs.delete(status.path)

    def until_down(self) -> None:
        """No session of a killed role is left."""

        def is_down() -> bool:
            return "is not down" not in self.run("repair", "--dry-run")[1]

        eventually(is_down, SOON_SECONDS, "the end of the roles' sessions")


def read(cluster: ProcessCluster) -> dict[bytes, bytes]:
    with closing(cluster.connect()) as connection:
        return {row: cells[b"f:v"] for row, cells in connection.table("t").scan()}


@pytest.mark.parametrize("native", taking_turns([True, False], 2), ids=["hdfs", "webhdfs"])
def test_a_cluster_that_lost_metadata_is_brought_back(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path, native: bool
) -> None:
    files = hdfs_servers.hdfs(own_folder) if native else hdfs_servers.webhdfs(own_folder)
    held = {row: b"of " + row for row in ROWS}
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files) as cluster:
        operator = Operator(cluster, files)
        try:
            cluster.start(2)
            cluster.create_table("t", SPLITS)
            with closing(cluster.connect()) as connection:
                for row, value in held.items():
                    until_put(connection.table("t"), row, {b"f:v": value}, SOON_SECONDS)
            code, said = operator.run("check")
            assert (code, "everything checks" in said) == (SOUND, True)
            code, said = operator.run("repair")
            assert code == 1
            assert "the cluster is not down: master 127.0.0.1:" in said

            for server in cluster.servers:  # in order, so that what is in memtables is in SSTables
                server.stop()
            for master in cluster.masters:
                master.stop()
            assert operator.run("check")[0] == SOUND
            cluster.start(2)
            damaged = operator.user_files()[0]
            data = bytearray(operator.fs.read_file(damaged))
            data[len(data) // 4] ^= 1
            operator.fs.write_file(damaged, bytes(data))
            code, said = operator.run("check")
            assert code == DAMAGED
            assert damaged in said
            assert "belongs to table t" in said
            data[len(data) // 4] ^= 1
            operator.fs.write_file(damaged, bytes(data))

            with closing(cluster.connect()) as connection:
                held |= {b"late": b"in the log alone"}
                until_put(connection.table("t"), b"late", {b"f:v": held[b"late"]}, SOON_SECONDS)
            for role in (*cluster.servers, *cluster.masters):
                if role.process.poll() is None:
                    role.kill()
            operator.until_down()
            operator.lose_root()
            assert operator.run("check")[0] == UNSERVICEABLE
            code, said = operator.run("repair")
            assert code == 0
            assert "METADATA was written anew" in said
            assert "repair-backups/" in said
            assert operator.run("check")[0] == SOUND
            cluster.start(2)
            assert read(cluster) == held
        finally:
            close_file_system(operator.fs)
