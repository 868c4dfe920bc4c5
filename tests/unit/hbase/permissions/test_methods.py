"""Every method of the Thrift port and the permission that it needs. A method that is in no table here, or in none of
hbtable/hbase/permissions/methods.py, fails."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.access.actions import EVERY_ACTION, Action
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.grants_file import grants_file
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.access.user import User, acting_as
from hbtable.errors import AccessDenied
from hbtable.hbase.admin.structs import AdminTable
from hbtable.hbase.calls.handler import bind
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.codec.thrift2_structs import TNamespaceDescriptor, TTableDescriptor, TTableName
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.permissions.methods import ADMIN, THRIFT1, THRIFT2
from hbtable.hbase.permissions.requirements import of_cells, open_to_users
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

ANN = User("ann", frozenset(("team",)))
TABLE = of_table(b"ns:t")
NAMESPACE = Scope(b"ns")
C_OR_A = {Action.CREATE, Action.ADMIN}
A = {Action.ADMIN}
TWO = TTableName(b"ns", b"t")

CHECKED: dict[str, tuple[Scope, set[Action], tuple[Any, ...]]] = {
    # Thrift1
    "thrift1 deleteTable": (TABLE, C_OR_A, (b"ns:t",)),
    "thrift1 enableTable": (TABLE, C_OR_A, (b"ns:t",)),
    "thrift1 disableTable": (TABLE, C_OR_A, (b"ns:t",)),
    "thrift1 compact": (TABLE, C_OR_A, (b"ns:t",)),
    "thrift1 majorCompact": (TABLE, C_OR_A, (b"ns:t,row,1700000000000.0123456789abcdef0123456789abcdef.",)),
    "thrift1 getColumnDescriptors": (TABLE, C_OR_A, (b"ns:t",)),
    "thrift1 createTable": (NAMESPACE, C_OR_A, (b"ns:t", [SimpleNamespace(name=b"f:")])),
    # Thrift2
    "thrift2 createTable": (NAMESPACE, C_OR_A, (TTableDescriptor(TWO), [])),
    "thrift2 deleteTable": (TABLE, C_OR_A, (TWO,)),
    "thrift2 truncateTable": (TABLE, C_OR_A, (TWO, True)),
    "thrift2 enableTable": (TABLE, C_OR_A, (TWO,)),
    "thrift2 disableTable": (TABLE, C_OR_A, (TWO,)),
    "thrift2 addColumnFamily": (TABLE, C_OR_A, (TWO, None)),
    "thrift2 modifyColumnFamily": (TABLE, C_OR_A, (TWO, None)),
    "thrift2 deleteColumnFamily": (TABLE, C_OR_A, (TWO, b"f")),
    "thrift2 modifyTable": (TABLE, C_OR_A, (TTableDescriptor(TWO),)),
    "thrift2 getTableDescriptor": (TABLE, C_OR_A, (TWO,)),
    "thrift2 createNamespace": (GLOBAL, A, (TNamespaceDescriptor("ns"),)),
    "thrift2 modifyNamespace": (GLOBAL, A, (TNamespaceDescriptor("ns"),)),
    "thrift2 deleteNamespace": (GLOBAL, A, ("ns",)),
    "thrift2 getNamespaceDescriptor": (NAMESPACE, A, ("ns",)),
    # hbtable's own service
    "admin adminCreateTable": (NAMESPACE, C_OR_A, (AdminTable(b"ns:t"), [])),
    "admin adminAlterTable": (TABLE, C_OR_A, (AdminTable(b"ns:t"),)),
    "admin adminTruncateTable": (TABLE, C_OR_A, (b"ns:t", True)),
    "admin adminFlush": (TABLE, C_OR_A, (b"ns:t", 0)),
    "admin adminCompact": (TABLE, C_OR_A, (b"ns:t", True, 0, b"")),
    "admin adminTabletHistory": (TABLE, C_OR_A, (b"ns:t", b"row")),
    "admin adminSplit": (TABLE, A, (b"ns:t", b"r", 0)),
    "admin adminMove": (TABLE, A, (b"ns:t", 1, b"")),
    "admin adminMerge": (TABLE, A, (b"ns:t", [1, 2])),
    "admin adminNamespace": (NAMESPACE, A, (b"ns",)),
    "admin adminCreateNamespace": (GLOBAL, A, (b"ns", {})),
    "admin adminAlterNamespace": (GLOBAL, A, (b"ns", {})),
    "admin adminDeleteNamespace": (GLOBAL, A, (b"ns",)),
    "admin adminCompactServer": (GLOBAL, A, (b"s", True)),
    "admin adminClearBlockCache": (GLOBAL, A, (b"ns:t",)),
    "admin adminRunCatalogJanitor": (GLOBAL, A, ()),
    "admin adminRunCleaner": (GLOBAL, A, ()),
    "admin adminRunRepair": (GLOBAL, A, ()),
    "admin adminSwitch": (GLOBAL, A, (b"splits", True)),
    "admin adminBalance": (GLOBAL, A, ()),
    "admin adminBalanceSwitch": (GLOBAL, A, (True,)),
    "admin adminNormalize": (GLOBAL, A, ([b"t"],)),
    "admin adminNormalizerSwitch": (GLOBAL, A, (True,)),
    "admin adminDecommission": (GLOBAL, A, ([b"s"], True)),
    "admin adminRecommission": (GLOBAL, A, (b"s",)),
    "admin adminSetThrottle": (TABLE, A, ("ann", b"", b"ns:t", False, "READ_SIZE", 5, 1, False)),
    "admin adminSetSpaceLimit": (TABLE, A, (b"", b"ns:t", 1 << 30, "NO_WRITES")),
    "admin adminSetQuotaExemption": (GLOBAL, A, ("ann", True)),
    "admin adminSetThrottling": (GLOBAL, A, (True,)),
    "admin adminThrottlingEnabled": (GLOBAL, A, ()),
    "admin adminRollLog": (GLOBAL, A, ([],)),
    "admin adminCompactionSwitch": (GLOBAL, A, (True, [])),
    "admin adminSlowRequests": (GLOBAL, A, ()),
    "admin adminClearSlowRequests": (GLOBAL, A, ()),
    "admin adminDecommissioned": (GLOBAL, {Action.READ}, ()),
}
"""Method -> the widest scope at which one of the rights is enough, those rights, and arguments about `ns:t`."""

FILTERED = {
    "thrift1 getTableNames": [b"ns:t"],
    "thrift1 getTableNamesWithIsTableEnabled": {b"ns:t": True},
    "thrift2 getTableNamesByPattern": [TWO],
    "thrift2 getTableNamesByNamespace": [TWO],
    "thrift2 getTableDescriptorsByPattern": [TTableDescriptor(TWO)],
    "thrift2 getTableDescriptorsByNamespace": [TTableDescriptor(TWO)],
    "thrift2 listNamespaceDescriptors": [TNamespaceDescriptor("ns")],
    "admin adminSpaceUsage": [{"table": "ns:t", "bytes": "5"}],
    "admin adminFamilyUsage": {"server": [{"table": "ns:t", "families": "f"}]},
    "admin adminTables": [AdminTable(b"ns:t", families=[], attributes={})],
}
"""Method -> an answer of which those who hold nothing get nothing."""

OTHERS = {"thrift2 getTableDescriptors", "admin adminTable", "admin adminQuotas"}
"""Have tests of their own, below."""

TABLES = {"thrift1": THRIFT1, "thrift2": THRIFT2, "admin": ADMIN}


class Rig:
    """A guard over the grants that a test makes."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime(1)
        self.session = MemoryLockService(self.runtime).open_session("test")
        self.guard = Guard(
            self.runtime, self.session, frozenset(("admin", "@supers")), lambda: [b"default", b"ns"], self._record
        )
        self.called = 0

    @staticmethod
    def _record(name: bytes) -> TableRecord:
        return TableRecord(1, TableState.ENABLED, TableSchema(name, {b"f": FamilySchema(b"f")}))

    def know(self, grants: Grants) -> None:
        self.runtime.run(grants_file(self.session).change, lambda _: grants)
        self.runtime.run(self.guard.refresh)

    def call(self, method: str, *arguments: Any, answer: Any = None, user: User | None = ANN) -> Any:
        service, _, name = method.partition(" ")

        def carried_out(*_: Any) -> Any:
            self.called += 1
            return answer

        def main() -> Any:
            with acting_as(user):
                return TABLES[service][name](self.guard, carried_out)(*arguments)

        return self.runtime.run(main)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def methods() -> Iterator[tuple[str, Any]]:
    for service, table in TABLES.items():
        for name, requirement in table.items():
            yield f"{service} {name}", requirement


