"""What stands in the lock service of who reaches whom, and how many gave up."""

import pytest

from hbtable.errors import UnsupportedFormat
from hbtable.lockservice.paths import UNREACHABLE, WITHDRAWALS
from hbtable.reachability.evidence import Reports
from hbtable.reachability.reports import OwnReports, isolation_of, read_reports, report_of
from hbtable.reachability.withdrawals import Withdrawals
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

ONE, OTHER = "00000001-0a0b0c0d", "00000002-0a0b0c0d"


def in_simulation(body):
    runtime = SimulatedRuntime(1)
    service = MemoryLockService(runtime)
    runtime.run(lambda: body(service))


def test_what_is_said_is_read_and_goes_with_whoever_said_it():
    def body(service):
        by_one, by_other = service.open_session("one"), service.open_session("other")
        OwnReports(by_one).say([report_of(OTHER, ONE), report_of("x-1", ONE), isolation_of(ONE)])
        OwnReports(by_other).say([report_of("x-1", OTHER)])
        both = Reports({OTHER: frozenset({ONE}), "x-1": frozenset({ONE, OTHER})}, frozenset({ONE}))
        assert read_reports(by_other) == both
        by_one.close()
        assert read_reports(by_other) == Reports({"x-1": frozenset({OTHER})}, frozenset())

    in_simulation(body)


def test_what_is_said_no_more_is_gone_and_anothers_stays():
    def body(service):
        before, session = service.open_session("before"), service.open_session("now")
        before.lock(report_of(ONE, "master"))
        own = OwnReports(session)
        own.say([report_of(ONE, "master"), report_of(OTHER, "master")])
        assert session.list(UNREACHABLE) == [f"{ONE}_master", f"{OTHER}_master"]
        before.close()
        assert session.list(UNREACHABLE) == [f"{OTHER}_master"]
        own.say([report_of(ONE, "master")])
        assert session.list(UNREACHABLE) == [f"{ONE}_master"]
        own.say([])
        assert session.list(UNREACHABLE) == []

    in_simulation(body)


def test_so_many_give_up_and_no_more_until_some_time_has_passed():
    def body(service):
        withdrawals = Withdrawals(service.open_session("s"), 60.0)
        assert withdrawals.admit(ONE, 1, 1000) != ""
        assert withdrawals.admit(ONE, 2, 1000) == ""
        assert withdrawals.admit(ONE, 2, 2000) == "", "it asks again after an answer that was lost"
        assert "1 of 2 tablet servers gave up within 60 s" in withdrawals.admit(OTHER, 2, 60_999)
        assert withdrawals.admit(OTHER, 5, 60_999) == ""
        assert withdrawals.admit("x-1", 2, 61_000) != "", "the other one's time counts"
        assert withdrawals.admit("x-1", 2, 200_000) == ""

    in_simulation(body)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format": 1}', b'{"format": 1, "given_up": [["a"]]}', b"\xff"])
def test_a_damaged_file_says_nothing(data):
    def body(service):
        session = service.open_session("s")
        session.create(WITHDRAWALS, data)
        assert Withdrawals(session, 60.0).admit(ONE, 3, 0) == ""
        assert Withdrawals(session, 60.0).admit(OTHER, 3, 0) != ""

    in_simulation(body)


def test_one_of_a_later_version_is_left_alone():
    def body(service):
        session = service.open_session("s")
        session.create(WITHDRAWALS, b'{"format": 2}')
        with pytest.raises(UnsupportedFormat):
            Withdrawals(session, 60.0).admit(ONE, 3, 0)

    in_simulation(body)
