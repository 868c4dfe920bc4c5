"""What goes wrong with WebHDFS, on real servers: the ways the fake (testing/fake_hdfs/webhdfs.py) misleads, and nodes
that die or freeze. Facts for docs/hdfs.md."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from hbtable.errors import OutOfSpace, Stalled, StorageFailed, Unavailable
from hbtable.fs.interface import PutHints
from hbtable.fs.opened import close_file_system, parse_address
from hbtable.fs.webhdfs.file_system import WebHdfsFileSystem
from hbtable.fs.webhdfs.http import HttpConnections
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.requests import WebHdfsRequest, WebHdfsResponse, location_of, target_of
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.long_timeouts import LONG_TIMEOUTS
from tests.harness.real_servers import HdfsServers
from tests.harness.waiting import SOON_SECONDS, eventually, in_time

pytestmark = pytest.mark.java

ROOM_BYTES = 100_000
SHORT_TIMEOUTS = WebHdfsOptions(
    put_seconds=in_time(3.0), read_seconds=in_time(1.0), names_seconds=in_time(1.0), failover_seconds=SOON_SECONDS
)


class Rig:
    """An adapter, and requests behind its back."""

    def __init__(self, servers: HdfsServers, folder: str, options: WebHdfsOptions) -> None:
        self.runtime = GeventRuntime()
        self.folder = folder
        self.host = parse_address(servers.webhdfs("")).hosts[0]
        self.http = HttpConnections(self.runtime.clock_seconds)
        self.fs = WebHdfsFileSystem(self.runtime, [self.host], folder, self.http, options, on_close=self.http.close)
        self._half_put: list[socket.socket] = []

    def ask(self, method: str, path: str, operation: str, **parameters: str) -> WebHdfsResponse:
        target = target_of(f"{self.folder}/{path}", operation, {"user.name": "root"} | parameters)
        return self.http(WebHdfsRequest(method, self.host, target, seconds=SOON_SECONDS))

    def half_put(self, path: str, of_bytes: int = ROOM_BYTES) -> socket.socket:
        """A PUT whose content is announced in full and sent by half."""
        location = location_of(self.ask("PUT", path, "CREATE", overwrite="false"))
        assert location is not None
        name, _, port = location[0].partition(":")
        connection = socket.create_connection((name, int(port)), SOON_SECONDS)
        self._half_put.append(connection)
        head = f"PUT {location[1]} HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
        connection.sendall(f"{head}Content-Length: {of_bytes}\r\n\r\n".encode() + b"h" * (of_bytes // 2))
        eventually(lambda: self.ask("GET", path, "GETFILESTATUS").status == 200, SOON_SECONDS, "the file begun")
        return connection

    def finish(self, connection: socket.socket, of_bytes: int = ROOM_BYTES) -> int:
        """Sends the other half; the status code."""
        with connection:
            connection.settimeout(SOON_SECONDS)
            connection.sendall(b"h" * (of_bytes - of_bytes // 2))
            answer = b""
            # A DataNode says "100 Continue" to who never asked.
            while b"HTTP/1.1 " not in (answer := answer.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")):
                piece = connection.recv(1000)
                assert piece, "an answer"
                answer += piece
            return int(answer.split()[1])

    def is_being_written(self, path: str) -> bool:
        located = json.loads(self.ask("GET", path, "GET_BLOCK_LOCATIONS").body)["LocatedBlocks"]
        return bool(located["isUnderConstruction"])

    def close(self) -> None:
        for connection in self._half_put:
            connection.close()
        close_file_system(self.fs)
        self.runtime.close()


@pytest.fixture
def rig(hdfs_servers: HdfsServers, own_folder: str) -> Iterator[Rig]:
    with closing(Rig(hdfs_servers, own_folder, LONG_TIMEOUTS.webhdfs)) as made:
        yield made


@pytest.fixture
def short_timeout_rig(hdfs_servers: HdfsServers, own_folder: str) -> Iterator[Rig]:
    """Its deadlines are over before a silent node's servers leave it out."""
    with closing(Rig(hdfs_servers, own_folder, SHORT_TIMEOUTS)) as made:
        yield made


def test_a_client_that_dies_leaves_a_short_file_that_looks_complete(rig: Rig) -> None:
    rig.half_put("a").close()
    eventually(lambda: not rig.is_being_written("a"), SOON_SECONDS, "the file closed")
    assert 0 < rig.fs.status("a").length_bytes < ROOM_BYTES


