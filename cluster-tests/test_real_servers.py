"""The servers of these tests are what the tests take them for."""

import json
import socket
import urllib.request

from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.waiting import SOON_SECONDS, eventually


def ask(port: int, word: bytes, timeout_seconds: float = SOON_SECONDS) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout_seconds) as connection:
        connection.settimeout(timeout_seconds)
        connection.sendall(word)
        return connection.recv(100)


def test_zookeeper_stops_starts_again_and_freezes(zookeeper_server: ZooKeeperServer) -> None:
    assert ask(zookeeper_server.port, b"ruok") == b"imok"
    zookeeper_server.stop()
    try:
        ask(zookeeper_server.port, b"ruok")
    except ConnectionError:
        pass
    else:
        raise AssertionError("it runs on after stop()")
    zookeeper_server.start()
    assert ask(zookeeper_server.port, b"ruok") == b"imok"
    zookeeper_server.freeze()
    try:
        ask(zookeeper_server.port, b"ruok", 0.5)
    except TimeoutError:
        pass
    else:
        raise AssertionError("a frozen one answers")
    finally:
        zookeeper_server.thaw()
    assert ask(zookeeper_server.port, b"ruok") == b"imok"


def test_hdfs_leaves_out_a_killed_datanode_and_takes_it_back(hdfs_servers: HdfsServers) -> None:
    def stale() -> int:
        url = f"http://localhost:{hdfs_servers.http_port}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        with urllib.request.urlopen(url, timeout=SOON_SECONDS) as answer:
            return int(json.load(answer)["beans"][0]["NumStaleDataNodes"])

    hdfs_servers.kill_datanode(3)
    eventually(lambda: stale() == 1, SOON_SECONDS, "a DataNode known as stale")
    hdfs_servers.restart_datanode(3)
    eventually(lambda: stale() == 0, SOON_SECONDS, "no stale DataNode")


def test_what_a_test_left_frozen_or_killed_is_put_right(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer
) -> None:
    zookeeper_server.stop()
    zookeeper_server.put_right()
    assert ask(zookeeper_server.port, b"ruok") == b"imok"
    zookeeper_server.freeze()
    zookeeper_server.put_right()
    assert ask(zookeeper_server.port, b"ruok") == b"imok"
    hdfs_servers.kill_datanode(1)
    hdfs_servers.freeze_namenode()
    hdfs_servers.put_right()
    hdfs_servers.safe_mode(True)
    hdfs_servers.put_right()
    hdfs_servers.wait_until_writable()
