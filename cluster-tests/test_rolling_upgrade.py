"""A cluster of an older release is upgraded one role at a time, while clients go on: old and new masters, gateways and
tablet servers work together in both directions, and what any of them acknowledged is there at each step, also when one
of either release is killed and the other recovers its log.

The older releases are kept whole in tests/golden/releases: the oldest whose clusters open today, one a protocol.
"""

import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import happybase
import pytest

from hbtable.shell.connection import ShellConnection
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, RoleProcess, until_put
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = [pytest.mark.java, pytest.mark.slow]

RELEASES = sorted((Path(__file__).parents[1] / "tests" / "golden" / "releases").glob("*.tar.xz"))
SPLITS = [b"b", b"c", b"d", b"e", b"f"]
LETTERS = b"abcdef"
COMBINATIONS = [(RELEASES[0], "hdfs"), (RELEASES[0], "webhdfs"), *((release, "hdfs") for release in RELEASES[1:])]
"""The way to HDFS is the same in later releases."""


@pytest.fixture
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of an older package."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path / "release", filter="data")
    return tmp_path / "release"


@pytest.fixture
def cluster(
    request: pytest.FixtureRequest,
    hdfs_servers: HdfsServers,
    zookeeper_server: ZooKeeperServer,
    own_folder: str,
    tmp_path: Path,
) -> Iterator[ProcessCluster]:
    files = hdfs_servers.hdfs(own_folder) if request.param == "hdfs" else hdfs_servers.webhdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files) as cluster:
        yield cluster


class Clients:
    """What was acknowledged, and each way of reading and writing through the gateway of each tablet server."""

    def __init__(self, cluster: ProcessCluster) -> None:
        self._cluster = cluster
        self._steps = 0
        self._cells: dict[bytes, dict[bytes, bytes]] = {}
        self._writes = 0

    def living(self) -> list[RoleProcess]:
        return [server for server in self._cluster.servers if server.process.poll() is None]

    def step(self) -> None:
        """Through each gateway: every row that is there, and then more of them, in each tablet."""
        self._steps += 1
        for server in self.living():
            with closing(server.connect()) as connection:
                self._write(connection.table(b"t"), b"%d-%d" % (self._steps, server.port))
        self.check()

    def check(self) -> None:
        for server in self.living():
            with closing(server.connect()) as connection:
                table = connection.table(b"t")
                assert dict(table.scan(batch_size=7)) == self._cells
                rows = sorted(self._cells)[::5]
                assert dict(table.rows(rows)) == {row: self._cells[row] for row in rows}
                some = dict(table.scan(filter=b"PrefixFilter('c') AND ValueFilter(=, 'substring:of')"))
                of_c = {row: cells for row, cells in self._cells.items() if row[:1] == b"c" and b"f:v" in cells}
                assert some == of_c

    def _write(self, table: happybase.Table, name: bytes) -> None:
        for letter in LETTERS:
            row = b"%c-%b" % (letter, name)
            until_put(table, row, {b"f:v": b"value of " + row}, SOON_SECONDS)
            self._cells[row] = {b"f:v": b"value of " + row}
        rows = [b"%c-%b-%03d" % (letter, name, number) for letter in LETTERS for number in range(20)]
        with table.batch() as batch:
            for row in rows:
                batch.put(row, {b"f:v": b"of a batch"})
        self._cells.update({row: {b"f:v": b"of a batch"} for row in rows})
        with table.batch() as batch:
            for row in rows[::3]:
                batch.delete(row)
        for row in rows[::3]:
            del self._cells[row]
        self._writes += 1
        for letter in LETTERS:
            row = b"%c-counter" % letter
            assert table.counter_inc(row, b"f:n") == self._writes
            self._cells[row] = {b"f:n": self._writes.to_bytes(8, "big")}


def owners(cluster: ProcessCluster) -> set[int]:
    return set(cluster.owners("t"))


def balanced(server: RoleProcess) -> bool:
    """True, and the master has moved what it would move now. It may have to be asked again."""
    with closing(ShellConnection(f"127.0.0.1:{server.port}")) as connection:
        connection.admin("adminBalance")
    return True


@pytest.mark.parametrize(
    ("release", "cluster"),
    taking_turns([pytest.param(*one) for one in COMBINATIONS], 3),
    indirect=True,
    ids=[f"{path.name.removesuffix('.tar.xz')}-{files}" for path, files in COMBINATIONS],
)
def test_each_role_is_replaced_while_clients_go_on(cluster: ProcessCluster, release: Path) -> None:
    old_master = cluster.start_master(release=release)
    first, second = (cluster.start_server(release=release) for _ in range(2))
    cluster.wait_until_served()
    cluster.create_table("t", SPLITS)
    clients = Clients(cluster)
    clients.step()

    third = cluster.start_server()  # a new tablet server below an old master, beside an old one
    assert first.stop() == 0
    eventually(lambda: owners(cluster) == {second.port, third.port}, SOON_SECONDS, "tablets on both releases")
    clients.step()

    third.kill()  # an old server recovers the log of a new one
    clients.check()
    fourth = cluster.start_server()
    clients.step()

    new_master = cluster.start_master()  # a new master above an old tablet server
    assert old_master.stop() == 0
    eventually(lambda: "everything is served" in new_master.log(), SOON_SECONDS, "the new master at work")
    both = {second.port, fourth.port}
    eventually(lambda: balanced(fourth) and owners(cluster) == both, SOON_SECONDS, "tablets on both releases")
    clients.step()

    second.kill()  # a new server recovers the log of an old one
    clients.check()
    cluster.start_server()
    clients.step()
