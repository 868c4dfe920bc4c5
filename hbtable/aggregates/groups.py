"""Rows become groups. A group is there when a row of it is, also where no aggregate found a value."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, final

from hbtable.aggregates.states import State, state_of
from hbtable.aggregates.values import NoNumber, numbers
from hbtable.errors import WrongValue
from hbtable.model.aggregation import OF_ALL, OF_NUMBERS, AggregatedGroup, Aggregation
from hbtable.model.cell import Row
from hbtable.model.read import RowsByColumn
from hbtable.model.values import shown
from hbtable.switches import switches_if_given

_GROUP_BYTES: Final = 200
_VALUES_BETWEEN_PAUSES: Final = 128
"""To read one as a number and to add it to a sum takes 1 to 2 us."""
_ROW_IS_VALUES: Final = 2
"""A row takes as long as so many values, to find its group."""
_STATE_IS_VALUES: Final = 8
"""A state takes as long as so many values, to be made, told or merged."""

Pause = Callable[[], object]
ColumnName = tuple[bytes, bytes]
_Cells = Iterator[tuple[bytes, bytes, bytes]]
"""Row, column and value."""


def _goes_on() -> None:
    """For whoever keeps nobody waiting."""


def _turns(pause: Pause) -> Callable[[int], None]:
    """To be told of so many values more: it calls `pause` after each few hundred."""
    done = 0

    def turn(values: int) -> None:
        nonlocal done
        done += values
        if done >= _VALUES_BETWEEN_PAUSES:
            done = 0
            pause()

    return turn


def _slices(values: Sequence[Any], turn: Callable[[int], None]) -> Iterator[Sequence[Any]]:
    """All of them, some at a time."""
    for first in range(0, len(values), _VALUES_BETWEEN_PAUSES):
        some = values[first : first + _VALUES_BETWEEN_PAUSES]
        yield some
        turn(len(some))


@final
class _PagePart:
    """The part of a page that is in a group."""

    __slots__ = ("cells", "last", "rows", "values")

    def __init__(self, sources: int) -> None:
        self.rows = 0
        self.cells = 0
        self.last = b""
        self.values: list[list[bytes]] = [[] for _ in range(sources)]
        """Of each column, or family, that is asked for."""


@final
class Groups:
    """The groups of an aggregation, whose rows are added, or that are merged with those of others. `size_bytes`: about
    what they take."""

    __slots__ = ("_aggregation", "_column_sources", "_numbers", "_parts", "_sources", "_states", "size_bytes")

    def __init__(self, aggregation: Aggregation) -> None:
        self._aggregation = aggregation
        self._states: dict[bytes, list[State]] = {}
        self._parts: dict[bytes, _PagePart] = {}
        self._sources = list(
            dict.fromkeys((one.family, one.qualifier) for one in aggregation.aggregates if one.kind not in OF_ALL)
        )
        self._numbers = {source: number for number, source in enumerate(self._sources)}
        self._column_sources: dict[bytes, tuple[int, ...]] = {}
        """Of the columns of a page."""
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._states)

    # ---------------------------------------------------------------- rows

    @switches_if_given
    def add_rows(self, rows: Sequence[Row], pause: Pause = _goes_on) -> None:
        """Whole rows of a page. WrongValue names row, column and value of what is no number as asked."""
        add = self._add_by_column if self._aggregation.by_column else self._add_row
        turn = _turns(pause)
        for row in rows:
            add(row, turn)
            turn(_ROW_IS_VALUES)
        self._close(lambda: ((row, column, value) for row, cells in rows for column, _, value in cells), pause)

    @switches_if_given
    def _add_row(self, given: Row, turn: Callable[[int], None]) -> None:
        row, cells = given
        part = self._part(self._group_of(row))
        part.rows += 1
        part.last = max(part.last, row)
        part.cells += len(cells)
        if self._sources:
            for some in _slices(cells, turn):
                for column, _, value in some:
                    for source in self._sources_of(column):
                        part.values[source].append(value)

    @switches_if_given
    def _add_by_column(self, given: Row, turn: Callable[[int], None]) -> None:
        last = None
        for some in _slices(given[1], turn):
            for column, _, value in some:
                part = self._part(column)
                part.last = max(part.last, given[0])
                part.rows += column != last
                part.cells += 1
                last = column
                for source in self._sources_of(column):
                    part.values[source].append(value)

    @switches_if_given
    def add_columns(
        self, pieces: Sequence[RowsByColumn], columns: Sequence[ColumnName], pause: Pause = _goes_on
    ) -> None:
        """As add_rows(), of a page by these columns."""
        names = [family + b":" + qualifier for family, qualifier in columns]
        by_row = self._aggregation.row_bytes or self._aggregation.row_delimiter
        turn = _turns(pause)
        for piece in pieces:
            if by_row:
                for places in _slices(range(len(piece.rows)), turn):
                    self._add_piece_by_row(piece, names, places, turn)
            else:
                self._add_piece(piece, names, turn)
        self._close(
            lambda: (
                (row, name, value)
                for piece in pieces
                for at, row in enumerate(piece.rows)
                for name, column in zip(names, piece.columns, strict=True)
                if (value := column[at]) is not None
            ),
            pause,
        )

    @switches_if_given
    def _add_piece(self, piece: RowsByColumn, names: Sequence[bytes], turn: Callable[[int], None]) -> None:
        by_column = self._aggregation.by_column
        if not by_column and piece.rows:
            whole = self._part(b"")
            whole.rows += len(piece.rows)
            whole.last = max(whole.last, piece.rows[-1])
        for name, column in zip(names, piece.columns, strict=True):
            values = [value for value in column if value is not None]
            turn(len(column))
            if not values:
                continue
            part = self._part(name if by_column else b"")
            part.cells += len(values)
            if by_column:
                part.rows += len(values)
                last = next(row for row, value in zip(piece.rows[::-1], column[::-1], strict=True) if value is not None)
                part.last = max(part.last, last)
            for source in self._sources_of(name):
                part.values[source] += values

    @switches_if_given
    def _add_piece_by_row(
        self, piece: RowsByColumn, names: Sequence[bytes], places: Sequence[int], turn: Callable[[int], None]
    ) -> None:
        parts = [self._part(self._group_of(piece.rows[at])) for at in places]
        for part, at in zip(parts, places, strict=True):
            part.rows += 1
            part.last = max(part.last, piece.rows[at])
        for name, column in zip(names, piece.columns, strict=True):
            sources = self._sources_of(name)
            for part, at in zip(parts, places, strict=True):
                value = column[at]
                if value is not None:
                    part.cells += 1
                    for source in sources:
                        part.values[source].append(value)
            turn(len(places))

    def _group_of(self, row: bytes) -> bytes:
        given = self._aggregation
        if given.row_bytes:
            return row[: given.row_bytes]
        return row.partition(given.row_delimiter)[0] if given.row_delimiter else b""

    def _part(self, key: bytes) -> _PagePart:
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = _PagePart(len(self._sources))
        return part

    def _sources_of(self, column: bytes) -> tuple[int, ...]:
        found = self._column_sources.get(column)
        if found is None:
            family, _, qualifier = column.partition(b":")
            wanted = ((family, qualifier), (family, None))
            found = tuple(self._numbers[one] for one in wanted if one in self._numbers)
            self._column_sources[column] = found
        return found

    # ---------------------------------------------------------------- states

    @switches_if_given
    def _close(self, cells: Callable[[], _Cells], pause: Pause) -> None:
        """The page's parts go into the states. `cells`: all of the page, in order."""
        parts, self._parts = self._parts, {}
        self._column_sources = {}
        turn = _turns(pause)
        for key, part in parts.items():
            read: dict[tuple[int, str], Sequence[Any]] = {}
            states = self._states_of(key)
            turn(_STATE_IS_VALUES * len(states))
            for aggregate, state in zip(self._aggregation.aggregates, states, strict=True):
                if aggregate.kind == "last":
                    self._change(state, state.add, (part.last,))
                    continue
                if aggregate.kind in OF_ALL:
                    state.add(range(part.rows if aggregate.kind == "rows" else part.cells))
                    continue
                source = self._numbers[aggregate.family, aggregate.qualifier]
                values: Sequence[Any] = part.values[source]
                if aggregate.kind in OF_NUMBERS:
                    known = read.get((source, aggregate.read_as))
                    if known is None:
                        known = [
                            number
                            for some in _slices(part.values[source], turn)
                            for number in self._numbers_of(some, source, aggregate.read_as, cells)
                        ]
                        read[source, aggregate.read_as] = known
                    values = known
                for some in _slices(values, turn):
                    self._change(state, state.add, some)

    def _numbers_of(
        self, values: Sequence[bytes], source: int, read_as: str, cells: Callable[[], _Cells]
    ) -> Sequence[Any]:
        try:
            return numbers(values, read_as)
        except NoNumber as error:
            family, qualifier = self._sources[source]
            for row, column, value in cells():
                is_it = column.startswith(family + b":") if qualifier is None else column == family + b":" + qualifier
                if is_it and value == error.value:
                    raise WrongValue(
                        f"row {shown(row)} has the value {shown(value)} in column {shown(column)}: {error.why}"
                    ) from None
            raise

    def _states_of(self, key: bytes) -> list[State]:
        states = self._states.get(key)
        if states is None:
            states = self._states[key] = [state_of(one) for one in self._aggregation.aggregates]
            self.size_bytes += _GROUP_BYTES + len(key) + sum(state.size_bytes() for state in states)
        return states

    def _change(self, state: State, change: Callable[[Any], None], given: Any) -> None:
        before = state.size_bytes()
        change(given)
        self.size_bytes += state.size_bytes() - before

    @switches_if_given
    def merge(self, groups: Iterable[AggregatedGroup], pause: Pause = _goes_on) -> None:
        """Of other rows. WrongValue for what is no such state, as a newer release may send it."""
        turn = _turns(pause)
        for key, told in groups:
            try:
                given = json.loads(told)
                for state, one in zip(self._states_of(key), given, strict=True):
                    self._change(state, state.merge, one)
            except (ValueError, TypeError) as error:
                raise WrongValue(f"the states of a group's aggregates are {shown(told)}: {error}") from None
            turn(_STATE_IS_VALUES * len(given))

    @switches_if_given
    def told(self, pause: Pause = _goes_on) -> list[AggregatedGroup]:
        """For merge()."""
        found: list[AggregatedGroup] = []
        turn = _turns(pause)
        for key, states in self._states.items():
            found.append(AggregatedGroup(key, json.dumps([state.told() for state in states]).encode()))
            turn(_STATE_IS_VALUES * len(states))
        return found

    @switches_if_given
    def let_go(self, pause: Pause = _goes_on) -> None:
        """None are left. To free 100,000 at once takes 30 ms."""
        turn = _turns(pause)
        while self._states:
            turn(len(self._states.popitem()[1]))

    def results(self) -> dict[bytes, list[Any]]:
        """Ascending by group, in the order of the aggregates. Without groups there is one, b"", also of no rows."""
        given = self._aggregation
        if not (given.row_bytes or given.row_delimiter or given.by_column):
            self._states_of(b"")
        return {key: [state.result() for state in self._states[key]] for key in sorted(self._states)}
