"""Scans of two servers that give their rows, or errors in the place of rows, as a test says."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from hbtable.shell.shadow.calls import Cells, Kind, Touch
from hbtable.shell.shadow.races import ORDER, ReadSpan, Write
from hbtable.shell.shadow.repeating import (
    NO_ROOM,
    NO_SCANNER,
    NO_SCANNER_AT_PRIMARY,
    NOT_THERE,
    SCAN_FAILED,
    UNKNOWN_SCANNER,
    WaitingRoom,
)
from hbtable.shell.shadow.wire import Answer, interface
from tests.harness.commands import LONG_SECONDS
from tests.harness.shadowing import ProxyHere, Scripted
from tests.harness.waiting import SOON_SECONDS, eventually

STRUCTS = interface()
FAILURE = STRUCTS.IOError(message="java.io.IOException: no", canRetry=False)
ABSENT = STRUCTS.IOError(message="org.apache.hadoop.hbase.TableNotFoundException: t", canRetry=False)
NONE_SUCH = STRUCTS.IllegalArgument(message="scanner ID is invalid")


def failed(name: str, error: Exception) -> Answer:
    field = "ia" if isinstance(error, STRUCTS.IllegalArgument) else "io"
    return getattr(STRUCTS.Hbase, f"{name}_result")(**{field: error})


class Rows:
    """A server's scanners, each with rows of these names. An error among them is the answer to one call."""

    def __init__(self, *rows: bytes | Exception) -> None:
        self.rows = rows
        self.on_get: Callable[[], object] = lambda: None
        self.opening: Exception | None = None
        self.may_open = threading.Event()
        self.may_open.set()
        self.open: dict[int, list[bytes | Exception]] = {}

    def __call__(self, name: str, arguments: Any) -> Answer:
        result = getattr(STRUCTS.Hbase, f"{name}_result")
        if name == "scannerOpen":
            self.may_open.wait(LONG_SECONDS)
            if self.opening is not None:
                return failed(name, self.opening)
            self.open[len(self.open)] = list(self.rows)
            return result(success=len(self.open) - 1)
        if name == "getRow":
            self.on_get()
            return result(success=[])
        if arguments.id not in self.open:
            return failed(name, NONE_SUCH)
        if name == "scannerClose":
            del self.open[arguments.id]
            return result()
        return self._page(name, self.open[arguments.id], arguments.nbRows)

    def _page(self, name: str, left: list[bytes | Exception], most: int) -> Answer:
        if left and isinstance(left[0], Exception):
            return failed(name, left.pop(0))
        page: list[bytes] = []
        while left and len(page) < most and isinstance(left[0], bytes):
            page.append(left.pop(0))
        cells = {b"f:a": STRUCTS.TCell(value=b"1", timestamp=5)}
        return STRUCTS.Hbase.scannerGetList_result(success=[STRUCTS.TRowResult(row=row, columns=cells) for row in page])


def scan(client: Any, *counts: int) -> None:
    """So many rows of each page, whatever errors come."""
    scanner = client.scannerOpen(b"t", b"", [b"f"], {})
    for count in counts:
        with suppress(STRUCTS.IOError, STRUCTS.IllegalArgument):
            client.scannerGetList(scanner, count)
    client.scannerClose(scanner)


@contextmanager
def both(
    first: Rows, second: Rows, clock: Callable[[], float] = time.perf_counter, calls: int = 1000
) -> Iterator[ProxyHere]:
    with (
        Scripted(first) as primary,
        Scripted(second) as secondary,
        ProxyHere(primary.port, secondary.port, WaitingRoom(calls, 1 << 20), 0.001, clock) as proxy,
    ):
        yield proxy


def scanned(first: Rows, second: Rows, *counts: int) -> ProxyHere:
    with both(first, second) as proxy, closing(proxy.client()) as client:
        scan(client, *counts)
    return proxy


ROWS = b"a", b"b", b"c"


@pytest.mark.parametrize(
    ("first", "second"),
    [((FAILURE, *ROWS), ROWS), (ROWS, (FAILURE, *ROWS)), ((FAILURE, *ROWS), (NONE_SUCH, *ROWS))],
)
def test_an_error_in_a_scan_is_a_difference_and_not_a_lack_of_rows(first: tuple[Any], second: tuple[Any]) -> None:
    proxy = scanned(Rows(*first), Rows(*second), 1, 3, 1)
    assert proxy.differences() == [("scannerGetList", "error")]
    assert (proxy.method("scannerGetList")["different"], proxy.method("scannerGetList")["equal"]) == (1, 0)
    assert proxy.method("scannerGetList")["skipped"] == {SCAN_FAILED: 2}


