"""Only who knows a cluster's digest reads and changes its nodes in a real ZooKeeper, whoever made them."""

import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import BadArgumentsError, NoAuthError, NoChildrenForEphemeralsError, NoNodeError
from kazoo.security import ACL, OPEN_ACL_UNSAFE, Id

from hbtable.errors import InvalidConfiguration, Unavailable
from hbtable.lockservice.zookeeper.access import Digest, NodeAccess
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService, ZooKeeperSession
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.nodes_of_a_cluster import NODES, kind_of
from tests.harness.real_servers import HdfsServers, ZooKeeperServer, running_zookeeper
from tests.harness.role_processes import ProcessCluster, until_put
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java

OURS, NEXT = Digest("hbtable", "secret"), Digest("hbtable", "another")


@pytest.fixture
def stranger(zookeeper_server: ZooKeeperServer) -> Iterator[KazooClient]:
    client = KazooClient(zookeeper_server.address, timeout=60.0)
    client.start(60)
    yield client
    client.stop()
    client.close()


@pytest.fixture
def known(zookeeper_server: ZooKeeperServer, own_folder: str) -> Iterator[Callable[..., ZooKeeperSession]]:
    """Opens a session of somebody who knows these digests."""
    runtime, made = GeventRuntime(), []

    def make(*digests: Digest, protects: bool = True, root: str = own_folder) -> ZooKeeperSession:
        options = ZooKeeperOptions(session_seconds=20.0, call_seconds=15.0)
        access = NodeAccess(digests, protects)
        service = ZooKeeperLockService(runtime, zookeeper_server.address, root, options, access)
        made.append(service.open_session("test"))
        return made[-1]

    yield make
    for session in made:
        session.close()
    runtime.close()


def nodes_of(folder: str, known: KazooClient) -> list[str]:
    """A lock may go meanwhile."""
    found = [folder]
    with suppress(NoNodeError):
        for child in known.get_children(folder):
            found += nodes_of(f"{folder}/{child}", known)
    return found


@contextmanager
def knowing(server: ZooKeeperServer, digest: Digest = OURS) -> Iterator[KazooClient]:
    client = KazooClient(server.address, timeout=60.0, auth_data=[("digest", ":".join(digest))])
    client.start(60)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def shut_out(stranger: KazooClient, node: str) -> bool:
    """Whether a stranger can do none of what there is to do with a node."""
    tries: list[Callable[[], Any]] = [
        lambda: stranger.get(node),
        lambda: stranger.set(node, b"x"),
        lambda: stranger.get_children(node),
        lambda: stranger.set_acls(node, OPEN_ACL_UNSAFE),
        lambda: stranger.create(f"{node}/new", b""),
        lambda: stranger.create(f"{node}/new", b"", ephemeral=True),
        lambda: stranger.delete(f"{node}/child"),
    ]
    for one in tries:
        try:
            one()
        except (NoAuthError, NoNodeError, NoChildrenForEphemeralsError):
            continue  # `child` is not there; a lock has no children
        return False
    return True


def told_by_a_watch(address: str, folder: str, change: Callable[[], None]) -> list[bytes]:
    """The events that a stranger hears of who watches a node and all below it: addWatch, which kazoo does not speak."""
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), 60) as stranger, stranger.makefile("rb") as arriving:

        def send(message: bytes) -> None:
            stranger.sendall(len(message).to_bytes(4, "big") + message)

        def receive() -> bytes:
            return arriving.read(int.from_bytes(arriving.read(4), "big"))

        named = len(folder).to_bytes(4, "big") + folder.encode()
        send(struct.pack(">iqiqi16s?", 0, 0, 60_000, 0, 16, bytes(16), False))
        receive()
        send(struct.pack(">ii", 1, 106) + named + (1).to_bytes(4, "big"))
        assert receive()[:4] == (1).to_bytes(4, "big")
        change()
        send(struct.pack(">ii", 2, 3) + named + b"\0")  # exists: what was to be told comes before its answer
        told: list[bytes] = []
        while (message := receive())[:4] != (2).to_bytes(4, "big"):
            told.append(message)
        return told


