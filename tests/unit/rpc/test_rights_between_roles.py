"""Every call between roles and what it needs: the cluster's key, and those to tablets the rights of their user as well.
A call that is in no table here fails. The Thrift port's methods have theirs in hbase/permissions, the pages of the HTTP
port in launch/http."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pytest

from hbtable.access.actions import Action, actions_of
from hbtable.access.data_checks import DataChecks
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.permissions import Permissions
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.access.user import User, acting_as, acting_user
from hbtable.errors import AccessDenied, HbtableError
from hbtable.model.mutation import DELETE_FAMILY, PUT, RowMutation
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.rpc.codec.calls import BY_WIRE_NAME, METHODS, USERS_METHODS, Role
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.proof import ClusterKey
from hbtable.rpc.services import TabletService
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.sockets import serve
from hbtable.tabletserver.guarded_service import GuardedTabletService
from tests.unit.rpc.test_cluster_key import HOST, KEY, LONG, OTHER, key
from tests.unit.rpc.test_declared_calls import ANSWERS, ARGUMENTS

ANN: Final = User("ann", frozenset(("team",)))
TABLE: Final = b"ns:t"
FAMILY: Final = of_table(TABLE, b"f")
COLUMN: Final = of_table(TABLE, b"f", b"q")
USERS, METADATA, ABSENT = 5, 0, 77
"""Tablets: of the user's table, of METADATA, and one that is not here."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FOR_ROLES: Final = _names(
    """
    load_tablet unload_tablet update_schema flush compact roll_log switch_compactions split sort_log_part tablets
    served_changes served_record files_in_flight clear_block_cache task_deaths ping
    create_table delete_table enable_table disable_table alter_table truncate_table move_tablet merge_tablets balance
    balance_switch balancer_enabled normalize normalizer_switch normalizer_enabled decommission recommission
    collect_garbage look_at_everything create_namespace alter_namespace delete_namespace master_task_deaths
    balancer_rests ping_master set_throttle set_space_limit space_usage set_quota_exemption set_throttling
    throttling_enabled quotas family_usage
    """
)
"""Need the key alone: a gateway has asked for its user's right before it sends them (hbase/permissions/methods.py)."""


FOR_NOBODY: Final = _names("relay_read relay_write")
"""Need the key, and say no user: the server of the row carries them out as nobody's calls to a tablet, which are
refused where users are asked who they are."""


class Need(NamedTuple):
    """All of `rights` at `scope` or a wider one. `narrowed`: some right below is enough, and the call sees as much."""

    rights: str
    scope: Scope
    arguments: tuple[Any, ...]
    narrowed: bool = False


_PUT: Final = RowMutation(b"r", [(PUT, b"f", b"q", 5, b"v")])
_READ: Final = ReadSpec({b"f": None})
FOR_USERS: Final[dict[str, Need]] = {
    "mutate": Need("W", COLUMN, ([_PUT],)),
    "read_rows": Need("R", FAMILY, ([b"r"], _READ), narrowed=True),
    "scan": Need("R", FAMILY, (ScanRequest(spec=_READ),), narrowed=True),
    "scan_with_times": Need("R", FAMILY, (ScanRequest(spec=_READ), {b"f": (1, 5)}), narrowed=True),
    "increment": Need("RW", COLUMN, (b"r", b"f", b"q", 3, 0)),
    "append": Need("RW", COLUMN, (b"r", [(b"f", b"q", b"v")], 0, 0)),
    "check_and_mutate": Need("RW", COLUMN, (b"r", b"f", b"q", None, _PUT, 0)),
    "mutate_if": Need("RW", COLUMN, (b"r", ReadSpec({b"f": frozenset((b"q",))}), "=", None, _PUT, 0)),
    "add_to_columns": Need("RW", COLUMN, (_PUT,)),
    "delete_range": Need("W", of_table(TABLE), (b"r", b"s", 5)),
}
"""Need the key, and of a user's table this of the call's user; of METADATA, which is the roles' own, the key alone."""

