"""Pages that a connection makes before they are asked for: what they are given out for, and what drops them."""

from collections.abc import Callable
from typing import Any

import pytest
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.transport import TMemoryBuffer

from hbtable.errors import Unavailable
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation

ROWS = 15
PAGE = 3
ROW_BYTES = 30_000
OPENED = 0
"""The first scanner's number."""


@pytest.fixture
def rows(gateway: Any) -> Any:
    """The table gives three rows a page, which is large enough."""
    table = gateway.table
    table.rows += [b"r%02d" % number for number in range(ROWS)]
    for row in table.rows:
        table.cells[row] = {b"f:a": (1, row * (ROW_BYTES // len(row)))}
    return table


class Script:
    """Calls of one connection, and what is done between them; `answers` are the rows of each fetch."""

    def __init__(self, client: Any, counts: bool = True) -> None:
        self._client = client
        self._counts = counts
        self._pieces: list[bytes | Callable[[], object]] = []
        self._fetches: list[bool] = []
        self.call("scannerOpen", tableName=b"t", startRow=b"", columns=[])

    def call(self, method: str, **arguments: Any) -> None:
        if not self._counts:
            self._client.sequence = -1
        self._pieces.append(self._client.encode(method, **arguments))
        self._fetches.append(method == "scannerGetList")

    def fetch(self, times: int = 1, count: int = PAGE) -> None:
        for _ in range(times):
            self.call("scannerGetList", id=OPENED, nbRows=count)

    def do(self, action: Callable[[], object]) -> None:
        self._pieces.append(action)

    def run(self) -> list[list[bytes]]:
        transport = TMemoryBuffer(self._client.gateway.talk(*self._pieces).sent)
        codec = TBinaryProtocol(transport, decode_response=False)
        found = []
        for is_fetch in self._fetches:
            name, _, _ = codec.read_message_begin()
            result = getattr(self._client.thrift.Hbase, name + "_result")()
            result.read(codec)
            if is_fetch:
                found.append([row.row for row in result.success] if result.success is not None else [result.io])
        return found


def pages(*numbers: int) -> list[list[bytes]]:
    return [[b"r%02d" % row for row in range(number * PAGE, number * PAGE + PAGE)] for number in numbers]


@pytest.mark.parametrize("counts", [True, False])
def test_from_the_second_page_on_the_next_one_is_made_ahead(client: Any, rows: Any, counts: bool) -> None:
    script = Script(client, counts)
    script.fetch(6)
    assert script.run() == [*pages(0, 1, 2, 3, 4), []]
    assert len(rows.ahead) == 3
    assert len(rows.requests) == 5  # each page was read once


def test_of_small_pages_none_is_made(client: Any, rows: Any) -> None:
    for row in rows.rows:
        rows.cells[row] = {b"f:a": (1, bytes(20_000))}
    script = Script(client)
    script.fetch(3)
    assert script.run() == pages(0, 1, 2)
    assert not rows.ahead


def test_a_short_scan_has_nothing_made_in_vain(client: Any, rows: Any) -> None:
    script = Script(client)
    script.fetch()
    script.call("scannerClose", id=OPENED)
    script.run()
    assert len(rows.requests) == 1


def test_a_page_made_before_a_write_is_not_given_out(client: Any, rows: Any) -> None:
    script = Script(client)
    script.fetch(2)
    new = RowMutation(b"r06\x00", [(PUT, b"f", b"a", SERVER_TIME, b"new")])
    script.do(lambda: rows.mutate([new]))
    script.fetch(2)
    assert script.run() == [*pages(0, 1), [b"r06", b"r06\x00", b"r07"], [b"r08", b"r09", b"r10"]]
    assert len(rows.ahead) == 1  # the scanner has no other one made


def test_another_call_drops_the_page_and_the_scanner_stays_where_it_is(client: Any, gateway: Any, rows: Any) -> None:
    script = Script(client)
    script.fetch(2)
    script.do(lambda: kept.append(gateway.context.budget.kept_bytes))
    kept: list[int] = []
    script.call("getRow", tableName=b"t", row=b"r01")
    script.do(lambda: kept.append(gateway.context.budget.kept_bytes))
    script.fetch(2)
    script.fetch(1, count=2)
    assert script.run() == [*pages(0, 1, 2, 3), [b"r12", b"r13"]]
    assert kept[0] > PAGE * ROW_BYTES
    assert kept[1] == 0


def test_a_page_is_let_go_with_its_connection(client: Any, gateway: Any, rows: Any) -> None:
    script = Script(client)
    script.fetch(2)
    script.run()
    assert (len(rows.ahead), gateway.context.budget.kept_bytes, gateway.context.budget.used_bytes) == (1, 0, 0)


def test_a_page_that_was_dropped_for_room_is_read_again(client: Any, gateway: Any, rows: Any) -> None:
    script = Script(client)
    script.fetch(2)
    script.do(gateway.context.budget.drop_kept)
    script.fetch(2)
    assert script.run() == pages(0, 1, 2, 3)
    assert len(rows.ahead) == 3


def test_without_room_no_page_is_made(client: Any, gateway: Any, rows: Any) -> None:
    gateway.context.budget.limit_bytes = 4 * ROW_BYTES
    script = Script(client)
    script.fetch(3)
    assert script.run() == pages(0, 1, 2)
    assert not rows.ahead


def test_two_connections_with_one_scanner_get_each_row_once(client: Any, connect: Any, rows: Any) -> None:
    other = connect(client.gateway)
    script = Script(client)
    script.fetch(2)
    between: list[Any] = []
    script.do(lambda: between.append(other.call("scannerGetList", id=OPENED, nbRows=PAGE)))
    script.fetch(1)
    assert script.run() == pages(0, 1, 3)
    assert [row.row for row in between[0]] == pages(2)[0]


def test_an_error_of_a_page_made_ahead_is_told_by_the_fetch(client: Any, rows: Any) -> None:
    script = Script(client)
    script.fetch(1)
    made = rows.page_ahead

    def fail(request: Any) -> None:
        made(request)
        raise Unavailable("gone")

    rows.page_ahead = fail
    script.fetch(2)
    assert script.run() == pages(0, 1, 2)
    assert len(rows.ahead) == 1


def test_a_bug_while_a_page_is_made_costs_no_connection(
    client: Any, rows: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(request: Any) -> None:
        raise KeyError("a bug")

    rows.page_ahead = fail
    script = Script(client)
    script.fetch(4)
    assert script.run() == pages(0, 1, 2, 3)
    assert "scannerGetList that may come failed" in caplog.text


def test_a_page_ahead_may_be_twice_as_large_as_the_one_before(client: Any, rows: Any) -> None:
    script = Script(client)
    script.fetch(2)
    script.run()
    (request,) = rows.ahead
    assert 2 * PAGE * ROW_BYTES <= request.max_bytes < 2 * (PAGE + 1) * ROW_BYTES


def test_a_scan_with_a_filter_has_none_made(client: Any, rows: Any) -> None:
    script = Script(client)
    script._pieces.clear()
    script.call("scannerOpenWithScan", tableName=b"t", scan=client.thrift.TScan(filterString=b"PageFilter(9)"))
    script._fetches.pop(0)
    script.fetch(3)
    assert script.run() == pages(0, 1, 2)
    assert not rows.ahead


def test_a_scanner_that_was_closed_from_elsewhere_is_told(client: Any, connect: Any, rows: Any) -> None:
    other = connect(client.gateway)
    script = Script(client)
    script.fetch(2)
    script.do(lambda: other.call("scannerClose", id=OPENED))
    script.fetch(1)
    assert script.run() == [*pages(0, 1), [None]]
