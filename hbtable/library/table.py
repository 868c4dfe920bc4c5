"""A table of the library: rows, and what there is to know of the table itself."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, final

from hbtable.client.columns import K, Key, full, listed, write_time
from hbtable.client.filter_text import Filter
from hbtable.client.given import at_least_one, bytes_of
from hbtable.client.rows import Rows, TimeRange, row_range, scan_spec
from hbtable.client.table_calls import DescribedTableCalls
from hbtable.client.whole_rows import Families, with_all_families
from hbtable.errors import InvalidRequest, WrongType, WrongValue
from hbtable.hbase.regions import Region
from hbtable.library import aggregating
from hbtable.library.options import FamilyDescription, described_family
from hbtable.library.row_changes import Comparison, RowChanges
from hbtable.model.additions import added_to
from hbtable.model.condition import ALWAYS, ANY_CELL, comparison
from hbtable.model.file_settings import families_as_done
from hbtable.model.mutation import RowMutation
from hbtable.model.read import AGGREGATED_ROWS, ReadSpec, ScanRequest
from hbtable.model.status import TabletSize
from hbtable.model.usage import FamilyUsage
from hbtable.model.values import shown
from hbtable.switches import switches

if TYPE_CHECKING:
    from pyarrow import DataType, RecordBatchReader

_DELETES_AT_ONCE = 1000
_NOTHING = ReadSpec(columns={})
_KEYS_ONLY = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"


class RegionDescription(TypedDict):
    """A tablet as happybase shows it. In a database of this process no server is asked for: b"" and 0."""

    start_key: bytes
    end_key: bytes
    id: int
    """Milliseconds since 1970: when it was made."""
    name: bytes
    version: int
    server_name: bytes
    port: int


class TableOwner(Protocol):
    """A Database, as its tables know it."""

    def regions_of(self, name: bytes) -> list[RegionDescription]: ...
    def usage_of(self, name: bytes) -> list[FamilyUsage]: ...
    def sizes_of(self, name: bytes) -> list[TabletSize]: ...
    def close(self) -> None: ...


@final
class Table(Rows):
    """A table by its name (Database.table): all of happybase's Table. It refers to its `connection`, which is not
    closed before nobody refers to either."""

    __slots__ = ("connection",)

    def __init__(self, table: DescribedTableCalls, connection: TableOwner) -> None:
        super().__init__(table)
        self.connection = connection

    @switches
    def families(self) -> dict[bytes, FamilyDescription]:
        """The families by name, with happybase's options. schema() has all options."""
        families = families_as_done(self.schema())
        return {name: described_family(families[name]) for name in sorted(families)}

    def regions(self) -> list[RegionDescription]:
        """Ascending by row; [] when there is no such table."""
        return self.connection.regions_of(self.name)

    def usage(self) -> list[FamilyUsage]:
        """Disk, memory, cells and requests of each column family, ascending by name; of families that share a locality
        group together. Of the tablets that are served now: [] of a disabled table. TableNotFound; AccessDenied for a
        user who may not see the families; Unavailable when a server does not answer."""
        return self.connection.usage_of(self.name)

    def sample_row_keys(self) -> list[tuple[bytes, int]]:
        """Row keys that cut the table at its tablets, ascending, each with about how many bytes lie before it on disk
        and in memory. As in Cloud Bigtable the last key is b"", the end of the table, whose bytes are those of all. A
        tablet grows to the table's `split_bytes` before it is split, so pieces of a large table are of about one size;
        a small table is one piece, which hbtable.dataflow.splits() cuts further. TableNotFound; AccessDenied for a user
        who may not see where tablets are."""
        samples: list[tuple[bytes, int]] = []
        before = 0
        for tablet in self.connection.sizes_of(self.name):
            before += tablet.size_bytes
            samples.append((tablet.rows.stop, before))
        return samples

    @switches
    def to_arrow(
        self,
        columns: "Mapping[K, DataType | None] | Iterable[Key] | None" = None,
        *,
        row_start: Key | None = None,
        row_stop: Key | None = None,
        row_prefix: Key | None = None,
        filter: Key | Filter | None = None,
        timestamp: int | None = None,
        time_range: TimeRange | None = None,
        versions: int | None = None,
        batch_rows: int = 10_000,
        row: str = "row",
    ) -> "RecordBatchReader":
        """A scan as Arrow's record batches (`pip install 'hbtable[arrow]'`). They are read as they are asked for.

        `columns` as types by name gives a record a row: a field `row`, and one of that type for each column (None: the
        bytes as they are), null where the row has no such column. Numbers are big-endian in the table, text is UTF-8,
        lists and structs are JSON. A value that is not such a one ends the reading with a WrongValue, which names it.
        Rows with none of the columns are left out, as by scan().

        `columns` as names of columns and families, or None for all, gives a record a cell, of the fields `row`, column,
        timestamp and value. Of each column there are at most `versions` (1).

        A batch is what is read at a time: at most `batch_rows` rows, and fewer where they are large. The other
        arguments are scan()'s. Like a scan it is not a snapshot.
        """
        forms, reading = _arrow("to_arrow", "hbtable.arrow.forms", "hbtable.library.arrow_reading")
        is_wide = isinstance(columns, Mapping)
        if is_wide and not columns:
            raise WrongValue("'columns' has no column: give some their types, or leave it out for a record a cell")
        if is_wide and versions not in (None, 1):
            raise WrongValue("with types in 'columns' a record has one value of each column; give names for 'versions'")
        batch_rows = at_least_one("'batch_rows'", batch_rows)
        rows = row_range(row_start, row_stop, row_prefix)
        spec = scan_spec(columns, filter, timestamp, versions, time_range)
        pieces = 0 if is_wide or filter is not None else forms.CELLS_AT_ONCE
        form = forms.WideForm(forms.wide_columns(columns), row) if is_wide else forms.LongForm(row)
        by_column = tuple((one.family, one.qualifier) for one in form.columns) if is_wide else ()
        request = ScanRequest(rows, spec, cells_per_row=pieces, max_rows=batch_rows, by_column=by_column)
        reader: RecordBatchReader = reading.batch_reader(form, self.table, request)
        return reader

    @switches
    def aggregate(
        self,
        aggregates: Mapping[str, aggregating.Asked],
        *,
        group_bytes: int | None = None,
        group_delimiter: Key | None = None,
        group_columns: bool = False,
        columns: Iterable[Key] | None = None,
        row_start: Key | None = None,
        row_stop: Key | None = None,
        row_prefix: Key | None = None,
        filter: Key | Filter | None = None,
        timestamp: int | None = None,
        time_range: TimeRange | None = None,
        versions: int | None = None,
        max_groups: int = 100_000,
    ) -> Any:
        """Numbers computed of a scan's rows, where their tablets are: no row is sent. A dict by the names in
        `aggregates`, whose values are "rows", "cells", "last" (the last row), ("count", column), ("distinct", column),
        or ("sum", column, read_as) and likewise "min", "max", "avg". A column is `family:qualifier`, or a family for
        all of its columns. `read_as`: int8 to int64, uint8 to uint64, float, double, big-endian; "number", a decimal
        number as text. A value that is not such a one ends the call with a WrongValue, which names it.

        Counts and sums are exact, sums and averages of floats rounded once. Of no values sum, min, max and avg are
        None. Min and max pass over NaN. "distinct" is exact up to 512 values, then an estimate with a standard error of
        1.6 %.

        With one of `group_bytes` (so many first bytes of the row), `group_delimiter` (the row up to it) and
        `group_columns` (each column) the result is a dict of such dicts by group, ascending; LimitExceeded when there
        are more than `max_groups`.

        `columns` None: those that the aggregates name; all, with "rows", "cells", "last" or a `filter`. Rows with none
        of them are left out, as by scan(), whose arguments the others are. Like a scan it is not a snapshot.
        """
        asked = aggregating.question(aggregates, group_bytes, group_delimiter, group_columns, max_groups)
        rows = row_range(row_start, row_stop, row_prefix)
        spec = scan_spec(asked.columns(columns, filter), filter, timestamp, versions, time_range)
        return aggregating.aggregated(self.table, ScanRequest(rows, spec, max_rows=AGGREGATED_ROWS), asked)

    @switches
    def write_arrow(
        self,
        batches: object,
        row: str,
        columns: "Mapping[str, Key] | Iterable[str] | None" = None,
        *,
        types: "Mapping[K, DataType | None] | None" = None,
        timestamp: int | None = None,
    ) -> int:
        """Puts a row for each record of Arrow's (`pip install 'hbtable[arrow]'`); how many. All are durable on return.

        `batches`: a reader, a table, a record batch, an iterable of these, or whatever else exports Arrow's streams, as
        DuckDB's results do. `row` names the field of rows. `columns` are columns by field; other fields are left out.
        Without it, or as names of fields, these are the columns' names. Values become the bytes that to_arrow() reads:
        numbers big-endian, text as UTF-8, lists, structs and maps as JSON, booleans a byte. A null is no cell: what the
        row has in that column stays.

        `types`, by column as those of to_arrow(), say what the values are to be read as: WrongValue where a value is
        none of these: a float of 2**53 or more is no whole number, nor is a time of day a date. Floats are rounded to
        shorter ones. WrongType where the types do not fit, as for a time that is to be a number of no unit. Without it
        they are what their fields are, and a time is a number of the unit of its field, which is not stored.

        Rows are written a thousand at a time, each by itself atomic; an error has a note that says how many rows were
        written before. With a `timestamp` a second call leaves the same cells.
        """
        (writing,) = _arrow("write_arrow", "hbtable.library.arrow_writing")
        count: int = writing.written(self.table, batches, row, columns, types, write_time(timestamp))
        return count

    @switches
    def put_frame(
        self,
        frame: object,
        row: str | None = None,
        columns: "Mapping[str, Key] | Iterable[str] | None" = None,
        *,
        types: "Mapping[K, DataType | None] | None" = None,
        timestamp: int | None = None,
    ) -> int:
        """As write_arrow(), of a DataFrame of pandas or Polars. `row` None: pandas' index. A missing value of pandas
        (None, NaN) is no cell. Whole numbers with missing ones are floats in pandas, and times have the unit that it
        chose: `types` make them what they are to be."""
        (writing,) = _arrow("put_frame", "hbtable.library.arrow_writing")
        time = write_time(timestamp)
        batches, field = writing.frame_batches(frame, row)
        count: int = writing.written(self.table, batches, field, columns, types, time)
        return count

    @switches
    def mutate_row(self, row: Key, changes: RowChanges) -> None:
        """All `changes` or none; durable on return. Those with an increment or an append are never repeated by
        themselves: after OutcomeUnknown they were made once or not at all."""

        @switches
        def change(families: Families) -> None:
            mutation = _mutation(row, changes, families)
            if added_to(mutation):
                self.table.mutate_if(mutation.row, _NOTHING, ALWAYS, None, mutation)
            else:
                self.table.mutate([mutation])

        with_all_families(self._families, change)

    @switches
    def check_and_mutate(
        self,
        row: Key,
        column: Key,
        operator: Comparison,
        value: Key | None,
        changes: RowChanges,
        *,
        time_range: TimeRange | None = None,
    ) -> bool:
        """Makes `changes` if the newest value of `column` stands in this relation to `value`, bytes being compared:
        "<" means that the stored one is smaller. Whether it did; durable on return.

        `time_range`: the newest value of that time, as of row(). A missing value meets "=" None alone, and any value
        that is there meets "!=" None. For "=" an empty value and none are the same (HBase).
        """
        comparison(operator)
        spec = None if time_range is None else scan_spec([column], None, None, None, time_range)

        @switches
        def change(families: Families) -> bool:
            mutation = _mutation(row, changes, families)
            return self._mutate_if(column, operator, value, mutation, spec)

        return with_all_families(self._families, change)

    @switches
    def _mutate_if(
        self, column: Key, operator: Comparison, value: Key | None, mutation: RowMutation, timed: ReadSpec | None
    ) -> bool:
        family, qualifier = full(column)
        given = None if value is None else bytes_of("the value", value)
        if given is None and operator not in ("=", "!="):
            raise WrongType(f"None has no order: compare it with '=' or '!=', not {operator!r}")
        if operator == "=" and timed is None:
            return self.table.check_and_mutate(mutation.row, family, qualifier, given, mutation)
        spec = (timed or ReadSpec()).of_columns({family: frozenset((qualifier,))})
        return self.table.mutate_if(mutation.row, spec, operator, given, mutation)

    @switches
    def mutate_if(
        self,
        row: Key,
        changes: RowChanges,
        columns: Sequence[Key] | None = None,
        *,
        filter: Key | Filter | None = None,
        time_range: TimeRange | None = None,
    ) -> bool:
        """Makes `changes` if the row has a cell of `columns` (families, too; None: any) and of `time_range` that
        `filter` lets through: if row() with these arguments would not be {}. Whether it did; durable on return.

        The look and the change are one step. LimitExceeded when the row is larger than an answer may be: name columns.
        """
        spec = scan_spec(columns, filter, None, None, time_range)

        @switches
        def change(families: Families) -> bool:
            mutation = _mutation(row, changes, families)
            return self.table.mutate_if(mutation.row, spec, ANY_CELL, None, mutation)

        return with_all_families(self._families, change)

    @switches
    def delete_rows(
        self,
        row_start: Key | None = None,
        row_stop: Key | None = None,
        row_prefix: Key | None = None,
        columns: Iterable[Key] | None = None,
        timestamp: int | None = None,
    ) -> int:
        """Deletes all rows of a range, or with a prefix, or `columns` of them: how many had something. Row by row: who
        reads meanwhile sees some of them gone. Of very many rows delete_range() is quicker, and for all rows of a
        table there is Database.truncate_table."""
        if not row_start and not row_stop and not row_prefix:
            raise WrongType("give 'row_start', 'row_stop' or 'row_prefix'; truncate_table() deletes all rows")
        names = None if columns is None else listed(columns)
        if names == []:
            return 0
        rows = 0
        with self.batch(timestamp=timestamp, batch_size=_DELETES_AT_ONCE) as batch:
            for row, _ in self.scan(row_start, row_stop, row_prefix, names, filter=_KEYS_ONLY):
                batch.delete(row, names)
                rows += 1
        return rows

    @switches
    def delete_range(
        self,
        row_start: Key | None = None,
        row_stop: Key | None = None,
        row_prefix: Key | None = None,
        timestamp: int | None = None,
    ) -> None:
        """Deletes all rows of a range, or with a prefix, whatever they hold: with one change in each tablet, however
        many rows there are, and nothing of them is read later on. It takes what is there: cells later than `timestamp`
        stay, and all that is written afterwards, also with older timestamps. Tablet by tablet: after OutcomeUnknown
        some rows may be deleted, and others not. Each call costs a minor compaction: few rows are better deleted by
        delete_rows()."""
        if not row_start and not row_stop and not row_prefix:
            raise WrongType("give 'row_start', 'row_stop' or 'row_prefix'; truncate_table() deletes all rows")
        self.table.delete_range(row_range(row_start, row_stop, row_prefix, False), write_time(timestamp))


def _arrow(method: str, *modules: str) -> list[Any]:
    """Modules that need pyarrow, which is an extra. InvalidRequest."""
    try:
        return [import_module(module) for module in modules]
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
    raise InvalidRequest(f"{method} needs pyarrow, which is not installed: pip install 'hbtable[arrow]'")


@switches
def _mutation(row: Key, changes: RowChanges, families: Families) -> RowMutation:
    if not isinstance(changes, RowChanges):
        raise WrongType(f"'changes' {shown(changes)} has to be hbtable.RowChanges")
    return changes.of(bytes_of("the row", row), families)


def described(region: Region) -> RegionDescription:
    return {
        "start_key": region.start_row,
        "end_key": region.stop_row,
        "id": region.created_millis,
        "name": region.name,
        "version": 1,
        "server_name": region.host or b"",
        "port": region.port or 0,
    }
