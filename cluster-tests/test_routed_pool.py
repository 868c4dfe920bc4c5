"""hbtable.happybase's pool, and hbtable.connect(route=True), on a cluster of real processes: calls go to the owners of
rows, whoever moves or dies."""

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import happybase
import pytest
from Hbase_thrift import IOError as HBaseError
from thriftpy2.transport import TTransportException

import hbtable
from hbtable.happybase import ConnectionPool
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java

SPLITS = [b"%02d" % number for number in range(10, 100, 10)]
ROWS = [b"%02d" % number for number in range(100)]


@pytest.fixture
def cluster(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> Iterator[ProcessCluster]:
    files = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files) as cluster:
        yield cluster.start(3)


def test_calls_go_to_the_owners_of_rows_whoever_moves_or_dies(cluster: ProcessCluster) -> None:
    cluster.create_table("t", SPLITS)
    eventually(lambda: len(set(cluster.owners("t"))) == 3, 2 * SOON_SECONDS, "every server has some of it")
    pool = ConnectionPool(2, host="127.0.0.1", port=cluster.servers[0].port, timeout=120000)
    with pool.connection() as connection:
        table = connection.table("t")
        table.put(b"00", {b"f:v": b"0"})
        with table.batch() as batch:
            for row in ROWS:
                batch.put(row, {b"f:v": row})
        assert {row: cells[b"f:v"] for row, cells in table.scan()} == {row: row for row in ROWS}
        assert [row for row, _ in table.rows(ROWS[::-1])] == ROWS[::-1]
        assert table.counter_inc(b"95", b"f:c") == 1
        assert len(connection._others) == 2, "each server was asked by itself"
    with closing(happybase.Connection("127.0.0.1", cluster.servers[1].port)) as plain:
        assert {row: cells[b"f:v"] for row, cells in plain.table("t").scan()} == {row: row for row in ROWS}
    dying = cluster.servers[2]
    routed = hbtable.connect("127.0.0.1", dying.port, route=True)
    assert {row: cells[b"f:v"] for row, cells in routed.table("t").scan()} == {row: row for row in ROWS}
    assert [row for row, _ in routed.table("t").rows(ROWS[::-1])] == ROWS[::-1]
    with routed.table("t").batch() as batch:
        for row in ROWS:
            batch.put(row, {b"f:w": row})
    assert len(routed.calls._others) == 2, "each server was asked by itself"
    dying.kill()
    for row in ROWS:
        written(pool, row)
    with pool.connection() as connection:
        assert {row: cells[b"f:v"] for row, cells in connection.table("t").scan()} == dict.fromkeys(ROWS, b"new")
    with routed as db:  # the server that it came to is gone
        assert {row: cells[b"f:w"] for row, cells in db.table("t").scan(columns=[b"f:w"])} == {row: row for row in ROWS}
    for _ in range(2):
        pool._acquire_connection().close()


def written(pool: ConnectionPool, row: bytes) -> None:
    """Again until it is acknowledged: puts may be sent again."""

    def put() -> bool:
        with suppress(HBaseError, TTransportException, OSError), pool.connection() as connection:
            connection.table("t").put(row, {b"f:v": b"new"})
            return True
        return False

    eventually(put, 4 * SOON_SECONDS, f"row {row!r} is written")
