"""What the proxy keeps for a secondary that is behind: calls and their answers, up to a bound."""

import threading
from contextlib import closing
from typing import Any

import pytest

from hbtable.shell.shadow.repeating import NO_ROOM, WaitingRoom
from hbtable.shell.shadow.wire import Answer, interface, kept_bytes
from tests.harness.commands import LONG_SECONDS
from tests.harness.shadowing import ProxyHere, Scripted

MEGABYTE = 1 << 20


def rows(count: int, cells: int, size: int) -> Answer:
    """Of getRow."""
    structs = interface()
    cell = structs.TCell(value=b"x" * size, timestamp=5)
    found = [structs.TRowResult(row=b"r", columns={b"f:%d" % number: cell for number in range(cells)})] * count
    return structs.Hbase.getRow_result(success=found)


@pytest.mark.parametrize(
    ("answer", "calls"),
    [
        (rows(1, 1, MEGABYTE), 4),  # the values are what takes the memory
        (rows(1, 1000, 1), 14),  # the objects are: 15 bytes of each cell came, and it takes 200
    ],
)
def test_answers_that_wait_for_the_secondary_are_bounded_by_their_bytes(answer: Answer, calls: int) -> None:
    goes_on = threading.Event()

    def late(_: str, __: Any) -> Answer:
        goes_on.wait(LONG_SECONDS)
        return answer

    with Scripted(lambda *_: answer) as primary, Scripted(late) as secondary:
        room = WaitingRoom(20_000, 3 * MEGABYTE + MEGABYTE // 2)
        with ProxyHere(primary.port, secondary.port, room, wait_seconds=0.001) as proxy:
            with closing(proxy.client()) as client:
                for _ in range(20):
                    client.getRow(b"t", b"r", {})
            goes_on.set()
            proxy.stop()
            found = proxy.method("getRow")
    assert not proxy.differences()
    assert found["skipped"] == {NO_ROOM: 20 - found["equal"]}
    assert found["equal"] == pytest.approx(calls, abs=calls // 4)


def test_requests_count_as_much_as_answers() -> None:
    structs = interface()
    mutations = [structs.Mutation(column=b"f:%d" % number, value=b"1") for number in range(100)]
    request = structs.Hbase.mutateRows_args(
        tableName=b"t", rowBatches=[structs.BatchMutation(row=b"r", mutations=mutations)] * 10, attributes={}
    )
    assert kept_bytes(request, 5000) > 5000 + 1000 * 200
    assert kept_bytes(structs.Hbase.mutateRows_result(), 30) < 1000
    assert kept_bytes(rows(10, 100, 1), 5000) > 5000 + 1000 * 200
