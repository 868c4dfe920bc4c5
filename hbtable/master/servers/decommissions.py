"""Takes tablet servers out of service at an operator's word, and moves away what they serve (paper, section 5.2).

The mark is in the server file, so that it outlives every master, and ends with its server: one that is started again
is another incarnation, without a mark.

    marked    no tablet is placed on it any more, none is moved there; what it serves stays, splits included
    leaving   besides, the master's cycle moves its tablets to servers without a mark: user tablets first, then
              METADATA's others, then the root tablet, because each level's unload writes to the level above

A tablet of METADATA is only taken from its server here; the next cycle places it like any other that nobody owns.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import final

from hbtable.errors import FileNotFound, HbtableError, InvalidRequest, LockLost
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ServerFile
from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.assignment import describe
from hbtable.master.tablets.balancing import Move
from hbtable.master.tablets.emptiest import Emptiest
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.relocations import GoesOn, Relocations
from hbtable.master.tablets.server_load import ServerLoad, tablet_counts, takers
from hbtable.metadata import layout
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord, level
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)


def departures(tablets: Sequence[TabletRecord], servers: Mapping[str, ServerLoad]) -> list[Move]:
    """Moves of the tablets of leaving servers, root tablet last; [] when nobody takes any. Pure."""
    able = takers(servers)
    if not able:
        return []
    emptiest = Emptiest(tablet_counts(able), servers)
    moves: list[Move] = []
    for tablet in sorted(tablets, key=level, reverse=True):
        load = servers.get(tablet.owner)
        if load is None or not load.leaving or load.draining or tablet.tablet_id not in load.tablet_ids:
            continue
        target = emptiest.choose(tablet.table_id)
        emptiest.give(target, tablet.table_id)
        why = f"{describe(tablet)} leaves {tablet.owner}, which is decommissioned, for {target}"
        moves.append(Move(tablet, target, why))
    return moves


@final
class Decommissions:
    """Marks servers that are to leave, and has their tablets moved away."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        placement: Placement,
        reports: Callable[[], ServerReports],
        relocations: Relocations,
    ) -> None:
        self._session = session
        self._placement = placement
        self._reports = reports
        self._relocations = relocations
        self._turn = runtime.lock()
        """Of who marks: two at once could each leave the other's server for the last."""

    # ---------------------------------------------------------------- marks

    @switches
    def mark(self, servers: Sequence[str], offload: bool) -> None:
        """Marks these servers; durable on return. A second call says anew whether they are leaving. InvalidRequest for
        a server that is not there, or when no other one would be left to take tablets: none was marked, but for those
        before one that died at this moment."""
        with self._turn:
            reports = self._reports()
            for server in servers:
                if server not in reports.living:
                    raise InvalidRequest(f"there is no tablet server {server}")
            if not any(load.takes_tablets() for name, load in reports.loads.items() if name not in servers):
                raise InvalidRequest("no tablet server would be left that takes tablets; start another one first")
            for server in servers:
                self._write(server, decommissioned=True, leaving=offload)
                log.info("tablet server %s is decommissioned%s", server, "; its tablets leave" if offload else "")

    @switches
    def unmark(self, server: str) -> None:
        """The server takes tablets again. InvalidRequest when there is no such server."""
        self._write(server, decommissioned=False, leaving=False)
        log.info("tablet server %s is in service again", server)

    @switches
    def _write(self, server: str, decommissioned: bool, leaving: bool) -> None:
        try:
            ServerFile.change(
                self._session, server, lambda file: replace(file, decommissioned=decommissioned, leaving=leaving)
            )
        except FileNotFound:
            raise InvalidRequest(f"there is no tablet server {server}") from None

    # ---------------------------------------------------------------- for the master's cycle

    @switches
    def offload(
        self, names: Mapping[int, bytes], tablets: Sequence[TabletRecord], reports: ServerReports
    ) -> tuple[str, bool]:
        """Begins to move tablets of leaving servers, beside the master's cycle; when none of users is left that can
        move, one of METADATA is taken from its server. What was begun or done, "" for nothing, and whether there is
        only to wait. `names`: of enabled tables, by id; tablets of other tables stay."""
        if self._relocations.under_way():
            return "waiting for tablets that are moved to other servers", True
        moves = departures(tablets, reports.loads)
        begun, waits = self._relocations.begin(moves, names, reports, _leaving(moves))
        if begun:
            return begun, waits
        for move in moves:
            if move.record.table_id == METADATA_TABLE_ID:
                log.info("master: %s", move.why)
                try:
                    self._placement.vacate(move.record, reports.living, layout.SCHEMA.name)
                except LockLost:
                    raise
                except HbtableError as error:
                    return f"waiting: {move.why}: {error}", True
                return move.why, False
        return "", False


def _leaving(moves: Sequence[Move]) -> GoesOn:
    """Whether the servers that these tablets leave are still to be left."""
    left = {move.record.owner for move in moves}
    return lambda reports: all(reports.loads[name].leaving for name in left if name in reports.loads)
