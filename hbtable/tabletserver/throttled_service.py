"""A tablet server's calls within the quotas. The check stands where the tablet is, below every gateway and library.

METADATA is nobody's to throttle: whatever waits for it would keep all others waiting. Without any quota a call pays one
look at an attribute.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import final

from hbtable.access.user import User, acting_user
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.read import FamilyTimes, ReadSpec, ScanPage, ScanRequest, bytes_of
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.quotas.bucket import Bucket
from hbtable.quotas.settings import SpacePolicy
from hbtable.quotas.space import check_writes, refused
from hbtable.quotas.throttling import CallCost, Throttling, counts_bytes
from hbtable.rpc.services import TabletService
from hbtable.runtime.request_budget import counted_request
from hbtable.switches import switches
from hbtable.tablet.tablet import Tablet


@final
class ThrottledTabletService(TabletService):
    """Over a tablet server's own. Throttled and SpaceLimitReached, before anything was looked at or changed. A tablet
    that is not here is the inner one's business."""

    __slots__ = ("_caller", "_inner", "_tablets", "_throttling")

    def __init__(
        self,
        inner: TabletService,
        tablets: Mapping[int, Tablet],
        throttling: Throttling,
        caller: Callable[[], User | None] = acting_user,
    ) -> None:
        """`tablets` is the tablet server's, shared with it."""
        self._inner = inner
        self._tablets = tablets
        self._throttling = throttling
        self._caller = caller

    def valid_from_now(self, tablet_id: int) -> Callable[[], bool] | None:
        # A page that nobody asked for yet may be thrown away, and would have been counted.
        return None if self._throttling.active else self._inner.valid_from_now(tablet_id)

    @switches
    def mutate(self, tablet_id: int, mutations: Sequence[RowMutation]) -> None:
        if self._throttling.active:
            self._admit_writes(tablet_id, mutations)
        return self._inner.mutate(tablet_id, mutations)

    @switches
    def read_rows(self, tablet_id: int, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        if not self._throttling.active:
            return self._inner.read_rows(tablet_id, rows, spec)
        buckets = self._admit(tablet_id, CallCost(reads=len(rows)))
        answer = self._inner.read_rows(tablet_id, rows, spec)
        if counts_bytes(buckets):
            self._throttling.count(buckets, CallCost(read_bytes=_size(answer)))
        return answer

    @switches
    def scan(self, tablet_id: int, request: ScanRequest) -> ScanPage:
        if not self._throttling.active:
            return self._inner.scan(tablet_id, request)
        buckets = self._admit(tablet_id, CallCost(reads=1))
        return self._counted(buckets, self._inner.scan(tablet_id, request))

    @switches
    def scan_with_times(self, tablet_id: int, request: ScanRequest, family_times: FamilyTimes) -> ScanPage:
        if not self._throttling.active:
            return self._inner.scan_with_times(tablet_id, request, family_times)
        buckets = self._admit(tablet_id, CallCost(reads=1))
        return self._counted(buckets, self._inner.scan_with_times(tablet_id, request, family_times))

    @switches
    def increment(
        self, tablet_id: int, row: bytes, family: bytes, qualifier: bytes, amount: int, checksum: int = 0
    ) -> int:
        if self._throttling.active:
            self._check_added_to(tablet_id, "Increments")
            size = _bytes_in((row, family, qualifier)) + 8
            self._admit(tablet_id, CallCost(1, 1, size, size))
        return self._inner.increment(tablet_id, row, family, qualifier, amount, checksum)

    @switches
    def append(
        self,
        tablet_id: int,
        row: bytes,
        values: Sequence[tuple[bytes, bytes, bytes]],
        ttl_millis: int = 0,
        checksum: int = 0,
    ) -> list[Cell]:
        if not self._throttling.active:
            return self._inner.append(tablet_id, row, values, ttl_millis, checksum)
        self._check_added_to(tablet_id, "Appends")
        written = _bytes_in((row, *(part for value in values for part in value)))
        buckets = self._admit(tablet_id, CallCost(reads=1, writes=1, written_bytes=written))
        answer = self._inner.append(tablet_id, row, values, ttl_millis, checksum)
        if counts_bytes(buckets):
            self._throttling.count(buckets, CallCost(read_bytes=bytes_of(row, answer)))
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
        if not self._throttling.active:
            return self._inner.check_and_mutate(tablet_id, row, family, qualifier, expected, mutation, checksum)
        buckets = self._admit_condition(tablet_id, (row, family, qualifier), mutation)
        with self._compared(buckets):
            return self._inner.check_and_mutate(tablet_id, row, family, qualifier, expected, mutation, checksum)

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
        if not self._throttling.active:
            return self._inner.mutate_if(tablet_id, row, spec, operator, value, mutation, checksum)
        buckets = self._admit_condition(tablet_id, (row, value or b"", spec.filter or b""), mutation)
        with self._compared(buckets):
            return self._inner.mutate_if(tablet_id, row, spec, operator, value, mutation, checksum)

    @switches
    def add_to_columns(self, tablet_id: int, mutation: RowMutation) -> list[Cell]:
        if not self._throttling.active:
            return self._inner.add_to_columns(tablet_id, mutation)
        self._check_added_to(tablet_id, "Increments")
        buckets = self._admit(tablet_id, CallCost(reads=1, writes=1, written_bytes=_written((mutation,))))
        answer = self._inner.add_to_columns(tablet_id, mutation)
        if counts_bytes(buckets):
            self._throttling.count(buckets, CallCost(read_bytes=bytes_of(mutation.row, answer)))
        return answer

    @switches
    def delete_range(self, tablet_id: int, start_row: bytes, stop_row: bytes, timestamp: int) -> None:
        if self._throttling.active:
            policy = self._policy(tablet_id)
            if policy not in (None, SpacePolicy.NO_INSERTS):
                raise refused(policy, "Deletes")
            self._admit(tablet_id, CallCost(writes=1, written_bytes=_bytes_in((start_row, stop_row))))
        self._inner.delete_range(tablet_id, start_row, stop_row, timestamp)

    @switches
    def _admit_writes(self, tablet_id: int, mutations: Sequence[RowMutation]) -> None:
        self._check_writes(tablet_id, mutations)
        buckets = self._buckets(tablet_id)
        if buckets:
            written = _written(mutations) if counts_bytes(buckets) else 0
            self._throttling.admit(buckets, CallCost(writes=len(mutations), written_bytes=written))

    @switches
    def _admit(self, tablet_id: int, cost: CallCost) -> tuple[Bucket, ...]:
        buckets = self._buckets(tablet_id)
        if buckets:
            self._throttling.admit(buckets, cost)
        return buckets

    @switches
    def _admit_condition(
        self, tablet_id: int, condition: Iterable[object], mutation: RowMutation
    ) -> tuple[Bucket, ...]:
        self._check_writes(tablet_id, (mutation,))
        return self._admit(tablet_id, CallCost(1, 1, _bytes_in(condition), _written((mutation,))))

    @contextmanager
    def _compared(self, buckets: tuple[Bucket, ...]) -> Iterator[None]:
        """The cells that the condition looks at count as those of a get, also when it is not met."""
        if not counts_bytes(buckets):
            yield
            return
        with counted_request() as budget:
            before = budget.compared_bytes
            try:
                yield
            finally:
                self._throttling.count(buckets, CallCost(read_bytes=budget.compared_bytes - before))

    def _policy(self, tablet_id: int) -> SpacePolicy | None:
        """Of the limit of space that the tablet's table is over."""
        tablet = self._users_tablet(tablet_id)
        return None if tablet is None else self._throttling.policy(tablet.schema.name)

    def _check_writes(self, tablet_id: int, mutations: Sequence[RowMutation]) -> None:
        policy = self._policy(tablet_id)
        if policy is not None:
            check_writes(policy, mutations)

    def _check_added_to(self, tablet_id: int, what: str) -> None:
        policy = self._policy(tablet_id)
        if policy is not None:
            raise refused(policy, what)

    def _users_tablet(self, tablet_id: int) -> Tablet | None:
        """None for one of METADATA, and for one that is not here."""
        tablet = self._tablets.get(tablet_id)
        return None if tablet is None or tablet.record.table_id == METADATA_TABLE_ID else tablet

    def _buckets(self, tablet_id: int) -> tuple[Bucket, ...]:
        tablet = self._users_tablet(tablet_id)
        if tablet is None:
            return ()
        return self._throttling.buckets(self._caller(), tablet.schema.name)

    def _counted(self, buckets: tuple[Bucket, ...], page: ScanPage) -> ScanPage:
        if counts_bytes(buckets):
            whole = page.plain or page.columns or page.aggregated
            self._throttling.count(buckets, CallCost(read_bytes=whole.size_bytes if whole else _size(page.rows)))
        return page


def _size(rows: Iterable[Row]) -> int:
    return sum(bytes_of(row, cells) for row, cells in rows)


def _written(mutations: Iterable[RowMutation]) -> int:
    total = 0
    for mutation in mutations:
        total += _bytes_in((mutation.row,))
        for _, family, qualifier, _, value in mutation.operations:
            total += _bytes_in((family, qualifier, value))
    return total


def _bytes_in(values: Iterable[object]) -> int:
    """Whatever is no bytes counts for nothing: the tablet says what is wrong with it."""
    return sum([len(value) for value in values if type(value) is bytes])
