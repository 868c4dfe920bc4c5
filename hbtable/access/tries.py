"""Limits how often somebody may try a password: pure, on the clock that it is given.

A try counts as a failure from its beginning on, until it turns out to be right. Otherwise those that begin at the same
moment would all find the wait over.

Counted for an address and a name together. By the name alone anybody could keep a user out; by the address alone one
client with an old password would keep out all others behind the same proxy. Who tries many names is counted by the
address as well, which has many more tries: a client with an old password has used up those for its name long before.
"""

import ipaddress
from collections import OrderedDict
from typing import Final, final

FREE_TRIES: Final = 5
_FIRST_WAIT_SECONDS: Final = 1.0
_LONGEST_WAIT_SECONDS: Final = 60.0
_LETTERS: Final = 128
"""No user's name has more, and a stranger may send thousands."""
_REMEMBERED: Final = 10_000
"""Beyond it those that failed longest ago are forgotten."""


_FREE_OF_ADDRESS: Final = 50
_SECONDS_OF_ADDRESS: Final = 2.0
_NETWORK_BITS: Final = 64


def address_of(host: str) -> str:
    """The one by which tries are counted. Of IPv6 it is a network: whoever has one address has 2^64 of them."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, _NETWORK_BITS), strict=False))


@final
class AddressTries:
    """50 failures of an address are free, whatever the names; then there is one in two seconds, however many there
    were. Time alone forgets them: who has one right password of his own could try others' for ever."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._paid: OrderedDict[str, float] = OrderedDict()
        """The time at which all failures are forgotten; the last that failed at the end."""

    def wait_seconds(self, address: str, now: float) -> float:
        """0: a try may be made now."""
        return max(0.0, self._paid.get(address, 0.0) - now - (_FREE_OF_ADDRESS - 1) * _SECONDS_OF_ADDRESS)

    def failed(self, address: str, now: float) -> float:
        """The time at which this failure is forgotten."""
        paid = max(self._paid.pop(address, 0.0), now) + _SECONDS_OF_ADDRESS
        self._paid[address] = paid = min(paid, now + _FREE_OF_ADDRESS * _SECONDS_OF_ADDRESS)
        while len(self._paid) > self._most:
            self._paid.popitem(last=False)
        return paid

    def was_right(self, address: str, forgotten_at: float, now: float) -> None:
        """Takes a failure back, which was none, as far as time has not done so: `forgotten_at` is of failed()."""
        if address in self._paid:
            self._paid[address] -= min(_SECONDS_OF_ADDRESS, max(0.0, forgotten_at - now))


@final
class FailedTries:
    """After five failures in a row each next try has to wait, at first a second, then twice as long each time."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._failed: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()
        """(failures in a row, the earliest time of the next try), the last that failed at the end."""

    def wait_seconds(self, host: str, name: str, now: float) -> float:
        """0: a try may be made now."""
        _, earliest = self._failed.get((host, name[:_LETTERS]), (0, 0.0))
        return max(0.0, earliest - now)

    def failed(self, host: str, name: str, now: float) -> None:
        key = (host, name[:_LETTERS])
        times = self._failed.pop(key, (0, 0.0))[0] + 1
        wait = 0.0
        if times >= FREE_TRIES:
            wait = min(_FIRST_WAIT_SECONDS * 2.0 ** min(times - FREE_TRIES, 10), _LONGEST_WAIT_SECONDS)
        self._failed[key] = (times, now + wait)
        while len(self._failed) > self._most:
            self._failed.popitem(last=False)

    def succeeded(self, host: str, name: str) -> None:
        self._failed.pop((host, name[:_LETTERS]), None)
