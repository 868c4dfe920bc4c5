"""Counts the loads that failed: after a few tries on one server another server gets the tablet.

The reason may lie with the server: no memory, no way to the files or to METADATA, something left in its log. When it
lies with the tablet, every server fails in turn, each after as many tries, and then the first one may try again.

A server on which several loads in a row fail is *struggling*. For a while it gets tablets only where no other server
takes any. Otherwise the balancer would send it one tablet after the other, because it is the emptiest.

Only the master's memory has this. A new master asks the owner on record again, as often as the old one did.
Placement.vacate says why it is safe that a tablet changes servers.
"""

import logging
from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple, final

log = logging.getLogger(__name__)

TRIES: Final = 3
"""On one server in a row. The pauses between them are the master's: they grow from two of its periods."""

REST_SECONDS: Final = 300.0
"""The time after its last failure for which a server is called struggling. Longer: one that is well again stays empty
longer; shorter: tablets are more often without a server while it is tried again."""


class _Failed(NamedTuple):
    """The failures of one tablet on one server."""

    times: int
    reason: str


class _InARow(NamedTuple):
    """The failures of one server, since its last success."""

    times: int
    at: float


_NEVER: Final = _Failed(0, "")


@final
class FailedLoads:
    """Counts how often a server could not load a tablet. `clock` in seconds. Does not switch."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failed: dict[int, dict[str, _Failed]] = {}
        self._in_a_row: dict[str, _InARow] = {}

    def failed(self, tablet_id: int, server: str, reason: str) -> None:
        failed = self._failed.setdefault(tablet_id, {})
        failed[server] = _Failed(failed.get(server, _NEVER).times + 1, reason)
        before = self._in_a_row.get(server)
        in_a_row = self._in_a_row[server] = _InARow(before.times + 1 if before else 1, self._clock())
        if in_a_row.times == TRIES:
            log.warning(
                "master: %d loads in a row failed on %s, which comes last when tablets are given out until one "
                "succeeds, or none failed for %g s; the last was of tablet %d: %s",
                TRIES, server, REST_SECONDS, tablet_id, reason,
            )  # fmt: skip

    def loaded(self, tablet_id: int, server: str) -> None:
        self._in_a_row.pop(server, None)
        self.served(tablet_id)

    def served(self, tablet_id: int) -> None:
        """Though the server may not have said so when it was asked to load it."""
        self._failed.pop(tablet_id, None)

    def struggling(self) -> frozenset[str]:
        since = self._clock() - REST_SECONDS
        self._in_a_row = {server: one for server, one in self._in_a_row.items() if one.at > since}
        return frozenset(server for server, one in self._in_a_row.items() if one.times >= TRIES)

    def reason(self, tablet_id: int, server: str) -> str:
        """The reason of the last failure; "" for none."""
        return self._failed.get(tablet_id, {}).get(server, _NEVER).reason

    def refusals(self, able: Collection[str]) -> dict[int, frozenset[str]]:
        """The servers that have failed to load each tablet often enough. If these are all that are `able` to take
        tablets, all failures but those of the last server are forgotten, so that the others are tried again in turn."""
        found: dict[int, frozenset[str]] = {}
        for tablet_id, failed in self._failed.items():
            tired = [server for server, one in failed.items() if one.times >= TRIES]
            if len(tired) > 1 and set(able) <= set(tired):
                for server in tired[:-1]:
                    del failed[server]
                tired = tired[-1:]
            if tired:
                found[tablet_id] = frozenset(tired)
        return found

    def keep_only(self, tablet_ids: Iterable[int]) -> None:
        """Forgets every tablet but these."""
        there = set(tablet_ids)
        for gone in self._failed.keys() - there:
            del self._failed[gone]
