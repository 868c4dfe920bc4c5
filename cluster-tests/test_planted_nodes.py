"""Nodes that a stranger made in ZooKeeper before a cluster's first start are refused by name, and nobody gets in."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from kazoo.security import OPEN_ACL_UNSAFE

from hbtable.access.accounts import Accounts
from hbtable.access.store import USERS_PATH, AccountNode
from hbtable.errors import InvalidConfiguration, Unavailable
from hbtable.launch.roles.planted_nodes import refuse_strangers_users
from hbtable.lockservice.paths import CLUSTER, MASTER
from hbtable.lockservice.zookeeper import lock_service
from tests.harness.nodes_of_a_cluster import LOCKS, NODES
from tests.harness.place_in_zookeeper import ACLS, HIS, OURS, ROLES, Folder, Place, open_place
from tests.harness.real_servers import ZooKeeperServer

pytestmark = pytest.mark.java


@pytest.fixture
def place(zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path) -> Iterator[Place]:
    with open_place(zookeeper_server.address, own_folder, tmp_path) as made:
        yield made


def planted() -> Iterator[tuple[str, str, bool, bool]]:
    """Each node of a cluster, with each ACL, as a file and as a lock, below folders that are open or have that ACL."""
    for below in NODES:
        for acl in ACLS:
            for ephemeral in (False, True):
                for open_folders in (False, True):
                    yield below, acl, ephemeral, open_folders


PARTS: Final = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_what_was_planted_before_the_first_start_is_refused_by_name(
    place: Place, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    for below, acl, ephemeral, open_folders in list(planted())[part::PARTS]:
        place.plant(below, ACLS[acl], ephemeral, OPEN_ACL_UNSAFE if open_folders else None)
        # Below a root of his own nobody else sees anything.
        shown = below if acl == "open" or open_folders else ""
        named = re.compile(rf"{re.escape(place.root + shown)} \((?:a |others|only others).*delete them", re.DOTALL)
        for role in ROLES:
            with pytest.raises(InvalidConfiguration, match=named):
                place.start(role, monkeypatch)
        with pytest.raises(InvalidConfiguration, match=named):
            raise place.add_user().exception or AssertionError("a user was added")
        place.clear()
        place.files = Folder(place.runtime)
    for role in ROLES:
        assert place.start(role, monkeypatch)
    assert place.add_user().exit_code == 0
    session = place.session()
    assert list(AccountNode(session).read().by_name) == ["ann"]
    assert not session.protect_nodes().changed


@pytest.mark.parametrize("acl", ACLS)
@pytest.mark.parametrize("below", [*(one for one in NODES if one)])
def test_a_node_of_his_below_our_root_is_refused(place: Place, below: str, acl: str) -> None:
    """As it is after a root was open for a while, and then made ours by hand."""
    session = place.session()
    session.create("/one", b"")
    place.tell_digest()
    place.plant(below, ACLS[acl], folders=OPEN_ACL_UNSAFE)
    with pytest.raises(InvalidConfiguration, match=re.escape(place.root + below) + r" \("):
        place.enter(session)
    with pytest.raises(InvalidConfiguration, match=re.escape(place.root + below) + r" \("):
        refuse_strangers_users(session)


def test_a_password_is_not_written_to_an_open_list(place: Place) -> None:
    """A master that protected a cluster's nodes was killed before it came to the list of users."""
    session = place.session()
    place.enter(session)
    place.tell_digest()
    place.plant(USERS_PATH, OPEN_ACL_UNSAFE)
    place.enter(session)
    with pytest.raises(InvalidConfiguration, match=rf"not protected yet: {place.root}/users \("):
        refuse_strangers_users(session)
    assert session.protect_nodes().changed == [f"{place.root}/users"]
    refuse_strangers_users(session)


