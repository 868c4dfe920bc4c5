"""A place in ZooKeeper where a cluster is to be, and a stranger who makes nodes there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import ACL, OPEN_ACL_UNSAFE, make_digest_acl

from hbtable.access.accounts import Accounts
from hbtable.fs.interface import HDFS
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.cli.user_commands import user
from hbtable.launch.config.cluster_configuration import ListenOptions, read_cluster_configuration
from hbtable.launch.roles import role_environment
from hbtable.launch.roles.planted_nodes import enter_cluster
from hbtable.launch.roles.role_environment import RoleEnvironment
from hbtable.launch.roles.watchdog import Watchdog
from hbtable.lockservice.zookeeper.access import Digest, NodeAccess
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService, ZooKeeperSession
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.runtime.gevent_runtime import GeventRuntime

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
        self.address = address
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
        service = ZooKeeperLockService(self.runtime, self.address, self.root, options, access)
        self._sessions.append(service.open_session("test"))
        return self._sessions[-1]

    def open_session(self) -> ZooKeeperSession:
        """Of a role that knows no digest."""
        service = ZooKeeperLockService(self.runtime, self.address, self.root, ZooKeeperOptions(20.0, call_seconds=15.0))
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


@contextmanager
def open_place(address: str, root: str, folder: Path) -> Iterator[Place]:
    """One that is empty afterwards. `folder`: for what is configured."""
    runtime = GeventRuntime()
    stranger = KazooClient(address, timeout=60.0, auth_data=[("digest", ":".join(HIS))])
    stranger.start(60)
    place = Place(address, root, stranger, runtime, folder)
    try:
        yield place
    finally:
        place.close()
        place.clear()
        stranger.stop()
        stranger.close()
        runtime.close()
