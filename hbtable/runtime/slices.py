"""Goes through many things, and lets other tasks run every few milliseconds."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

T = TypeVar("T")

_SLICE_SECONDS: Final = 0.004


@switches
def in_slices(runtime: Runtime, things: Iterable[T]) -> Iterator[T]:
    """The things, one by one; several tasks may take from one iterator. *Switches* between two of them when whoever
    takes them has had a slice of time. For loops of which one step costs more than a look at the clock."""
    clock = runtime.clock_seconds
    until = clock() + _SLICE_SECONDS
    for thing in things:
        yield thing
        if clock() >= until:
            runtime.sleep(0)
            until = clock() + _SLICE_SECONDS
