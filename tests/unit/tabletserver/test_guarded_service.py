"""A tablet server that carries out what the user of a call may do, whichever gateway it came through."""

from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.access.actions import Action, actions_of
from hbtable.access.data_checks import DataChecks
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.permissions import Permissions
from hbtable.access.scopes import of_table
from hbtable.access.user import User
from hbtable.errors import AccessDenied
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.rpc.declaration import calls_of
from hbtable.rpc.services import TabletService
from hbtable.tabletserver.guarded_service import GuardedTabletService

ANN = User("ann")
SCHEMA = TableSchema(b"t", {name: FamilySchema(name) for name in (b"f", b"g")})
TABLETS: Any = {
    0: SimpleNamespace(record=SimpleNamespace(table_id=0), schema=SCHEMA),
    5: SimpleNamespace(record=SimpleNamespace(table_id=9), schema=SCHEMA),
}
PUT_F = RowMutation(b"r", [(PUT, b"f", b"q", 5, b"v")])
CALLS: dict[str, tuple[Any, ...]] = {
    "mutate": ([PUT_F],),
    "read_rows": ([b"r"], ReadSpec({b"f": None})),
    "scan": (ScanRequest(spec=ReadSpec({b"f": None})),),
    "scan_with_times": (ScanRequest(spec=ReadSpec({b"f": None})), {b"f": (1, 5)}),
    "increment": (b"r", b"f", b"q", 3),
    "append": (b"r", [(b"f", b"q", b"v")]),
    "check_and_mutate": (b"r", b"f", b"q", None, PUT_F),
    "mutate_if": (b"r", ReadSpec({b"f": None}), "", None, PUT_F),
    "add_to_columns": (PUT_F,),
    "delete_range": (b"r", b"s", 5),
}
NEEDS = {
    "mutate": "W",
    **dict.fromkeys(("increment", "append", "add_to_columns", "check_and_mutate", "mutate_if"), "RW"),
}


class Inner(TabletService):
    """Remembers what reaches it."""

    def __init__(self) -> None:
        self.reached: list[Any] = []
        super().__init__(lambda declared, arguments: self.reached.append((declared.name, arguments)))


def guarded(grants: Grants, user: User | None = ANN) -> tuple[GuardedTabletService, Inner]:
    inner, permissions = Inner(), Permissions(("admin",), grants)
    return GuardedTabletService(inner, TABLETS, DataChecks(lambda: permissions, lambda: user)), inner


def test_every_call_to_tablets_is_tried_here() -> None:
    assert CALLS.keys() == calls_of(TabletService).keys()


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"delete_range"}))
def test_a_call_needs_its_rights_where_the_tablet_is(name: str) -> None:
    enough = NEEDS.get(name, "R")
    for letters in ("R", "W", "RW", "XCA"):
        service, inner = guarded(NO_GRANTS.with_grant("ann", of_table(b"t", b"f"), actions_of(letters)))
        if set(enough) <= set(letters):
            getattr(service, name)(5, *CALLS[name])
            assert [called for called, _ in inner.reached] == [name]
        else:
            with pytest.raises(AccessDenied):
                getattr(service, name)(5, *CALLS[name])
            assert not inner.reached


@pytest.mark.parametrize("letters", ["R", "W", "RW", "XCA"])
def test_a_range_is_deleted_with_the_right_to_write_every_family(letters: str) -> None:
    one = NO_GRANTS.with_grant("ann", of_table(b"t", b"f"), actions_of(letters))
    for grants in (one, one.with_grant("ann", of_table(b"t", b"g"), actions_of(letters))):
        service, inner = guarded(grants)
        if "W" in letters and grants is not one:
            service.delete_range(5, *CALLS["delete_range"])
            assert [called for called, _ in inner.reached] == ["delete_range"]
        else:
            with pytest.raises(AccessDenied):
                service.delete_range(5, *CALLS["delete_range"])
            assert not inner.reached


@pytest.mark.parametrize("name", sorted(CALLS))
def test_nobodys_calls_are_for_metadata_alone(name: str) -> None:
    service, inner = guarded(NO_GRANTS.with_grant("ann", of_table(b"t"), Action.READ), user=None)
    with pytest.raises(AccessDenied):
        getattr(service, name)(5, *CALLS[name])
    getattr(service, name)(0, *CALLS[name])
    getattr(service, name)(77, *CALLS[name])  # not here: the server itself says so
    assert [called for called, _ in inner.reached] == [name, name]


def test_reads_are_narrowed_to_what_is_there_and_may_be_read() -> None:
    grants = NO_GRANTS.with_grant("ann", of_table(b"t", b"f"), Action.READ)
    grants = grants.with_grant("ann", of_table(b"t", b"gone"), Action.READ)
    service, inner = guarded(grants)
    service.read_rows(5, [b"r"], ReadSpec())
    service.scan(5, ScanRequest())
    service.read_rows(5, [b"r"], ReadSpec({b"f": None, b"gone": None}))
    rows, page, named = (arguments for _, arguments in inner.reached)
    assert rows[2].columns == {b"f": None}
    assert page[1].spec.columns == {b"f": None}
    assert named[2].columns == {b"f": None, b"gone": None}, "the tablet says that there is none"
    only, inner = guarded(NO_GRANTS.with_grant("ann", of_table(b"t", b"gone"), Action.READ))
    with pytest.raises(AccessDenied):
        only.scan(5, ScanRequest())
    assert not inner.reached


def test_whoever_may_read_all_is_not_narrowed() -> None:
    service, inner = guarded(NO_GRANTS, User("admin"))
    request = ScanRequest()
    service.scan(5, request)
    assert inner.reached[0][1][1] is request