def test_a_first_start_that_was_cut_off_anywhere_goes_on(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    session = place.session()
    made: list[Callable[[], object]] = [
        lambda: session.create("/suspects/requests", b""),
        lambda: place.add_user(),
        lambda: session.lock("/masters/one", b""),
        lambda: session.lock(MASTER, b""),
        lambda: session.create("/identifiers/tablet", b"1"),
    ]
    for make in made:
        make()
        place.enter(place.session())
        session.delete(CLUSTER)
    assert place.start("master", monkeypatch)


def test_roles_that_start_at_the_same_moment_agree(place: Place) -> None:
    sessions = [place.session(*digests) for digests in ((OURS, HIS), (HIS, OURS)) * 2]  # it is being replaced
    names: list[str] = []
    tasks = [
        place.runtime.spawn(lambda one=one: names.append(place.enter(one)), name="role")  # type: ignore[misc]
        for one in sessions
    ]
    for task in tasks:
        task.join()
    assert len(names) == len(sessions)
    assert len(set(names)) == 1


@pytest.mark.parametrize("acl", ACLS)
def test_a_root_that_is_changed_for_another_during_the_start_is_noticed(place: Place, acl: str) -> None:
    """An empty root can be deleted by everybody who may change the node above it."""
    session = place.session()
    session.create("/users", b"")
    session.delete("/users")  # what is left is the empty root

    def change() -> None:
        place.clear()
        place.plant(USERS_PATH, ACLS[acl])

    place.files.before_named = change
    with pytest.raises(Exception, match=rf"{re.escape(place.root)}\b") as refused:
        place.enter(session)
    assert USERS_PATH in str(refused.value) or acl == "his own"
    with pytest.raises(InvalidConfiguration, match=rf"{re.escape(place.root)} \("):
        place.enter(session)
    with pytest.raises(InvalidConfiguration, match=rf"{re.escape(place.root)} \("):
        refuse_strangers_users(session)
    place.clear()
    place.enter(session)


def test_a_list_of_users_that_is_changed_for_another_while_it_is_written_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = AccountNode.change

    def behind_a_stranger(node: AccountNode, edit: Callable[[Accounts], Accounts]) -> None:
        place.plant(USERS_PATH, OPEN_ACL_UNSAFE)
        change(node, edit)

    monkeypatch.setattr(AccountNode, "change", behind_a_stranger)
    with pytest.raises(InvalidConfiguration, match=rf"choose another password.*{place.root}/users \(others"):
        raise place.add_user().exception or AssertionError("it was said to be added")


def test_a_cluster_that_ran_without_a_digest_is_taken_over(place: Place) -> None:
    before = place.open_session()
    name = place.enter(before)
    AccountNode(before).change(lambda accounts: accounts.with_user("ann", None))
    before.lock(MASTER, b"")
    knows = place.session(protects=False)
    assert place.enter(knows) == name
    refuse_strangers_users(knows)
    protects = place.session()
    assert place.enter(protects) == name
    with pytest.raises(InvalidConfiguration, match=r"start its master with it first"):
        refuse_strangers_users(protects)
    assert f"{place.root}/users" in protects.protect_nodes().changed
    refuse_strangers_users(protects)
    assert list(AccountNode(protects).read().by_name) == ["ann"]
    assert place.enter(place.session()) == name


def test_what_is_somebody_elses_in_a_cluster_that_ran_without_a_digest_is_refused(place: Place) -> None:
    before = place.open_session()
    place.enter(before)
    place.plant(USERS_PATH, ACLS["his own"])
    for session in (place.session(), place.session(protects=False)):
        with pytest.raises(InvalidConfiguration, match=rf"{place.root}/users \(only others may change it\).*same file"):
            place.enter(session)
    done = place.session().protect_nodes()
    assert f"{place.root}{CLUSTER}" in done.changed
    assert done.refused == [f"{place.root}/users"]


@pytest.mark.parametrize("digest", [True, False])
def test_a_file_where_a_lock_is_due_is_refused_in_every_cluster(place: Place, digest: bool) -> None:
    before = place.open_session()
    place.enter(before)
    for below in LOCKS if digest else [MASTER]:
        place.plant(below, OPEN_ACL_UNSAFE)
        session = place.session(protects=False) if digest else place.open_session()
        with pytest.raises(
            InvalidConfiguration, match=rf"{re.escape(place.root + below)} \(a file, where a lock is due"
        ):
            place.enter(session)
        before.delete(re.sub(r"\+(?=/)", "", below))
        place.enter(session)


def test_a_cluster_node_of_his_is_named_also_where_the_folder_has_an_id(place: Place) -> None:
    """The first start was cut off between the folder and ZooKeeper."""
    place.files.write_file("cluster", b"7" * 32)
    for data in (b'{"id": "%s", "format": 1, "log_kind": "hdfs"}' % (b"8" * 32), b"junk"):
        place.plant(CLUSTER, OPEN_ACL_UNSAFE, data=b"0" * 16 + b"\n" + data)
        with pytest.raises(InvalidConfiguration, match=f"did not make.*{place.root}/cluster "):
            place.enter(place.session())
        place.clear()
    assert place.enter(place.session()) == "7" * 32


def test_very_many_nodes_and_long_names_are_refused_soon_and_in_short(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_service, "_MOST_FOUND", 30)
    for number in range(100):
        place.plant(f"/{number:03}{'x' * 3000}", OPEN_ACL_UNSAFE)
    with pytest.raises(InvalidConfiguration, match="and 10 more") as refused:
        place.enter(place.session())
    assert len(str(refused.value)) < 10_000


def test_another_clusters_nodes_are_not_to_be_deleted(place: Place) -> None:
    place.enter(place.open_session())
    place.files = Folder(place.runtime)
    session = place.session()
    with pytest.raises(
        InvalidConfiguration, match=r"If another cluster lives there, mend cluster\.root and cluster\.files"
    ):
        place.enter(session)
    session.protect_nodes()
    with pytest.raises(InvalidConfiguration, match="the same file for all roles and commands of the cluster"):
        place.enter(place.session(HIS))


def test_the_sentence_about_a_node_names_it(place: Place) -> None:
    session, other = place.session(), place.session(HIS)
    place.enter(session)
    session.create(USERS_PATH, b"")
    for call, node in (
        (partial(other.read, USERS_PATH), f"{place.root}/users"),
        (partial(other.write, USERS_PATH, b"", -1), f"{place.root}/users"),
        (partial(other.create, "/new", b""), f"{place.root}/new"),
        (partial(other.list, "/"), place.root),
    ):
        with pytest.raises(Unavailable, match=f"lets only those use {node} who know the digest"):
            call()
