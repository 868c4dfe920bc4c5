"""Goes through many things, and lets other tasks run every few milliseconds."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from typing import Any, Final, TypeVar, final

from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

T = TypeVar("T")

SLICE_SECONDS: Final = 0.001
"""So long works whoever has much to do, and then lets others run. Whoever comes meanwhile waits for the rest of it. A
round of the event loop costs some 4 us, and 12 to 18 where others have the processor's caches: 2 % of it."""
_SHARED_SECONDS: Final = 0.001
FREED_AT_ONCE: Final = 1024
_SORTED_AT_ONCE: Final = 512
_LOOKED_AT_ONCE: Final = 256
"""Things that are looked at, whether they can be freed: a quarter of a millisecond."""


class OwnList(list[T]):
    """A list that nobody has but whoever is given it: he may empty it as he goes through it. To free 100,000 rows of an
    answer at once takes 23 ms."""


@switches
def in_slices(runtime: Runtime, things: Iterable[T]) -> Iterator[T]:
    """The things, one by one; several tasks may take from one iterator. *Switches* between two of them when whoever
    takes them has had a slice of time. For loops of which one step costs more than a look at the clock."""
    clock = runtime.clock_seconds
    until = runtime.slice_end(SLICE_SECONDS)
    for thing in things:
        yield thing
        if clock() >= until:
            runtime.sleep(0)
            until = runtime.slice_end(SLICE_SECONDS)


@final
class SharedSlice:
    """A slice of time that several tasks have together: a short one, for each of them may go on for a while where it
    waits in the middle of something."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._until = runtime.slice_end(_SHARED_SECONDS)

    @switches
    def pause(self) -> None:
        """*Switches* when they have used it up. Each that goes on begins the next one anew."""
        if self._runtime.clock_seconds() >= self._until:
            self._runtime.sleep(0)
            self._until = self._runtime.slice_end(_SHARED_SECONDS)


@switches
def with_pauses(things: Iterable[T], pause: Callable[[], object], at_once: int = 128) -> Iterator[T]:
    """The things, one by one; *switches* by `pause` behind each `at_once` of them. For loops whose steps are too short
    for a look at the clock."""
    for number, thing in enumerate(things, 1):
        yield thing
        if not number % at_once:
            pause()


@switches
def sorted_with_pauses(things: Sequence[T], key: Callable[[T], Any], pause: Callable[[], object]) -> list[T]:
    """As sorted(). *Switches* by `pause` between parts of many things."""
    if len(things) <= _SORTED_AT_ONCE:
        return sorted(things, key=key)
    parts = []
    for first in range(0, len(things), _SORTED_AT_ONCE):
        parts.append(sorted(things[first : first + _SORTED_AT_ONCE], key=key))
        pause()
    return list(with_pauses(merge(*parts, key=key), pause))


@switches
def let_go(things: Sequence[object], pause: Callable[[], object]) -> None:
    """*Switches.* Of a list that nobody needs any more only the first few are left: to free 500,000 rows of a request,
    when the last that refers to them ends, takes 80 ms in one stretch."""
    if len(things) > FREED_AT_ONCE and isinstance(things, list):
        while len(things) > FREED_AT_ONCE:
            del things[-FREED_AT_ONCE:]
            pause()


@switches
def let_go_rows(rows: Sequence[tuple[bytes, Sequence[object]]], pause: Callable[[], object]) -> None:
    """*Switches.* The lists of these rows' cells, which nobody else has, are empty afterwards."""
    left = FREED_AT_ONCE
    for _, cells in rows:
        let_go(cells, pause)
        left -= 1 + len(cells)
        if isinstance(cells, list):
            cells.clear()
        if left <= 0:
            pause()
            left = FREED_AT_ONCE


def _references(holder: Sequence[object], place: int) -> int:
    """The references to what the holder has there, as a look at it counts them."""
    return sys.getrefcount(holder[place])


_REFERENCES_ALONE: Final = _references([[]], 0)
"""The number where nobody else has it: a look counts itself in some versions of Python, and in others it does not."""


@switches
def let_go_inside(things: Sequence[object], pause: Callable[[], object]) -> None:
    """*Switches.* As let_go(), of all lists and dictionaries in there, at any depth, that nobody else has: of a request
    of very many structs, which hold lists in their turn. Whatever somebody kept stays as it is, with all it holds."""
    _emptied(things, pause, _LOOKED_AT_ONCE)


@switches
def _emptied(holder: Sequence[object], pause: Callable[[], object], left: int) -> int:
    """The number of things that may be freed, or looked at, before the next pause; `left` before."""
    for place in range(len(holder)):
        left -= 1
        if left <= 0:
            left = _paused(left, pause)
        if _references(holder, place) > _REFERENCES_ALONE:
            continue
        one = holder[place]
        if not isinstance(one, list | tuple | dict):
            continue
        if isinstance(one, dict):
            while one:
                one.popitem()
                left = _paused(left - 1, pause)
            continue
        left = _emptied(one, pause, left)
        while isinstance(one, list) and one:
            left = _paused(left - len(one[-_LOOKED_AT_ONCE:]), pause)
            del one[-_LOOKED_AT_ONCE:]
        left = _paused(left, pause)
    return left


@switches
def _paused(left: int, pause: Callable[[], object]) -> int:
    if left > 0:
        return left
    pause()
    return _LOOKED_AT_ONCE
