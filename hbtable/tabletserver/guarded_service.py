"""A tablet server's calls as the user may make them: the check stands where the tablet is.

Gateways check as well, so that whoever is refused is told soon. This one holds whichever gateway a call came through,
one without authentication included: with auth.enabled a call for a user's table that is nobody's is refused. METADATA
is the roles' own.
"""

from collections.abc import Mapping, Sequence
from typing import final

from hbtable.access.data_checks import DataChecks
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.read import Columns, FamilyTimes, ReadSpec, ScanPage, ScanRequest
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.rpc.services import TabletService
from hbtable.switches import switches
from hbtable.tablet.tablet import Tablet


@final
class GuardedTabletService(TabletService):
    """Over a tablet server's own. AccessDenied, before anything was looked at or changed. A tablet that is not here is
    the inner one's business."""

    __slots__ = ("_checks", "_inner", "_tablets")

    def __init__(self, inner: TabletService, tablets: Mapping[int, Tablet], checks: DataChecks) -> None:
        """`tablets` is the tablet server's, shared with it."""
        self._inner = inner
        self._tablets = tablets
        self._checks = checks

    @switches
    def mutate(self, tablet_id: int, mutations: Sequence[RowMutation]) -> None:
        tablet = self._users_tablet(tablet_id)
        if tablet is not None:
            self._checks.check_mutations(tablet.schema.name, mutations)
        self._inner.mutate(tablet_id, mutations)

    @switches
    def read_rows(self, tablet_id: int, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        return self._inner.read_rows(tablet_id, rows, self._narrowed(tablet_id, spec))

    @switches
    def scan(self, tablet_id: int, request: ScanRequest) -> ScanPage:
        return self._inner.scan(tablet_id, self._of_scan(tablet_id, request))

    @switches
    def scan_with_times(self, tablet_id: int, request: ScanRequest, family_times: FamilyTimes) -> ScanPage:
        return self._inner.scan_with_times(tablet_id, self._of_scan(tablet_id, request), family_times)

    @switches
    def increment(
        self, tablet_id: int, row: bytes, family: bytes, qualifier: bytes, amount: int, checksum: int = 0
    ) -> int:
        tablet = self._users_tablet(tablet_id)
        if tablet is not None:
            self._checks.check_read_and_written(tablet.schema.name, ((family, qualifier),))
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
        tablet = self._users_tablet(tablet_id)
        if tablet is not None:
            columns = [(family, qualifier) for family, qualifier, _ in values]
            self._checks.check_read_and_written(tablet.schema.name, columns)
        return self._inner.append(tablet_id, row, values, ttl_millis, checksum)

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
        tablet = self._users_tablet(tablet_id)
        if tablet is not None:
            self._checks.check_condition(tablet.schema.name, family, qualifier, mutation)
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
        tablet = self._users_tablet(tablet_id)
        if tablet is not None:
            self._checks.check_predicate(tablet.schema.name, spec.columns, mutation)
        return self._inner.mutate_if(tablet_id, row, spec, operator, value, mutation, checksum)

    @switches
    def add_to_columns(self, tablet_id: int, mutation: RowMutation) -> list[Cell]:
        tablet = self._users_tablet(tablet_id)
        if tablet is not None:
            columns = [(family, qualifier) for _, family, qualifier, _, _ in mutation.operations]
            self._checks.check_read_and_written(tablet.schema.name, columns)
        return self._inner.add_to_columns(tablet_id, mutation)

    @switches
    def delete_range(self, tablet_id: int, start_row: bytes, stop_row: bytes, timestamp: int) -> None:
        tablet = self._users_tablet(tablet_id)
        if tablet is not None:
            self._checks.check_whole_rows(tablet.schema.name, tablet.schema.families)
        self._inner.delete_range(tablet_id, start_row, stop_row, timestamp)

    def _users_tablet(self, tablet_id: int) -> Tablet | None:
        """None for one of METADATA, and for one that is not here."""
        tablet = self._tablets.get(tablet_id)
        return None if tablet is None or tablet.record.table_id == METADATA_TABLE_ID else tablet

    @switches
    def _of_scan(self, tablet_id: int, request: ScanRequest) -> ScanRequest:
        spec = self._narrowed(tablet_id, request.spec)
        return request if spec is request.spec else request.of_spec(spec)

    @switches
    def _narrowed(self, tablet_id: int, spec: ReadSpec) -> ReadSpec:
        tablet = self._users_tablet(tablet_id)
        if tablet is None:
            return spec
        columns = self._checks.readable(tablet.schema.name, spec.columns)
        if columns is spec.columns:
            return spec
        return spec.of_columns(self._there(tablet, spec.columns, columns))

    def _there(self, tablet: Tablet, asked: Columns | None, granted: Columns | None) -> Columns | None:
        """Without families to which there is a right and which the table does not have, unless they were asked for by
        name. AccessDenied when there is no other."""
        if asked is not None or granted is None:
            return granted
        found = {family: held for family, held in granted.items() if family in tablet.schema.families}
        if not found:
            raise self._checks.unreadable(tablet.schema.name)
        return found
