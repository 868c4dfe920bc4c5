"""Runs a filter over the rows of one scan (docs/contract.md: filters).

For each row in scan order: skips_row(row), and when that is False, apply() with the row's cells. A page of a scan ends
between rows; state() taken there, handed to start(), goes on as if nothing had happened. A row that is cut into pieces
is filtered again for each piece, so the state to keep is the one before the row.

Unlike HBase, a version beyond those asked for is never shown to a filter.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import assert_never, final

from hbtable.errors import InvalidRequest
from hbtable.filters import cell_filters as cells_
from hbtable.filters import expression as ex
from hbtable.filters import row_filters as rows_
from hbtable.filters.asking import Ask, PartsOf
from hbtable.filters.cel.rows import CelNode, CelProjectionNode, Expression
from hbtable.filters.column_bounds import FORGETFUL, Spans, column_bounds
from hbtable.filters.comparators import test_of
from hbtable.filters.lists import AllNode, AnyNode, SkipNode, WhileNode
from hbtable.filters.node import INCLUDE, NEXT_FAMILY, STEP, FilterNode
from hbtable.filters.searching import Searches, here
from hbtable.model.cell import Cell
from hbtable.switches import switches

Pause = Callable[[], object]
"""Lets other tasks run when it is time. *Switches.*"""

_WORK_BETWEEN_PAUSES = 1024
"""Filters asked, about 0.3 us each."""

_BEGINNING = (b"", 0, 0)
"""Of a row: the column, how many of its versions may still pass, and the step that its last cell asked for."""

_PREFIXES_PER_WORK = 16
"""Prefixes of a MultipleColumnPrefixFilter that cost as much as asking a filter."""


def _go_on() -> None:
    pass


def start(
    expression: ex.Expression, is_reversed: bool = False, state: bytes = b"", pause: Pause = _go_on, ask: Ask = here
) -> "RowFilter":
    """A fresh evaluation, or the continuation of the one whose state() was `state` (InvalidRequest when it was not
    this expression's). `pause` is called again and again while it works, `ask` where a search may take long."""
    searches = Searches(ask, pause)
    root = _node_of(expression, is_reversed, searches)
    if state and root.load(state, 0) != len(state):
        raise InvalidRequest("the filter state of the scan's position belongs to another filter")
    return RowFilter(root, expression, searches, pause)


# Once the row key has passed, these keep every cell.
_ROWWISE = (ex.Page, ex.Prefix, ex.InclusiveStop, ex.RowKey, ex.All)


@final
class RowFilter:
    """One scan's filter. Not to be shared between scans: it remembers rows."""

    __slots__ = (
        "_cellwise",
        "_expression",
        "_mid_row_end",
        "_part_row",
        "_pause",
        "_place",
        "_root",
        "_transforms",
        "_weight",
        "_work",
        "is_forgetful",
        "needs_versions",
        "searches",
    )

    def __init__(self, root: FilterNode, expression: ex.Expression, searches: Searches, pause: Pause) -> None:
        self._root = root
        self._expression = expression
        self._part_row = b""
        """The row of the last part."""
        self.searches = searches
        self._pause = pause
        self._weight = _weight(expression)
        self._work = 0  # since the last pause
        self._place = _BEGINNING
        self._cellwise = _holds(expression, lambda leaf: not isinstance(leaf, _ROWWISE))
        self._transforms = _holds(expression, lambda leaf: isinstance(leaf, ex.KeyOnly))
        self._mid_row_end = _holds(expression, lambda leaf: isinstance(leaf, ex.While))
        self.is_forgetful = not _holds(expression, _remembers_cells)
        """Within a row it depends on no cell that was shown before, but for the versions of a column, and keeps what
        passes whatever follows: apply() may begin with any column of a row that skips_row() lets pass."""
        self.needs_versions = _holds(expression, _minds_versions)
        """False: only the newest version of a column can matter, so `max_versions` of them are enough for apply()."""

    @property
    def finished(self) -> bool:
        """Whether no later row can pass. Asked before each row."""
        return self._root.is_finished()

    def state(self) -> bytes:
        """The state for the next page; to be taken between rows, some bytes for each filter that remembers rows."""
        out = bytearray()
        self._root.save(out)
        return bytes(out)

    @switches
    def skips_row(self, row: bytes) -> bool:
        """The row-key stage: True when the row is dropped whatever it holds."""
        self._work += self._weight
        if self._work >= _WORK_BETWEEN_PAUSES:
            self._work = 0
            self._pause()
        self._root.reset()
        self._place = _BEGINNING
        return self._root.drops_row(row)

    @switches
    def apply(self, row: bytes, cells: Sequence[Cell], max_versions: int) -> list[Cell]:
        """The cells of `row` that pass, at most `max_versions` a column; [] drops the row. `cells`: every version that
        the family and the time range allow, in key order, or only `max_versions` a column if not needs_versions."""
        return self.end(self._kept(cells, max_versions) if self._cellwise else _limited(cells, max_versions))

    @switches
    def part(self, row: bytes, cells: list[Cell], max_versions: int) -> list[Cell]:
        """As apply(), of a long row that comes in parts: those that pass as far as can be told before its end()."""
        self._part_row = row
        if self.searches.may_ask:
            self.searches.ahead([(row, cells)])
        if not self._cellwise:
            return cells  # needs_versions is False: there are no more than `max_versions`
        return self._kept(cells, max_versions, in_parts=True)

    def column_bounds(self) -> list[Spans]:
        """Cells that lie within no span of one of these need not be shown."""
        return column_bounds(self._expression)

    def ends_row(self, row: bytes) -> bool:
        """The parts of the row that were shown so far are all that matters of it."""
        if row != self._part_row:
            return False
        return self._root.is_done_with_row() or (self._mid_row_end and self._root.is_finished())

    def ends_family(self, row: bytes, family: bytes) -> bool:
        """The same of that family in it, in which the last cell was."""
        column, _, step = self._place
        return row == self._part_row and step == NEXT_FAMILY and column.startswith(family + b":")

    @switches
    def end(self, kept: list[Cell]) -> list[Cell]:
        """The row stage, for what is left of the row."""
        if not kept:
            return kept
        kept = self._root.sift(kept)
        if not kept or self._root.rejects_row():
            return []
        return self._root.project(kept)

    @switches
    def _kept(self, cells: Sequence[Cell], max_versions: int, in_parts: bool = False) -> list[Cell]:
        """The cell stage; goes on where it was in the row, for one that comes `in_parts`."""
        root = self._root
        decide = root.cell
        kept: list[Cell] = []
        column = family = qualifier = b""
        left = step = 0
        if in_parts:
            if self._mid_row_end and root.is_finished():
                return kept
            column, left, step = self._place
            family, _, qualifier = column.partition(b":")
        self._work += self._weight * len(cells)
        for cell in cells if self._work < _WORK_BETWEEN_PAUSES else self._paused(cells):
            name = cell[0]
            if name != column:
                column = name
                cut = name.index(b":")
                qualifier = name[cut + 1 :]
                if family != name[:cut]:
                    family = name[:cut]
                    step = 0
                elif step != NEXT_FAMILY:
                    step = 0
                left = max_versions
            if step or not left:
                continue
            code = decide(cell, family, qualifier)
            if code & INCLUDE:
                left -= 1
                kept.append(root.transform(cell) if self._transforms else cell)
            step = code & STEP
            if self._mid_row_end and root.is_finished():
                break
        if in_parts:
            self._place = column, left, step
        return kept

    @switches
    def _paused(self, cells: Sequence[Cell]) -> Iterator[Cell]:
        self._work = 0
        chunk = max(1, _WORK_BETWEEN_PAUSES // self._weight)
        for begin in range(0, len(cells), chunk):
            self._pause()
            yield from cells[begin : begin + chunk]


def _limited(cells: Sequence[Cell], max_versions: int) -> list[Cell]:
    """The newest `max_versions` of each column."""
    kept: list[Cell] = []
    column, left = b"", 0
    for cell in cells:
        if cell[0] != column:
            column, left = cell[0], max_versions
        if left:
            left -= 1
            kept.append(cell)
    return kept


def _node_of(expression: ex.Expression, is_reversed: bool, searches: Searches) -> FilterNode:  # noqa: C901 -- one case a filter
    match expression:
        case ex.All(members):
            sees_all = _holds(expression, lambda leaf: isinstance(leaf, ex.Cel | ex.CelProjection))
            return AllNode([_node_of(member, is_reversed, searches) for member in members], sees_all)
        case ex.AnyOf(members):
            return AnyNode([_node_of(member, is_reversed, searches) for member in members])
        case ex.Skip(member):
            return SkipNode(_node_of(member, is_reversed, searches))
        case ex.While(member):
            return WhileNode(_node_of(member, is_reversed, searches))
        case ex.Prefix(prefix):
            return rows_.PrefixNode(prefix, is_reversed)
        case ex.InclusiveStop(row):
            return rows_.InclusiveStopNode(row, is_reversed)
        case ex.RowKey(comparison):
            return rows_.RowKeyNode(test_of(comparison, searches, _row))
        case ex.Page(rows):
            return rows_.PageNode(rows)
        case ex.SingleColumnValue(column, comparison, drop, latest, exclude):
            return rows_.SingleColumnValueNode(
                column, test_of(comparison, searches, _values_of(column)), drop, latest, exclude
            )
        case ex.DependentColumn(column, drop, wanted):
            passes = None if wanted is None else test_of(wanted, searches, _values_of(column))
            return rows_.DependentColumnNode(column, drop, passes)
        case ex.KeyOnly(length_as_value):
            return cells_.KeyOnlyNode(length_as_value)
        case ex.FirstKeyOnly():
            return cells_.FirstKeyOnlyNode()
        case ex.ColumnPrefix(prefixes):
            return cells_.ColumnPrefixNode(prefixes)
        case ex.ColumnCountGet(limit):
            return cells_.ColumnCountGetNode(limit)
        case ex.ColumnPagination(limit, offset):
            return cells_.ColumnPaginationNode(limit, offset)
        case ex.Timestamps(millis):
            return cells_.TimestampsNode(millis)
        case ex.Family(comparison):
            return cells_.FamilyNode(test_of(comparison, searches, _families))
        case ex.Qualifier(comparison):
            return cells_.QualifierNode(test_of(comparison, searches, _qualifiers))
        case ex.Value(comparison):
            return cells_.ValueNode(test_of(comparison, searches, _values))
        case ex.ColumnRange():
            return cells_.ColumnRangeNode(expression)
        case ex.ColumnValue(column, comparison):
            return cells_.ColumnValueNode(column, test_of(comparison, searches, _values_of(column)))
        case ex.Cel(source, variables):
            return CelNode(Expression(searches, source, variables, is_condition=True))
        case ex.CelProjection(column, source, variables):
            return CelProjectionNode(Expression(searches, source, variables, is_condition=False), column)
    assert_never(expression)


def _row(row: bytes, cells: Sequence[Cell]) -> Sequence[bytes]:
    return (row,)


def _families(row: bytes, cells: Sequence[Cell]) -> Iterable[bytes]:
    return {column[: column.index(b":")] for column, _, _ in cells}


def _qualifiers(row: bytes, cells: Sequence[Cell]) -> Iterator[bytes]:
    return (column[column.index(b":") + 1 :] for column, _, _ in cells)


def _values(row: bytes, cells: Sequence[Cell]) -> Iterator[bytes]:
    return (value for _, _, value in cells)


def _values_of(wanted: bytes) -> PartsOf:
    return lambda row, cells: (value for column, _, value in cells if column == wanted)


def _holds(expression: ex.Expression, wanted: Callable[[ex.Expression], bool]) -> bool:
    """Whether the expression or one inside it is wanted."""
    if isinstance(expression, ex.All | ex.AnyOf):
        return wanted(expression) or any(_holds(member, wanted) for member in expression.members)
    if isinstance(expression, ex.Skip | ex.While):
        return wanted(expression) or _holds(expression.member, wanted)
    return wanted(expression)


def _weight(expression: ex.Expression) -> int:
    """The number of filters that are asked about a cell."""
    match expression:
        case ex.All(members) | ex.AnyOf(members):
            return 1 + sum(map(_weight, members))
        case ex.Skip(member) | ex.While(member):
            return 1 + _weight(member)
        case ex.ColumnPrefix(prefixes):
            return 1 + len(prefixes) // _PREFIXES_PER_WORK
    return 1


def _remembers_cells(expression: ex.Expression) -> bool:
    return isinstance(expression, ex.Page) or not isinstance(expression, (*FORGETFUL, ex.All, ex.AnyOf))


def _minds_versions(expression: ex.Expression) -> bool:
    """Whether it can reject the newest version of a column and keep an older one."""
    if isinstance(expression, ex.SingleColumnValue):
        return not expression.latest_version_only
    return isinstance(expression, ex.Value | ex.Timestamps | ex.ColumnValue | ex.DependentColumn)
