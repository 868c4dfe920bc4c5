"""What calls of one tablet must have answered, if their writes became visible in one order (write_races.py)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, DELETE_VERSION, PUT, RowMutation
from hbtable.model.ranges import RowRange

ROWS = [b"a", b"b", b"c"]
CONDITIONAL = ("check_and_mutate", "mutate_if")
"""Kinds of calls whose arguments begin with row, family, qualifier and the value that the column's is compared with;
mutate_if has an operator behind them. The mutation is the last one."""
OPERATORS = ("=", "!=", ">=", "<", "<=", ">")
"""The first two are for None, too."""

Shown = dict[bytes, list[bytes]]
"""Of a row: the values of each column, the newest first."""


def shown(cells: Sequence[tuple[bytes, int, bytes]]) -> Shown:
    found: Shown = {}
    for column, _, value in cells:
        found.setdefault(column, []).append(value)
    return found


@dataclass
class Call:
    """One call of a client."""

    kind: str
    arguments: Any
    began: int = 0
    """How many writes were visible."""
    ended: int = 0
    outcome: str = "killed"
    answer: Any = None
    places: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        when = f"{self.began}..{self.ended} at {self.places}"
        return f"{self.kind} {self.arguments}: {self.outcome} {self.answer}, {when}"


def _is_met(call: Call, stored: bytes | None) -> bool:
    """As docs/library.md says: a missing value is equal to None and to an empty one, and nothing else."""
    given = call.arguments[3]
    operator = call.arguments[4] if call.kind == "mutate_if" else "="
    if stored is None or given is None:
        return (not stored and not given) if operator == "=" else stored is not None
    less, equal = stored < given, stored == given
    return {"=": equal, "!=": not equal, ">=": not less, "<": less, "<=": less or equal, ">": not less and not equal}[
        operator
    ]


class Model:
    """The tablet as it is after some of its writes. One write has one time, which no other has."""

    def __init__(self) -> None:
        self._columns: dict[bytes, dict[tuple[bytes, bytes], list[tuple[object, bytes]]]] = {row: {} for row in ROWS}

    def row(self, row: bytes) -> Shown:
        return {
            family + b":" + qualifier: [value for _, value in reversed(versions)]
            for (family, qualifier), versions in self._columns[row].items()
            if versions
        }

    def newest(self, row: bytes, family: bytes, qualifier: bytes) -> bytes | None:
        versions = self._columns[row].get((family, qualifier))
        return versions[-1][1] if versions else None

    def write(self, place: int, mutations: Sequence[RowMutation]) -> None:
        markers = dict.fromkeys(ROWS, 0)
        for mutation in mutations:
            columns = self._columns[mutation.row]
            for kind, family, qualifier, _, value in mutation.operations:
                versions = columns.setdefault((family, qualifier), [])
                time = (place, markers[mutation.row])
                if kind == PUT:
                    if versions and versions[-1][0] == time:
                        versions.pop()
                    versions.append((time, value))
                elif kind == DELETE_VERSION:
                    del versions[-1:]
                else:
                    markers[mutation.row] += 1
                    for column, old in columns.items():
                        if column == (family, qualifier) or (kind == DELETE_FAMILY and column[0] == family):
                            old.clear()

    def delete_range(self, rows: RowRange) -> None:
        for row in ROWS:
            if rows.holds(row):
                self._columns[row] = {}


class Oracle:
    """Explains calls by the order in which their writes became visible."""

    def __init__(self, calls: Sequence[Call], order: Sequence[Call], at_the_end: dict[bytes, Shown]) -> None:
        """`order`: those that were written. `at_the_end`: what a read finds of each row."""
        self._calls = calls
        self._order = order
        self._at_the_end = at_the_end
        self._found: list[str] = []
        self._model = Model()
        self._rows = [self._seen()]
        """What every row was before each place, and after the last."""

    def violations(self) -> list[str]:
        for place, call in enumerate(self._order):
            self._replay(place, call)
            self._rows.append(self._seen())
        for call in self._calls:
            self._look_at(call)
        for row in ROWS:
            self._expect(self._at_the_end.get(row, {}) == self._rows[-1][row], f"at the end row {row!r}")
        return self._found

    def _seen(self) -> dict[bytes, Shown]:
        return {row: self._model.row(row) for row in ROWS}

    def _expect(self, right: bool, what: str) -> None:
        if not right:
            self._found.append(what)

    def _replay(self, place: int, call: Call) -> None:
        model, arguments = self._model, call.arguments
        if call.kind == "delete_range":
            model.delete_range(arguments[0])
            return
        if call.kind == "mutate":
            model.write(place, arguments[0])
            return
        if call.kind == "append":
            row, [(family, qualifier, suffix)] = arguments
        else:
            row, family, qualifier = arguments[:3]
        old = model.newest(row, family, qualifier)
        if call.kind in CONDITIONAL:
            self._expect(_is_met(call, old), f"{call}: there was {old!r}")
            model.write(place, [arguments[-1]])
            return
        if call.kind == "append":
            new = (old or b"") + suffix
            answer = [(family + b":" + qualifier, new)]
            given = call.answer and [(column, value) for column, _, value in call.answer]
        else:
            self._expect(old is None or len(old) == 8, f"{call}: there was {old!r}")
            number = int.from_bytes(old or b"", "big") + arguments[3]
            new = number.to_bytes(8, "big")
            answer, given = number, call.answer  # type: ignore[assignment]
        self._expect(call.outcome != "done" or given == answer, f"{call}: {answer!r} is right, over {old!r}")
        model.write(place, [RowMutation(row, [(PUT, family, qualifier, SERVER_TIME, new)])])

    def _look_at(self, call: Call) -> None:
        arguments = call.arguments
        self._expect(all(place >= call.began for place in call.places), f"{call}: visible before it began")
        if call.kind == "read_rows":
            if call.outcome == "done":
                row = arguments[0][0]
                found = shown([cell for _, cells in call.answer for cell in cells])
                self._expect(any(rows[row] == found for rows in self._window(call)), f"{call}: was never so")
        elif call.outcome == "killed":
            self._expect(len(call.places) <= 1, f"{call}: written more than once")
        elif call.outcome == "done" and call.answer is not False:
            self._expect(len(call.places) == 1 or self._masks_nothing(call), f"{call}: has not one place")
            self._expect(all(place < call.ended for place in call.places), f"{call}: visible after it was acknowledged")
        else:
            self._expect(not call.places, f"{call}: written")
            if call.outcome == "done":
                self._expect(self._was(call, lambda old: not _is_met(call, old)), f"{call}: was met")
            elif call.outcome == "NotACounter":
                self._expect(self._was(call, lambda old: old is not None and len(old) != 8), f"{call}: was a counter")
            else:
                self._expect(call.outcome in ("OutOfSpace", "Unavailable"), str(call))

    def _masks_nothing(self, call: Call) -> bool:
        """Whether it may be done with nothing to write: deletes of newest versions where none was."""
        mutations = call.arguments[-1] if call.kind == "mutate" else call.arguments[-1:]
        if call.places or call.kind not in ("mutate", *CONDITIONAL):
            return False
        columns = [
            (mutation.row, kind, family + b":" + qualifier)
            for mutation in mutations
            for kind, family, qualifier, _, _ in mutation.operations
        ]
        return all(
            kind == DELETE_VERSION and any(column not in rows[row] for rows in self._window(call))
            for row, kind, column in columns
        )

    def _window(self, call: Call) -> list[dict[bytes, Shown]]:
        return self._rows[call.began : call.ended + 1]

    def _was(self, call: Call, fits: Callable[[bytes | None], bool]) -> bool:
        """Whether the value that the call looked at fitted at any time of the call."""
        row, family, qualifier = call.arguments[:3]
        return any(fits(next(iter(rows[row].get(family + b":" + qualifier, [])), None)) for rows in self._window(call))
