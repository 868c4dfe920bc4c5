"""One login by a password, and what it may do: compare with a password that was right a moment ago, or compute."""

import math
from collections.abc import Callable
from typing import final

from hbtable.access.tries import AddressTries, FailedTries
from hbtable.errors import NotAuthenticated


@final
class AttemptLimits:
    """The limits of one gateway."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.names = FailedTries()
        self.addresses = AddressTries()
        self.comparisons = FailedTries()
        """With a password that was right a moment ago, by those who may not compute theirs."""


@final
class Attempt:
    """One login. Nothing in here switches."""

    def __init__(self, limits: AttemptLimits, address: str, name: str) -> None:
        self._limits = limits
        self._now = limits.clock
        self.address = address
        self.name = name
        self._is_counted = False
        self._forgotten_at = 0.0

    def check_name(self) -> None:
        """NotAuthenticated while this name cannot be tried from here, not even with what was right a moment ago: who is
        let through with that alone can guess it without an end."""
        if not self._is_counted:
            self._check(self._limits.names.wait_seconds(self.address, self.name, self._now()))

    def check_address(self) -> None:
        """NotAuthenticated while nothing that has to be computed can be tried from here."""
        if not self._is_counted:
            self._check(self._limits.addresses.wait_seconds(self.address, self._now()))

    def begin(self) -> None:
        """Counts it, once, as failed until was_right(). NotAuthenticated: it may not be tried now."""
        self.check_name()
        self.check_address()
        if not self._is_counted:
            self._is_counted = True
            self._limits.names.failed(self.address, self.name, self._now())
            self._forgotten_at = self._limits.addresses.failed(self.address, self._now())

    def may_compare(self) -> bool:
        """Whether one that may not be computed is let in if it was right a moment ago."""
        return not self._limits.comparisons.wait_seconds(self.address, self.name, self._now())

    def compared_wrong(self) -> None:
        """It was another one that was right a moment ago."""
        self._limits.comparisons.failed(self.address, self.name, self._now())

    def was_right(self) -> None:
        """Nothing begins anew for one that was not computed: that is once a minute, and a program may come at any
        moment."""
        if self._is_counted:
            self._is_counted = False
            self._limits.names.succeeded(self.address, self.name)
            self._limits.comparisons.succeeded(self.address, self.name)
            self._limits.addresses.was_right(self.address, self._forgotten_at, self._now())

    def _check(self, wait: float) -> None:
        if wait:
            whole = math.ceil(wait)
            raise NotAuthenticated(
                f"too many wrong passwords from {self.address}: the next try is possible in {whole} s"
            )
