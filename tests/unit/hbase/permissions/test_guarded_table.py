"""A table as a user may use it: what is left of reads, and what is asked before anything is changed."""

from typing import Any

import pytest

from hbtable.access.actions import Action
from hbtable.access.data_checks import DataChecks
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.permissions import Permissions
from hbtable.access.scopes import of_table
from hbtable.access.user import User
from hbtable.errors import (
    AccessDenied,
    CostExceeded,
    DataDamaged,
    NoSuchFamily,
    Overloaded,
    StaleLocation,
    TableNotEnabled,
    TableNotFound,
    TabletWithheld,
    Throttled,
    Unavailable,
)
from hbtable.hbase.permissions.guarded_table import GuardedTable
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState

ANN = User("ann")


class Table:
    """Remembers which columns it was asked for."""

    name = b"t"

    def __init__(self, families: tuple[bytes, ...] = (b"f", b"g")) -> None:
        self.families = families
        self.asked: list[Any] = []
        self.specs: list[ReadSpec] = []
        self.changes = 0
        self.state: TableState | None = TableState.ENABLED

    def shown_name(self) -> str:
        return "t"

    def record(self) -> TableRecord:
        if self.state is None:
            raise TableNotFound("t")
        return TableRecord(1, self.state, TableSchema(b"t", {name: FamilySchema(name) for name in self.families}))

    def read_rows(self, _: Any, spec: ReadSpec) -> list[Any]:
        self._ask(spec)
        return [(b"r", [])]

    def scan_page(self, request: ScanRequest) -> ScanPage:
        self._ask(request.spec)
        return ScanPage([], None)

    def page_ahead(self, request: ScanRequest) -> None:
        self._ask(request.spec)

    def _ask(self, spec: ReadSpec) -> None:
        for family in spec.columns or ():
            if family not in self.families:
                raise NoSuchFamily(family.decode())
        self.asked.append(spec.columns)
        self.specs.append(spec)

    def mutate(self, _: Any) -> None:
        self.changes += 1


def guarded(table: Table, grants: Grants, user: User | None = ANN) -> GuardedTable:
    permissions = Permissions(("admin",), grants)
    return GuardedTable(table, DataChecks(lambda: permissions, lambda: user))


def test_who_may_read_all_asks_for_what_he_asked_for() -> None:
    table, spec = Table(), ReadSpec()
    guarded(table, NO_GRANTS.with_grant("ann", of_table(b"t"), Action.READ)).read_rows((b"r",), spec)
    guarded(table, NO_GRANTS, User("admin")).scan_page(ScanRequest())
    assert table.asked == [None, None]


def test_what_was_narrowed_is_narrowed_again_for_each_spec_and_each_part() -> None:
    table = Table((b"f", b"g", b"h"))
    grants = NO_GRANTS
    for user, families in (("ann", (b"f",)), ("ben", (b"f", b"g"))):
        for family in families:
            grants = grants.with_grant(user, of_table(b"t", family), Action.READ)
    permissions, now = Permissions((), grants), [ANN]
    mine = GuardedTable(table, DataChecks(lambda: permissions, lambda: now[0]))
    whole, versions, named = ReadSpec(), ReadSpec(max_versions=3), ReadSpec({b"f": None, b"h": None})
    for _ in range(2):
        for user in (ANN, User("ben")):
            now[0] = user
            part = {b"f": None} if user is ANN else {b"f": None, b"g": None}
            for spec in (whole, versions, named, whole):
                table.specs.clear()
                mine.read_rows((b"r",), spec)
                mine.scan_page(ScanRequest(spec=spec, max_rows=7))
                seen = {b"f": None} if spec is named else part
                assert table.specs == [spec.of_columns(seen)] * 2


def test_a_right_to_a_family_that_is_not_there_is_in_nobodys_way() -> None:
    table = Table()
    grants = NO_GRANTS.with_grant("ann", of_table(b"t", b"f"), Action.READ)
    grants = grants.with_grant("ann", of_table(b"t", b"gone"), Action.READ)
    mine = guarded(table, grants)
    mine.read_rows((b"r",), ReadSpec())
    mine.scan_page(ScanRequest())
    assert table.asked == [{b"f": None}, {b"f": None}]
    with pytest.raises(NoSuchFamily):
        mine.read_rows((b"r",), ReadSpec({b"f": None, b"gone": None}))
    only = NO_GRANTS.with_grant("ann", of_table(b"t", b"gone"), Action.READ)
    with pytest.raises(AccessDenied):
        guarded(table, only).read_rows((b"r",), ReadSpec())


