"""Computes whether passwords are right: one at a time, in a thread, because each costs 0.1 to 0.2 s of a processor.

One that was right is known again for a minute: by a keyed digest, so that the memory holds none. Several clients with
the same password at the same moment wait for one computation. Whoever waits counts for his address, which has a share
of the queue: nobody fills it alone.
"""

import hashlib
import hmac
import os
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final, final

from hbtable.access.passwords import PasswordHash
from hbtable.errors import Overloaded
from hbtable.runtime.interface import Lock, Runtime
from hbtable.switches import switches

_KIND: Final = "password"
WAITING: Final = 50
"""Passwords that wait for their turn; further ones are refused, so that a storm of them costs no more memory."""
SHARE: Final = 5
"""Those of one address."""
KNOWN_SECONDS: Final = 60.0
_KNOWN: Final = 1000


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
        self._known: OrderedDict[bytes, float] = OrderedDict()
        """Digests of what was right, and until when they are known."""
        self._computing: dict[bytes, _Computation] = {}
        """By the same digests."""

    @switches
    def is_right(
        self, name: str, secret: bytes, stored: PasswordHash, address: str, may_compute: Callable[[], object]
    ) -> bool:
        """*Switches.* Overloaded. `may_compute` raises an error unless a password that is not known may be tried."""
        said = b"\0".join((name.encode(), stored.salt, stored.digest, secret))
        digest = hmac.new(self._key, said, hashlib.sha256).digest()
        if self._known.get(digest, 0.0) > self._runtime.clock_seconds():
            return True
        may_compute()
        same = self._computing.get(digest)
        if same is None:
            same = self._computing[digest] = _Computation(self._runtime.lock())
        try:
            with same.lock:
                if same.right is None:
                    same.right = self._compute(secret, stored, address)
        finally:
            if self._computing.get(digest) is same:
                del self._computing[digest]
        if same.right:
            self._remember(digest)
        return same.right

    @switches
    def _compute(self, secret: bytes, stored: PasswordHash, address: str) -> bool:
        if self._waiting[address] >= SHARE:
            raise Overloaded(f"{SHARE} passwords from {address} are being checked already: try again in some seconds")
        if self._waiting.total() >= WAITING:
            raise Overloaded(f"{WAITING} passwords are being checked already: try again in some seconds")
        self._waiting[address] += 1
        try:
            return self._runtime.offload(_KIND, stored.matches, secret)
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]

    def _remember(self, digest: bytes) -> None:
        self._known[digest] = self._runtime.clock_seconds() + KNOWN_SECONDS
        self._known.move_to_end(digest)
        while len(self._known) > _KNOWN:
            self._known.popitem(last=False)
