"""The events of each tablet, in METADATA's own rows beside the tablets' (layout.history_key).

Whoever has something to say about a tablet notes it here and goes on: events are written together, a moment later, and
nobody waits for that. Those of the last moment before a crash are lost, and so are the oldest when METADATA cannot be
reached for long, and all that waits in a process that lost its session: its tablets have other owners by now, and what
it says of them late would take the place of newer events. A tablet keeps the last of each kind for each of some
generations: a column is named by the kind and the generation modulo that number, so a new event takes an old one's
place, and nothing has to be read for it.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, final

from hbtable.encoding import tablet_event
from hbtable.errors import Corruption, HbtableError, LockLost, Unavailable, UnsupportedFormat
from hbtable.lockservice.interface import Session
from hbtable.metadata import layout
from hbtable.metadata.locator import tablets_of
from hbtable.metadata.metadata_calls import MetadataCalls
from hbtable.metadata.tiling import standing
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, Operation, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING
from hbtable.model.tablet import TabletRecord
from hbtable.model.tablet_event import ORDER, TabletEvent
from hbtable.rpc.services import TabletService
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted, supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

_GENERATIONS: Final = 16
_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 2.0
_AT_ONCE: Final = 500
_MOST: Final = 20_000
"""Events that wait, some 10 MB."""
_LONGEST_TEXT: Final = 1000
_KEPT_MILLIS: Final = 400 * 86_400_000
"""Of a tablet that is no more nobody asks, and its row goes by itself."""


@final
class TabletHistory:
    """Writes for one process. `by` is its incarnation, "" the master's."""

    def __init__(self, runtime: Runtime, calls: MetadataCalls, session: Session, kept: bool, by: str = "") -> None:
        """Not `kept`: every note is dropped. On one machine there is nobody else whom a tablet could be given to.
        `session`: of the lock under which this process acts."""
        self._runtime = runtime
        self._calls = calls
        self._session = session
        self._by = by
        self._waiting: list[TabletEvent] = []
        self._writing = False
        self.stopped = not kept
        """Nothing is noted any more."""

    def note(self, record: TabletRecord, what: str, server: str, why: str = "") -> None:
        """Does not switch."""
        if self.stopped:
            return
        event = TabletEvent(
            record.table_id,
            record.tablet_id,
            record.generation,
            self._runtime.wall_millis(),
            what,
            server,
            self._by,
            why[:_LONGEST_TEXT],
        )
        self._waiting.append(event)
        del self._waiting[:-_MOST]
        if not self._writing:
            self._writing = True
            supervise(self._runtime, self._write_soon, name="tablet history")

    @switches
    def write(self) -> None:
        """All that was noted is in METADATA on return. LockLost: the session ended, and nothing is noted any more.
        Other HbtableErrors: the rest waits."""
        while self._waiting:
            events = self._waiting[:_AT_ONCE]
            del self._waiting[:_AT_ONCE]
            try:
                _write(self._calls, events, self._check)
            except LockLost:
                self.stopped = True
                self._waiting.clear()
                raise
            except BaseException:
                self._waiting[:0] = events
                raise

    def _check(self) -> None:
        if self._session.over():
            raise LockLost("the session ended: events of tablets are for those to tell who have them now")
        if not self._session.valid():
            raise Unavailable("the lock service cannot be reached, and whether the session lives is not known")

    @switches
    def stop(self) -> None:
        """Writes all that waits, if METADATA can be reached now: a server of it that hangs delays nobody's end."""
        self.stopped = True
        if not self._waiting:
            return
        task = spawn_counted(self._runtime, self._write_last, name="last events of tablets")
        if not task.join(_STOP_SECONDS):
            task.kill()
            log.info("the last events of tablets are not noted: no answer within %g s", _STOP_SECONDS)

    @switches
    def _write_last(self) -> None:
        try:
            self.write()
        except HbtableError as error:
            log.info("%d events of tablets are not noted: %s", len(self._waiting), error)

    @switches
    def _write_soon(self) -> None:
        pause = _PAUSE_SECONDS
        while self._waiting and not self.stopped:
            self._runtime.sleep(pause)
            try:
                self.write()
                pause = _PAUSE_SECONDS
            except HbtableError as error:
                log.debug("%d events of tablets could not be noted yet: %s", len(self._waiting), error)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        self._writing = False


@switches
def events_of(calls: MetadataCalls, table_id: int, tablet_id: int) -> list[TabletEvent]:
    """The events in the order in which they happened: by generation, and within one as an ownership goes. Wall clocks
    of several machines do not tell the order. Events that a later version wrote, or that are damaged, are left out."""
    key = layout.history_key(table_id, tablet_id)

    def read(service: TabletService, record: TabletRecord) -> list[TabletEvent]:
        found = []
        for _, cells in service.read_rows(record.tablet_id, [key], EVERYTHING):
            for column, _, value in cells:
                try:
                    found.append(tablet_event.decode(value, f"METADATA row {key!r}, column {column!r}"))
                except (Corruption, UnsupportedFormat) as error:
                    log.warning("an event is not shown: %s", error)
        return found

    return sorted(calls.call(key, read), key=_place)


def _place(event: TabletEvent) -> tuple[int, int, int]:
    known = event.what in ORDER
    return event.generation, ORDER.index(event.what) if known else len(ORDER), event.millis


@switches
def _write(calls: MetadataCalls, events: list[TabletEvent], check: Callable[[], None]) -> None:
    """`check` is asked right before each part is written."""
    rows: dict[bytes, list[Operation]] = {}
    for event in events:
        qualifier = b"%b %02d" % (event.what.encode(), event.generation % _GENERATIONS)
        operation = (PUT, layout.FAMILY, qualifier, SERVER_TIME, tablet_event.encode(event))
        rows.setdefault(layout.history_key(event.table_id, event.tablet_id), []).append(operation)
    mutations = [RowMutation(key, rows[key], ttl_millis=_KEPT_MILLIS) for key in sorted(rows)]
    while mutations:
        # May be repeated: the same events take the same places.
        done = calls.call(mutations[0].row, partial(_write_to, mutations), before=check)
        mutations = mutations[done:]


@switches
def _write_to(mutations: list[RowMutation], service: TabletService, record: TabletRecord) -> int:
    """Those that lie in this tablet of METADATA, which are the first ones; how many they are."""
    within = [mutation for mutation in mutations if record.range.holds(mutation.row)]
    service.mutate(record.tablet_id, within)
    return len(within)


@switches
def tablet_at(catalog_calls: MetadataCalls, table_id: int, row: bytes) -> TabletRecord | None:
    """The tablet of the row, as METADATA has it now; None when there is none. Not for the root tablet."""
    at: bytes | None = layout.first_key_for(table_id, row)
    stop = layout.tablet_rows(table_id).stop
    while at is not None:
        rows, at = catalog_calls.page(RowRange(at, stop), 1)
        for record in standing(tablets_of(rows)):
            if record.range.holds(row):
                return record
    return None
