"""The tablets that this server serves: loading, unloading, new schemas (paper, sections 5.2, 5.3, 6).

Invariant: a tablet is served only while its METADATA row names this incarnation and this generation as its owner (bug
class 10). load() reads the row itself; the master's record may be old by now, for example the parent of a split.
Whoever finds a row changed under a served tablet takes the tablet out (abandon).

A load never replays this server's own log. It need not, because a tablet only leaves with everything flushed: unload()
flushes, a split's children come with what their parent has, and a load that failed had acknowledged nothing. Where that
is broken all the same recovery refuses (tablet.recovery), and so does unload() before the master may drop the log; and
the server ends (role.py), so that its log is recovered by others.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import final

from hbtable.errors import (
    Corruption,
    DataDamaged,
    HbtableError,
    OutOfSpace,
    StaleLocation,
    TabletWithheld,
    Unavailable,
)
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.split_repair import complete_split
from hbtable.model.names import shown
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import METADATA_TABLE_ID, NO_LOG, USER_LEVEL, LogRef, TabletRecord, level
from hbtable.model.tablet_event import LEFT, SERVED, SPLIT
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches
from hbtable.tablet.recovery import LeftUnflushed
from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.schemas import Schemas
from hbtable.tabletserver.served_tablets import ServedTablets
from hbtable.tabletserver.tablet_locks import TabletLocks

log = logging.getLogger(__name__)


@final
class OnlineTablets:
    """The tablets that this server has, and those that it is loading or unloading. `open_tablet` recovers a tablet from
    its files and logs."""

    def __init__(
        self,
        runtime: Runtime,
        incarnation: str,
        catalog: Catalog,
        open_tablet: Callable[[TabletRecord, TableSchema], Tablet],
        check: Callable[[], None] = lambda: None,
        in_own_log: Callable[[int], int] = lambda tablet_id: 0,
        on_unflushed: Callable[[], None] = lambda: None,
        shares_cluster: bool = False,
        note: Callable[[TabletRecord, str, str, str], None] = lambda record, what, server, why: None,
    ) -> None:
        """`check` is Suspension.outwait: a server that may have lost its lock takes no tablet in. `in_own_log` is
        CommitLog.highest_needed. `on_unflushed` is called when only this server's log has something of a tablet that
        it does not serve; it must not switch. `shares_cluster`: METADATA's log may be another server's. `note` is
        TabletHistory.note."""
        self.tablets = ServedTablets()
        """Shared with server.py: what is in here is served."""
        self.refused: dict[int, DataDamaged] = {}
        """Tablets that are this server's and cannot be served, because what recovers them is damaged; shared with
        server.py: whoever asks for one is told at once, instead of looking for another server in vain."""
        self._runtime = runtime
        self._incarnation = incarnation
        self._catalog = catalog
        self._schemas = Schemas(catalog)
        self._open_tablet = open_tablet
        self._check = check
        self._in_own_log = in_own_log
        self._on_unflushed = on_unflushed
        self._shares_cluster = shares_cluster
        self._note = note
        self._said_absent: set[int] = set()
        """Tablets that were not loaded since somebody was told that they are not served here, or since METADATA's log
        had no room for the change that gave them up: that comes back if its server dies before it writes on."""
        self._abandoned: dict[int, Tablet] = {}
        """Tablets that were abandoned, until METADATA has said whether they are another owner's or nobody's."""
        self._locks = TabletLocks(runtime)
        self._last_level = USER_LEVEL
        self._ended = False

    @switches
    def lock(self, tablet_id: int) -> AbstractContextManager[None]:
        """Held while a tablet is loaded, unloaded or split. *Switches* on entry when it is held."""
        return self._locks.hold(tablet_id)

    def is_changing(self) -> bool:
        """Something is being loaded, unloaded or split, or waits for its turn. Does not switch."""
        return self._locks.any()

    def served(self, tablet_id: int) -> Tablet:
        """StaleLocation when it is not served here."""
        tablet = self.tablets.get(tablet_id)
        if tablet is None:
            raise self.refused.get(tablet_id) or StaleLocation(
                f"tablet {tablet_id} is not served by {self._incarnation}"
            )
        return tablet

    def damaged_tablets(self) -> int:
        """Does not switch."""
        return len(self.refused) + sum(1 for tablet in self.tablets.values() if tablet.damaged)

    def damage(self) -> list[str]:
        """A message for each damaged file, ascending. Does not switch."""
        found = {error.path: str(error) for error in self.refused.values()}
        for tablet in self.tablets.values():
            found.update(tablet.damaged.messages())
        return [found[path] for path in sorted(found)]

    @switches
    def load(self, record: TabletRecord, schema: TableSchema) -> None:
        """Serves the tablet on return. Fine when it is served in this generation already. StaleLocation when METADATA
        gives it to somebody else by now; Unavailable when an unload ended it, or after take_none_below()."""
        with self.lock(record.tablet_id):
            self._check_not_ended()
            self._check_level(record)
            served = self.tablets.get(record.tablet_id)
            if served is not None and served.record.generation == record.generation:
                return
            # METADATA first: an old request may come late, and this server's own log is not replayed, so that a served
            # tablet that is taken out for no reason loses what only its memtables and that log hold.
            current = self._current(record)
            if served is not None:
                self.abandon(served.record)
            if record.tablet_id in self._said_absent:
                current = self._in_a_new_generation(current)
            started = self._runtime.clock_seconds()
            with self._schemas.loading(record.table_id):
                self._take_in(current, schema)
            self._said_absent.discard(record.tablet_id)
            seconds = self._runtime.clock_seconds() - started
            self._note(current, SERVED, self._incarnation, f"loaded in {seconds:.3f} s")
            log.info("tablet %d: loaded generation %d in %.3f s", record.tablet_id, current.generation, seconds)

    @switches
    def _take_in(self, record: TabletRecord, schema: TableSchema) -> None:
        tablet = self._opened(record, self._schemas.current(record.table_id, schema))
        try:
            self._check()
            self._check_not_ended()
        except HbtableError:
            tablet.close()
            raise
        # No switch from here on: whatever the server is told now finds the tablet.
        newest = self._schemas.newest(record.table_id, tablet.schema)
        if newest is not tablet.schema:
            tablet.schema = newest
        self.tablets[record.tablet_id] = tablet
        self._abandoned.pop(record.tablet_id, None)
        self.refused.pop(record.tablet_id, None)

    @switches
    def _opened(self, record: TabletRecord, schema: TableSchema) -> Tablet:
        try:
            return self._locks.opened(record.tablet_id, lambda: self._open_tablet(record, schema))
        except LeftUnflushed:
            self._on_unflushed()
            raise
        except Corruption as error:
            start, stop = record.range
            kind = TabletWithheld if isinstance(error, TabletWithheld) else DataDamaged
            told = kind(error.path, error.offset, error.reason, start, stop)
            if str(told) != str(self.refused.get(record.tablet_id)):
                log.error("tablet %d of table %s is not served: %s", record.tablet_id, shown(schema.name), told)
            self.refused[record.tablet_id] = told
            raise told from error

    @switches
    def unload(self, tablet_id: int, why: str = "") -> None:
        """Flushed, its row without owner, not served on return: the next owner needs no log of this server. That it is
        not served here says the same of it, so that is StaleLocation after end(), and LeftUnflushed while this
        server's log has something of it. One whose table is gone goes with all that it has. A load that is under way is
        ended."""
        with self._locks.hold(tablet_id, unloads=True):
            self._check_not_ended()
            self.refused.pop(tablet_id, None)
            tablet = self.tablets.get(tablet_id)
            if tablet is None:
                self._say_absent(tablet_id)
                return
            try:
                self._give_up(tablet)
            except (OutOfSpace, StaleLocation):
                if not self._is_of_no_table(tablet):
                    raise
                # What has no room to be flushed, or no row that could name the files, is nobody's.
                self.tablets.pop(tablet_id, None)
                self._discard(tablet)
                return
            self._note(tablet.record, LEFT, self._incarnation, why)
            log.info("tablet %d: unloaded", tablet_id)

    @switches
    def _give_up(self, tablet: Tablet) -> None:
        tablet_id = tablet.record.tablet_id
        tablet.freeze_for_unload()
        # It stops answering *before* the row says that anyone may load it: the answer of that write may come late, and
        # the next owner may have acknowledged writes by then which we would not show.
        self.tablets.pop(tablet_id, None)
        try:
            tablet.change_record(_given_up)
        except OutOfSpace:
            if self._shares_cluster:
                self._said_absent.add(tablet_id)  # the change may come back, and must fail then
            raise
        finally:
            tablet.close()

    @switches
    def _is_of_no_table(self, tablet: Tablet) -> bool:
        """Whether the tablet's table was dropped or truncated: METADATA has not one row of it any more. Its errors."""
        table_id = tablet.record.table_id
        return table_id != METADATA_TABLE_ID and not self._catalog.tablet_rows(table_id)

    def _discard(self, tablet: Tablet) -> None:
        """Does not switch."""
        tablet_id = tablet.record.tablet_id
        self._abandoned.pop(tablet_id, None)
        tablet.discard()
        log.info("tablet %d: given up, its table was dropped", tablet_id)

    @switches
    def has_next_owner(self, record: TabletRecord) -> bool:
        """Whether METADATA names a server for this tablet, which was unloaded here, or has it no more. Its errors."""
        current = self._catalog.read_tablet(record.table_id, record.range.stop)
        return current is None or current.tablet_id != record.tablet_id or bool(current.owner)

    def abandon(self, record: TabletRecord) -> None:
        """Takes out a tablet that belongs to someone else by now, without a flush; not one of the same id that came
        back in a later generation. Does not switch."""
        tablet = self.tablets.get(record.tablet_id)
        if tablet is not None and tablet.record.generation == record.generation:
            del self.tablets[record.tablet_id]
            self._abandoned[record.tablet_id] = tablet
            log.warning("tablet %d: has another owner, this server stops serving it", record.tablet_id)
            # Later, because the caller may be one of the tablet's own commits, for which a close would wait.
            spawn_counted(self._runtime, self._end_abandoned, tablet, name="abandon")

    @switches
    def _end_abandoned(self, tablet: Tablet) -> None:
        tablet.close()
        try:
            self._forget_abandoned(tablet)
        except HbtableError as error:  # asked again when it is to be unloaded
            log.debug("METADATA does not say whether tablet %d has a table: %s", tablet.record.tablet_id, error)

    @switches
    def _forget_abandoned(self, tablet: Tablet) -> None:
        """The log keeps nothing of an abandoned tablet whose table is gone: nobody will ever recover it."""
        is_of_no_table = self._is_of_no_table(tablet)
        tablet_id = tablet.record.tablet_id
        if self._abandoned.get(tablet_id) is not tablet:
            return  # somebody else was faster, or it was loaded again
        if is_of_no_table:
            self._discard(tablet)
        else:
            del self._abandoned[tablet_id]

    def end(self) -> None:
        """Serves nothing any more, without a flush: the tablets are recovered from this server's log by others. Does
        not switch. Idempotent."""
        self._ended = True
        self.tablets.clear()
        self.refused.clear()
        self._abandoned.clear()

    def _check_not_ended(self) -> None:
        if self._ended:
            raise StaleLocation("this tablet server stops; its tablets move to other servers")

    def take_none_below(self, last_level: int) -> None:
        """From now on tablets of levels below this one are not loaded (model.tablet.level): this server gives up the
        level through which they would have to be given up again. Does not switch."""
        self._last_level = min(self._last_level, last_level)

    def _check_level(self, record: TabletRecord) -> None:
        if level(record) > self._last_level:
            raise Unavailable(
                f"tablet {record.tablet_id} is not loaded: {self._incarnation} stops, and is giving up METADATA's "
                "tablets, through which it would have to give up this one"
            )

    def replace_parent(self, parent_id: int, children: tuple[Tablet, Tablet], why: str) -> None:
        """The moment of a split in memory: in one stretch without a switch, so that no row is ever without tablet.
        `why`: for the children's histories."""
        if self._ended:
            return
        del self.tablets[parent_id]
        for child in children:
            self.tablets[child.record.tablet_id] = child
            self._note(child.record, SPLIT, self._incarnation, why)

    @switches
    def _say_absent(self, tablet_id: int) -> None:
        if (abandoned := self._abandoned.get(tablet_id)) is not None:
            self._forget_abandoned(abandoned)
        held = self._in_own_log(tablet_id)
        if held:
            message = (
                f"tablet {tablet_id} is not served by {self._incarnation}, whose log has records of it up to sequence "
                f"{held} that were never flushed; this server has to end, so that they are recovered"
            )
            log.error("%s", message)
            self._on_unflushed()
            raise LeftUnflushed(message)
        self._said_absent.add(tablet_id)

    @switches
    def _in_a_new_generation(self, record: TabletRecord) -> TabletRecord:
        """Whoever was told that the tablet is not served here may be about to take it back: now his compare-and-set
        fails, or it has made this one fail (Conflict). So a load that comes late does no harm."""
        renewed = replace(record, generation=record.generation + 1)
        self._catalog.replace_tablet(record, renewed)
        return renewed

    def update_schema(self, table_id: int, schema: TableSchema) -> None:
        """On return the schema is in force in every tablet that is served. Tablets that are being loaded get it when
        they are."""
        self._schemas.told(table_id, schema)
        for tablet in list(self.tablets.values()):
            if tablet.record.table_id == table_id and tablet.schema.version < schema.version:
                tablet.schema = schema
                self.tablets.changed(tablet.record.tablet_id)

    @switches
    def _current(self, record: TabletRecord) -> TabletRecord:
        current = self._catalog.read_tablet(record.table_id, record.range.stop)
        if current is not None and current.left is not None:
            current = complete_split(self._catalog, current)
        if (
            current is None
            or current.tablet_id != record.tablet_id
            or current.owner != self._incarnation
            or current.generation != record.generation
        ):
            raise StaleLocation(f"tablet {record.tablet_id} was split, merged or given to another server meanwhile")
        return current


def _given_up(record: TabletRecord) -> TabletRecord:
    """The record of a tablet with nothing in memory, without an owner: all logs are done with, and the sequence goes on
    from the last redo point."""
    floor = LogRef(NO_LOG, max((ref.first_needed for ref in record.logs), default=0))
    return replace(record, owner="", logs=(floor,))
