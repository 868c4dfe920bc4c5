"""A copy of something that others change, with the time up to which it may be used: a lease, as Chubby's clients have
one on what they keep. Whoever cannot renew it refuses, and does not go on with what he knows.

It is good for some seconds from when it was asked for, so whatever was confirmed before that is in it, however long the
answer took. Somebody refreshes it often enough that callers find it good; one that finds it too old reads it himself.
"""

import math
from collections.abc import Callable
from typing import Generic, TypeVar, final

from hbtable.errors import HbtableError, Unavailable
from hbtable.runtime.interface import Event, Runtime
from hbtable.switches import switches

T = TypeVar("T")


@final
class FreshCopy(Generic[T]):
    """The copy is `value`, None until the first read."""

    def __init__(
        self, runtime: Runtime, read: Callable[[], T], seconds: float, taken: Callable[[T], None] = lambda value: None
    ) -> None:
        """`read` may *switch*, returns whatever was confirmed before it was called, and raises HbtableError when that
        cannot be found out. `taken` is called with each other value, and must not switch."""
        self._runtime = runtime
        self._clock = runtime.clock_seconds
        self._read = read
        self._seconds = seconds
        self._taken = taken
        self.value: T | None = None
        self.failure = ""
        """The reason why the last read had no answer."""
        self._as_of = -math.inf
        """Every change that was confirmed before this moment is in the value."""
        self.good_until = -math.inf
        """It may be used before this moment of the runtime's clock."""
        self._oldest = -math.inf
        """Answers to questions from before this moment do not count."""
        self._catching_up: Event | None = None

    @property
    def is_good(self) -> bool:
        """Whether it may be used now."""
        return self._clock() < self.good_until

    @property
    def is_outdated(self) -> bool:
        """Whether it may be without a change that outdate() told of."""
        return self._as_of < self._oldest

    def outdate(self) -> None:
        """Something was changed just now: what is known, or still on its way, may be without it."""
        self._oldest = self._clock()
        if self.is_outdated:
            self.good_until = -math.inf

    @switches
    def refresh(self) -> None:
        """Reads it now; `failure` says whether that went well."""
        asked = self._clock()
        try:
            found = self._read()
        except HbtableError as error:
            self.failure = str(error) or type(error).__name__
            return
        self.failure = ""
        if asked >= max(self._as_of, self._oldest):  # an answer to a later question may have come before
            self._as_of = asked
            self.good_until = asked + self._seconds
            if found != self.value:
                self.value = found
                self._taken(found)

    @switches
    def catch_up(self) -> None:
        """On return it may be used for whatever was asked before this call. Unavailable. Those who wait at the same
        time share one read."""
        came = self._clock()
        while self._as_of < came and not self.is_good:
            if self._catching_up is not None:
                self._catching_up.wait()
            else:
                self._refresh_for_others()
            if self.failure:
                raise Unavailable(self.failure)

    @switches
    def _refresh_for_others(self) -> None:
        self._catching_up = done = self._runtime.event()
        try:
            self.refresh()
        finally:
            self._catching_up = None
            done.set()
