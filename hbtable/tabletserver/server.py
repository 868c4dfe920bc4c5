"""The tablet server's calls (paper, section 5.3): a dictionary of tablets, and a check before each answer.

Invariant: no answer leaves after this server lost its lock. `valid` is asked after a read was computed and after a
write was applied, right before the answer (bug classes 1 and 25): asking before would leave a gap in which a paused
process answers from a tablet that already has another owner. While it is unknown whether the lock is held, answers
wait (suspension.py). Losing the lock is final; `on_lost` stops the process.

This layer is on the path of every put and get: a dictionary lookup, the tablet's own method, one check, one counter.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import final

from hbtable.errors import DataDamaged, LockLost, OutcomeUnknown, StaleLocation, Unavailable
from hbtable.metrics.registry import Counter, Registry
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import FamilyTimes, ReadSpec, ScanPage, ScanRequest
from hbtable.rpc.services import TabletService
from hbtable.switches import switches
from hbtable.tablet.tablet import Tablet


@final
class TabletServer(TabletService):
    """Implements TabletService over the tablets that this process has loaded."""

    __slots__ = (
        "_appends",
        "_checks",
        "_increments",
        "_lost",
        "_mutations",
        "_on_lost",
        "_range_deletes",
        "_reads",
        "_refused",
        "_scans",
        "_tablets",
        "_valid",
        "_wait",
        "incarnation",
    )

    def __init__(
        self,
        incarnation: str,
        tablets: dict[int, Tablet],
        valid: Callable[[], bool],
        wait: Callable[[], bool],
        on_lost: Callable[[], None],
        registry: Registry,
        refused: Mapping[int, DataDamaged] = MappingProxyType({}),
    ) -> None:
        """`tablets` and `refused` are shared with online_tablets.py, which loads and unloads. `valid` must not switch;
        `wait` is Suspension.wait. `on_lost` is called once."""
        self.incarnation = incarnation
        self._tablets = tablets
        self._refused = refused
        self._valid = valid
        self._wait = wait
        self._on_lost = on_lost
        self._lost = False

        def requests(operation: str) -> Counter:
            return registry.counter(
                "hbtable_tabletserver_requests_total", "Calls answered by the tablet server.", operation=operation
            )

        self._mutations = requests("mutate")
        self._reads = requests("read_rows")
        self._scans = requests("scan")
        self._increments = requests("increment")
        self._appends = requests("append")
        self._checks = requests("check_and_mutate")
        self._range_deletes = requests("delete_range")

    @switches
    def mutate(self, tablet_id: int, mutations: Sequence[RowMutation]) -> None:
        tablet = self._tablets.get(tablet_id)
        if tablet is None:
            raise self._not_here(tablet_id)
        tablet.mutate(mutations)
        if not self._valid():
            self._outwait(changed=True)
        self._mutations.value += 1

    @switches
    def read_rows(self, tablet_id: int, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        tablet = self._tablets.get(tablet_id)
        if tablet is None:
            raise self._not_here(tablet_id)
        answer = tablet.read_rows(rows, spec)
        if not self._valid():
            self._outwait(changed=False)
        self._reads.value += 1
        return answer

    @switches
    def scan(self, tablet_id: int, request: ScanRequest) -> ScanPage:
        tablet = self._tablets.get(tablet_id)
        if tablet is None:
            raise self._not_here(tablet_id)
        page = tablet.scan(request)
        if not self._valid():
            self._outwait(changed=False)
        self._scans.value += 1
        return page

    @switches
    def scan_with_times(self, tablet_id: int, request: ScanRequest, family_times: FamilyTimes) -> ScanPage:
        return self.scan(tablet_id, replace(request, family_times=family_times, plain=False))

    def valid_from_now(self, tablet_id: int) -> Callable[[], bool] | None:
        tablet = self._tablets.get(tablet_id)
        is_valid = None if tablet is None else tablet.valid_from_now()
        if is_valid is None:
            return None
        return lambda: self._tablets.get(tablet_id) is tablet and is_valid() and self._valid()

    @switches
    def increment(
        self, tablet_id: int, row: bytes, family: bytes, qualifier: bytes, amount: int, checksum: int = 0
    ) -> int:
        tablet = self._tablets.get(tablet_id)
        if tablet is None:
            raise self._not_here(tablet_id)
        answer = tablet.increment(row, family, qualifier, amount, checksum)
        if not self._valid():
            self._outwait(changed=True)
        self._increments.value += 1
        return answer

    @switches
    def append(
        self,
        tablet_id: int,
        row: bytes,
        values: Sequence[tuple[bytes, bytes, bytes]],
        ttl_millis: int = 0,
        checksum: int = 0,
    ) -> list[Cell]:
        tablet = self._tablets.get(tablet_id)
        if tablet is None:
            raise self._not_here(tablet_id)
        answer = tablet.append(row, values, ttl_millis, checksum)
        if not self._valid():
            self._outwait(changed=True)
        self._appends.value += 1
        return answer

    @switches
    def check_and_mutate(
        self,
        tablet_id: int,
        row: bytes,
        family: bytes,
        qualifier: bytes,
        expected: bytes | None,
        mutation: RowMutation,
        checksum: int = 0,
    ) -> bool:
        tablet = self._tablets.get(tablet_id)
        if tablet is None:
            raise self._not_here(tablet_id)
        answer = tablet.check_and_mutate(row, family, qualifier, expected, mutation, checksum)
        if not self._valid():
            self._outwait(changed=True)
        self._checks.value += 1
        return answer

    @switches
    def mutate_if(
        self,
        tablet_id: int,
        row: bytes,
        spec: ReadSpec,
        operator: str,
        value: bytes | None,
        mutation: RowMutation,
        checksum: int = 0,
    ) -> bool:
        tablet = self._tablets.get(tablet_id)
        if tablet is None:
            raise self._not_here(tablet_id)
        answer = tablet.mutate_if(row, spec, operator, value, mutation, checksum)
        if not self._valid():
            self._outwait(changed=True)
        self._checks.value += 1
        return answer

    @switches
    def add_to_columns(self, tablet_id: int, mutation: RowMutation) -> list[Cell]:
        tablet = self._tablets.get(tablet_id)
        if tablet is None:
            raise self._not_here(tablet_id)
        answer = tablet.add_to_columns(mutation)
        if not self._valid():
            self._outwait(changed=True)
        self._increments.value += 1
        return answer

    @switches
    def delete_range(self, tablet_id: int, start_row: bytes, stop_row: bytes, timestamp: int) -> None:
        tablet = self._tablets.get(tablet_id)
        if tablet is None:
            raise self._not_here(tablet_id)
        tablet.delete_range(RowRange(start_row, stop_row), timestamp)
        if not self._valid():
            self._outwait(changed=True)
        self._range_deletes.value += 1

    def _not_here(self, tablet_id: int) -> StaleLocation | DataDamaged:
        refused = self._refused.get(tablet_id)
        if refused is not None:  # one of its own: a shared error would collect all tracebacks
            return type(refused)(refused.path, refused.offset, refused.reason, refused.first_row, refused.stop_row)
        return StaleLocation(f"tablet {tablet_id} is not served by {self.incarnation}")

    @switches
    def _outwait(self, changed: bool) -> None:
        """Returns when the answer may leave after all. LockLost, or when the time is up OutcomeUnknown for changes."""
        try:
            if self._wait():
                return
        except LockLost:
            raise self._lock_lost() from None
        reason = f"tablet server {self.incarnation} cannot reach the lock service"
        if changed:
            raise OutcomeUnknown(f"{reason}: whether the change stays is unknown")
        raise Unavailable(f"{reason} and may not answer; try again")

    def _lock_lost(self) -> LockLost:
        if not self._lost:
            self._lost = True
            self._on_lost()
        return LockLost(f"tablet server {self.incarnation} lost its lock and stops; its tablets move to other servers")
