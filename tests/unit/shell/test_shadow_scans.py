"""Scans of two servers that give their rows, or errors in the place of rows, as a test says."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from hbtable.shell.shadow.repeating import (
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
        self.may_open = threading.Event()
        self.may_open.set()
        self._open: dict[int, list[bytes | Exception]] = {}

    def __call__(self, name: str, arguments: Any) -> Answer:
        result = getattr(STRUCTS.Hbase, f"{name}_result")
        if name == "scannerOpen":
            self.may_open.wait(LONG_SECONDS)
            self._open[len(self._open)] = list(self.rows)
            return result(success=len(self._open) - 1)
        if name == "getRow":
            self.on_get()
            return result(success=[])
        if arguments.id not in self._open:
            return failed(name, NONE_SUCH)
        if name == "scannerClose":
            del self._open[arguments.id]
            return result()
        return self._page(name, self._open[arguments.id], arguments.nbRows)

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
def both(first: Rows, second: Rows, clock: Callable[[], float] = time.perf_counter) -> Iterator[ProxyHere]:
    with (
        Scripted(first) as primary,
        Scripted(second) as secondary,
        ProxyHere(primary.port, secondary.port, WaitingRoom(1000, 1 << 20), clock=clock) as proxy,
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
