"""Carries the balancer's plan out, when it is switched on (balancing.py makes the plan, moves.py moves)."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final, final

from hbtable.errors import HbtableError, LockLost
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import BALANCER
from hbtable.lockservice.toggles import Toggle
from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.balancing import Move, is_uneven, plan_moves, why_not_calm
from hbtable.master.tablets.moves import Moves
from hbtable.metadata.catalog import Catalog
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches

log = logging.getLogger(__name__)

_MOVES_A_ROUND: Final = 4
_ROUNDS: Final = 100


@final
class Balancer:
    """Moves tablets until all servers serve about as many. `is_busy`: an operation runs on the table of that name."""

    def __init__(
        self,
        session: Session,
        catalog: Catalog,
        reports: Callable[[], ServerReports],
        moves: Moves,
        is_busy: Callable[[bytes], bool],
    ) -> None:
        self.toggle = Toggle(session, BALANCER)
        self.rests = ""
        """The reason why tablets stay although servers have more of them than others, as of the master's last look
        at all tablets; "": they move, or are spread evenly."""
        self._catalog = catalog
        self._reports = reports
        self._moves = moves
        self._is_busy = is_busy

    @switches
    def round(
        self,
        tables: Iterable[TableRecord],
        rows: Sequence[TabletRecord],
        reports: ServerReports,
        interrupted: Callable[[], bool],
    ) -> tuple[str, bool]:
        """A few moves, one at least, until it is `interrupted`; what was done, "" for nothing, and whether a move
        failed. `reports` is not much older than `rows`."""
        names, moves = self._plan(tables, rows, reports)
        if not self.toggle.is_on():
            self.rest(reports, "it is switched off")
            return "", False
        if not moves:
            wanted = [row for row in rows if row.table_id in names]
            why = why_not_calm(wanted, reports.loads, reports.silent)
            self.rest(reports, why or "what could move are METADATA's tablets, which stay")
            return "", False
        done, failed = self._carry_out(names, moves, interrupted)
        self.rest(reports, done if failed else "")
        return done, failed

    def rest(self, reports: ServerReports, why: str) -> None:
        """Nothing moves now, and this is why. Does not switch."""
        self.rests = why if is_uneven(reports.loads) else ""

    @switches
    def run(self) -> bool:
        """Rounds until nothing is left to do. False: it is off, or the cluster is not calm. Errors of
        Moves.move."""
        for _ in range(_ROUNDS):
            if not self.toggle.is_on():
                return False
            tables = self._catalog.tables()
            rows = list(self._catalog.all_tablet_rows())
            names, moves = self._plan(tables, rows, self._reports())
            if moves is None:
                return False
            if not moves:
                break
            for move in moves:
                self._move(names, move)
        return True

    def _plan(
        self, tables: Iterable[TableRecord], rows: Sequence[TabletRecord], reports: ServerReports
    ) -> tuple[dict[int, bytes], list[Move] | None]:
        names = {table.table_id: table.schema.name for table in tables if table.state is not TableState.DISABLED}
        wanted = [row for row in rows if row.table_id in names]
        return names, plan_moves(wanted, reports.loads, reports.silent, _MOVES_A_ROUND)

    @switches
    def _carry_out(
        self, names: dict[int, bytes], moves: list[Move], interrupted: Callable[[], bool]
    ) -> tuple[str, bool]:
        done: list[str] = []
        for move in moves:
            if self._is_busy(names[move.record.table_id]):
                continue
            try:
                self._move(names, move)
            except LockLost:
                raise
            except HbtableError as error:  # it may have split, or its table been disabled: the next plan knows
                return f"waiting: {move.why}: {error}", True
            done.append(move.why)
            if interrupted():
                break
        return "; ".join(done), False

    @switches
    def _move(self, names: dict[int, bytes], move: Move) -> None:
        log.info("balancer: %s", move.why)
        self._moves.move(names[move.record.table_id], move.record.tablet_id, move.target, move.record)