def test_a_file_being_put_shows_no_bytes_and_cannot_be_sealed(rig: Rig) -> None:
    connection = rig.half_put("a")
    assert rig.fs.status("a").length_bytes == 0
    with pytest.raises(Unavailable, match="being written"):
        rig.fs.seal("a")
    assert rig.finish(connection) == 201
    assert rig.fs.seal("a") == ROOM_BYTES


def test_a_file_deleted_while_it_is_put_is_reported_by_hadoop_3(rig: Rig) -> None:
    connection = rig.half_put("a")
    rig.fs.delete("a")
    assert rig.finish(connection) != 201
    assert not rig.fs.exists("a")


def test_a_put_follows_a_folder_that_is_renamed_and_a_new_put_makes_it_again(rig: Rig) -> None:
    connection = rig.half_put("logs/a")
    assert rig.ask("PUT", "logs", "RENAME", destination=f"{rig.folder}/gone").body == b'{"boolean":true}'
    assert rig.finish(connection) == 201
    rig.fs.put_new("logs/b", b"x")
    assert [status.path for status in rig.fs.list_files("")] == ["gone/a", "logs/b"]


def test_a_small_file_needs_little_room_while_it_is_written(rig: Rig) -> None:
    """HDFS counts whole blocks, of 128 MiB unless it is told otherwise."""
    rig.fs.put_new("before", b"x")
    assert rig.ask("PUT", "", "SETQUOTA", storagespacequota=str(8 << 20), namespacequota="100").status == 200
    rig.fs.put_new("a", b"x" * 5000)
    with pytest.raises(OutOfSpace):
        rig.fs.put_new("b", b"x" * (3 << 20))


def test_parents_are_not_made_where_that_is_asked(rig: Rig) -> None:
    location = location_of(rig.ask("PUT", "no/such/a", "CREATE", createparent="false"))
    assert location is not None
    assert rig.http(WebHdfsRequest("PUT", *location, b"x")).status == 404


def test_a_killed_datanode_is_gone_round(rig: Rig, hdfs_servers: HdfsServers) -> None:
    content = b"c" * 200_000
    rig.fs.put_new("logs/before", content)
    before = f"{rig.folder}/logs/before"
    eventually(lambda: hdfs_servers.copies(before) > 1, SOON_SECONDS, "another copy than the killed DataNode's")
    hdfs_servers.kill_datanode(1)
    try:
        stalled = 0
        for number in range(12):
            try:
                rig.fs.put_new(f"logs/{number}", b"x")
            except Stalled:  # a connection that was made as the process died
                stalled += 1
        assert stalled <= 1
        file = rig.fs.open("logs/before")
        for _ in range(5):
            assert file.read_at(1000, 5000) == content[1000:6000]
    finally:
        hdfs_servers.restart_datanode(1)


def test_a_frozen_datanode_stalls_a_put_in_time_and_others_take_the_next(
    short_timeout_rig: Rig, hdfs_servers: HdfsServers
) -> None:
    rig = short_timeout_rig
    hdfs_servers.freeze_datanode(2)
    slow: list[str] = []
    stalls = 0
    done = 0
    try:
        for number in range(40):
            took: list[str] = []
            before = rig.runtime.clock_seconds()
            try:
                rig.fs.put_new(f"logs/{number}", b"x", PutHints(slow, took.append))
                done += 1
            except (Stalled, Unavailable):
                stalls += 1
                slow = took
            assert rig.runtime.clock_seconds() - before < in_time(8)
            if done >= 5 and stalls:
                break
    finally:
        hdfs_servers.thaw_datanode(2)
    assert done >= 5, f"{stalls} stalled"


def test_a_frozen_namenode_is_unavailable_in_time_and_comes_back(
    short_timeout_rig: Rig, hdfs_servers: HdfsServers
) -> None:
    rig = short_timeout_rig
    rig.fs.put_new("a", b"x")
    hdfs_servers.freeze_namenode()
    try:
        reader = rig.runtime.spawn(rig.fs.read_file, "a")
        stalled = rig.runtime.spawn(rig.fs.delete, "a")
        assert not reader.join(2.0)
    finally:
        hdfs_servers.thaw_namenode()
    assert reader.join(SOON_SECONDS)
    assert stalled.join(SOON_SECONDS)
    assert stalled.error is None or isinstance(stalled.error, StorageFailed)
    hdfs_servers.wait_until_all_answer()  # it may have found the DataNodes silent while it stood still itself
    rig.fs.put_new("b", b"x")
