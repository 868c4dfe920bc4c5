"""Computes whether passwords are right: one at a time, in a thread, because each costs 0.1 to 0.2 s of a processor.

One that was right is known again for a minute: by a keyed digest, so that the memory holds none. Several clients with
the same password at the same moment wait for one computation, which is one try. Whoever waits counts for his address,
which has a share of the queue: nobody fills it alone.

What is known is let in where others are turned away, because the queue is full or their address has used up its tries.
Each such comparison says whether a password is right, so they are counted as well.
"""

import hashlib
import hmac
import os
from collections import Counter, OrderedDict
from typing import Final, NamedTuple, final

from hbtable.access.password_attempts import Attempt
from hbtable.access.passwords import PasswordHash
from hbtable.errors import NotAuthenticated, Overloaded
from hbtable.runtime.interface import Lock, Runtime
from hbtable.runtime.keyed_locks import KeyedLocks
from hbtable.switches import switches

_KIND: Final = "password"
WAITING: Final = 50
"""Passwords that wait for their turn; further ones are refused, so that a storm of them costs no more memory."""
SHARE: Final = 5
"""Those of one address."""
KNOWN_SECONDS: Final = 60.0
_KNOWN: Final = 1000


class _Known(NamedTuple):
    """A password that was right; known until then."""

    digest: bytes
    until: float


class _Tried(NamedTuple):
    digest: bytes
    is_right: bool


@final
class _Computation:
    """A password that is being computed. `right` None: it is not known yet."""

    __slots__ = ("lock", "right")

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self.right: bool | None = None


@final
class PasswordChecks:
    """The queue of one gateway."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._waiting = Counter[str]()
        """By address."""
        self._key = os.urandom(32)
        self._known: OrderedDict[tuple[str, bytes, bytes], _Known] = OrderedDict()
        """By the user's name and the hash that it was right by; the last that was computed at the end."""
        self._tries = KeyedLocks[tuple[str, str]](runtime)
        """One of a user from an address at a time: it counts as failed until it is known to be right, and other
        connections with the same right password would be refused meanwhile."""
        self._last: dict[tuple[str, str], _Tried] = {}
        """The last one of those, while others wait: the same password is no further try."""
        self._computing: dict[bytes, _Computation] = {}
        """By digests as those of what is known."""

    @switches
    def is_right(self, attempt: Attempt, secret: bytes, stored: PasswordHash) -> bool:
        """*Switches.* One that is right counts as no try on return. NotAuthenticated: it may not be tried now.
        Overloaded."""
        key = (attempt.name, stored.salt, stored.digest)
        digest = hmac.new(self._key, b"\0".join((key[0].encode(), *key[1:], secret)), hashlib.sha256).digest()
        place = (attempt.address, attempt.name)
        try:
            with self._tries.hold(place):
                last = self._last.get(place)
                if last is not None and hmac.compare_digest(last.digest, digest):
                    is_right = last.is_right  # it came while that one was tried
                else:
                    is_right = self._is_right(attempt, secret, stored, key, digest)
                    self._last[place] = _Tried(digest, is_right)
                if is_right:
                    attempt.was_right()  # before the next one asks whether it may be tried
                return is_right
        finally:
            if not self._tries.is_held(place):
                self._last.pop(place, None)

    @switches
    def _is_right(
        self, attempt: Attempt, secret: bytes, stored: PasswordHash, key: tuple[str, bytes, bytes], digest: bytes
    ) -> bool:
        attempt.check_name()
        try:
            self._check_room(attempt)
        except (NotAuthenticated, Overloaded):
            if self._is_known_beside(attempt, key, digest):
                return True
            raise
        if self._is_known(key, digest):
            return True
        same = self._computing.get(digest)
        if same is None:
            same = self._computing[digest] = _Computation(self._runtime.lock())
        try:
            with same.lock:
                if same.right is None:
                    same.right = self._compute(attempt, secret, stored)
        finally:
            if self._computing.get(digest) is same:
                del self._computing[digest]
        if same.right:
            self._remember(key, digest)
        return same.right

    def _is_known(self, key: tuple[str, bytes, bytes], digest: bytes) -> bool:
        known = self._find(key)
        return known is not None and hmac.compare_digest(known.digest, digest)

    def _is_known_beside(self, attempt: Attempt, key: tuple[str, bytes, bytes], digest: bytes) -> bool:
        """As _is_known(), where nothing is computed."""
        if self._find(key) is None or not attempt.may_compare():
            return False  # who makes names up has nothing counted, and makes nobody's counts be forgotten
        if self._is_known(key, digest):
            return True
        attempt.compared_wrong()
        return False

    def _find(self, key: tuple[str, bytes, bytes]) -> _Known | None:
        known = self._known.get(key)
        return known if known is not None and known.until > self._runtime.clock_seconds() else None

    def _check_room(self, attempt: Attempt) -> None:
        """NotAuthenticated, Overloaded."""
        attempt.check_address()
        if self._waiting[attempt.address] >= SHARE:
            raise Overloaded(
                f"{SHARE} passwords from {attempt.address} are being checked already: try again in some seconds"
            )
        if self._waiting.total() >= WAITING:
            raise Overloaded(f"{WAITING} passwords are being checked already: try again in some seconds")

    @switches
    def _compute(self, attempt: Attempt, secret: bytes, stored: PasswordHash) -> bool:
        self._check_room(attempt)
        attempt.begin()
        self._waiting[attempt.address] += 1
        try:
            return self._runtime.offload(_KIND, stored.matches, secret)
        finally:
            self._waiting[attempt.address] -= 1
            if not self._waiting[attempt.address]:
                del self._waiting[attempt.address]

    def _remember(self, key: tuple[str, bytes, bytes], digest: bytes) -> None:
        self._known[key] = _Known(digest, self._runtime.clock_seconds() + KNOWN_SECONDS)
        self._known.move_to_end(key)
        while len(self._known) > _KNOWN:
            self._known.popitem(last=False)
