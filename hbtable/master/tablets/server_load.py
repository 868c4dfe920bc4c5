"""A tablet server as the planners see it."""

from collections.abc import Mapping
from typing import NamedTuple


class TabletLoad(NamedTuple):
    """The load that a tablet is to its server: requests in a second, of late, and bytes in SSTables."""

    reads: float
    writes: float
    sstable_bytes: int


class ServerLoad(NamedTuple):
    """A living server as the planner sees it."""

    tablet_ids: frozenset[int]
    """Tablets it serves at the moment."""
    sstable_bytes: int = 0
    draining: bool = False
    """It is about to stop: what it serves stays, nothing new comes."""
    decommissioned: bool = False
    """Nothing new comes, and what it was given before it serves."""
    leaving: bool = False
    """Decommissioned, and what it serves is to go."""
    struggling: bool = False
    """Load after load failed on it lately (failed_loads.py), or many hang (slow_loads.py): others come first."""
    user_tablets: int = 0
    """Of what it serves, what is not METADATA's."""

    def takes_tablets(self) -> bool:
        return not self.draining and not self.decommissioned


def takers(servers: Mapping[str, ServerLoad]) -> dict[str, ServerLoad]:
    """The servers that take tablets; those that are struggling only when there are no others."""
    able = {server: load for server, load in servers.items() if load.takes_tablets()}
    return {server: load for server, load in able.items() if not load.struggling} or able


def tablet_counts(servers: Mapping[str, ServerLoad]) -> dict[str, int]:
    return {server: len(load.tablet_ids) for server, load in servers.items()}
