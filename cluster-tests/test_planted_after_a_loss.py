"""Nodes that a stranger made after ZooKeeper lost a cluster are refused by name: its folder of files remembers more."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kazoo.security import OPEN_ACL_UNSAFE

from hbtable.access.accounts import Accounts
from hbtable.access.store import USERS_PATH, AccountNode
from hbtable.errors import InvalidConfiguration
from hbtable.fs.opened import close_file_system, open_file_system
from hbtable.launch.roles.planted_nodes import refuse_planted
from hbtable.lockservice.identity import ID_FILE
from hbtable.lockservice.paths import CLUSTER
from hbtable.lockservice.protection_mark import PROTECTION_MARK, remember_protected
from tests.harness.long_timeouts import LONG_TIMEOUTS
from tests.harness.place_in_zookeeper import ROLES, Place, open_place
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, until_put
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java


@pytest.fixture
def place(zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path) -> Iterator[Place]:
    with open_place(zookeeper_server.address, own_folder, tmp_path) as made:
        yield made


def plant_a_cluster(place: Place, named: str) -> None:
    """The stranger knows the cluster's id, as each of its users does."""
    data = b'{"id": "%s", "format": 1, "log_kind": "hdfs"}' % named.encode()
    place.plant(CLUSTER, OPEN_ACL_UNSAFE, data=b"0" * 16 + b"\n" + data)
    place.plant(USERS_PATH, OPEN_ACL_UNSAFE)


def test_what_was_planted_after_zookeeper_lost_a_protected_cluster_is_refused_by_name(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = place.enter(place.session())
    remember_protected(place.files)  # type: ignore[arg-type]
    place.clear()
    plant_a_cluster(place, named)
    refused = re.compile(rf"were protected, and these are not: {place.root} \(.*{place.root}/users .*{PROTECTION_MARK}")
    for role in ROLES:
        with pytest.raises(InvalidConfiguration, match=refused):
            place.start(role, monkeypatch)
    with pytest.raises(InvalidConfiguration, match=refused):  # as `hbtable repair` looks
        refuse_planted(place.session(), place.files)  # type: ignore[arg-type]
    with pytest.raises(InvalidConfiguration, match="start its master with it first"):
        raise place.add_user().exception or AssertionError("a user was added")
    for session in (place.session(protects=False), place.open_session()):
        with pytest.raises(InvalidConfiguration, match=rf"would believe nodes that are.*same file.*{PROTECTION_MARK}"):
            place.enter(session)
    place.clear()
    assert place.enter(place.session()) == named
    place.enter(place.session(protects=False))


@pytest.mark.parametrize("below", ["", USERS_PATH])
def test_what_was_planted_without_an_id_where_a_protected_cluster_was_is_told_as_such(place: Place, below: str) -> None:
    place.enter(place.session())
    remember_protected(place.files)  # type: ignore[arg-type]
    place.clear()
    place.plant(below, OPEN_ACL_UNSAFE)
    with pytest.raises(InvalidConfiguration, match=rf"were protected, and these are not: {place.root} \("):
        place.enter(place.session())


def test_a_digest_that_was_taken_away_on_purpose_is_given_again(place: Place) -> None:
    named = place.enter(place.session())
    remember_protected(place.files)  # type: ignore[arg-type]
    place.clear()
    plant_a_cluster(place, named)  # by the operator himself, say
    place.files.delete(PROTECTION_MARK)
    assert place.enter(place.open_session()) == named
    assert place.enter(place.session()) == named


def run(cluster: ProcessCluster, command: str, *arguments: str) -> tuple[int, str]:
    """The exit code, and what was said."""
    line = [sys.executable, "-m", "hbtable", command, "--config", str(cluster.config), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=4 * SOON_SECONDS)
    return done.returncode, done.stdout + done.stderr


def test_a_repair_after_zookeeper_lost_a_cluster_believes_nothing_that_was_planted(
    hdfs_servers: HdfsServers, place: Place, tmp_path: Path
) -> None:
    files = hdfs_servers.hdfs(place.root)
    knows = ("-D", f"cluster.zookeeper_digest={tmp_path / 'digest'}")
    folder = tmp_path / "roles"
    folder.mkdir()
    with ProcessCluster(folder, place.address, place.root, files) as cluster:
        cluster.start_master(*knows)
        cluster.start_server(*knows)
        cluster.wait_until_served()
        cluster.create_table("t", [])
        with closing(cluster.connect()) as connection:
            until_put(connection.table("t"), b"r", {b"f:v": b"v"}, SOON_SECONDS)
        fs = open_file_system(files, place.runtime, LONG_TIMEOUTS)
        try:
            eventually(lambda: fs.exists(PROTECTION_MARK), SOON_SECONDS, "what the folder remembers")
            for role in (*cluster.servers, *cluster.masters):
                role.stop()
            named = fs.read_file(ID_FILE).decode()
            place.clear()
            plant_a_cluster(place, named)
            refused = "this cluster's nodes of ZooKeeper were protected, and these are not"
            code, said = run(cluster, "repair", "--lock-service-lost", *knows)
            assert (code, refused in said) == (2, True), said
            code, said = run(cluster, "check", *knows)
            assert (code, refused in said) == (2, True), said  # there is no /root-tablet either
            code, said = cluster.refused_master(*knows)
            assert (code, refused in said) == (2, True), said
            place.clear()
            code, said = run(cluster, "repair", "--lock-service-lost", *knows)
            assert (code, said.count("LOST: if there were any, the ")) == (1, 3), said
            assert not place.session().protect_nodes().changed
            assert AccountNode(place.session()).read() == Accounts()
        finally:
            close_file_system(fs)
        cluster.start_master(*knows)
        cluster.start_server(*knows)
        cluster.wait_until_served()
        with closing(cluster.connect()) as connection:
            assert connection.table("t").row(b"r") == {b"f:v": b"v"}