def test_every_method_stands_in_one_of_these_tables() -> None:
    interface = ThriftInterface()
    offered = {f"thrift1 {name.decode()}" for name in interface.methods}
    offered |= {f"thrift2 {name.decode()}" for name in interface.thrift2_methods}
    offered |= {f"admin {name.decode()}" for name in interface.admin_methods}
    everybodys = {name for name, requirement in methods() if requirement in (open_to_users, of_cells)}
    tested = everybodys | CHECKED.keys() | FILTERED.keys() | OTHERS
    assert offered == {name for name, _ in methods()} == tested
    assert not everybodys & (CHECKED.keys() | FILTERED.keys() | OTHERS)


def test_a_method_without_a_requirement_keeps_the_gateway_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(THRIFT1, "getTableNames")
    part = SimpleNamespace(**dict.fromkeys(THRIFT1, lambda: None), getTableNames=lambda: None)
    with pytest.raises(ValueError, match=r"getTableNames of the interface has no entry"):
        bind(ThriftInterface(), [part])


@pytest.mark.parametrize("method", sorted(CHECKED))
def test_a_call_needs_its_right_at_its_scope_or_a_wider_one(rig: Rig, method: str) -> None:
    scope, enough, arguments = CHECKED[method]
    describes = method.endswith(("getTableDescriptor", "getColumnDescriptors"))
    for granted in (GLOBAL, NAMESPACE, TABLE, of_table(b"ns:t", b"f"), of_table(b"ns:u"), Scope(b"other")):
        for action in Action:
            rig.know(NO_GRANTS.with_grant("@team", granted, action))
            rig.called = 0
            if action in enough and granted.holds(scope):
                rig.call(method, *arguments)
                assert rig.called == 1, (granted, action)
                continue
            with pytest.raises(AccessDenied) as refused:
                rig.call(method, *arguments)
            assert "ann" in str(refused.value)
            assert any(f"action={right.name}" in str(refused.value) for right in enough)
            assert rig.called == (1 if describes else 0), (granted, action)  # described, and not shown


