"""A table as the calling user may use it. Every read and write of Thrift1, Thrift2 and the admin service passes here.

HBase's order of checks: that a table is missing or disabled is told to everybody; then comes the permission; then
everything else. HBase tells everybody who gets it that a family is missing, too: so its families could be found out. To
look that up costs a read of METADATA: it is done for refused calls only.
"""

from collections.abc import Sequence
from typing import Final, NoReturn, final

from hbtable.access.data_checks import DataChecks
from hbtable.client.table_calls import AheadPage, NamedGatewayTableCalls
from hbtable.errors import (
    AccessDenied,
    CostExceeded,
    DataDamaged,
    HbtableError,
    NoSuchFamily,
    StaleLocation,
    TableNotEnabled,
    TabletWithheld,
    Unavailable,
)
from hbtable.hbase.conversion import check_families
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import Columns, ReadSpec, ScanPage, ScanRequest
from hbtable.model.table import TableState
from hbtable.switches import switches

_ASK_WHO_READS_ALL: Final = "ask somebody who may read the whole table, who is told which they are"
_TELLS_ROWS: Final = (DataDamaged, Unavailable, StaleLocation, CostExceeded)
"""Errors that name rows, or say how many cells there are."""


@final
class GuardedTable:
    """A client.table_calls.GatewayTableCalls. AccessDenied, before anything was looked at or changed."""

    __slots__ = ("_checks", "_table")

    def __init__(self, table: NamedGatewayTableCalls, checks: DataChecks) -> None:
        self._table = table
        self._checks = checks

    # ---------------------------------------------------------------- reads

    @switches
    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        table = self._table
        try:
            columns = self._checks.readable(table.name, spec.columns)
        except AccessDenied as denied:
            self._refuse(denied)
        try:
            if columns is spec.columns:
                return table.read_rows(rows, spec)
            try:
                return table.read_rows(rows, self._checks.narrowed(spec, columns))
            except NoSuchFamily:
                return table.read_rows(rows, spec.of_columns(self._of_families_there(spec.columns, columns)))
        except _TELLS_ROWS as error:
            self._hide_rows(error)
            raise

    @switches
    def scan_page(self, request: ScanRequest) -> ScanPage:
        """Each page by the rights at its time: an open scanner keeps none."""
        table, spec = self._table, request.spec
        try:
            columns = self._checks.readable(table.name, spec.columns)
        except AccessDenied as denied:
            self._refuse(denied)
        try:
            if columns is spec.columns:
                return table.scan_page(request)
            try:
                return table.scan_page(request.of_spec(self._checks.narrowed(spec, columns)))
            except NoSuchFamily:
                there = self._of_families_there(spec.columns, columns)
                return table.scan_page(request.of_spec(spec.of_columns(there)))
        except _TELLS_ROWS as error:
            self._hide_rows(error)
            raise

    @switches
    def page_ahead(self, request: ScanRequest) -> AheadPage | None:
        """By the rights at its time, too: who gives the page out asks check_scan() again."""
        spec = request.spec
        columns = self.check_scan(spec.columns)
        if columns is not spec.columns:
            request = request.of_spec(self._checks.narrowed(spec, columns))
        return self._table.page_ahead(request)

    @switches
    def check_scan(self, asked: Columns | None) -> Columns | None:
        """The part of these columns that may be seen."""
        try:
            return self._checks.readable(self._table.name, asked)
        except AccessDenied as denied:
            self._refuse(denied)

    @switches
    def check_existence(self, asked: Columns | None) -> None:
        """Whether there is something is told of what may be read as a whole."""
        try:
            self._checks.check_all_readable(self._table.name, asked)
        except AccessDenied as denied:
            self._refuse(denied)

    @switches
    def _of_families_there(self, asked: Columns | None, granted: Columns | None) -> Columns:
        """Without families to which there is a right and which the table does not have. NoSuchFamily for one of these
        that was asked for by name."""
        families = self._table.record().schema.families
        check_families(None if asked is None else granted, families, self._table.name)
        found = {family: held for family, held in (granted or {}).items() if family in families}
        if not found:
            raise self._checks.unreadable(self._table.name)
        return found

    # ---------------------------------------------------------------- writes

    @switches
    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        self.check_mutations(mutations)
        self._table.mutate(mutations)

    @switches
    def check_mutations(self, mutations: Sequence[RowMutation]) -> None:
        """All rows of a call that writes them a part at a time."""
        try:
            self._checks.check_mutations(self._table.name, mutations)
        except AccessDenied as denied:
            self._refuse(denied)

    @switches
    def check_whole_rows(self, families: Sequence[bytes]) -> None:
        """Deletes of all families; the refusal names none of them."""
        try:
            self._checks.check_whole_rows(self._table.name, families)
        except AccessDenied as denied:
            self._refuse(denied)

    @switches
    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        self.check_read_and_written(((family, qualifier),))
        try:
            return self._table.increment(row, family, qualifier, amount)
        except _TELLS_ROWS as error:
            self._hide_rows(error)
            raise

    @switches
    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]:
        self.check_read_and_written([(family, qualifier) for family, qualifier, _ in values])
        try:
            return self._table.append(row, values, ttl_millis)
        except _TELLS_ROWS as error:
            self._hide_rows(error)
            raise

    @switches
    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool:
        self.check_condition(family, qualifier, mutation)
        try:
            return self._table.check_and_mutate(row, family, qualifier, expected, mutation)
        except _TELLS_ROWS as error:
            self._hide_rows(error)
            raise

    @switches
    def mutate_if(self, row: bytes, spec: ReadSpec, operator: str, value: bytes | None, mutation: RowMutation) -> bool:
        self.check_predicate(spec.columns, mutation)
        try:
            return self._table.mutate_if(row, spec, operator, value, mutation)
        except _TELLS_ROWS as error:
            self._hide_rows(error)
            raise

    @switches
    def add_to_columns(self, mutation: RowMutation) -> list[Cell]:
        self.check_read_and_written([(family, qualifier) for _, family, qualifier, _, _ in mutation.operations])
        try:
            return self._table.add_to_columns(mutation)
        except _TELLS_ROWS as error:
            self._hide_rows(error)
            raise

    @switches
    def check_predicate(self, asked: Columns | None, mutation: RowMutation) -> None:
        try:
            self._checks.check_predicate(self._table.name, asked, mutation)
        except AccessDenied as denied:
            self._refuse(denied)

    @switches
    def delete_range(self, rows: RowRange, timestamp: int) -> None:
        """The right to write all that any row may hold."""
        self.check_whole_rows(list(self._table.record().schema.families))
        self._table.delete_range(rows, timestamp)

    @switches
    def check_condition(self, family: bytes, qualifier: bytes, mutation: RowMutation) -> None:
        try:
            self._checks.check_condition(self._table.name, family, qualifier, mutation)
        except AccessDenied as denied:
            self._refuse(denied)

    @switches
    def check_read_and_written(self, columns: Sequence[tuple[bytes, bytes]]) -> None:
        """Columns that are counted in or appended to: all of a call, also of one that changes them one by one."""
        try:
            self._checks.check_read_and_written(self._table.name, columns)
        except AccessDenied as denied:
            self._refuse(denied)

    @switches
    def _hide_rows(self, error: HbtableError) -> None:
        """Raises another error of its kind without rows and numbers, unless the caller may know all of them: those
        around a damaged place, the one that a scan has come to, the number of cells that were looked at. Where tablets
        begin is no secret."""
        if isinstance(error, TabletWithheld) or self._checks.shows_all_rows(self._table.name):
            return
        name = self._table.shown_name()
        if isinstance(error, DataDamaged):
            why = f"rows of table {name} cannot be read: {_ASK_WHO_READS_ALL}"
            raise DataDamaged(error.path, error.offset, why) from None
        if isinstance(error, CostExceeded):
            raise CostExceeded(
                f"a request on table {name} looks at more than one may, or takes longer: ask for fewer rows or columns "
                "at a time, or have the limits raised (tablet.request_cells and its like)"
            ) from None
        if type(error) in (Unavailable, StaleLocation):
            raise type(error)(f"table {name} gave no answer for some of its rows: {_ASK_WHO_READS_ALL}") from None

    @switches
    def _refuse(self, denied: AccessDenied) -> NoReturn:
        table = self._table
        record = table.record()
        if record.state in (TableState.DISABLED, TableState.DISABLING):
            raise TableNotEnabled(f"{table.shown_name()} is disabled.") from denied
        raise denied
