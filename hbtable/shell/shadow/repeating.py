"""Calls that were answered are repeated on the secondary and compared, for one client's connection, in its order.

Nothing here holds the client up, but for the room of calls that wait: it is bounded, and so is the time that an answer
waits for room. A call without room is left out, and its rows are in doubt from then on.
"""

import threading
from collections.abc import Callable, Iterable
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, NamedTuple, final

from hbtable.shell.errors import CannotConnect
from hbtable.shell.shadow.calls import CATALOG, Cells, Kind, Touch
from hbtable.shell.shadow.comparing import Cell, Difference, compare, error_class, errors, says_no_scanner
from hbtable.shell.shadow.links import Broken, ServerLink
from hbtable.shell.shadow.races import FORGOTTEN_TIMES, HAS_MORE, LACKS, NAMED_TIME, Races, ReadSpan, Write
from hbtable.shell.shadow.scanned import FetchFailed, Scanned, Scans
from hbtable.shell.shadow.tally import ShadowTally
from hbtable.shell.shadow.times import CellTimes
from hbtable.shell.shadow.turns import Turn, Turns
from hbtable.shell.shadow.wire import Answer, failure, interface

NO_ROOM: Final = "the secondary is too far behind"
NOT_REACHED: Final = "the secondary was not reached"
NOT_THERE: Final = "the table is not at the secondary"
NO_SCANNER: Final = "the secondary has no such scanner"
NO_SCANNER_AT_PRIMARY: Final = "the primary has no such scanner any more"
UNKNOWN_SCANNER: Final = "a scanner that the proxy does not know"
SCAN_FAILED: Final = "an earlier call of the scan failed"
STOPPED: Final = "the proxy stopped"
OUR_FAULT: Final = "an error of the proxy"
BY_NATURE: Final = "differs by nature"
_REST_SECONDS: Final = 1.0
"""After the secondary was not reached, for all connections."""
_EXAMPLES_READ_ALONE: Final = 10
_BY_VERSIONS: Final = ("getVer", "getVerTs")


class Job(NamedTuple):
    """A call that the primary has answered. `size`: of the room, bytes that call and answer take."""

    name: str
    arguments: Any
    touch: Touch
    answer: Answer
    sent: float
    acked: float
    size: int
    turn: Turn
    write: Write | None = None
    scan: Scanned | None = None


@final
class WaitingRoom:
    """For calls that wait to be repeated, of all connections, and their answers."""

    def __init__(self, calls: int, size: int) -> None:
        self._changed = threading.Condition()
        self._calls, self._size = calls, size

    def take(self, size: int, wait_seconds: float) -> bool:
        with self._changed:
            free = self._changed.wait_for(lambda: self._calls > 0 and self._size > 0, wait_seconds)
            if free:
                self._calls -= 1
                self._size -= size
            return free

    def give(self, size: int) -> None:
        with self._changed:
            self._calls += 1
            self._size += size
            self._changed.notify()


@final
class ShadowSurroundings:
    """Everything that all connections share. `clock`: seconds. `sleep`: waits so many."""

    def __init__(
        self,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        wall_millis: Callable[[], int],
        room: WaitingRoom,
        clocks_seconds: float,
        say: Callable[[str], None],
    ) -> None:
        self.clock = clock
        self.sleep = sleep
        self.say = say
        self.room = room
        self.turns = Turns()
        self.races = Races(clock, wall_millis)
        self.times = CellTimes(wall_millis() - int(clocks_seconds * 1000))
        self.tally = ShadowTally()
        self.scans = Scans(self.races)
        self.lacking: set[bytes] = set()
        """Tables that the secondary has not."""
        self.stopping = threading.Event()
        self.hurry = threading.Event()
        """Calls that still wait are left out."""
        self.rests_until = 0.0

    def tell_lacking(self, tables: Iterable[bytes], calls: int) -> None:
        """Says it of each table once. `calls`: so many more were left out for it."""
        for table in tables:
            if table in self.lacking and self.tally.lacking(table, calls):
                self.say(
                    f"table {table.decode('utf-8', 'backslashreplace')} is not at the secondary: its calls are "
                    "answered and not compared. Copy it, and start the proxy again"
                )