@pytest.mark.parametrize("user", [ANN, None])
def test_what_everybody_is_told_comes_before_the_refusal(user: User | None) -> None:
    table = Table()
    nothing = guarded(table, NO_GRANTS, user)
    put = (RowMutation(b"r", [(PUT, b"zz", b"q", 1, b"")]),)
    with pytest.raises(AccessDenied):
        nothing.read_rows((b"r",), ReadSpec({b"zz": None}))
    with pytest.raises(AccessDenied):
        nothing.check_existence({b"zz": None})
    with pytest.raises(AccessDenied):
        nothing.scan_page(ScanRequest(spec=ReadSpec({b"zz": None})))
    with pytest.raises(AccessDenied):
        nothing.mutate(put)
    table.state = TableState.DISABLED
    with pytest.raises(TableNotEnabled):
        nothing.mutate(put)
    table.state = None
    with pytest.raises(TableNotFound):
        nothing.scan_page(ScanRequest())
    assert not table.asked
    assert not table.changes


@pytest.mark.parametrize("grants", [NO_GRANTS, NO_GRANTS.with_grant("ann", of_table(b"t", b"f"), Action.READ)])
def test_a_read_of_no_column_is_refused_but_to_who_may_read_all(grants: Grants) -> None:
    """It has no cell of theirs, and yet it would tell that the table is there, and in how many tablets."""
    table, no_column = Table(), ReadSpec({})
    with pytest.raises(AccessDenied):
        guarded(table, grants).read_rows((b"r",), no_column)
    with pytest.raises(AccessDenied):
        guarded(table, grants).scan_page(ScanRequest(spec=no_column))
    assert table.asked == []
    guarded(table, NO_GRANTS, User("admin")).scan_page(ScanRequest(spec=no_column))
    assert table.asked == [{}]


def test_a_page_ahead_is_of_what_may_be_read() -> None:
    table = Table()
    of_f = NO_GRANTS.with_grant("ann", of_table(b"t", b"f"), Action.READ)
    guarded(table, of_f).page_ahead(ScanRequest())
    guarded(table, NO_GRANTS, User("admin")).page_ahead(ScanRequest())
    with pytest.raises(AccessDenied):
        guarded(table, NO_GRANTS).page_ahead(ScanRequest())
    assert table.asked == [{b"f": None}, None]


CALLS: list[Any] = [
    lambda table: table.read_rows((b"r",), ReadSpec({b"f": None})),
    lambda table: table.read_rows((b"r",), ReadSpec()),
    lambda table: table.scan_page(ScanRequest(spec=ReadSpec({b"f": None}))),
    lambda table: table.scan_page(ScanRequest()),
    lambda table: table.increment(b"r", b"f", b"q", 1),
    lambda table: table.append(b"r", [(b"f", b"q", b"x")]),
    lambda table: table.check_and_mutate(b"r", b"f", b"q", b"", RowMutation(b"r", [(PUT, b"f", b"q", 1, b"")])),
    lambda table: table.mutate_if(
        b"r", ReadSpec({b"f": None}), "=", b"", RowMutation(b"r", [(PUT, b"f", b"q", 1, b"")])
    ),
]


class Fails(Table):
    """Every call meets this error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def fail(self, *_: Any) -> Any:
        raise self._error

    read_rows = scan_page = increment = append = check_and_mutate = mutate_if = fail


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "error",
    [
        DataDamaged("p", 3, "rows from b'secret1' to b'secret2' cannot be read", b"secret1", b"secret2"),
        Unavailable("table t gave no answer for row b'secret1'"),
        StaleLocation("METADATA has no tablet of table 16 for row b'secret1'"),
        CostExceeded("this request looked at secret 200000123 cells up to row b'secret1'"),
    ],
)
def test_errors_name_no_row_to_whoever_may_not_read_the_whole_table(call: Any, error: Exception) -> None:
    part = NO_GRANTS.with_grant("ann", of_table(b"t", b"f"), Action.READ | Action.WRITE)
    with pytest.raises(type(error)) as told:
        call(guarded(Fails(error), part))
    hidden = told.value
    assert "secret" not in f"{hidden} {vars(hidden)}"
    assert hidden.__cause__ is None
    with pytest.raises(type(error)) as told:
        call(guarded(Fails(error), part, User("admin")))
    assert told.value is error


def test_where_a_withheld_tablet_begins_is_no_secret() -> None:
    part = NO_GRANTS.with_grant("ann", of_table(b"t", b"f"), Action.READ)
    withheld = TabletWithheld("p", 0, "the tablet from b'm' on was withheld", b"m", b"")
    with pytest.raises(TabletWithheld, match="from b'm'"):
        guarded(Fails(withheld), part).scan_page(ScanRequest())
    for kind in (Overloaded, Throttled):
        with pytest.raises(kind, match="wait"):
            guarded(Fails(kind("wait")), part).scan_page(ScanRequest())
