"""The costs of one request so far, and the memory that it holds, whichever functions, tasks and roles work for it.

Each port makes one for each of its connections and clears it between two requests. It belongs to the task that works on
them, as a context variable, so that nothing has to be handed down through functions that do not care; the tasks of
runtime.parallel have it, too. Who does long work for a request adds to it, and compares it with limits of his own
(tablet.reads.cost_limit). A usual request never touches it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple, final

from hbtable.runtime.memory_budget import MemoryBudget, MemoryReservation
from hbtable.switches import switches


class RequestCost(NamedTuple):
    """The costs of a request: seconds in which it was worked on, bytes of blocks and cells that it looked at."""

    seconds: float = 0.0
    read_bytes: int = 0
    cells: int = 0


NO_COST: Final = RequestCost()
HELD_AT_ONCE: Final = 256 << 10
"""Whoever puts an answer together says so each time that it has grown by about so much."""


@final
class RequestBudget:
    """The costs of the request that its task works on. `memory` is that of the port, shared by all of its requests;
    None: what the request holds is not counted."""

    __slots__ = (
        "_before",
        "_held",
        "_memory",
        "_small_bytes",
        "_whole",
        "began",
        "cells",
        "compared_bytes",
        "deadline",
        "is_used",
        "read_bytes",
        "seconds",
    )

    def __init__(self, memory: MemoryBudget | None = None) -> None:
        self._memory = memory
        self._held: MemoryReservation | None = None
        self._small_bytes = 0
        """Held, and not counted yet."""
        self._whole: RequestBudget | None = None
        """The request that this is a part of."""
        self._before = NO_COST
        """The costs that it had elsewhere."""
        self.began = 0.0
        """On the runtime's clock: the time of go_on()."""
        self.deadline: float | None = None
        """On the runtime's clock: from then on nobody waits for what is worked out. None: somebody always does."""
        self.seconds = 0.0
        self.read_bytes = 0
        self.cells = 0
        self.compared_bytes = 0
        """Of cells that were read for a condition, and are not in the answer."""
        self.is_used = False
        """Something was added since the last clear()."""

    def go_on(self, before: RequestCost, now: float, deadline: float | None) -> None:
        """The request was begun elsewhere, and has cost something there. It goes on here `now`."""
        self.clear()
        self.began, self.deadline = now, deadline
        if before is not NO_COST:
            self._before = before
            self.spend(before)

    def own_cost(self) -> RequestCost:
        """The cost since go_on(), or since the beginning."""
        before = self._before
        return RequestCost(
            max(0.0, self.seconds - before.seconds), self.read_bytes - before.read_bytes, self.cells - before.cells
        )

    def spend(self, cost: RequestCost) -> None:
        self.is_used = True
        self.seconds += cost.seconds
        self.read_bytes += cost.read_bytes
        self.cells += cost.cells

    def spend_seconds(self, seconds: float) -> None:
        """The request had so much work elsewhere, as in a worker process."""
        self.is_used = True
        self.seconds += seconds

    def compare(self, size_bytes: int) -> None:
        """Cells of so many bytes were read for a condition."""
        self.is_used = True
        self.compared_bytes += size_bytes

    @property
    def cost(self) -> RequestCost:
        return RequestCost(self.seconds, self.read_bytes, self.cells)

    @switches
    def hold(self, size_bytes: int, at_once: bool = False) -> None:
        """The request holds so many bytes more, until clear(). The first HELD_AT_ONCE count nothing. *Switches* while
        the port has no room for them; Overloaded when it has none for too long. `at_once`, for whoever keeps others
        waiting himself: Overloaded where he would have to wait."""
        if self._memory is None:
            return
        self.is_used = True
        self._small_bytes += size_bytes
        if self._held is None and self._small_bytes < HELD_AT_ONCE:
            return
        is_first = not self._has_begun()
        size_bytes, self._small_bytes = self._small_bytes, 0
        self._memory.grow(self._reservation(self._memory), size_bytes, at_once, is_first)

    def _has_begun(self) -> bool:
        """Whether it, or what it is a part of, holds something."""
        return self._held is not None or (self._whole is not None and self._whole._has_begun())

    def adopt(self, size_bytes: int) -> None:
        """The request holds so many bytes that were counted as another's until now; less than HELD_AT_ONCE count
        nothing. Does not wait."""
        if self._memory is not None and size_bytes >= HELD_AT_ONCE:
            self._memory.collect(self._reservation(self._memory), size_bytes)

    def _reservation(self, memory: MemoryBudget) -> MemoryReservation:
        self.is_used = True
        if self._held is None:
            self._held = memory.begin(None)
        return self._held

    def part(self) -> "RequestBudget":
        """Of a part of the request that ends in time by itself and can be gone on with, as a page of a scan: its costs
        are its own, and so is what it holds. To be cleared when the part is over."""
        part = RequestBudget(self._memory)
        part._whole, part.began, part.deadline = self, self.began, self.deadline
        return part

    def hand_over(self) -> None:
        """Of a part: what it holds is in the answer of the request, which holds it from now on. Does not wait."""
        if self._held is not None and self._whole is not None:
            size_bytes = self._held.size_bytes
            self.clear()
            self._whole.adopt(size_bytes)

    def clear(self) -> None:
        """The request is over. Idempotent."""
        self.deadline = None
        if not self.is_used:
            return
        self.is_used = False
        self.seconds, self.read_bytes, self.cells, self.compared_bytes = 0.0, 0, 0, 0
        self._before, self._small_bytes = NO_COST, 0
        if self._held is not None and self._memory is not None:
            self._memory.end(self._held)
            self._held = None


_CURRENT: Final[ContextVar[RequestBudget | None]] = ContextVar("request budget", default=None)

current_budget: Final[Callable[[], RequestBudget | None]] = _CURRENT.get
"""That of the request which the calling task works on; None: it works for no port."""


@switches
def hold(size_bytes: int) -> None:
    """As RequestBudget.hold, of the request that the calling task works on."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.hold(size_bytes)


@switches
def hold_at_once(size_bytes: int) -> None:
    """As hold(), with RequestBudget.hold's `at_once`."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.hold(size_bytes, at_once=True)


def adopt(size_bytes: int) -> None:
    """As RequestBudget.adopt, of the request that the calling task works on."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.adopt(size_bytes)


def work_for(budget: RequestBudget | None) -> None:
    """The calling task works for the requests of this budget from now on."""
    _CURRENT.set(budget)


@contextmanager
def counted_request() -> Iterator[RequestBudget]:
    """That of the request which the calling task works on; one of its own meanwhile where it works for no port."""
    budget = _CURRENT.get()
    if budget is not None:
        yield budget
        return
    token = _CURRENT.set(budget := RequestBudget())
    try:
        yield budget
    finally:
        _CURRENT.reset(token)


@contextmanager
def held_meanwhile() -> Iterator[None]:
    """Frees at the end what the request of the calling task holds from now on, as it is not in the answer: of a page,
    say, of which only some numbers are kept."""
    budget = _CURRENT.get()
    if budget is None:
        yield
        return
    token = _CURRENT.set(part := budget.part())
    try:
        yield
    finally:
        _CURRENT.reset(token)
        part.clear()


@contextmanager
def for_no_request() -> Iterator[None]:
    """Reads of the calling task are no part of an answer meanwhile: they neither count nor wait."""
    token = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(token)