@pytest.mark.parametrize("method", sorted(CHECKED))
def test_superusers_may_do_everything_and_nobody_else_anything(rig: Rig, method: str) -> None:
    _, _, arguments = CHECKED[method]
    rig.call(method, *arguments, user=User("admin"))
    rig.call(method, *arguments, user=User("sue", frozenset(("supers",))))
    with pytest.raises(AccessDenied):
        rig.call(method, *arguments, user=None)
    with pytest.raises(AccessDenied):
        rig.call(method, *arguments, user=User("supers"))


@pytest.mark.parametrize("method", sorted(FILTERED))
def test_lists_leave_out_what_a_user_may_not_know_of(rig: Rig, method: str) -> None:
    answer = FILTERED[method]
    assert not rig.call(method, answer=answer)
    rig.know(NO_GRANTS.with_grant("ann", NAMESPACE, EVERY_ACTION))
    assert rig.call(method, answer=answer) == answer
    rig.know(NO_GRANTS.with_grant("ann", Scope(b"other"), EVERY_ACTION))
    assert not rig.call(method, answer=answer)


def test_quotas_are_listed_for_those_who_may_read_everything(rig: Rig) -> None:
    answer = [{"table": "ns:t"}]
    rig.know(NO_GRANTS.with_grant("ann", NAMESPACE, EVERY_ACTION))
    assert rig.call("admin adminQuotas", answer=answer) == []
    rig.know(NO_GRANTS.with_grant("ann", GLOBAL, Action.READ))
    assert rig.call("admin adminQuotas", answer=answer) == answer


@pytest.mark.parametrize("subject", [("bob", b"", b""), ("", b"ns", b""), ("bob", b"ns", b""), ("", b"", b"")])
def test_what_is_not_about_a_table_alone_is_throttled_by_those_who_administer_everything(
    rig: Rig, subject: tuple[str, bytes, bytes]
) -> None:
    arguments = (*subject, not any(subject), "READ_SIZE", 5, 1, False)
    rig.know(NO_GRANTS.with_grant("ann", NAMESPACE, EVERY_ACTION))
    with pytest.raises(AccessDenied):
        rig.call("admin adminSetThrottle", *arguments)
    rig.know(NO_GRANTS.with_grant("ann", GLOBAL, Action.ADMIN))
    rig.call("admin adminSetThrottle", *arguments)


@pytest.mark.parametrize(("right", "shows"), [("R", False), ("W", False), ("X", False), ("C", True), ("A", True)])
def test_how_a_table_is_made_is_shown_to_those_who_may_change_it(rig: Rig, right: str, shows: bool) -> None:
    action = {"R": Action.READ, "W": Action.WRITE, "X": Action.EXEC, "C": Action.CREATE, "A": Action.ADMIN}[right]
    rig.know(NO_GRANTS.with_grant("ann", TABLE, action))
    table = AdminTable(b"ns:t", 3, "enabled", 0, [object()], {"OWNER": "x"}, 17)  # type: ignore[list-item]
    shown = rig.call("admin adminTable", b"ns:t", answer=table)
    assert shown == (table if shows else table._replace(families=[], attributes={}))
    assert rig.call("admin adminTables", answer=[table]) == [shown]
    usage = {"server": [{"table": "ns:t", "families": "f"}]}
    assert rig.call("admin adminFamilyUsage", b"ns:t", [], answer=usage) == (usage if shows else {})
    wanted = [TTableDescriptor(TWO)]
    if shows:
        assert rig.call("thrift2 getTableDescriptors", [TWO], answer=wanted) == wanted
    else:
        with pytest.raises(AccessDenied, match=r"scope=ns:t.*action=CREATE"):
            rig.call("thrift2 getTableDescriptors", [TWO], answer=wanted)


@pytest.mark.parametrize(
    ("method", "argument"),
    [(name, None) for name, (_, _, arguments) in sorted(CHECKED.items()) if arguments and name.startswith("thrift1")],
)
def test_a_call_without_a_name_is_refused_by_its_own_method(rig: Rig, method: str, argument: None) -> None:
    """It says what is missing."""
    rig.call(method, *(argument for _ in CHECKED[method][2]))
    assert rig.called == 1