def test_a_stranger_neither_reads_nor_changes_what_a_session_makes(
    zookeeper_server: ZooKeeperServer, own_folder: str, known: Any, stranger: KazooClient
) -> None:
    session = known(OURS)
    session.create("/cluster", b"id")
    session.create("/servers/one/file", b"")
    session.lock("/master", b"address")
    with knowing(zookeeper_server) as client:
        everything = nodes_of(own_folder, client)
    assert len(everything) == 6
    for node in everything:
        assert shut_out(stranger, node), node
    with pytest.raises(NoAuthError):
        stranger.delete(f"{own_folder}/cluster")
    assert session.read("/cluster").data == b"id"
    assert session.holder("/master").data == b"address"
    assert told_by_a_watch(zookeeper_server.address, own_folder, lambda: session.create("/servers/two", b"")) == []
    stranger.create(f"{own_folder}-open", b"")
    make = partial(stranger.create, f"{own_folder}-open/new", b"")
    assert told_by_a_watch(zookeeper_server.address, f"{own_folder}-open", make)


def test_who_does_not_know_the_digest_is_told_so(known: Any) -> None:
    known(OURS).create("/cluster", b"id")
    for other in (known(), known(NEXT)):
        for call in (
            lambda other=other: other.read("/cluster"),
            lambda other=other: other.create("/new", b""),
            lambda other=other: other.write("/cluster", b"mine", -1),
            lambda other=other: other.delete("/cluster"),
            lambda other=other: other.lock("/master"),
            lambda other=other: other.list("/"),
        ):
            with pytest.raises(Unavailable, match=r"cluster\.zookeeper_digest has to be the same file"):
                call()
    assert known(OURS).read("/cluster").data == b"id"


def test_nodes_that_are_there_are_protected(
    zookeeper_server: ZooKeeperServer, own_folder: str, known: Any, stranger: KazooClient
) -> None:
    """A cluster is given a digest: first all know it, then new nodes are protected, then all others."""
    before = known()
    before.create("/cluster", b"id")
    epoch = before.lock("/servers/one")
    knows = known(OURS, protects=False)
    knows.protect_nodes()
    knows.create("/more", b"")
    assert not shut_out(stranger, f"{own_folder}/more")
    protects = known(OURS)
    protects.create("/last", b"")
    assert shut_out(stranger, f"{own_folder}/last")
    assert not shut_out(stranger, f"{own_folder}/cluster")
    protects.protect_nodes()
    with knowing(zookeeper_server) as client:
        for node in nodes_of(own_folder, client):
            assert shut_out(stranger, node), node
    assert knows.read("/cluster").data == b"id"
    assert knows.read("/last").data == b""
    assert knows.holder("/servers/one").version == epoch
    assert before.valid()  # its lock is still its own


def test_a_digest_is_replaced(own_folder: str, known: Any, stranger: KazooClient) -> None:
    """OURS; OURS, NEXT; NEXT, OURS; NEXT: each reads what the one before made."""
    steps = [known(OURS), known(OURS, NEXT), known(NEXT, OURS), known(NEXT)]
    for number, session in enumerate(steps[:3]):
        session.create(f"/{number}", b"")
        for other in steps[max(0, number - 1) : number + 2]:
            assert other.read(f"/{number}").data == b""
    steps[2].protect_nodes()
    for number in range(3):
        assert steps[3].read(f"/{number}").data == b""
        with pytest.raises(Unavailable):
            steps[0].read(f"/{number}")
        assert shut_out(stranger, f"{own_folder}/{number}")


