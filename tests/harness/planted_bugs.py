"""Known bugs of the field (docs/bug-classes.md), each put in the place of one right part, for the test that finds it.

What shows only between the parts of a cluster is planted there (sim_bugs.py); what one part excludes is planted here.
The test of the class holds without the bug and fails with it: is_found() runs it both ways.

    returned     3   a log that a tablet left is replayed from its beginning
    gap          4   a segment that is missing ends the log
    unnoticed    5   a collection takes an error while METADATA is scanned for its end
    reused       7   the checksum of what waits for the log is taken when it is written
    hole         9   a split commits its right child without a word of the left one
    stale       12   a read-modify-write does not wait for earlier writes of its row
    torn        13   a write becomes visible one locality group after the other
    undead      14   each compaction drops markers, whichever files it reads
    hidden      15   compactions mask by timestamp where reads mask by sequence
    moving      17   a file counts as garbage though its table split between the scans
    dropped     18   a tablet is recovered without a look at METADATA
    halfway     19   the rows of a call are checked one after the other
    believed    20   a length is believed
    patient     21   a message under way has no deadline
    leaking     22   no scanner expires
    poisonous   23   no tablet is held back
    overtaken   27   what waited for the log while the schema changed keeps its old places
    interrupted 30   calls pass through a lock
    unseen      31   the death of a background task is not noted
    overwritten 32   nobody reads what LOCK says
    forgotten   33   what a process knows of a file ends when it closes the file
    unplaced    36   nobody acts on an unload that ends after its caller gave up
    unanswered  37   a server is not asked again to give a tablet up when the connection broke; 38 as well
    unheard     38   nobody hears that a tablet left its server
    unlisted    39   a server that a list of the living lacks is taken for dead
    successor   40   no truncate of an earlier master is taken to be under way
    early       41   a change that was made settles what is refused while it is cleaned up after
    uncovered   42   a put in excess goes though an older file may hold what it has replaced
    nameless    43   nobody compares what servers serve with the tables that there are
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple
from unittest.mock import patch
from zlib import crc32

import pytest

from hbtable.commitlog import groups
from hbtable.commitlog.group_files import writer as group_writer
from hbtable.commitlog.segments import chain
from hbtable.errors import Corruption, HbtableError
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.known_files import KnownFiles
from hbtable.hbase.calls.scanners import Scanners
from hbtable.master.files import garbage
from hbtable.master.files.collector import Collector
from hbtable.master.servers.recoveries import Recoveries
from hbtable.master.tables.dropped_tablets import DroppedTablets
from hbtable.master.tables.late_truncates import LateTruncates
from hbtable.master.tablets.late_unloads import LateUnloads
from hbtable.master.tablets.left_tablets import LeftTablets
from hbtable.master.tablets.quarantine import Quarantine
from hbtable.master.tablets.unanswered_unloads import TimeToAsk, UnansweredUnloads
from hbtable.merge import compacting
from hbtable.merge.markers import Markers
from hbtable.metadata.catalog import Catalog
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.supervision import TaskDeaths
from hbtable.runtime.threads.portal import Portal
from hbtable.tablet import recovery
from hbtable.tablet.compactions import compaction
from hbtable.tablet.files import SSTableOutput
from hbtable.tablet.spreading import Spreading
from hbtable.tablet.state import TabletState
from hbtable.tablet.writes.row_locks import RowLocks
from hbtable.tablet.writes.writing import TabletWriter
from hbtable.thrift import message_input
from hbtable.thrift.message_input import MessageInput
from tests.harness.delegating_fake import DelegatingFake

_recovered, _output_spec = recovery.recovered, compaction.output_spec
_mutate, _insert = TabletWriter.mutate, TabletState.insert
_collect, _replace_tablet, _submit = Collector.collect, Catalog.replace_tablet, Portal._submit


class Patch(NamedTuple):
    """What stands for one right part."""

    where: Any
    name: str
    wrong: Any


def _asked_once(self: UnansweredUnloads, record: TabletRecord, first: HbtableError, time: TimeToAsk) -> None:
    raise first


def _from_the_beginning(fs: Any, folder: str, tablet_id: int, first_needed: int, indexes: Any) -> Any:
    return _recovered(fs, folder, tablet_id, 0, indexes)


def _what_is_there(folder: str, end: Any, lengths: Any, headers: Any) -> list[Any]:
    """The segments in order of their numbers, whichever are missing."""
    ordered = [headers[number] for number in sorted(headers) if number >= end.oldest]
    older = [
        chain._segment(folder, header, newer.previous_bytes, newer.first_lsn - 1) for header, newer in pairwise(ordered)
    ]
    return [*older, end.segment]


class _EndsAtErrors(DelegatingFake):
    """Of the catalog."""

    def all_tablet_rows(self) -> Iterator[Any]:
        with suppress(HbtableError):
            yield from self.inner.all_tablet_rows()

    def tables(self) -> Iterator[Any]:
        with suppress(HbtableError):
            yield from self.inner.tables()


def _collect_what_was_scanned(self: Collector, *rest: Any) -> Any:
    right = self._catalog
    self._catalog = _EndsAtErrors(right)  # type: ignore[assignment]
    try:
        return _collect(self, *rest)
    finally:
        self._catalog = right


def _without_its_left_child(self: Catalog, expected: TabletRecord, record: TabletRecord) -> None:
    if expected.left is None:
        record = replace(record, left=None)
    _replace_tablet(self, expected, record)


def _checksum_now(payload: bytes, expected: int | None = None, found: int | None = None) -> int:
    return crc32(payload)


def _group_by_group(self: TabletState, layout: Any, by_stack: list[Any], checksums: list[int], last: int) -> None:
    for place, pairs in enumerate(by_stack):
        _insert(self, layout, [pairs if place == other else [] for other in range(len(by_stack))], checksums, last)
        self.environment.runtime.sleep(0.002)


def _without_markers(state: TabletState, stack: Any, inputs: Any, drop_markers: bool, *rest: Any) -> Any:
    return _output_spec(state, stack, inputs, True, *rest)


def _without_older_files(*arguments: Any) -> Any:
    return replace(_output_spec(*arguments), older_until=-1)


def _one_by_one(self: TabletWriter, mutations: Any) -> None:
    for mutation in mutations:
        _mutate(self, [mutation])


def _fill(self: MessageInput, count: int) -> None:
    rest = self.data[self.position :]
    self.position = 0
    self.data = self._gather(rest, count)


_GATE = Lock()


def _through_a_gate(self: Portal, call: Any) -> None:
    assert _GATE.acquire(timeout=0.2), "it waits for ever"
    try:
        _submit(self, call)
    finally:
        _GATE.release()


def _whatever_comes(self: SSTableOutput) -> Iterator[str]:
    while self._in_doubt:
        yield self._in_doubt.pop()[0]


_UNHEARD = Patch(LeftTablets, "saw", lambda self, server, tablets: None)

PLANTED = {
    "returned": (Patch(recovery, "recovered", _from_the_beginning),),
    "gap": (Patch(chain, "_chain", _what_is_there),),
    "unnoticed": (Patch(Collector, "collect", _collect_what_was_scanned),),
    "reused": (Patch(groups, "checked", _checksum_now), Patch(group_writer, "checked", _checksum_now)),
    "hole": (Patch(Catalog, "replace_tablet", _without_its_left_child),),
    "stale": (Patch(RowLocks, "wait_until_visible", lambda self, row: None),),
    "torn": (Patch(TabletState, "insert", _group_by_group),),
    "undead": (Patch(compaction, "output_spec", _without_markers),),
    "hidden": (Patch(compacting, "Markers", lambda by_sequence: Markers(False)),),
    "moving": (Patch(garbage, "moving_tables", lambda first, second: set()),),
    "dropped": (Patch(recovery, "_own_log", lambda state: None),),
    "halfway": (Patch(TabletWriter, "mutate", _one_by_one),),
    "believed": (Patch(MessageInput, "_fill", _fill),),
    "patient": (Patch(message_input, "SLOWEST_BYTES", 1e-9),),
    "leaking": (Patch(Scanners, "expire", lambda self: 0),),
    "poisonous": (Patch(Quarantine, "held", lambda self: frozenset()),),
    "overtaken": (Patch(Spreading, "spread_again", lambda self, layout, spread, checksums: (spread, checksums)),),
    "interrupted": (Patch(Portal, "_submit", _through_a_gate),),
    "unseen": (Patch(TaskDeaths, "died", lambda self, name, error, again=True: None),),
    "overwritten": (Patch(DataFolder, "_is_other_text", lambda self: False),),
    "forgotten": (Patch(KnownFiles, "closed", lambda self, file, length_bytes: self.growing.discard(file)),),
    "unplaced": (Patch(LateUnloads, "place", lambda self, record, table: None),),
    "unanswered": (Patch(UnansweredUnloads, "ask_again", _asked_once), _UNHEARD),
    "unheard": (_UNHEARD,),
    "successor": (Patch(LateTruncates, "exclude", lambda self, tables: True),),
    "nameless": (Patch(DroppedTablets, "left_over", lambda self, tables, reports: []),),
    "early": (Patch(SSTableOutput, "_needless", _whatever_comes),),
    "uncovered": (Patch(compaction, "output_spec", _without_older_files),),
    "unlisted": (Patch(Recoveries, "is_dead", lambda self, server, living: server not in living),),
}


@contextmanager
def planted(patches: tuple[Patch, ...]) -> Iterator[None]:
    with ExitStack() as stack:
        for where, name, wrong in patches:
            stack.enter_context(patch.object(where, name, wrong))
        yield


def is_found(name: str, check: Callable[[], object]) -> None:
    """`check` is what finds the bug: it holds, and with the bug it does not."""
    check()
    with planted(PLANTED[name]), pytest.raises((AssertionError, Corruption, pytest.fail.Exception)):
        check()
