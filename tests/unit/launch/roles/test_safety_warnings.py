"""What a starting role says of surroundings that are less safe than they look, by the servers' own answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.opened import FileSystemOptions
from hbtable.launch.roles.safety_warnings import ClusterSurroundings, warnings
from hbtable.launch.roles.surroundings import surroundings

SAFE = ClusterSurroundings(("a:1", "b:1", "c:1"), ("leader", "follower", "follower"), "hdfs", 3, 2, 3, True, 60.0, 2.0)


def changed(**fields: Any) -> list[str]:
    return list(warnings(ClusterSurroundings(**{**SAFE.__dict__, **fields})))


def test_nothing_is_said_of_safe_surroundings_nor_of_a_folder() -> None:
    assert changed() == []
    assert changed(section="webhdfs", log_replication=0, pipeline_seconds=1.0, avoids_stale=False) == []
    assert changed(section="", datanodes=None, replication=1, log_replication=1) == []


def test_nothing_is_said_of_what_nobody_answered() -> None:
    assert (
        changed(zookeeper=("a:1",), zookeeper_modes=(), datanodes=None, avoids_stale=None, pipeline_seconds=None) == []
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"zookeeper": ("a:1",), "zookeeper_modes": ("standalone",)}, "one server by itself"),
        ({"zookeeper": ("a:1",), "zookeeper_modes": ("follower",)}, "names one server, a:1, of an ensemble"),
        ({"log_replication": 1}, "hdfs.log_replication = 1"),
        ({"section": "webhdfs", "log_replication": 1}, "webhdfs.log_replication = 1"),
        ({"replication": 1}, "hdfs.replication = 1: tables have one copy"),
        ({"datanodes": 1}, "HDFS has 1 DataNodes that live, and a log is to have 2 copies"),
        ({"section": "webhdfs", "log_replication": 0, "datanodes": 1}, "HDFS has 1 DataNodes"),
        ({"avoids_stale": False}, "dfs.namenode.avoid.write.stale.datanode is false"),
        ({"pipeline_seconds": 2.0}, "after dfs.client.socket-timeout of their own, 2 s"),
        ({"rest_check_seconds": 0.0}, "60 s, and log.rest_check_seconds = 0 syncs it no sooner"),
    ],
)
def test_each_danger_has_one_message(fields: dict[str, Any], said: str) -> None:
    (message,) = changed(**fields)
    assert said in message


class _NameNode(BaseHTTPRequestHandler):
    """A NameNode, and its one DataNode at the same port, in the words of Hadoop 3.4.2."""

    def do_GET(self) -> None:
        port = self.server.server_address[1]
        settings = {"dfs.namenode.avoid.write.stale.datanode": "false", "dfs.client.socket-timeout": "1500"}
        name = self.path.rpartition("name=")[2]
        if self.path.startswith("/jmx"):
            nodes = {"localhost:9": {"infoAddr": f"127.0.0.1:{port}"}}
            answer: Any = {"beans": [{"name": name, "LiveNodes": json.dumps(nodes)}]}
        elif name in settings:
            answer = {"property": {"key": name, "value": settings[name], "isFinal": False, "resource": "x"}}
        else:
            self.send_error(404)
            return
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class _Refuses(_NameNode):
    """As with Kerberos."""

    def do_GET(self) -> None:
        self.send_error(401)


class _ZooKeeper(BaseRequestHandler):
    def handle(self) -> None:
        assert self.request.recv(4) == b"srvr"
        self.request.sendall(
            b"Zookeeper version: 3.8.4\nLatency min/avg/max: 0/0.0/0\nMode: standalone\nNode count: 5\n"
        )


@contextmanager
def serving(kind: type, handler: type) -> Iterator[str]:
    with kind(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def look(zookeeper: str, web: str) -> ClusterSurroundings:
    options = FileSystemOptions(hdfs=HdfsNativeOptions(web_addresses=web))
    return surroundings(zookeeper, "hdfs://127.0.0.1:9820/x", options, LogOptions())


def test_the_servers_are_asked_themselves() -> None:
    with serving(ThreadingTCPServer, _ZooKeeper) as zookeeper, serving(ThreadingHTTPServer, _NameNode) as web:
        found = look(zookeeper, web)
    assert found == ClusterSurroundings((zookeeper,), ("standalone",), "hdfs", 3, 2, 1, False, 1.5, 2.0)
    assert len(list(warnings(found))) == 4


def test_who_refuses_or_is_not_there_is_passed_over() -> None:
    with serving(ThreadingHTTPServer, _Refuses) as web:
        found = look("127.0.0.1:1", web)
    assert found == ClusterSurroundings(("127.0.0.1:1",), (), "hdfs", 3, 2, None, None, None, 2.0)
    assert list(warnings(found)) == []
    assert look("127.0.0.1:1", "127.0.0.1:1").datanodes is None
