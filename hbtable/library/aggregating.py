"""Table.aggregate: what is asked for, and the pages of its answer merged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hbtable.aggregates.groups import Groups
from hbtable.client.columns import Key, listed
from hbtable.client.given import at_least_one, bytes_of, flag
from hbtable.client.table_calls import TableCalls
from hbtable.errors import LimitExceeded, WrongType, WrongValue
from hbtable.model.aggregation import OF_ALL, OF_NUMBERS, Aggregate, Aggregation, check_aggregation
from hbtable.model.read import ScanRequest
from hbtable.model.values import shown
from hbtable.switches import switches

Asked = str | tuple[str, Key] | tuple[str, Key, str]
"""As "rows", ("count", "f:c") or ("sum", "f:c", "int64")."""


class Question(NamedTuple):
    """An aggregation, and how its results are named."""

    names: Sequence[str]
    aggregation: Aggregation
    max_groups: int

    def columns(self, named: Iterable[Key] | None, filter: object) -> list[bytes] | None:
        """Columns and families that a scan has to read for this; None: all. `named`: by the caller, if he did. A filter
        may be about any column, and lets through what it does not see. WrongValue: what he named has nothing of an
        aggregate's column."""
        if named is not None:
            read = listed(named)
            self._check_read(read)
            return read
        of_columns = [one for one in self.aggregation.aggregates if one.kind not in OF_ALL]
        if filter is not None or len(of_columns) < len(self.aggregation.aggregates):
            return None
        return list(dict.fromkeys(map(_column, of_columns)))

    def _check_read(self, columns: Sequence[bytes]) -> None:
        families = {column.partition(b":")[0] for column in columns}
        for name, one in zip(self.names, self.aggregation.aggregates, strict=True):
            if one.kind in OF_ALL or not columns:
                continue
            whole = one.family in families if one.qualifier is None else one.family in columns
            if not whole and _column(one) not in columns:
                column = shown(_column(one))
                raise WrongValue(
                    f"the aggregate {name!r} is of {column}, which 'columns' leaves out: name it there, too"
                )

    @property
    def is_grouped(self) -> bool:
        given = self.aggregation
        return bool(given.row_bytes or given.row_delimiter or given.by_column)


def _column(one: Aggregate) -> bytes:
    return one.family if one.qualifier is None else one.family + b":" + one.qualifier


def question(
    aggregates: Mapping[str, Asked],
    group_bytes: int | None,
    group_delimiter: Key | None,
    group_columns: bool,
    max_groups: int,
) -> Question:
    """InvalidRequest."""
    if not isinstance(aggregates, Mapping):
        raise WrongType(f"'aggregates' {shown(aggregates)} has to be a dict of aggregates by name: {{'n': 'rows'}}")
    for name in aggregates:
        if not isinstance(name, str):
            raise WrongType(f"the name {shown(name)} of an aggregate is {type(name).__name__}, and has to be text")
    delimiter = b"" if group_delimiter is None else bytes_of("'group_delimiter'", group_delimiter)
    if group_delimiter is not None and not delimiter:
        raise WrongValue("'group_delimiter' is empty: it is one or more bytes of the row")
    aggregation = Aggregation(
        tuple(_aggregate(name, asked) for name, asked in aggregates.items()),
        0 if group_bytes is None else at_least_one("'group_bytes'", group_bytes),
        delimiter,
        flag("'group_columns'", group_columns),
    )
    check_aggregation(aggregation)
    return Question(list(aggregates), aggregation, at_least_one("'max_groups'", max_groups))


def _aggregate(name: str, asked: object) -> Aggregate:
    if isinstance(asked, str) and asked in OF_ALL:
        return Aggregate(asked)
    kind, *rest = asked if isinstance(asked, tuple) and asked else (asked,)
    if not isinstance(kind, str):
        raise WrongType(f"the aggregate {name!r} is {shown(asked)}: it is as 'rows' or ('sum', 'f:c', 'int64')")
    if kind in OF_ALL or len(rest) != 1 + (kind in OF_NUMBERS):
        wants = ("a column, and what it is read as: ('sum', 'f:c', 'int64')", "a column: ('count', 'f:c')")
        want = "no column: 'rows', 'cells', 'last'" if kind in OF_ALL else wants[kind not in OF_NUMBERS]
        check_aggregation(Aggregation((Aggregate(kind, b"", None, "int64"),)))  # there is one of this name
        raise WrongValue(f"the aggregate {name!r} is {shown(asked)}, and {kind!r} has {want}")
    column, read_as = rest[0], rest[1] if len(rest) > 1 else ""
    if not isinstance(read_as, str):
        raise WrongType(f"the aggregate {name!r} is read as {shown(read_as)}, which has to be text, as 'int64'")
    family, colon, qualifier = bytes_of("the column", column).partition(b":")
    return Aggregate(kind, family, qualifier if colon else None, read_as)


@switches
def aggregated(table: TableCalls, request: ScanRequest, asked: Question) -> Any:
    """Results by name; of groups by the group's bytes, ascending. LimitExceeded names 'max_groups'."""
    groups = Groups(asked.aggregation)
    request = replace(request, aggregation=asked.aggregation)
    while True:
        page = table.scan_page(request)
        if page.aggregated is not None:
            groups.merge(page.aggregated.groups)
        else:
            groups.add_rows(page.rows)  # of a server that knows no aggregates yet
        if len(groups) > asked.max_groups:
            raise LimitExceeded(
                f"there are more groups than 'max_groups' = {asked.max_groups}: group by less of the row, ask for "
                "fewer rows, or raise it"
            )
        if page.next is None:
            break
        request = replace(request, position=page.next)
    results = {key: dict(zip(asked.names, found, strict=True)) for key, found in groups.results().items()}
    return results if asked.is_grouped else results[b""]