def test_the_same_error_on_both_is_equal() -> None:
    proxy = scanned(Rows(FAILURE, *ROWS), Rows(FAILURE, *ROWS), 1, 3)
    assert not proxy.differences()
    assert (proxy.method("scannerGetList")["equal"], proxy.method("scannerGetList")["skipped"]) == (1, {SCAN_FAILED: 1})


def test_a_page_of_no_rows_is_not_the_end() -> None:
    proxy = scanned(Rows(*ROWS), Rows(*ROWS), 1, 0, 5, 1)
    assert not proxy.differences()
    assert proxy.method("scannerGetList")["equal"] == 4


def test_a_page_of_no_rows_is_asked_of_the_secondary() -> None:
    proxy = scanned(Rows(*ROWS), Rows(FAILURE), 0)
    assert proxy.differences() == [("scannerGetList", "error")]


def test_differences_before_an_error_are_told_as_well() -> None:
    proxy = scanned(Rows(b"a", b"c"), Rows(b"b", FAILURE), 2)
    assert proxy.differences() == [
        ("scannerGetList", "error"),
        ("scannerGetList", "row at the primary only"),
        ("scannerGetList", "row at the secondary only"),
    ]


def test_a_table_that_a_scanner_does_not_find_is_lacking() -> None:
    """HBase's scanner finds that out when its first rows are asked for."""
    proxy = scanned(Rows(*ROWS), Rows(ABSENT), 1, 1)
    assert not proxy.differences()
    assert proxy.around.lacking == {b"t"}
    assert proxy.method("scannerGetList")["skipped"] == {NOT_THERE: 2}


class Clock:
    """Goes on by itself, and leaps."""

    def __init__(self) -> None:
        self._leaps = 0.0

    def __call__(self) -> float:
        return time.perf_counter() + self._leaps

    def leap(self) -> None:
        self._leaps += 1000


@pytest.mark.parametrize("rests", ["primary", "secondary"])
@pytest.mark.parametrize("lost", ["primary", "secondary"])
def test_a_scanner_that_was_lost_where_it_rested_for_longer_is_no_difference(rests: str, lost: str) -> None:
    clock = Clock()
    first, second = Rows(*ROWS), Rows(*ROWS)
    {"primary": first, "secondary": second}[lost].rows = NONE_SUCH, *ROWS
    goes_on = threading.Event()
    if rests == "primary":
        second.may_open, first.on_get = goes_on, clock.leap
    else:
        second.on_get = lambda: (goes_on.wait(LONG_SECONDS), clock.leap())
    with both(first, second, clock) as proxy, closing(proxy.client()) as client:
        scanner = client.scannerOpen(b"t", b"", [b"f"], {})
        client.getRow(b"t", b"elsewhere", {})
        with suppress(STRUCTS.IllegalArgument):
            client.scannerGetList(scanner, 1)
        goes_on.set()
    reason = NO_SCANNER_AT_PRIMARY if lost == "primary" else NO_SCANNER
    assert proxy.method("scannerGetList")["skipped"] == ({reason: 1} if rests == lost else {})
    assert proxy.differences() == ([] if rests == lost else [("scannerGetList", "error")])


def test_a_scanner_that_was_lost_with_the_secondary_is_no_difference() -> None:
    """It began anew between two calls, of which nobody had to hear."""
    clock = Clock()
    first, second = Rows(*ROWS), Rows(NONE_SUCH, *ROWS)
    first.on_get = clock.leap
    second.on_get = lambda: sys.exit("its connection ends")
    with both(first, second, clock) as proxy, closing(proxy.client()) as client:
        scanner = client.scannerOpen(b"t", b"", [b"f"], {})
        client.getRow(b"t", b"elsewhere", {})
        client.scannerGetList(scanner, 1)
    assert not proxy.differences()
    assert proxy.method("scannerGetList")["skipped"] == {NO_SCANNER: 1}


def test_a_scanner_that_was_not_opened_by_the_proxy_is_skipped() -> None:
    with (
        both(Rows(*ROWS), Rows(*ROWS)) as proxy,
        closing(proxy.client()) as client,
        suppress(STRUCTS.IllegalArgument),
    ):
        client.scannerGetList(77, 1)
    assert proxy.method("scannerGetList")["skipped"] == {UNKNOWN_SCANNER: 1}


