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
from hbtable.master.tablets.moves import Moves
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.server_load import ServerLoad, tablet_counts, takers
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
    """Marks servers that are to leave, and moves their tablets away. `is_busy`: an operation runs on the table of that
    name."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        placement: Placement,
        reports: Callable[[], ServerReports],
        moves: Moves,
        is_busy: Callable[[bytes], bool],
    ) -> None:
        self._session = session
        self._placement = placement
        self._reports = reports
        self._moves = moves
        self._is_busy = is_busy
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
        """It takes tablets again. InvalidRequest when there is no such server."""
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
        self,
        names: Mapping[int, bytes],
        tablets: Sequence[TabletRecord],
        reports: ServerReports,
        interrupted: Callable[[], bool],
    ) -> tuple[str, bool]:
        """Moves tablets of leaving servers, one at least, until it is `interrupted`; what was done, "" for nothing, and
        whether only failures are left. `names`: of enabled tables, by id; tablets of other tables stay."""
        done: list[str] = []
        problems: list[str] = []
        for move in departures(tablets, reports.loads):
            try:
                if not self._carry_out(move, names, reports, bool(done or problems)):
                    continue
                done.append(move.why)
            except LockLost:
                raise
            except HbtableError as error:  # it may have split, or its table been disabled: the next plan knows
                problems.append(f"waiting: {move.why}: {error}")
            if interrupted():
                break
        return "; ".join(done or problems), not done and bool(problems)

    @switches
    def _carry_out(self, move: Move, names: Mapping[int, bytes], reports: ServerReports, others: bool) -> bool:
        """False: not now. `others`: something of this round was, or should have been, moved before."""
        tablet = move.record
        if tablet.table_id == METADATA_TABLE_ID:
            if others:
                return False
            self._placement.vacate(tablet, reports.living)
        else:
            name = names.get(tablet.table_id)
            if name is None or self._is_busy(name):
                return False
            self._moves.move(name, tablet.tablet_id, move.target, tablet)
        log.info("master: %s", move.why)
        return True