WHOLE_FAMILY: Final = RowMutation(b"r", [(DELETE_FAMILY, b"f", b"", 5, b"")])
OTHER_FORMS: Final[list[tuple[str, Need]]] = [
    ("mutate", Need("W", FAMILY, ([WHOLE_FAMILY],))),
    ("mutate", Need("W", FAMILY, ([_PUT, WHOLE_FAMILY],))),
    ("check_and_mutate", Need("RW", COLUMN, (b"r", b"f", b"q", b"", _PUT, 0))),
    ("mutate_if", Need("RW", FAMILY, (b"r", _READ, "", None, _PUT, 0))),
    ("mutate_if", Need("RW", of_table(TABLE), (b"r", ReadSpec(), "", None, WHOLE_FAMILY, 0))),
    ("read_rows", Need("R", COLUMN, ([b"r"], ReadSpec({b"f": frozenset((b"q",))})), narrowed=True)),
]
"""The same calls with arguments that need something else."""

SCOPES: Final = [
    GLOBAL,
    Scope(b"ns"),
    of_table(TABLE),
    FAMILY,
    COLUMN,
    of_table(TABLE, b"f", b"other"),
    of_table(TABLE, b"g"),
    of_table(b"ns:other"),
    Scope(b"other"),
]
LETTERS: Final = ["R", "W", "RW", "X", "C", "A", "XCA"]


