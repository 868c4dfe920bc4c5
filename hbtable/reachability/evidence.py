"""Decides whether a tablet server counts as unreachable: pure functions over the reports.

A server is watched by those that follow it in the order of their names, all others in a small cluster. Three rules keep
a fault of an observer from being taken for one of those that it observes:

* An observer's word counts only while that observer reaches most of the others: one that is cut off itself is silent.
* The master's word is needed, and that of more than half of those that watch the server. Neither is enough alone.
* A server that reaches nobody says so of itself, and gives up only if most of those that watch it do not say the same:
  when nobody reaches anybody, nobody gives up.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

OBSERVING_MASTER: Final = "master"
"""The name of the master among the observers."""
_WATCHERS: Final = 7
"""Of each server. More: a few more calls a second of each, and one more server may fail before the others' word is no
majority."""


class Reports(NamedTuple):
    """The reports that the lock service has of who is unreachable."""

    unreached: Mapping[str, frozenset[str]]
    """Server -> the observers that do not reach it."""
    isolated: frozenset[str]
    """Servers that say that they reach nobody."""


NOTHING_REPORTED: Final = Reports({}, frozenset())


def watchers(server: str, living: Collection[str]) -> list[str]:
    """The servers that watch this one: its next neighbours in the ring of all that live."""
    return _after(server, sorted(set(living) | {server}))


def watched(server: str, living: Collection[str]) -> list[str]:
    """The servers that this one watches: watchers() the other way round."""
    return _after(server, sorted(set(living) | {server}, reverse=True))


def _after(server: str, ring: list[str]) -> list[str]:
    place = ring.index(server)
    return [*ring[place + 1 :], *ring[:place]][:_WATCHERS]


def is_majority(some: int, all_of_them: int) -> bool:
    """More than half; of none there is none."""
    return 2 * some > all_of_them


def may_report(target: str, reached: Collection[str], observed: Iterable[str]) -> bool:
    """Whether the word of an observer counts that reaches these of those it observes."""
    others = [one for one in observed if one != target]
    return is_majority(sum(one in reached for one in others), len(others))


def who_does_not_reach(server: str, living: Collection[str], reports: Reports) -> str:
    """A message for people that names those who do not reach this server; "" when everybody does."""
    said = reports.unreached.get(server, frozenset())
    watching = watchers(server, living)
    peers = sum(one in said for one in watching)
    parts = ["the master"] if OBSERVING_MASTER in said else []
    if peers:
        parts.append(f"{peers} of the {len(watching)} tablet servers that watch it")
    return " and ".join(parts)


def why_give_up(server: str, living: Collection[str], reports: Reports) -> str:
    """The reason why this server is to end itself; "": it is not."""
    watching = watchers(server, living)
    said = reports.unreached.get(server, frozenset())
    if OBSERVING_MASTER in said and is_majority(sum(one in said for one in watching), len(watching)):
        return f"{who_does_not_reach(server, living, reports)} cannot reach it"
    well = sum(one not in reports.isolated for one in watching)
    if server in reports.isolated and is_majority(well, len(watching)):
        return f"it reaches nobody, while {well} of {len(watching)} other tablet servers reach each other"
    return ""


def limit(living: int) -> int:
    """The number of servers that may give up within a period: a minority; one of two."""
    return 0 if living < 2 else max(1, (living - 1) // 2)
