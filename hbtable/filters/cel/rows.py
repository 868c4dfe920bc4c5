"""Expressions in CEL as nodes of a running filter: a row passes, or gets a column that is computed from its others.

Both look at the newest version of each column that a variable stands for, among the cells that the members before them
in an AND have kept. An expression that needs a column which the row has not gives nothing: the row does not pass.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol, final

from hbtable.errors import BadFilter, CostExceeded, InvalidRequest, LimitExceeded
from hbtable.filters.asking import ASK_SECONDS, ASK_SECONDS_PER_BYTE, KEPT_BYTES, Asked
from hbtable.filters.cel.language import Variable, in_pieces, packed
from hbtable.filters.cel.program import FAILED, GIVES, LATER, QUESTION, TRUE, header
from hbtable.filters.node import INCLUDE, FilterNode
from hbtable.filters.searching import Searches
from hbtable.model.cell import Cell
from hbtable.model.values import shown
from hbtable.switches import switches

MOST_BYTES: Final = 16 << 20
"""Of the values that an expression reads of a row: the worker copies them twice."""
_MOST_CHECKED: Final = 1000

_checked: set[bytes] = set()
"""Headers of expressions that can be used: whoever reads a row with one again has no question more."""


@final
class Expression(Asked[bytes]):
    """One expression, whose values come from a worker."""

    def __init__(self, searches: Searches, source: str, variables: Sequence[Variable], is_condition: bool) -> None:
        self._parts_of = self._part_of
        self._known: dict[bytes, bytes] = {}
        self._searches = searches
        self._source = source
        self.columns = list(dict.fromkeys(variable.column for variable in variables))
        places = [(name, read_as, self.columns.index(column)) for name, read_as, column in variables]
        self._header = header(source, places, is_condition)
        self._is_for_a_worker = None
        self.needs_check = True
        searches.asked.append(self)

    @switches
    def value(self, row: bytes, cells: dict[bytes, Cell]) -> bytes:
        """An answer of program.answer() for a row, by its newest cells. InvalidRequest where the expression fails,
        LimitExceeded where it takes too long."""
        size = sum(len(cells[column][2]) for column in self.columns if column in cells)
        if size > MOST_BYTES:
            raise LimitExceeded(
                f"the CEL expression {shown(self._source)} reads {size} bytes of row {shown(row)}, and the limit is "
                f"{MOST_BYTES}; name fewer columns, or filter by a regular expression"
            )
        answer = None
        if size > KEPT_BYTES:
            parts = in_pieces(row, self._values(cells))
        else:
            parts = [self._packed(row, cells)]
            answer = self._known.get(parts[0])
        if answer is None:
            self._searches.has_asked()
            (answer,) = self.ask(parts, is_ahead=False)
            assert answer is not None
        if answer[:1] == FAILED:
            reason = answer[1:].decode("utf-8", "replace")
            raise InvalidRequest(f"the CEL expression {shown(self._source)} fails at row {shown(row)}: {reason}")
        return answer

    @switches
    def ask(self, parts: Sequence[bytes], is_ahead: bool) -> Sequence[bytes | None]:
        if not parts and self._header in _checked:
            return []
        size = sum(map(len, parts))
        try:
            reason, *answers = self._searches.ask(
                [QUESTION, self._header, *parts], ASK_SECONDS + ASK_SECONDS_PER_BYTE * size
            )
        except CostExceeded:
            raise  # of the request as a whole
        except LimitExceeded as error:
            raise LimitExceeded(
                f"the CEL expression {shown(self._source)} could not be evaluated over {size} bytes: {error}; a "
                "simpler one, or one that reads shorter cells, can"
            ) from error
        if reason:
            raise BadFilter(reason.decode("utf-8", "replace"))
        if len(_checked) >= _MOST_CHECKED:
            _checked.clear()
        _checked.add(self._header)
        return [None if answer == LATER else answer for answer in answers]

    def _part_of(self, row: bytes, cells: Sequence[Cell]) -> Iterator[bytes]:
        newest: dict[bytes, Cell] = {}
        for cell in cells:
            newest.setdefault(cell[0], cell)
        if sum(len(newest[column][2]) for column in self.columns if column in newest) <= KEPT_BYTES:
            yield self._packed(row, newest)

    def _packed(self, row: bytes, cells: dict[bytes, Cell]) -> bytes:
        return packed(row, self._values(cells))

    def _values(self, cells: dict[bytes, Cell]) -> list[bytes | None]:
        found = [cells.get(column) for column in self.columns]
        return [None if cell is None else cell[2] for cell in found]


class ExpressionNode(FilterNode, Protocol):
    """Gathers what the expression of a row needs, while the cells pass by."""

    __slots__ = ("_cells", "_columns", "_expression", "_row")

    _expression: Expression
    _columns: frozenset[bytes]
    _cells: dict[bytes, Cell]
    _row: bytes

    def reset(self) -> None:
        self._cells = {}

    def drops_row(self, row: bytes) -> bool:
        self._row = row
        return False

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        if cell[0] in self._columns:
            self._cells.setdefault(cell[0], cell)
        return INCLUDE


@final
class CelNode(ExpressionNode):
    """Whole rows, by an expression that gives true."""

    __slots__ = ()

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self._columns = frozenset(expression.columns)
        self._cells = {}
        self._row = b""

    @switches
    def rejects_row(self) -> bool:
        return self._expression.value(self._row, self._cells) != TRUE


@final
class CelProjectionNode(ExpressionNode):
    """One cell for each row, whose value is that of an expression. Its time is that of the newest cell that was used,
    or of the row's newest where none was."""

    __slots__ = ("_column",)

    def __init__(self, expression: Expression, column: bytes) -> None:
        self._expression = expression
        self._columns = frozenset(expression.columns)
        self._column = column
        self._cells = {}
        self._row = b""

    @switches
    def project(self, cells: list[Cell]) -> list[Cell]:
        answer = self._expression.value(self._row, self._cells)
        if answer[:1] != GIVES:
            return []
        millis = max(cell[1] for cell in self._cells.values() or cells)
        return [(self._column, millis, answer[1:])]