class Recorder(TabletService):
    """What reaches the role itself, of any of its services."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        super().__init__(lambda declared, arguments: self._note(declared.name))

    def _note(self, name: str) -> Any:
        self.reached.append(name)
        return ANSWERS.get(name)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self._note(name)


class Roles:
    """A tablet server and a master with the cluster's key in another process, as far as callers can tell, which check
    users where the tablets are."""

    def __init__(self) -> None:
        self.runtime = GeventRuntime()
        self.recorder = recorder = Recorder()
        self.permissions = Permissions(("admin",))
        schema = TableSchema(TABLE, {name: FamilySchema(name) for name in (b"f", b"g")})
        tablets: Any = {
            number: SimpleNamespace(record=SimpleNamespace(table_id=number and 9), schema=schema)
            for number in (USERS, METADATA)
        }
        guarded = GuardedTabletService(recorder, tablets, DataChecks(lambda: self.permissions, acting_user))
        roles = LocalTransport()
        roles.register_server("s1", guarded, recorder)  # type: ignore[arg-type]
        roles.register_relays("s1", recorder)  # type: ignore[arg-type]
        roles.register_master(recorder)  # type: ignore[arg-type]
        self.server = RpcServer(self.runtime, roles, lambda handle: serve(HOST, 0, handle), None, key(KEY))
        self.address = f"{HOST}:{self.server.start()}"
        self.callers: list[RpcTransport] = []

    def caller(self, has: ClusterKey | None) -> RpcTransport:
        made = RpcTransport(self.runtime, lambda name: self.address, lambda: self.address, LONG, key=has)
        self.callers.append(made)
        return made

    def grant(self, grants: Grants) -> None:
        self.permissions = Permissions(("admin",), grants)

    def close(self) -> None:
        for one in self.callers:
            one.close()
        self.server.close()
        self.runtime.close()


@pytest.fixture
def roles() -> Iterator[Roles]:
    made = Roles()
    yield made
    made.close()


def make(caller: RpcTransport, name: str, tablet: int = USERS, user: User | None = None) -> None:
    """The call, with arguments that are right."""
    if name in FOR_USERS:
        call_tablet(caller, name, FOR_USERS[name], tablet, user)
        return
    ways = {Role.MASTER: caller.master, Role.RELAYS: lambda: caller.relays("s1")}
    service: Any = ways.get(METHODS[name].role, lambda: caller.tablet_admin("s1"))()
    with acting_as(user):
        getattr(service, name)(*ARGUMENTS[name][0])


def call_tablet(caller: RpcTransport, name: str, need: Need, tablet: int, user: User | None) -> None:
    with acting_as(user):
        getattr(caller.tablet_service("s1"), name)(tablet, *need.arguments)


def test_every_call_between_roles_stands_in_one_of_these_tables() -> None:
    assert FOR_ROLES | FOR_NOBODY | FOR_USERS.keys() == METHODS.keys()
    assert len(FOR_ROLES) + len(FOR_NOBODY) + len(FOR_USERS) == len(METHODS)
    assert FOR_USERS.keys() == USERS_METHODS.keys()
    assert BY_WIRE_NAME.keys() == METHODS.keys() | {method.name for method in USERS_METHODS.values()}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_each_call_needs_the_clusters_key(roles: Roles, name: str) -> None:
    """Whose call it says to be makes no difference to that."""
    for has in (None, key(OTHER)):
        for user in (None, User("admin")):
            with pytest.raises(HbtableError, match=rf"did not begin {name}.*cluster\.key"):
                make(roles.caller(has), name, METADATA, user)
    assert roles.recorder.reached == []
    make(roles.caller(key(KEY)), name, METADATA)
    assert roles.recorder.reached == [name]


@pytest.mark.parametrize(
    ("name", "need"),
    [*FOR_USERS.items(), *OTHER_FORMS],
    ids=[*FOR_USERS, *(f"{name} {number}" for number, (name, _) in enumerate(OTHER_FORMS, 1))],
)
def test_a_users_call_needs_his_rights_as_well(roles: Roles, name: str, need: Need) -> None:
    caller, reached = roles.caller(key(KEY)), roles.recorder.reached
    for scope in SCOPES:
        wide = scope.holds(need.scope) or (need.narrowed and need.scope.holds(scope))
        for letters in LETTERS:
            roles.grant(NO_GRANTS.with_grant("@team", scope, actions_of(letters)))
            reached.clear()
            if wide and set(need.rights) <= set(letters):
                call_tablet(caller, name, need, USERS, ANN)
                assert reached == [name], (scope, letters)
                continue
            with pytest.raises(AccessDenied) as refused:
                call_tablet(caller, name, need, USERS, ANN)
            assert reached == [], (scope, letters)
            missing = set(need.rights) - set(letters) if wide else set(need.rights)
            assert names_user_right_and_scope(str(refused.value), missing), str(refused.value)


def names_user_right_and_scope(message: str, missing: set[str]) -> bool:
    rights = {Action.READ: "R", Action.WRITE: "W"}
    right = any(f"action={action.name}" in message for action, letter in rights.items() if letter in missing)
    scope = "table=ns:t" in message or "scope=ns:t" in message
    return right and scope and ("user=ann," in message or "user 'ann'" in message)


@pytest.mark.parametrize("name", sorted(FOR_USERS))
def test_a_call_of_a_users_table_is_nobodys_only_where_nobody_is_asked(roles: Roles, name: str) -> None:
    """A gateway without authentication sends no user: it opens no way in."""
    caller, reached = roles.caller(key(KEY)), roles.recorder.reached
    roles.grant(NO_GRANTS.with_grant("ann", GLOBAL, actions_of("RWXCA")))
    with pytest.raises(AccessDenied, match="nobody has logged in"):
        make(caller, name, USERS, None)
    assert reached == []
    make(caller, name, USERS, User("admin"))  # superusers hold nothing and may everything
    make(caller, name, METADATA, None)
    make(caller, name, ABSENT, None)  # the server itself says that it is not here
    assert reached == [name] * 3


PLANTED: Final[dict[str, tuple[Any, str, Any]]] = {
    "a condition needs no right to read": (
        DataChecks,
        "check_condition",
        lambda self, table, family, qualifier, mutation: self.check_mutations(table, [mutation]),
    ),
    "a range needs no right": (DataChecks, "check_whole_rows", lambda self, table, families: None),
    "nobody may what everybody may": (GuardedTabletService, "_users_tablet", lambda self, tablet: None),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_mistake_is_found(roles: Roles, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    def walk() -> None:
        for name, need in FOR_USERS.items():
            test_a_users_call_needs_his_rights_as_well(roles, name, need)

    walk()
    monkeypatch.setattr(*PLANTED[bug])
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        walk()
