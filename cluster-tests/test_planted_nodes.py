"""Nodes that a stranger made in ZooKeeper before a cluster's first start are refused by name, and nobody gets in."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import ACL, OPEN_ACL_UNSAFE, make_digest_acl

from hbtable.access.accounts import Accounts
from hbtable.access.store import USERS_PATH, AccountNode
from hbtable.errors import InvalidConfiguration, Unavailable
from hbtable.fs.interface import HDFS
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.cli.user_commands import user
from hbtable.launch.config.cluster_configuration import ListenOptions, read_cluster_configuration
from hbtable.launch.roles import role_environment
from hbtable.launch.roles.planted_nodes import enter_cluster, refuse_strangers_users
from hbtable.launch.roles.role_environment import RoleEnvironment
from hbtable.launch.roles.watchdog import Watchdog
from hbtable.lockservice.paths import CLUSTER, MASTER
from hbtable.lockservice.zookeeper import lock_service
from hbtable.lockservice.zookeeper.access import Digest, NodeAccess
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService, ZooKeeperSession
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.nodes_of_a_cluster import LOCKS, NODES
from tests.harness.real_servers import ZooKeeperServer

pytestmark = pytest.mark.java

OURS: Final = Digest("hbtable", "secret")
HIS: Final = Digest("stranger", "his")
ACLS: Final = {"open": OPEN_ACL_UNSAFE, "his own": [make_digest_acl(*HIS, all=True)]}
ADDRESS: Final = "hdfs://127.0.0.1:1/x"
ROLES: Final = ("master", "tabletserver")
PLANTED_USERS: Final = b"0" * 16 + b"\n" + Accounts().with_user("mallory", None).encode()


class Folder:
    """The files of a cluster, in memory, as an HDFS has them. `before_named` is called once, between a role's look at
    ZooKeeper and its first change there."""

    log_kind = HDFS

    def __init__(self, runtime: GeventRuntime) -> None:
        self._memory = MemoryFileSystem(runtime)
        self.before_named: Callable[[], object] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def put_new(self, path: str, data: bytes) -> None:
        act, self.before_named = self.before_named, lambda: None
        act()
        self._memory.put_new(path, data)


class Place:
    """A place in ZooKeeper with an empty folder of files, what is configured for it, and a stranger who reaches both
    ZooKeeper and nothing else."""

    def __init__(self, address: str, root: str, stranger: KazooClient, runtime: GeventRuntime, folder: Path) -> None:
        self.root = root
        self.runtime = runtime
        self.files = Folder(runtime)
        self._stranger = stranger
        self._address = address
        self._sessions: list[ZooKeeperSession] = []
        digest, self.config = folder / "digest", folder / "cluster.toml"
        digest.write_text(":".join(OURS))
        digest.chmod(0o600)
        self.config.write_text(
            f'[cluster]\nzookeeper = "{address}"\nroot = "{self.root}"\nfiles = "{ADDRESS}"\n'
            f'zookeeper_digest = "{digest}"\n'
        )
        self.config.chmod(0o600)

    def plant(
        self,
        below: str,
        acl: list[ACL],
        ephemeral: bool = False,
        folders: list[ACL] | None = None,
        data: bytes = PLANTED_USERS,
    ) -> None:
        """The node, and the folders to it, as the stranger makes them."""
        parts = f"{self.root}{below}".split("/")[1:]
        for number in range(1, len(parts)):
            folder = "/" + "/".join(parts[:number])
            if self._stranger.exists(folder) is None:
                self._stranger.create(folder, b"", acl=folders or acl)
        self._stranger.create(f"{self.root}{below}", data, acl=acl, ephemeral=ephemeral)

    def tell_digest(self) -> None:
        """From here on the stranger is one of the cluster's."""
        self._stranger.add_auth("digest", ":".join(OURS))

    def session(self, *digests: Digest, protects: bool = True) -> ZooKeeperSession:
        options = ZooKeeperOptions(session_seconds=20.0, call_seconds=15.0)
        access = NodeAccess(digests or (OURS,), protects)
        service = ZooKeeperLockService(self.runtime, self._address, self.root, options, access)
        self._sessions.append(service.open_session("test"))
        return self._sessions[-1]

    def open_session(self) -> ZooKeeperSession:
        """Of a role that knows no digest."""
        service = ZooKeeperLockService(
            self.runtime, self._address, self.root, ZooKeeperOptions(20.0, call_seconds=15.0)
        )
        self._sessions.append(service.open_session("test"))
        return self._sessions[-1]

    def enter(self, session: ZooKeeperSession) -> str:
        return enter_cluster(self.runtime, session, self.files, ADDRESS)  # type: ignore[arg-type]

    def start(self, role: str, monkeypatch: pytest.MonkeyPatch) -> bool:
        """Whether a role came so far that it serves; it ends at once. InvalidConfiguration."""
        monkeypatch.setattr(role_environment, "open_file_system", lambda *_: self.files)
        for check in ("check_namenode", "check_writable", "warn_of_surroundings"):
            monkeypatch.setattr(role_environment, check, lambda *_: None)
        monkeypatch.setattr(role_environment, "hand_over", lambda *_: None)
        configuration = read_cluster_configuration(str(self.config), {}, [])
        watchdog = Watchdog(self.runtime, lambda why: None)
        environment = RoleEnvironment(self.runtime, configuration, ListenOptions(), watchdog)
        began: list[bool] = []
        environment.begin(role, [0], lambda: began.append(True))
        environment.leave()
        return bool(began)

    def add_user(self) -> Result:
        arguments = ["add", "ann", "--no-password", "--cluster", "--config", str(self.config)]
        return CliRunner().invoke(user, arguments)

    def clear(self) -> None:
        """Deletes all that is there, as an operator does who was told to."""
        self.tell_digest()
        try:
            self._stranger.delete(self.root, recursive=True)
        except NoNodeError:
            pass

    def close(self) -> None:
        for session in self._sessions:
            session.close()


@pytest.fixture(scope="module")
def runtime() -> Iterator[GeventRuntime]:
    made = GeventRuntime()
    yield made
    made.close()


@pytest.fixture
def place(
    zookeeper_server: ZooKeeperServer, own_folder: str, runtime: GeventRuntime, tmp_path: Path
) -> Iterator[Place]:
    stranger = KazooClient(zookeeper_server.address, timeout=60.0, auth_data=[("digest", ":".join(HIS))])
    stranger.start(60)
    made = Place(zookeeper_server.address, own_folder, stranger, runtime, tmp_path)
    yield made
    made.close()
    made.clear()
    stranger.stop()
    stranger.close()


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
