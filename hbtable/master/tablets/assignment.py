"""Chooses a server for each tablet that needs one (paper, section 5.2). Pure: a snapshot in, actions with their reasons
out.

Order: the root tablet, then METADATA tablets, then user tablets, because each level is read to find the next one.
While any tablet of an earlier level has to be placed, `plan` returns that level only.

A tablet needs an action when nobody owns it, when its owner is dead, or when its living owner does not serve it (the
master or the server stopped between the compare-and-set of the owner and the load). The last is a Load of the same
generation: nothing is written. When that has failed often enough it is a Reassign, if there is another server.
An owner that is about to stop gives users' tablets up by itself. One of METADATA that it does not serve is taken from
it: without that tablet it, and others, could give nothing up.

A tablet goes to the server with the fewest tablets; among equals, to the one with the fewest of the tablet's own table
(emptiest.py), so that one table's rows are served by as many servers as can be.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from hbtable.master.tablets.emptiest import Emptiest
from hbtable.master.tablets.server_load import ServerLoad, tablet_counts, takers
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_LEVEL, ROOT_TABLET_ID, USER_LEVEL, TabletRecord, level
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches_if_given

_NONE: Final = frozenset[str]()


class ClusterSnapshot(NamedTuple):
    """The tablets of a cluster and its servers at one moment. `servers` must have been read *after* `tablets`: a tablet
    assigned in between then looks served, never the other way round."""

    tablets: Sequence[TabletRecord]
    servers: Mapping[str, ServerLoad]
    """Those that answered."""
    silent: frozenset[str] = frozenset()
    """Servers that hold their lock but did not answer: they may serve, so their tablets stay with them."""
    refusals: Mapping[int, frozenset[str]] = MappingProxyType({})
    """By tablet: servers that failed to load it so often that others are to try (failed_loads.py)."""
    held: frozenset[int] = frozenset()
    """Tablets that are not to be given to anybody now (quarantine.py)."""
    suspects: frozenset[int] = frozenset()
    """Tablets of which servers may have died: they are spread, however full the servers are."""


class Assign(NamedTuple):
    """Make `server` the owner by compare-and-set, then let it load the tablet."""

    record: TabletRecord
    server: str
    why: str


class Load(NamedTuple):
    """Ask the owner on record to load the tablet (again)."""

    record: TabletRecord
    server: str
    why: str


class Reassign(NamedTuple):
    """Take it from the living owner on record, which could not load it; then as Assign."""

    record: TabletRecord
    server: str
    why: str


Action = Assign | Load | Reassign


def describe(record: TabletRecord) -> str:
    """The name of a tablet in messages."""
    if record.tablet_id == ROOT_TABLET_ID:
        return "the root tablet"
    kind = "METADATA tablet" if record.table_id == METADATA_TABLE_ID else "tablet"
    return f"{kind} {record.tablet_id}"


@switches_if_given
def plan(snapshot: ClusterSnapshot, pause: Callable[[], object] = lambda: None) -> list[Action]:
    """Actions for the most urgent level that needs any, in the snapshot's order; [] when all is served or no server
    takes tablets. METADATA's go to one that is stopping, or decommissioned, rather than to none. `pause` is called
    between many tablets."""
    counts = tablet_counts(takers(snapshot.servers))
    waiting = [record for record in with_pauses(snapshot.tablets, pause) if _needs(record, snapshot)]
    if not waiting:
        return []
    first = min(level(record) for record in waiting)
    if not counts and first < USER_LEVEL:
        # When all that live are stopping, those that still have tablets to give up need METADATA for it, and keep it
        # until the others are done (tabletserver.draining). Who has METADATA's tablets only still needs the root's.
        counts = {
            name: len(one.tablet_ids)
            for name, one in snapshot.servers.items()
            if (one.tablet_ids if first == ROOT_LEVEL else one.user_tablets)
        }
    choice = _Choice(snapshot, counts, pause)
    actions: list[Action] = []
    for record in with_pauses(waiting, pause):
        if level(record) != first:
            continue
        refusals = snapshot.refusals.get(record.tablet_id, _NONE)
        lives = record.owner in snapshot.servers
        stops = lives and snapshot.servers[record.owner].draining and record.owner not in counts
        refused = record.owner in refusals and any(server not in refusals for server in counts)
        if lives and not stops and not refused:
            why = f"{record.owner} owns {describe(record)} but does not serve it"
            actions.append(Load(record, record.owner, why))
            continue
        if not counts:
            continue
        server = choice.server_for(record, refusals)
        kind = Reassign if lives else Assign
        actions.append(kind(record, server, _why(record, server, record.owner in refusals, stops)))
    return actions


class _Choice:
    """Servers for the tablets of one plan, given out one after the other."""

    @switches_if_given
    def __init__(self, snapshot: ClusterSnapshot, counts: Mapping[str, int], pause: Callable[[], object]) -> None:
        of_tables: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for record in with_pauses(snapshot.tablets, pause):
            of_tables[record.table_id][record.owner] += 1
        self._suspects = snapshot.suspects
        self._suspected = Counter(
            {server: len(load.tablet_ids & snapshot.suspects) for server, load in snapshot.servers.items()}
            if snapshot.suspects
            else {}
        )
        self._emptiest = Emptiest(counts, snapshot.servers, of_tables)

    def server_for(self, record: TabletRecord, refusals: frozenset[str]) -> str:
        """The server for the tablet. At least one server must take tablets."""
        is_suspect = record.tablet_id in self._suspects
        if refusals or is_suspect:
            able = [server for server in self._emptiest.counts if server not in refusals] or self._emptiest.counts
            if is_suspect:
                fewest = min(self._suspected[server] for server in able)
                able = [server for server in able if self._suspected[server] == fewest]
            server = self._emptiest.choose_among(able, record.table_id)
            self._suspected[server] += is_suspect
        else:
            server = self._emptiest.choose(record.table_id)
        self._emptiest.give(server, record.table_id)
        return server


def least_loaded(servers: Mapping[str, ServerLoad]) -> str:
    """The server with the fewest tablets, of at least one."""
    return Emptiest(tablet_counts(servers), servers).choose(METADATA_TABLE_ID)


def _needs(record: TabletRecord, snapshot: ClusterSnapshot) -> bool:
    if record.owner in snapshot.silent or record.is_merging() or record.tablet_id in snapshot.held:
        return False
    load = snapshot.servers.get(record.owner)
    if load is None:
        return True
    # A draining owner that does not serve it is about to give it up by itself, for which it needs METADATA.
    return record.tablet_id not in load.tablet_ids and not (load.draining and level(record) == USER_LEVEL)


def _why(record: TabletRecord, server: str, refused: bool, stops: bool) -> str:
    if stops:
        return f"{describe(record)} goes to {server} because its owner {record.owner} stops and does not serve it"
    if refused:
        return f"{describe(record)} goes to {server} because its owner {record.owner} could not load it"
    if record.owner:
        return f"{describe(record)} goes to {server} because its owner {record.owner} is dead"
    return f"{describe(record)} goes to {server} because nobody owns it"
