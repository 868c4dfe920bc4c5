"""Times of cells: those that clients gave are compared, also when there were more of them than the proxy remembers."""

import time
from contextlib import closing
from typing import Any

import pytest

from hbtable.shell.shadow import times as module
from hbtable.shell.shadow.calls import Cells
from hbtable.shell.shadow.races import FORGOTTEN_TIMES
from hbtable.shell.shadow.repeating import WaitingRoom
from hbtable.shell.shadow.times import CellTimes
from hbtable.shell.shadow.wire import Answer, interface
from tests.harness.shadowing import ProxyHere, Scripted
from tests.harness.waiting import SOON_SECONDS, eventually

STRUCTS = interface()
SINCE = 1_000_000
ROW, OTHER = Cells(b"t", b"r"), Cells(b"t", b"other")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 10)


def test_a_time_that_was_given_and_forgotten_is_not_taken_for_a_server_s() -> None:
    times = CellTimes(SINCE)
    times.give([ROW], [SINCE + 50])
    assert not times.alike(b"t", b"r", SINCE + 50, SINCE + 90)
    assert not times.are_forgotten(b"t", b"r", SINCE + 50, SINCE + 90)
    times.give([OTHER], [SINCE + number for number in range(20)])
    for one, other in ((SINCE + 50, SINCE + 90), (SINCE + 90, SINCE + 50)):
        assert not times.alike(b"t", b"r", one, other)
        assert times.are_forgotten(b"t", b"r", one, other)


def test_times_behind_all_that_were_forgotten_and_those_of_other_tables_are_as_before() -> None:
    times = CellTimes(SINCE)
    times.give([OTHER], [SINCE + number for number in range(20)])
    assert times.alike(b"t", b"r", SINCE + 10, SINCE + 90)
    assert times.alike(b"u", b"r", SINCE + 1, SINCE + 2)
    assert not times.are_forgotten(b"t", b"other", SINCE + 15, SINCE + 90)  # known as given


def test_times_of_before_the_proxy_take_no_room() -> None:
    """They are compared in any case."""
    times = CellTimes(SINCE)
    times.give([ROW], [SINCE + 50])
    times.give([OTHER], range(100))
    assert not times.alike(b"t", b"r", SINCE + 50, SINCE + 90)
    assert not times.are_forgotten(b"t", b"r", SINCE + 50, SINCE + 90)
    assert not times.alike(b"t", b"other", 5, SINCE + 90)


def test_a_read_that_shows_such_times_is_of_unknown_order_and_a_value_in_it_differs() -> None:
    now = [0, 0]

    def server(number: int) -> Any:
        def answer(name: str, arguments: Any) -> Answer:
            if name == "mutateRowTs":
                return STRUCTS.Hbase.mutateRowTs_result()
            value = b"%d" % number if arguments.row == b"differs" else b"1"
            cells = {b"f:a": STRUCTS.TCell(value=value, timestamp=now[number])}
            return STRUCTS.Hbase.getRow_result(success=[STRUCTS.TRowResult(row=arguments.row, columns=cells)])

        return answer

    with (
        Scripted(server(0)) as primary,
        Scripted(server(1)) as secondary,
        ProxyHere(primary.port, secondary.port, WaitingRoom(1000, 1 << 20)) as proxy,
        closing(proxy.client()) as client,
    ):
        wall = time.time_ns() // 1_000_000
        now[:] = wall + 5000, wall + 6000
        put = [STRUCTS.Mutation(column=b"f:a", value=b"1")]
        client.getRow(b"t", b"r", {})
        tally = proxy.around.tally  # compared before there are times that it may have to forget
        eventually(lambda: any(one.get("equal") for one in tally.lines()), SOON_SECONDS, "the read is compared")
        for number in range(30):
            client.mutateRowTs(b"t", b"%d" % number, put, wall + 5000 + number, {})
        client.getRow(b"t", b"r", {})
        client.getRow(b"t", b"differs", {})
    found = proxy.method("getRow")
    assert (found["equal"], found["different"]) == (1, 1)
    assert found["order_unknown"] == {FORGOTTEN_TIMES: 1}
    assert proxy.differences() == [("getRow", "value")]
