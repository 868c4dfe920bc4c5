"""Has the balancer's plan carried out, when it is switched on: first as many tablets for each server (balancing.py),
then as much load, and each table on as many servers as can be (exchanges.py). relocations.py moves."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, final

from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import BALANCER
from hbtable.lockservice.toggles import Toggle
from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.balancing import Move, is_uneven, plan_moves, why_not_calm
from hbtable.master.tablets.exchanges import plan_exchanges
from hbtable.master.tablets.relocations import GoesOn, Relocations
from hbtable.master.tablets.server_load import tablet_counts, takers
from hbtable.metadata.catalog import Catalog
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.switches import switches

_MOVES_OF_A_PLAN: Final = 1000
"""Each plan reads all of METADATA. More: less reading; fewer: what changes meanwhile is counted in sooner."""
_ROUNDS: Final = 100
_IDLE_ROUNDS: Final = 2
"""In a row that moved nothing, after which who asked is told so. The first may be of a plan that was old."""
_EXCHANGES_OF_A_PLAN: Final = 16
"""More: loads are even sooner, and a plan takes longer, in which the master does nothing else: some 10 ms each with
2,000 tablets on a server."""
_STAYS_SECONDS: Final = 600.0
"""A tablet that changed places stays for so long. Shorter: what comes in waves is carried after them."""
_OTHERS_GO_ON: Final = "other operations go on with what could move"


class _Plan(NamedTuple):
    """The moves that are to be made, of tables with these names."""

    names: dict[int, bytes]
    moves: list[Move] | None
    """None: the cluster is not calm enough to say."""
    rests: str
    """The reason why servers keep much more load than others; "": none does."""
    exchanged: list[int]
    """The tablets that change places for their load, or their table's spread."""


@final
class Balancer:
    """Has tablets moved until all servers serve about as many, with about as many requests."""

    def __init__(
        self,
        clock_seconds: Callable[[], float],
        session: Session,
        catalog: Catalog,
        reports: Callable[[], ServerReports],
        relocations: Relocations,
    ) -> None:
        self.toggle = Toggle(session, BALANCER)
        self.rests = ""
        """The reason why tablets stay although servers have more of them than others, or more requests, as of the
        master's last look at all tablets; "": they move, or are spread evenly."""
        self._clock = clock_seconds
        self._stay_until: dict[int, float] = {}
        """By tablet that changed places a short while ago."""
        self._catalog = catalog
        self._reports = reports
        self._relocations = relocations

    @switches
    def round(
        self, tables: Iterable[TableRecord], rows: Sequence[TabletRecord], reports: ServerReports
    ) -> tuple[str, bool]:
        """Begins to move tablets, beside the master's cycle, unless some move already; what was begun, "" for nothing,
        and whether it waits because moves failed. `reports` is not much older than `rows`."""
        if self._relocations.under_way():
            self.rest(reports, "")
            return "", False
        names, moves, rests, exchanged = self._plan(tables, rows, reports)
        if not self.toggle.is_on():
            self.rest(reports, "it is switched off")
            return "", False
        if not moves:
            wanted = [row for row in rows if row.table_id in names]
            why = why_not_calm(wanted, reports.loads, reports.silent)
            self.rest(reports, why or "what could move are METADATA's tablets, which stay")
            self.rests = self.rests or rests
            return "", False
        begun, waits = self._relocations.begin(moves, names, reports, self._goes_on(reports))
        if begun and not waits:
            self._let_stay(exchanged)
        self.rest(reports, begun if waits else "" if begun else _OTHERS_GO_ON)
        return begun, waits

    def rest(self, reports: ServerReports, why: str) -> None:
        """Nothing moves now, and this is why. Does not switch."""
        self.rests = why if is_uneven(reports.loads) else ""

    @switches
    def run(self) -> bool:
        """Rounds until nothing is left to do. False: it is off, the cluster is not calm, or nothing moves because other
        operations go on with it. Errors of Relocations.carry_out, and the first one of those that it tells of."""
        idle_rounds = 0
        for _ in range(_ROUNDS):
            if not self.toggle.is_on():
                return False
            tables = self._catalog.tables()
            rows = list(self._catalog.all_tablet_rows())
            reports = self._reports()
            names, moves, _, exchanged = self._plan(tables, rows, reports)
            if moves is None:
                return False
            if not moves:
                break
            self._let_stay(exchanged)
            before = self._relocations.moved
            failed = self._relocations.carry_out(moves, names, reports, self._goes_on(reports))
            if failed:
                raise failed[0]
            idle_rounds = 0 if self._relocations.moved > before else idle_rounds + 1
            if idle_rounds == _IDLE_ROUNDS:
                self.rest(reports, _OTHERS_GO_ON)
                return False
        return True

    def _goes_on(self, planned: ServerReports) -> GoesOn:
        """Whether a plan that was made of these reports is to be carried on with: until one more server is to be left,
        or stops. One that was to be left before may have nothing to give any more, and stay for long."""
        before = _going(planned)

        @switches
        def goes_on(reports: ServerReports) -> bool:
            return _going(reports) <= before and not reports.silent and self.toggle.is_on()

        return goes_on

    def _plan(self, tables: Iterable[TableRecord], rows: Sequence[TabletRecord], reports: ServerReports) -> _Plan:
        names = {table.table_id: table.schema.name for table in tables if table.state is not TableState.DISABLED}
        wanted = [row for row in rows if row.table_id in names]
        moves = plan_moves(wanted, reports.loads, reports.silent, _MOVES_OF_A_PLAN)
        return _Plan(names, moves, "", []) if moves or moves is None else self._exchanges(names, rows, reports)

    def _exchanges(self, names: dict[int, bytes], rows: Sequence[TabletRecord], reports: ServerReports) -> _Plan:
        now = self._clock()
        self._stay_until = {tablet_id: until for tablet_id, until in self._stay_until.items() if until > now}
        counts = tablet_counts(takers(reports.loads))
        wanted = [row for row in rows if row.table_id in names or row.table_id == METADATA_TABLE_ID]
        plan = plan_exchanges(wanted, counts, reports.tablet_loads, self._stay_until, _EXCHANGES_OF_A_PLAN)
        moves = []
        for change, why in plan.changes:
            moves.append(Move(change.record, change.target, why))
            if change.back is not None:
                moves.append(Move(change.back, change.record.owner, why))
        return _Plan(names, moves, plan.rests, [move.record.tablet_id for move in moves])

    def _let_stay(self, tablet_ids: list[int]) -> None:
        until = self._clock() + _STAYS_SECONDS
        self._stay_until |= dict.fromkeys(tablet_ids, until)


def _going(reports: ServerReports) -> set[str]:
    """The servers that are decommissioned and left, or stop."""
    return {name for name, load in reports.loads.items() if load.leaving or load.draining}
