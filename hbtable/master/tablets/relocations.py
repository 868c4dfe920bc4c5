"""Moves many tablets beside the master's cycle (paper, section 5.2): for the balancer, and away from servers that are
decommissioned.

    1  the servers are asked once for each batch: what a move was planned for may be over
    2  the lock of each table is held while its tablets of the batch move, several at a time
    3  for each tablet, its owner flushes and unloads it, the next one loads it

The cycle goes on meanwhile: a server that dies, or METADATA without a server, does not wait for moves, and a move that
hangs keeps none but its own batch waiting, for a few seconds (slow_loads.py). After a crash or an error between two
steps a tablet is without an owner, and the cycle places it. The plan is given up when a server comes or goes.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, final

from hbtable.errors import Conflict, HbtableError
from hbtable.master.background_work import BackgroundWork
from hbtable.master.servers.server_reports import AskServers, ServerReports
from hbtable.master.tablets.balancing import Move
from hbtable.master.tablets.pace import MovePace
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.server_load import takers
from hbtable.metadata.catalog import Catalog
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableState
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches

log = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 32
"""Tablets that move at a time, and in a batch. More: a new server has its share sooner, and more rows wait at once;
each waits for its own tablet alone. Fewer move at a time while each takes long (pace.py)."""
_LONGEST_REST_SECONDS: Final = 30.0
"""Between a plan of which a move failed and the next one; the first pause is a second, and each is twice the last."""

GoesOn = Callable[[ServerReports], bool]
"""Whether the rest of a plan is still wanted. It may switch."""


@final
class Relocations(BackgroundWork):
    """Carries one plan out at a time. `operation` is TableLocks.hold_beside_guests, `is_busy` that of TableOperations;
    `check_master` raises when this is not the master; `on_end` is called when a plan that moved something, or failed,
    is over, and must not switch. `pace`: of all moves that the master chooses."""

    def __init__(
        self,
        runtime: Runtime,
        catalog: Catalog,
        placement: Placement,
        reports: AskServers,
        operation: Callable[[bytes], AbstractContextManager[object]],
        is_busy: Callable[[bytes], bool],
        check_master: Callable[[], None],
        on_end: Callable[[], None],
        pace: MovePace,
    ) -> None:
        super().__init__(runtime, "move tablets", "tablets stay where they are")
        self._catalog = catalog
        self._placement = placement
        self._reports = reports
        self._operation = operation
        self._is_busy = is_busy
        self._check_master = check_master
        self._on_end = on_end
        self._pace = pace
        self._turn = runtime.lock()
        self._failed = 0
        """Plans in a row of which a move failed."""
        self._rest_until = 0.0
        self._problem = ""
        self.moved = 0
        """Tablets that are with their new servers, since this master began."""

    def under_way(self) -> bool:
        return not self._may_begin()

    def begin(
        self, moves: Sequence[Move], names: Mapping[int, bytes], planned: ServerReports, goes_on: GoesOn
    ) -> tuple[str, bool]:
        """Begins to carry these moves out, of tables with these `names`, by id; `planned`: the reports that the plan
        was made of. What is begun, "" for nothing, and whether it only waits, because moves failed a short while ago.
        Does not switch."""
        if self.under_way():
            return "", False
        if self._runtime.clock_seconds() < self._rest_until:
            return f"waiting: {self._problem}", True
        slow = self._placement.slow_loads
        wanted = [move for move in moves if self._may_move(move, names)]
        if not wanted:
            hanging = {server for move in moves for server in _servers(move) if slow.are_many(server)}
            if hanging:
                return f"waiting: {min(hanging)} has not answered many calls to load or to give up a tablet", True
            return "", False
        self._begin(lambda: self._work_off(wanted, names, planned, goes_on))
        more = f" (and {len(wanted) - 1} more)" if wanted[1:] else ""
        return wanted[0].why + more, False

    def _may_move(self, move: Move, names: Mapping[int, bytes]) -> bool:
        name = names.get(move.record.table_id)
        slow = self._placement.slow_loads
        hangs = slow.is_left(move.record.tablet_id, _servers(move)) or any(map(slow.are_many, _servers(move)))
        return name is not None and not hangs and not self._is_busy(name)

    @switches
    def _work_off(
        self, moves: Sequence[Move], names: Mapping[int, bytes], planned: ServerReports, goes_on: GoesOn
    ) -> None:
        problem: HbtableError | None = None
        before = self.moved
        try:
            problem = next(iter(self.carry_out(moves, names, planned, goes_on)), None)
        except HbtableError as error:
            problem = error
            raise
        finally:
            self._plan_ended(problem)
            if problem is not None or self.moved > before:
                self._on_end()  # not where nothing came of it: the same plan would be made without a pause

    def _plan_ended(self, problem: HbtableError | None) -> None:
        self._failed = self._failed + 1 if problem is not None else 0
        if problem is not None:
            self._problem = f"a tablet could not be moved: {problem}"
            pause = min(_LONGEST_REST_SECONDS, 2.0 ** (self._failed - 1))
            self._rest_until = self._runtime.clock_seconds() + pause

    @switches
    def carry_out(
        self, moves: Sequence[Move], names: Mapping[int, bytes], planned: ServerReports, goes_on: GoesOn
    ) -> list[HbtableError]:
        """Moves them, batch after batch, until one fails, or a server comes or goes. The failures of the last batch;
        that a tablet changed since the plan is none. LockLost and Unavailable when this is not the master."""
        with self._turn:
            for first in range(0, len(moves), MOST_AT_ONCE):
                self._check_master()
                reports = self._reports()
                if self._stopping or reports.living != planned.living or not goes_on(reports):
                    break
                batch = [move for move in moves[first : first + MOST_AT_ONCE] if _is_as_planned(move, reports)]
                failed = self._move_batch(batch, names, reports)
                if failed:
                    return failed
            return []

    @switches
    def _move_batch(
        self, batch: Sequence[Move], names: Mapping[int, bytes], reports: ServerReports
    ) -> list[HbtableError]:
        of_tables: dict[int, list[Move]] = {}
        for move in batch:
            if self._may_move(move, names):
                of_tables.setdefault(move.record.table_id, []).append(move)

        def job(table_id: int, moves: list[Move]) -> Callable[[], list[HbtableError]]:
            return lambda: self._move_of_table(names[table_id], table_id, moves, reports)

        jobs = [job(table_id, moves) for table_id, moves in of_tables.items()]
        failed: list[HbtableError] = []
        for outcome in run_all(self._runtime, MOST_AT_ONCE, jobs, "move tablets of a table"):
            failed += [outcome] if isinstance(outcome, HbtableError) else outcome
        return failed

    @switches
    def _move_of_table(
        self, name: bytes, table_id: int, moves: Sequence[Move], reports: ServerReports
    ) -> list[HbtableError]:
        if self._is_busy(name):
            return []
        with self._operation(name):
            table = self._catalog.read_table(name)
            if table is None or table.table_id != table_id or table.state is not TableState.ENABLED:
                return []
            schema = table.schema

            def job(move: Move) -> Callable[[], None]:
                return lambda: self._move(move, schema, reports)

            outcomes = run_all(self._runtime, MOST_AT_ONCE, [job(move) for move in moves], "move")
        failed = [one for one in outcomes if isinstance(one, HbtableError) and not isinstance(one, Conflict)]
        for error in failed:
            log.info("master: a tablet was not moved: %s", error)
        return failed

    @switches
    def _move(self, move: Move, schema: TableSchema, reports: ServerReports) -> None:
        log.info("master: %s", move.why)
        owner = move.record.owner
        back = owner if owner in takers(reports.loads) else ""  # it has shown that it can
        with self._pace.turn():
            self._placement.move(move.record, move.target, move.why, schema, reports.living, back)
        self.moved += 1


def _servers(move: Move) -> tuple[str, str]:
    return move.record.owner, move.target


def _is_as_planned(move: Move, reports: ServerReports) -> bool:
    """The one who gives it serves it, and the one who gets it takes tablets."""
    load = reports.loads.get(move.record.owner)
    return load is not None and move.record.tablet_id in load.tablet_ids and move.target in takers(reports.loads)
