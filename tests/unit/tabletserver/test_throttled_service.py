"""A tablet server whose calls keep to the quotas: each call counts, METADATA's do not, and none is begun in vain."""

from typing import Any

import pytest

from hbtable.access.user import User
from hbtable.errors import SpaceLimitReached, Throttled
from hbtable.metrics.registry import Registry
from hbtable.model.additions import APPEND, INCREMENT
from hbtable.model.cell import SERVER_TIME
from hbtable.model.condition import ALWAYS
from hbtable.model.mutation import DELETE_COLUMN, RowMutation
from hbtable.model.put_batch import PutBatch
from hbtable.model.read import ReadSpec, ScanPage
from hbtable.quotas.settings import (
    NO_QUOTAS,
    Quotas,
    SpaceLimit,
    SpacePolicy,
    Subject,
    ThrottleSetting,
    ThrottleType,
)
from hbtable.quotas.throttling import Throttling
from hbtable.rpc.declaration import calls_of
from hbtable.rpc.services import TabletService
from hbtable.runtime.request_budget import RequestBudget, current_budget, work_for
from hbtable.tabletserver.throttled_service import ThrottledTabletService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.unit.tabletserver.test_guarded_service import CALLS, TABLETS

ANN = User("ann")
READS = {"read_rows", "scan", "scan_with_times"}
BOTH = {"increment", "append", "add_to_columns", "check_and_mutate", "mutate_if"}
ROW = (b"r", [(b"f:q", 5, b"x" * 100)])
ANSWERS: dict[str, Any] = {
    "read_rows": [ROW],
    "scan": ScanPage([ROW], None),
    "scan_with_times": ScanPage([ROW], None),
    "append": ROW[1],
    "add_to_columns": ROW[1],
    "increment": 5,
    "check_and_mutate": True,
    "mutate_if": True,
}