@final
class Repeater:
    """A thread with a connection to the secondary. `check` reads one cell from both servers: whether it differs; None:
    that cannot be known."""

    def __init__(self, around: ShadowSurroundings, link: ServerLink, check: Callable[[Cells], bool | None]) -> None:
        self._around = around
        self._link = link
        self._check = check
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._run, name="shadow repeats", daemon=True)
        self.thread.start()

    def put(self, job: Job, wait_seconds: float) -> None:
        """Waits for room, `wait_seconds` at most."""
        if self._around.room.take(job.size, wait_seconds):
            self._jobs.put(job)
        else:
            self.leave_out(job, NO_ROOM)

    def leave_out(self, job: Job, reason: str) -> None:
        """In the place of put()."""
        self._leave_out(job, reason)
        self._done(job)

    def end(self) -> None:
        """After the last put(). Does not wait."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                self._one(job)
            except Exception as error:  # noqa: BLE001 - a bug of ours: the next call is repeated all the same
                self._around.say(f"{job.name} was not compared: {type(error).__name__}: {error}")
                self._leave_out(job, OUR_FAULT)
            finally:
                self._around.room.give(job.size)
                self._done(job)
        self._around.scans.left(self)
        self._link.close()

    def _done(self, job: Job) -> None:
        self._around.turns.end(job.turn)
        self._around.races.read(job.turn)
        if job.scan is not None:
            self._around.scans.done(job.scan)

    def _one(self, job: Job) -> None:
        around = self._around
        if not around.turns.wait(job.turn, around.hurry.is_set) or around.hurry.is_set():
            return self._leave_out(job, STOPPED)
        if around.clock() < around.rests_until:
            return self._leave_out(job, NOT_REACHED)
        try:
            if job.touch.kind is Kind.NEXT:
                return self._next_page(job)
            if job.touch.kind is Kind.CLOSE:
                return self._close(job)
            answer, span = self._repeated(job)
        except (CannotConnect, Broken) as error:
            around.say(f"the secondary: {error}")
            if isinstance(error, CannotConnect):
                around.rests_until = around.clock() + _REST_SECONDS
            return self._leave_out(job, NOT_REACHED)
        around.turns.end(job.turn)
        self._judge(job, answer, span)
        if job.touch.kind is Kind.OPEN and job.scan is None and failure(answer) is None:
            self._close_alone(answer.success)
        return None

    def _repeated(self, job: Job) -> tuple[Answer, ReadSpan]:
        around, write = self._around, job.write
        if write is not None:
            if (pause := around.races.pause(write)) > 0:
                around.sleep(pause)
            around.races.begins_at_secondary(write)
        begun = around.clock()
        answer = self._link.call(job.name, job.arguments)
        ended = around.clock()
        if write is not None:
            around.races.ended_at_secondary(write)
        if job.scan is not None and job.touch.kind is Kind.OPEN:
            job.scan.begun, job.scan.secondary_id = begun, getattr(answer, "success", None)
            job.scan.used, job.scan.connection = (job.acked, ended), self._link.connection()
        around.tally.repeated(job.name, ended - begun)
        return answer, ReadSpan(job.sent, job.acked, begun, ended)

    # ------------------------------------------------------------ judging

    def _judge(self, job: Job, answer: Answer, span: ReadSpan) -> None:
        around = self._around
        failed = failure(job.answer), failure(answer)
        if failed[0] is None and "TableNotFound" in error_class(failed[1]):
            if len(job.touch.tables) == 1:  # of several it is not told which
                around.lacking.update(job.touch.tables)
            return self._leave_out(job, NOT_THERE)
        if job.touch.kind is Kind.OPEN and failed == (None, None):
            return around.tally.equal(job.name)
        reads = job.touch.kind in (Kind.READ, Kind.OPEN)
        if reads and around.times.may_be_servers(job.touch.rows, job.touch.times):
            return around.tally.skipped(job.name, NAMED_TIME)
        if job.touch.kind is Kind.APART:
            return around.tally.skipped(job.name, BY_NATURE)
        found = list(compare(job.name, job.touch, job.answer, answer, around.times.alike))
        known = [one for one in found if one.table not in around.lacking]
        if job.write is not None and (failed[0] is None) != (failed[1] is None):
            around.races.doubt(job.touch.rows, LACKS if failed[0] is None else HAS_MORE)
            if known:
                return self._differs(job.name, known)
        return self._weigh(job, known, span, NOT_THERE if len(known) < len(found) else "")

    def _weigh(self, job: Job, found: list[Difference], span: ReadSpan, left_out: str = "") -> None:
        """Of what differs, that counts which no race explains. `left_out`: the reason why a part was not compared."""
        name, around, certain, reason = job.name, self._around, [], ""
        for one in found:
            said = self._reason(job, one, span)
            if said:
                reason = said
            else:
                certain.append(one)
        if certain:
            self._differs(name, certain)
        elif reason:
            around.tally.unknown(name, reason)
        elif left_out:
            around.tally.skipped(name, left_out)
        else:
            around.tally.equal(name)

    def _reason(self, job: Job, found: Difference, span: ReadSpan) -> str:
        """The reason why a difference says nothing, or ""."""
        cells = found.primary, found.secondary
        if found.kind == "time" and isinstance(cells[0], Cell) and isinstance(cells[1], Cell):
            times = cells[0].timestamp, cells[1].timestamp
            if self._around.times.are_forgotten(found.table, found.row or b"", *times):
                return FORGOTTEN_TIMES
        write, by_versions = job.write, job.name in _BY_VERSIONS
        before_a_time = write is None and bool(job.touch.times or (job.scan is not None and job.scan.before_a_time))
        return self._around.races.reason(
            _table_of(job.name, found), found.row, found.column, span, write, by_versions, before_a_time
        )

    def _differs(self, name: str, found: list[Difference]) -> None:
        for one in self._around.tally.different(name, found):
            asks = one.row is not None and one.column is not None and one.kind != "error"
            if asks and self._around.tally.may_ask(name, one.kind, _EXAMPLES_READ_ALONE):
                differs = self._check(Cells(one.table, one.row or b"", frozenset((one.column or b"",))))
                if differs is not None:
                    self._around.tally.alone(name, one, differs)

    def _next_page(self, job: Job) -> None:
        around, scan = self._around, job.scan
        if scan is None:
            return around.tally.skipped(job.name, UNKNOWN_SCANNER)
        if scan.not_comparable or scan.secondary_id is None:
            return around.tally.skipped(job.name, scan.not_comparable or NO_SCANNER)
        begun, found, failed = around.clock(), [], None
        asked = getattr(job.arguments, "nbRows", 1) or 0
        try:
            if failure(job.answer) is None:
                page, fetch = job.answer.success or [], partial(self._fetched, job, scan)
                for one in scan.differences(page, asked, fetch, around.times.alike):
                    found.append(one)  # those before a failure count, too
            else:
                self._fetched(job, scan, asked)
        except FetchFailed as error:
            failed = error.error
        ended = around.clock()
        around.tally.repeated(job.name, ended - begun)
        return self._judge_scan(job, scan, found, failed, begun, ended)

    def _fetched(self, job: Job, scan: Scanned, rows: int) -> list[Any]:
        arguments = type(job.arguments)(id=scan.secondary_id)
        if job.name == "scannerGetList":
            arguments.nbRows = rows
        answer = self._link.call(job.name, arguments)
        if failure(answer) is not None:
            raise FetchFailed(failure(answer))
        return list(answer.success or [])

    def _close(self, job: Job) -> None:
        around, scan = self._around, job.scan
        if scan is None:
            return around.tally.skipped(job.name, UNKNOWN_SCANNER)
        if scan.secondary_id is None:
            return around.tally.skipped(job.name, scan.not_comparable or NO_SCANNER)
        begun = around.clock()
        answer = self._link.call(job.name, type(job.arguments)(id=scan.secondary_id))
        ended = around.clock()
        around.tally.repeated(job.name, ended - begun)
        if scan.not_comparable:
            return around.tally.skipped(job.name, scan.not_comparable)
        return self._judge_scan(job, scan, [], failure(answer), begun, ended)

    def _close_alone(self, scanner: int) -> None:
        """The primary did not open it, so its client never closes it."""
        try:
            self._link.call("scannerClose", interface().Hbase.scannerClose_args(id=scanner))
        except (CannotConnect, Broken) as error:
            self._around.say(f"the secondary: {error}")

    def _judge_scan(
        self, job: Job, scan: Scanned, found: list[Difference], failed: Any, begun: float, ended: float
    ) -> None:
        """`failed`: the secondary's error. Behind an error of either the two scanners may stand at different rows."""
        at_primary, left_out = failure(job.answer), ""
        if at_primary is None and "TableNotFound" in error_class(failed):
            self._around.lacking.add(scan.table)
            return self._leave_out(job, NOT_THERE)
        if at_primary is not None or failed is not None:
            left_out = self._why_lost(scan, at_primary, failed, *scan.rested(job.sent, begun))
            found += () if left_out else errors(scan.table, None, at_primary, failed)
            scan.not_comparable = left_out or SCAN_FAILED
        scan.used = job.acked, ended
        return self._weigh(job, found, ReadSpan(scan.sent, job.acked, scan.begun, ended), left_out)

    def _why_lost(
        self, scan: Scanned, at_primary: Any, at_secondary: Any, rested_first: float, rested_second: float
    ) -> str:
        """The reason why one of the servers may have no such scanner any more though both are right: it rested there
        for longer, or the secondary was started anew."""
        if says_no_scanner(at_primary) == says_no_scanner(at_secondary):
            return ""
        if says_no_scanner(at_primary):
            return NO_SCANNER_AT_PRIMARY if rested_first > rested_second else ""
        return NO_SCANNER if rested_second > rested_first or scan.connection is not self._link.connection() else ""

    def _leave_out(self, job: Job, reason: str) -> None:
        around = self._around
        around.tally.skipped(job.name, reason)
        if job.write is not None:
            is_skipped_with_its_reads = reason == NOT_THERE and around.lacking.issuperset(job.touch.tables)
            around.races.drop(job.write, "" if is_skipped_with_its_reads else LACKS)
        if reason == NOT_THERE:
            around.tell_lacking((job.scan.table,) if job.scan is not None else job.touch.tables, 1)
        if job.scan is not None:
            job.scan.not_comparable = job.scan.not_comparable or reason


def _table_of(name: str, found: Difference) -> bytes:
    return CATALOG if name.startswith("getTableNames") else found.table


def outcome_is_unknown(answer: Answer) -> bool:
    """Of a write that the primary refused: whether it may have been carried out all the same."""
    error = failure(answer)
    if error is None:
        return False
    unknown = "OutcomeUnknown" in (getattr(error, "classes", None) or ())
    return unknown or type(error).__name__ == "TApplicationException" or bool(getattr(error, "canRetry", False))
