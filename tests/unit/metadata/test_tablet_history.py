"""Events of tablets on their way to METADATA: noted together, kept while it cannot be reached, and in nobody's way."""

from dataclasses import replace

import pytest

from hbtable.encoding import tablet_event
from hbtable.errors import Unavailable
from hbtable.metadata import layout
from hbtable.metadata.tablet_history import TabletHistory, events_of
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord
from hbtable.model.tablet_event import GIVEN, LEFT, SERVED
from hbtable.testing.memory_lockservice import MemoryLockOptions, MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

RECORD = TabletRecord(16, 20, RowRange(), 0, "s1", 3)


class Calls:
    """METADATA in one tablet; `away`: it cannot be reached, `hangs`: its server does not answer."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.rows = {}
        self.batches = []
        self.away = self.hangs = False

    def call(self, row, function, repeatable=True, before=lambda: None):
        if self.hangs:
            self.runtime.event().wait()
        if self.away:
            raise Unavailable("METADATA is away")
        before()
        return function(self, TabletRecord(0, 2, RowRange(layout.ROOT_STOP, b""), 0))

    def mutate(self, tablet_id, mutations):
        self.batches.append(len(mutations))
        for mutation in mutations:
            assert mutation.ttl_millis > 365 * 86_400_000
            cells = self.rows.setdefault(mutation.row, {})
            cells.update({b"m:" + qualifier: value for _, _, qualifier, _, value in mutation.operations})

    def read_rows(self, tablet_id, rows, spec):
        return [(row, [(c, 1, v) for c, v in self.rows[row].items()]) for row in rows if row in self.rows]


@pytest.fixture
def run():
    def call(body, kept=True):
        runtime = SimulatedRuntime(1)
        calls = Calls(runtime)

        def main():
            calls.locks = MemoryLockService(runtime, options=MemoryLockOptions(session_seconds=10))
            calls.session = calls.locks.open_session("s1")
            body(runtime, calls, TabletHistory(runtime, calls, calls.session, kept, "s1"))

        runtime.run(main)

    return call


def told(calls):
    return [(event.generation, event.what, event.why) for event in events_of(calls, 16, 20)]


def test_what_is_noted_at_a_time_is_written_together(run):
    def body(runtime, calls, history):
        for number in range(600):
            history.note(replace(RECORD, tablet_id=100 + number), GIVEN, "s1")
        history.note(RECORD, SERVED, "s1", "loaded")
        history.note(RECORD, GIVEN, "s1", "x" * 5000)
        assert not calls.batches, "nobody waits"
        runtime.sleep(1)
        assert sum(calls.batches) == 601
        assert len(calls.batches) == 2
        assert told(calls) == [(3, GIVEN, "x" * 1000), (3, SERVED, "loaded")]

    run(body)


def test_nothing_is_lost_while_metadata_is_away_for_a_while(run):
    def body(runtime, calls, history):
        calls.away = True
        history.note(RECORD, GIVEN, "s1")
        runtime.sleep(20)
        history.note(RECORD, SERVED, "s1")
        calls.away = False
        runtime.sleep(60)
        assert told(calls) == [(3, GIVEN, ""), (3, SERVED, "")]

    run(body)


def test_whoever_lost_its_session_tells_nothing_late(run):
    """It woke up after others had the tablet for so many generations that its event has the place of a newer one."""

    def body(runtime, calls, history):
        calls.away = True
        history.note(RECORD, GIVEN, "s1")
        runtime.sleep(5)
        calls.locks.expire(calls.session)
        other = TabletHistory(runtime, calls, calls.locks.open_session("s2"), True, "s2")
        other.note(replace(RECORD, generation=RECORD.generation + 16), GIVEN, "s2", "later")
        calls.away = False
        runtime.sleep(60)
        history.note(RECORD, SERVED, "s1")
        runtime.sleep(60)
        assert told(calls) == [(19, GIVEN, "later")]
        history.stop()

    run(body)


def test_what_is_noted_while_the_lock_service_is_away_is_written_when_it_is_back(run):
    def body(runtime, calls, history):
        calls.locks.cut(calls.session, requests=False)
        runtime.sleep(9)
        assert not calls.session.valid()
        history.note(RECORD, GIVEN, "s1")
        runtime.sleep(2)
        assert not calls.batches
        calls.locks.heal(calls.session)
        runtime.sleep(60)
        assert told(calls) == [(3, GIVEN, "")]

    run(body)


def test_only_the_last_generations_are_kept(run):
    def body(runtime, calls, history):
        for generation in range(1, 41):
            history.note(replace(RECORD, generation=generation), GIVEN, "s1")
        runtime.sleep(1)
        assert [generation for generation, *_ in told(calls)] == list(range(25, 41))

    run(body)


@pytest.mark.parametrize("fault", ["away", "hangs", ""])
def test_an_end_writes_what_it_can_and_waits_for_nobody(run, fault):
    def body(runtime, calls, history):
        if fault:
            setattr(calls, fault, True)
        history.note(RECORD, LEFT, "s1")
        began = runtime.clock_seconds()
        history.stop()
        assert runtime.clock_seconds() - began < 5
        history.note(RECORD, SERVED, "s1")
        calls.away = calls.hangs = False
        runtime.sleep(60)
        assert told(calls) == ([] if fault else [(3, LEFT, "")])

    run(body)


def test_one_machine_keeps_none(run):
    def body(runtime, calls, history):
        history.note(RECORD, GIVEN, "s1")
        runtime.sleep(60)
        assert not calls.rows

    run(body, kept=False)


def test_an_event_that_cannot_be_read_hides_no_other(run):
    def body(runtime, calls, history):
        history.note(RECORD, GIVEN, "s1")
        history.note(RECORD, SERVED, "s1")
        runtime.sleep(1)
        row = calls.rows[layout.history_key(16, 20)]
        row[b"m:given 03"] = b"damaged"
        row[b"m:left 03"] = tablet_event.seal(b"E", 9, b"{}")
        assert told(calls) == [(3, SERVED, "")]

    run(body)