def test_closing_a_scanner_that_the_secondary_did_not_open_is_not_equal() -> None:
    second = Rows()
    second.opening = FAILURE
    proxy = scanned(Rows(*ROWS), second, 1)
    assert proxy.differences() == [("scannerOpen", "error")]
    assert proxy.method("scannerGetList")["skipped"] == {NO_SCANNER: 1}
    assert proxy.method("scannerClose")["skipped"] == {NO_SCANNER: 1}


def test_closing_is_skipped_where_the_scan_was() -> None:
    second = Rows(FAILURE)
    proxy = scanned(Rows(*ROWS), second, 1)
    assert proxy.method("scannerClose")["skipped"] == {SCAN_FAILED: 1}
    assert second.open == {}


def test_a_scanner_that_the_secondary_alone_opened_is_closed_there() -> None:
    first, second = Rows(), Rows(*ROWS)
    first.opening = FAILURE
    with both(first, second) as proxy, closing(proxy.client()) as client:
        for _ in range(2):
            with pytest.raises(STRUCTS.IOError):
                client.scannerOpen(b"t", b"", [b"f"], {})
    assert proxy.differences() == [("scannerOpen", "error")]
    assert second.open == {}


def remembers_writes(proxy: ProxyHere, clock: Clock) -> bool:
    """Whether the proxy still knows of a write when 1,000 others came a while later."""

    def written(row: bytes) -> Write:
        cells = Cells(b"t", row)
        write = proxy.around.races.begin(Touch(Kind.WRITE, (b"t",), (cells,), puts=True))
        proxy.around.races.acknowledged(write)
        proxy.around.races.begins_at_secondary(write)
        proxy.around.races.ended_at_secondary(write)
        return write

    first = written(b"r")
    clock.leap()
    for _ in range(1001):
        written(b"others")
    beside = ReadSpan(first.sent, clock(), first.begun, clock())
    return proxy.around.races.reason(b"t", b"r", None, beside) == ORDER


def test_writes_are_remembered_while_a_scan_may_be_asked_about_and_no_longer() -> None:
    clock = Clock()
    with both(Rows(*ROWS), Rows(*ROWS), clock) as proxy, closing(proxy.client()) as client:
        scanner = client.scannerOpen(b"t", b"", [b"f"], {})
        assert remembers_writes(proxy, clock)
        client.scannerClose(scanner)
        eventually(lambda: proxy.method("scannerClose")["equal"] == 1, SOON_SECONDS, "the call is compared")
        eventually(lambda: not remembers_writes(proxy, clock), SOON_SECONDS, "nobody asks about the scan")


def test_a_scan_that_was_left_out_holds_no_writes() -> None:
    clock = Clock()
    with both(Rows(*ROWS), Rows(*ROWS), clock, calls=0) as proxy, closing(proxy.client()) as client:
        for _ in range(2):
            client.scannerClose(client.scannerOpen(b"t", b"", [b"f"], {}))
            client.scannerOpen(b"t", b"", [b"f"], {})
        assert not remembers_writes(proxy, clock)
    assert proxy.method("scannerOpen")["skipped"] == {NO_ROOM: 4}
    assert proxy.method("scannerClose")["skipped"] == {NO_ROOM: 2}


def test_a_scanner_that_its_client_left_open_holds_writes_for_a_while_only() -> None:
    clock = Clock()
    with both(Rows(*ROWS), Rows(*ROWS), clock) as proxy, closing(proxy.client()) as client:
        scanner = client.scannerOpen(b"t", b"", [b"f"], {})
        eventually(lambda: proxy.method("scannerOpen")["equal"] == 1, SOON_SECONDS, "the call is compared")
        proxy.around.scans.forget(clock() - 600)
        assert remembers_writes(proxy, clock)
        eventually(lambda: forgotten(proxy, clock), SOON_SECONDS, "nobody asks about the scan")
        client.scannerGetList(scanner, 1)
    assert proxy.method("scannerGetList")["skipped"] == {UNKNOWN_SCANNER: 1}


def forgotten(proxy: ProxyHere, clock: Clock) -> bool:
    proxy.around.scans.forget(clock() - 600)
    return not remembers_writes(proxy, clock)