def test_nodes_above_the_root_stay_everybodys(own_folder: str, known: Any, stranger: KazooClient) -> None:
    known(OURS, root=f"{own_folder}/one").create("/cluster", b"")
    known(NEXT, root=f"{own_folder}/other").create("/cluster", b"")
    assert sorted(stranger.get_children(own_folder)) == ["one", "other"]
    assert shut_out(stranger, f"{own_folder}/one")


def test_zookeepers_own_root_is_not_protected(known: Any) -> None:
    with pytest.raises(InvalidConfiguration, match="other than /"):
        known(OURS, root="/")


def hbtable(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "hbtable", *arguments], capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@long_test("a protected ZooKeeper")
def test_a_cluster_of_processes_is_protected(
    hdfs_servers: HdfsServers,
    zookeeper_server: ZooKeeperServer,
    own_folder: str,
    stranger: KazooClient,
    tmp_path: Path,
) -> None:
    """One that runs already: all roles learn the digest, then protect."""
    path = tmp_path / "digest"
    path.write_text(":".join(OURS))
    path.chmod(0o600)
    knows = ("-D", f"cluster.zookeeper_digest={path}")
    opens = (*knows, "-D", "cluster.zookeeper_protected=false")
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, hdfs_servers.hdfs(own_folder)) as cluster:
        master, server = cluster.start_master(), cluster.start_server()
        cluster.wait_until_served()
        cluster.create_table("t", [])
        for arguments in (opens, knows):
            newer = cluster.start_server(*arguments)
            assert server.stop() == 0
            server = newer
            beside = cluster.start_master(*arguments)
            assert master.stop() == 0
            master = beside
            with closing(server.connect()) as connection:
                until_put(connection.table(b"t"), b"r", {b"f:v": b"v"}, SOON_SECONDS)
        with knowing(zookeeper_server) as client:

            def open_nodes() -> list[str]:
                found = nodes_of(own_folder, client)
                assert len(found) > 10
                assert {kind_of(node.removeprefix(own_folder)) for node in found} <= set(NODES)
                return [node for node in found if not shut_out(stranger, node) and client.exists(node) is not None]

            eventually(lambda: not open_nodes(), SOON_SECONDS, "every node protected by the master")
        code, said = cluster.refused_server()
        assert code
        assert "cluster.zookeeper_digest has to be the same file" in said
        add = ["user", "add", "ann", "--no-password", "--cluster", "--config", str(cluster.config)]
        done = hbtable(*add)
        assert done.returncode == 2
        assert "cluster.zookeeper_digest has to be the same file" in done.stderr
        done = hbtable(*add, *knows)
        assert (done.returncode, done.stderr) == (0, "")
        assert shut_out(stranger, f"{own_folder}/users")
        done = hbtable("check", "--config", str(cluster.config), *knows)
        assert done.returncode == 0, done.stdout + done.stderr


def test_an_acl_keeps_strangers_from_zookeepers_own_quotas_and_a_cluster_works_on() -> None:
    """As docs/security.md says; without it a quota of his that ZooKeeper cannot read ends it."""
    with running_zookeeper() as server:
        stranger = KazooClient(server.address, timeout=60.0)
        stranger.start(60)
        with knowing(server, Digest("operator", "his")) as operator:
            operator.set_acls("/zookeeper/quota", [ACL(31, Id("auth", ""))])
        runtime = GeventRuntime()
        options = ZooKeeperOptions(session_seconds=20.0, call_seconds=15.0)
        service = ZooKeeperLockService(runtime, server.address, "/c", options, NodeAccess((OURS,)))
        with closing(service.open_session("test")) as session:
            session.create("/one", b"")
            with pytest.raises(NoAuthError):
                stranger.create("/zookeeper/quota/c", b"")
            with pytest.raises(NoAuthError):
                stranger.set_acls("/zookeeper/quota", OPEN_ACL_UNSAFE)
            with pytest.raises(BadArgumentsError):
                stranger.delete("/zookeeper/quota")
            session.write("/one", b"1", -1)
            assert session.read("/one").data == b"1"
        runtime.close()
        stranger.stop()
        stranger.close()