class Inner(TabletService):
    """Remembers what reaches it."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        super().__init__(self._reach)

    def _reach(self, declared: Any, _: Any) -> Any:
        self.reached.append(declared.name)
        return ANSWERS.get(declared.name)

    def valid_from_now(self, tablet_id: int) -> Any:
        return lambda: True


class Rig:
    def __init__(self) -> None:
        self.runtime = SimulatedRuntime(1)
        self.inner = Inner()
        self.throttling = Throttling(self.runtime, 0.0, Registry())
        self.service = ThrottledTabletService(self.inner, TABLETS, self.throttling, lambda: ANN)

    def hourly(self, *types: ThrottleType, limit: int = 1) -> None:
        settings = [ThrottleSetting(Subject("ann"), type, limit, 3600) for type in types]
        self.throttling.use(Quotas(settings), 1)

    def call(self, name: str, tablet_id: int = 5) -> Any:
        return self.runtime.run(lambda: getattr(self.service, name)(tablet_id, *CALLS[name]))


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_every_call_to_tablets_is_tried_here() -> None:
    assert CALLS.keys() == calls_of(TabletService).keys()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_call_counts_and_is_not_begun_when_it_is_refused(rig: Rig, name: str) -> None:
    assert rig.call(name) == ANSWERS.get(name)
    rig.hourly(ThrottleType.REQUEST_NUMBER)
    assert rig.call(name) == ANSWERS.get(name)
    with pytest.raises(Throttled, match="number of requests exceeded - wait 1hr, 0ms"):
        rig.call(name)
    assert rig.inner.reached == [name, name]
    rig.throttling.use(NO_QUOTAS, 1)
    rig.call(name)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_calls_count_as_reads_or_writes_or_both(rig: Rig, name: str) -> None:
    for type, counts in (
        (ThrottleType.READ_NUMBER, name in READS | BOTH),
        (ThrottleType.WRITE_NUMBER, name not in READS),
        (ThrottleType.READ_SIZE, name in READS | BOTH),
        (ThrottleType.WRITE_SIZE, name not in READS),
    ):
        rig.throttling.use(NO_QUOTAS, 1)
        rig.hourly(type)
        rig.call(name)
        if counts:
            with pytest.raises(Throttled):
                rig.call(name)
        else:
            rig.call(name)


@pytest.mark.parametrize("name", sorted(READS))
def test_a_read_is_paid_for_by_what_it_found(rig: Rig, name: str) -> None:
    rig.hourly(ThrottleType.READ_SIZE, limit=101)
    rig.call(name)
    with pytest.raises(Throttled, match="read size limit exceeded"):
        rig.call(name)


@pytest.mark.parametrize("name", ["check_and_mutate", "mutate_if"])
@pytest.mark.parametrize("is_of_a_port", [False, True])
def test_a_condition_is_paid_for_by_the_cells_that_it_looked_at(rig: Rig, name: str, is_of_a_port: bool) -> None:
    def look(declared: Any, _: Any) -> bool:
        budget = current_budget()
        assert budget is not None
        budget.compare(1000)
        return False  # not met, which costs the same

    rig.service = ThrottledTabletService(TabletService(look), TABLETS, rig.throttling, lambda: ANN)
    rig.hourly(ThrottleType.READ_SIZE, limit=900)

    def call() -> None:
        work_for(RequestBudget() if is_of_a_port else None)
        getattr(rig.service, name)(5, *CALLS[name])
        assert (current_budget() is not None) == is_of_a_port

    rig.runtime.run(call)
    with pytest.raises(Throttled, match="read size limit exceeded"):
        rig.runtime.run(call)


@pytest.mark.parametrize("tablet_id", [0, 99])
def test_metadata_and_tablets_that_are_not_here_are_not_throttled(rig: Rig, tablet_id: int) -> None:
    rig.hourly(*ThrottleType)
    for _ in range(3):
        for name in CALLS:
            rig.call(name, tablet_id)


def test_no_page_is_made_ahead_where_it_would_be_counted(rig: Rig) -> None:
    assert rig.service.valid_from_now(5) is not None
    rig.hourly(ThrottleType.WRITE_NUMBER)
    assert rig.service.valid_from_now(5) is None


REFUSED = {
    "mutate": "Puts",
    "increment": "Increments",
    "append": "Appends",
    "add_to_columns": "Increments",
    "check_and_mutate": "Puts",
    "mutate_if": "Puts",
}
DELETE = RowMutation(b"r", [(DELETE_COLUMN, b"f", b"q", 5, b"")])


@pytest.mark.parametrize("policy", SpacePolicy)
def test_a_table_over_its_limit_of_space_takes_what_its_policy_allows(rig: Rig, policy: SpacePolicy) -> None:
    rig.throttling.use(Quotas(space=[SpaceLimit(b"", b"t", 5, policy)]), 1)
    for name in CALLS:
        rig.call(name)
    rig.throttling.use(Quotas(space=[SpaceLimit(b"", b"t", 5, policy, violated=True)]), 1)
    for name, what in REFUSED.items():
        with pytest.raises(SpaceLimitReached, match=f"^{policy.name} {what} are disallowed due to a space quota.$"):
            rig.call(name)
    for kind, what in ((INCREMENT, "Increments"), (APPEND, "Appends")):
        adding = RowMutation(b"r", [(kind, b"f", b"q", SERVER_TIME, b"12345678")])
        with pytest.raises(SpaceLimitReached, match=f"^{policy.name} {what} are disallowed due to a space quota.$"):
            rig.runtime.run(lambda adding=adding: rig.service.mutate_if(5, b"r", ReadSpec({}), ALWAYS, None, adding))
    for name in READS:
        rig.call(name)
    deletes: list[Any] = [
        lambda: rig.call("delete_range"),
        lambda: rig.runtime.run(lambda: rig.service.mutate(5, [DELETE])),
        lambda: rig.runtime.run(lambda: rig.service.check_and_mutate(5, b"r", b"f", b"q", None, DELETE)),
    ]
    for delete in deletes:
        if policy is SpacePolicy.NO_INSERTS:
            delete()
        else:
            with pytest.raises(SpaceLimitReached, match=f"^{policy.name} Deletes are disallowed"):
                delete()
    assert rig.throttling.may_compact(b"t") == (policy is not SpacePolicy.NO_WRITES_COMPACTIONS)
    assert rig.throttling.policy(b"other") is None
    rig.call("mutate", 0)


def test_puts_in_columns_count_as_their_mutations(rig: Rig) -> None:
    """Three rows of 1 + 1 + 1 + 3 bytes."""

    def write() -> None:
        puts = PutBatch(b"f", b"q", SERVER_TIME, [b"a", b"b", b"c"], [b"xyz"] * 3)
        rig.runtime.run(lambda: rig.service.mutate(5, puts))

    for type, count in ((ThrottleType.WRITE_NUMBER, 3), (ThrottleType.WRITE_SIZE, 18)):
        rig.throttling.use(NO_QUOTAS, 1)
        rig.hourly(type, limit=2 * count)
        write()
        write()
        with pytest.raises(Throttled):
            write()
    rig.throttling.use(Quotas(space=[SpaceLimit(b"", b"t", 5, SpacePolicy.NO_INSERTS, violated=True)]), 1)
    with pytest.raises(SpaceLimitReached, match="Puts"):
        write()
