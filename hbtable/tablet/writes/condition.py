"""The condition of a mutate_if whose filter asks a worker process: nothing costly happens while its row is held.

A pattern or an expression may take a second of a worker, and many clients wait for one. Whoever asked with the row held
kept everybody else from writing it for so long. So the row is read first without being held, and the worker's answers
are kept; then it is read again, held, and the same questions have their answers. If it was changed meanwhile, there are
new ones, and it all begins anew. Cheap questions may be asked while the row is held: a row that many clients change, as
that of a lock, would never stay the same for long enough otherwise.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, final

from hbtable.errors import LimitExceeded, Overloaded
from hbtable.switches import switches
from hbtable.tablet.reads.cost_limit import CostLimit
from hbtable.tablet.reads.look_ahead import ask_worker
from hbtable.tablet.state import Environment

_HASHED_AT_ONCE: Final = 256 << 10
_CHEAP_SECONDS: Final = 0.05
"""All questions about a row that may be asked while it is held."""
_HELD_SECONDS: Final = 0.1
"""For the wait for a worker while the row is held, and for an answer."""


class NotAnswered(Exception):
    """The row is held, and something has to be asked that may take long."""


@final
class KnownAnswers:
    """Asks workers for one call, and keeps the answers. The row is held at the beginning. `pause` lets others run."""

    __slots__ = ("_ask", "_ask_held", "_clock", "_is_held", "_known", "_pause", "_seconds")

    def __init__(self, environment: Environment, cost: CostLimit, pause: Callable[[], None]) -> None:
        runtime = environment.runtime
        self._ask = ask_worker(runtime, cost)
        self._ask_held = ask_worker(runtime, cost, _HELD_SECONDS)
        self._clock = runtime.clock_seconds
        self._pause = pause
        self._known: dict[tuple[int, ...], tuple[Sequence[bytes], Sequence[bytes]]] = {}
        self._seconds = math.inf
        """For all questions of the last read that did not hold the row."""
        self._is_held = False

    def hold(self) -> None:
        """The row is held, and read after this."""
        self._is_held = True

    def let_go(self) -> None:
        """The row is read after this, and not held."""
        self._is_held, self._seconds = False, 0.0

    @switches
    def ask(self, parts: Sequence[bytes], seconds: float) -> Sequence[bytes]:
        """As asking.Ask. NotAnswered."""
        key = self._key(parts)
        known = self._known.get(key)
        if known is not None and known[0] == parts:
            return known[1]
        if self._is_held:
            return self._asked_held(parts, seconds)
        began = self._clock()
        answer = self._ask(parts, seconds)
        self._seconds += self._clock() - began
        self._known[key] = (parts, answer)
        return answer

    @switches
    def _asked_held(self, parts: Sequence[bytes], seconds: float) -> Sequence[bytes]:
        if self._seconds > _CHEAP_SECONDS:
            raise NotAnswered
        try:
            return self._ask_held(parts, min(seconds, _HELD_SECONDS))
        except (LimitExceeded, Overloaded):
            raise NotAnswered from None

    @switches
    def _key(self, parts: Sequence[bytes]) -> tuple[int, ...]:
        """Hashes with Python's own secret: nobody can make many questions that have the same."""
        key: list[int] = []
        for part in parts:
            for first in range(0, len(part), _HASHED_AT_ONCE):
                key.append(hash(part[first : first + _HASHED_AT_ONCE]))
                if first:
                    self._pause()
        return tuple(key)
