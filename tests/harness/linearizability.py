"""Is the history of one row what a single copy of the row, doing one operation at a time, could have answered?

Wing and Gong's search with Lowe's memory of visited states. An operation takes effect once, at a moment between its
call and its return; one with an unknown outcome once at any moment after its call, or never. Operations that surely did
nothing are left out by whoever records.

Row: two columns that are always written together (a row that is torn shows), a counter, and a second one that is only
added to together with the first.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

NEVER = float("inf")
UNKNOWN = object()


class Row(NamedTuple):
    """What one row holds; None: no such cell."""

    left: bytes | None = None
    right: bytes | None = None
    count: int | None = None
    second: int | None = None


@dataclass(slots=True, eq=False)
class Operation:
    """`kind`: put, append, increment, both (counters), check, delete or get. `answer` is UNKNOWN until it came."""

    kind: str
    client: str
    argument: Any
    called: float
    answer: Any = UNKNOWN
    returned: float = NEVER
    wanted: bytes | None = None
    """Of check: the value of the left column it expects."""


def _put(row: Row, operation: Operation) -> tuple[Row, Any]:
    return Row(operation.argument, operation.argument, row.count, row.second), None


def _append(row: Row, operation: Operation) -> tuple[Row, Any]:
    left = (row.left or b"") + operation.argument
    return row._replace(left=left), left


def _increment(row: Row, operation: Operation) -> tuple[Row, Any]:
    count = (row.count or 0) + operation.argument
    return row._replace(count=count), count


def _both(row: Row, operation: Operation) -> tuple[Row, Any]:
    counts = (row.count or 0) + operation.argument, (row.second or 0) + operation.argument
    return Row(row.left, row.right, *counts), counts


def _check(row: Row, operation: Operation) -> tuple[Row, Any]:
    if (row.left or None) != operation.wanted:
        return row, False
    return Row(operation.argument, operation.argument, row.count, row.second), True


_STEPS: dict[str, Callable[[Row, Operation], tuple[Row, Any]]] = {
    "put": _put,
    "append": _append,
    "increment": _increment,
    "both": _both,
    "check": _check,
    "delete": lambda row, operation: (Row(), None),
    "get": lambda row, operation: (row, row),
}


def step(row: Row, operation: Operation) -> tuple[Row, bool]:
    """The row afterwards, and whether the answer fits."""
    after, answer = _STEPS[operation.kind](row, operation)
    return after, operation.answer is UNKNOWN or answer == operation.answer


@dataclass(slots=True)
class History:
    """All operations of one row. Values written are never used twice."""

    operations: list[Operation] = field(default_factory=list)

    def violation(self, most_states: int = 20_000) -> str:
        """ "" when the history is linearizable; "undecided" after so many states, which is no verdict."""
        kept = [one for one in self.operations if not (one.kind == "get" and one.answer is UNKNOWN)]
        kept.sort(key=lambda one: one.called)
        # Most histories are explained without what nobody ever saw, and by unknown operations right before what shows
        # them. An order found so is an order; only when there is none must all be tried.
        if not _Search(_seen(kept), most_states, frugal=True).run():
            return ""
        return _Search(kept, most_states, frugal=False).run()


UNDECIDED = "undecided"


def _seen(operations: list[Operation]) -> list[Operation]:
    """Without those of unknown outcome whose values nobody saw."""
    shown = b" ".join(value for one in operations for value in _values(one))

    def counts(one: Operation) -> bool:
        return one.answer is not UNKNOWN or not isinstance(one.argument, bytes) or one.argument in shown

    return [one for one in operations if counts(one)]


def _values(operation: Operation) -> list[bytes]:
    answer = operation.answer
    if isinstance(answer, Row):
        return [value for value in (answer.left, answer.right) if value is not None]
    return [answer] if isinstance(answer, bytes) else []


class _Search:
    """`frugal`: unknown operations are tried only where an answered one does not fit as it is."""

    def __init__(self, operations: list[Operation], most_states: int, frugal: bool) -> None:
        self._operations = operations
        self._most_states = most_states
        self._frugal = frugal
        self._must = sum(1 << index for index, one in enumerate(operations) if one.answer is not UNKNOWN)
        self._furthest = 0
        self._where: tuple[int, Row] = (0, Row())

    def run(self) -> str:
        seen: set[tuple[int, Row]] = set()
        stack = [(0, Row())]
        while stack:
            done, row = stack.pop()
            done, row = self._reads_that_fit(done, row)
            if done & self._must == self._must:
                return ""
            if (done, row) in seen:
                continue
            seen.add((done, row))
            if len(seen) > self._most_states:
                return UNDECIDED
            if done.bit_count() >= self._furthest:
                self._furthest, self._where = done.bit_count(), (done, row)
            # The last in the stack is tried first: answered operations.
            certain, unknown = self._steps(done, row)
            stack += unknown
            stack += certain
        return self._message()

    def _steps(self, done: int, row: Row) -> tuple[list[tuple[int, Row]], list[tuple[int, Row]]]:
        certain: list[tuple[int, Row]] = []
        unknown: list[tuple[int, Row]] = []
        all_fit = True
        for index in self._next(done):
            state, fits = step(row, self._operations[index])
            if self._must >> index & 1:
                all_fit &= fits
                if fits:
                    certain.append((done | 1 << index, state))
            elif state != row:
                unknown.append((done | 1 << index, state))
        return certain, [] if self._frugal and all_fit else unknown

    def _next(self, done: int) -> list[int]:
        """Operations that nothing outstanding returned before."""
        found: list[int] = []
        horizon = NEVER
        operations = self._operations
        for index in range((~done & done + 1).bit_length() - 1, len(operations)):
            one = operations[index]
            if one.called > horizon:
                break
            if not done >> index & 1:
                found.append(index)
                horizon = min(horizon, one.returned)
        return found

    def _reads_that_fit(self, done: int, row: Row) -> tuple[int, Row]:
        """A read that may come now and fits may as well come now: it changes nothing for the others."""
        while True:
            before = done
            for index in self._next(done):
                one = self._operations[index]
                if one.kind == "get" and one.answer == row:
                    done |= 1 << index
            if done == before:
                return done, row

    def _message(self) -> str:
        done, row = self._where
        stuck = "; ".join(told(self._operations[index]) for index in self._next(done)[:6])
        past = [told(one) for index, one in enumerate(self._operations) if done >> index & 1][-6:]
        return f"no order explains it: with {tuple(row)} next could be: {stuck}; before: {'; '.join(past)}"


def told(one: Operation) -> str:
    """One operation as a clause of a report."""
    answer = "?" if one.answer is UNKNOWN else tuple(one.answer) if isinstance(one.answer, Row) else one.answer
    wanted = f" if {one.wanted!r}" if one.kind == "check" else ""
    return f"{one.client} {one.kind} {one.argument!r}{wanted} -> {answer!r} [{one.called:.4f}, {one.returned:.4f}]"
