"""The order in which calls are repeated on the secondary: of each row as the primary acknowledged them, whichever
connection they came by.

A turn is taken when the primary has answered, before the client is told. What is sent after that has a later number, so
a turn waits for earlier ones alone, and the earliest never waits: there is no circle.
"""

import threading
from collections.abc import Callable, Iterable
from itertools import count
from typing import Final, final

from hbtable.shell.shadow.calls import CATALOG, Kind, Touch

_LOOK_SECONDS: Final = 0.5


@final
class Turn:
    """The place of one call among the others."""

    __slots__ = ("alone", "number", "rows", "tables", "whole")

    def __init__(
        self, number: int, rows: frozenset[tuple[bytes, bytes]], tables: frozenset[bytes], whole: bool, alone: bool
    ) -> None:
        self.number = number
        self.rows = rows
        self.tables = tables
        self.whole = whole
        """It waits for all earlier ones of its tables."""
        self.alone = alone
        """And later ones of its tables wait for it."""


_Queue = dict[int, Turn]
"""By number, which ascends."""


@final
class Turns:
    """Of all connections."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._numbers = count()
        self._rows: dict[tuple[bytes, bytes], _Queue] = {}
        self._tables: dict[bytes, _Queue] = {}
        self._alone: dict[bytes, _Queue] = {}

    def take(self, touch: Touch) -> Turn:
        """Does not wait."""
        rows = frozenset((one.table, one.row) for one in touch.rows)
        alone = touch.kind is Kind.SCHEMA
        whole = alone or touch.kind in (Kind.OPEN, Kind.ASK)
        tables = {*touch.tables, CATALOG} if alone else touch.tables or {CATALOG}
        with self._changed:
            turn = Turn(next(self._numbers), rows, frozenset(tables), whole, alone)
            for queues, keys in self._places(turn):
                for key in keys:
                    queues.setdefault(key, {})[turn.number] = turn
        return turn

    def wait(self, turn: Turn, ended: Callable[[], bool]) -> bool:
        """Until it is this one's turn. False: `ended` says that nobody waits any more."""
        with self._changed:
            while not self._is_next(turn):
                if ended():
                    return False
                self._changed.wait(_LOOK_SECONDS)
        return True

    def end(self, turn: Turn) -> None:
        """It was carried out, or never will be."""
        with self._changed:
            for queues, keys in self._places(turn):
                for key in keys:
                    queue = queues.get(key)
                    if queue is not None:
                        queue.pop(turn.number, None)
                        if not queue:
                            del queues[key]
            self._changed.notify_all()

    def _is_next(self, turn: Turn) -> bool:
        number = turn.number
        if any(_first(self._alone.get(table)) < number for table in turn.tables):
            return False
        if turn.whole:
            return all(_first(self._tables.get(table)) >= number for table in turn.tables)
        return all(_first(self._rows.get(row)) >= number for row in turn.rows)

    def _places(self, turn: Turn) -> Iterable[tuple[dict[object, _Queue], Iterable[object]]]:
        yield self._rows, turn.rows  # type: ignore[misc]  # keys of several kinds
        yield self._tables, turn.tables  # type: ignore[misc]
        if turn.alone:
            yield self._alone, turn.tables  # type: ignore[misc]


def _first(queue: _Queue | None) -> float:
    return next(iter(queue)) if queue else float("inf")
