"""Scanners: positions and parameters that survive, pages that are never short, ids that never come twice."""

import json
from contextvars import copy_context
from itertools import pairwise
from typing import Any

import pytest

from hbtable.access.user import User, acting_as
from hbtable.errors import Corruption, LimitExceeded, OutOfSpace, ScannerNotFound, Unavailable, UnsupportedFormat
from hbtable.hbase.audit import come_from
from hbtable.hbase.calls.scanner_ids import ScannerIds, unsaved
from hbtable.hbase.calls.scanners import ScannerOptions, Scanners
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPosition, ScanRequest
from hbtable.model.schema import FamilySchema
from tests.harness.planted_bugs import is_found


@pytest.fixture
def rows(gateway: Any) -> Any:
    """Ten rows; the table gives three a page."""
    for number in range(10):
        row = b"r%d" % number
        gateway.table.rows.append(row)
        gateway.table.cells[row] = {b"f:a": (number, b"v%d" % number)}
    return gateway.table


def fetch(client: Any, number: int, count: int) -> list[bytes]:
    return [row.row for row in client.call("scannerGetList", id=number, nbRows=count)]


def test_ids_begin_at_zero_and_work_from_any_connection(client: Any, connect: Any, rows: Any) -> None:
    first = client.call("scannerOpen", tableName=b"t", startRow=b"", columns=[])
    second = client.call("scannerOpenWithStop", tableName=b"t", startRow=b"r2", stopRow=b"r4")
    assert (first, second) == (0, 1)
    other = connect(client.gateway, "compact", framed=True)
    assert fetch(other, second, 10) == [b"r2", b"r3"]


def test_a_fetch_is_short_only_at_the_end(client: Any, rows: Any) -> None:
    number = client.call("scannerOpenWithScan", tableName=b"t", scan=client.thrift.TScan())
    assert fetch(client, number, 7) == [b"r%d" % i for i in range(7)]
    assert fetch(client, number, 7) == [b"r7", b"r8", b"r9"]
    assert fetch(client, number, 7) == []
    assert fetch(client, number, 7) == []
    assert client.call("scannerGet", id=number) == []
    client.call("scannerClose", id=number)
    with pytest.raises(Exception, match="scanner ID is invalid"):
        client.call("scannerGet", id=number)


def test_every_invalid_use_has_the_exact_text(client: Any, rows: Any) -> None:
    for method, arguments in (
        ("scannerGet", {"id": 5}),
        ("scannerGetList", {"id": -1, "nbRows": -1}),
        ("scannerClose", {"id": 7}),
        ("scannerClose", {}),
    ):
        with pytest.raises(client.thrift.IllegalArgument) as caught:
            client.call(method, **arguments)
        assert caught.value.message == b"scanner ID is invalid"


def test_odd_numbers_of_rows(client: Any, rows: Any) -> None:
    number = client.call("scannerOpen", tableName=b"t", startRow=b"")
    assert fetch(client, number, 0) == []
    with pytest.raises(client.thrift.IllegalArgument, match="ask for 1 or more"):
        fetch(client, number, -1)
    assert len(fetch(client, number, 2**31 - 1)) == 10


def test_an_answer_is_bounded_in_bytes_and_nothing_is_lost(small_gateway: Any, connect: Any) -> None:
    client = connect(small_gateway)
    for number in range(10):
        small_gateway.table.rows.append(b"r%d" % number)
        small_gateway.table.cells[b"r%d" % number] = {b"f:a": (1, b"v" * 100)}
    number = client.call("scannerOpen", tableName=b"t", startRow=b"")
    found = []
    while part := fetch(client, number, 2**31 - 1):
        assert len(part) <= 4
        found += part
    assert found == [b"r%d" % number for number in range(10)]


def test_an_error_in_the_middle_loses_no_row(client: Any, rows: Any) -> None:
    number = client.call("scannerOpen", tableName=b"t", startRow=b"")
    assert fetch(client, number, 2) == [b"r0", b"r1"]
    page = rows.scan_page

    def fails_at_second_page(request: ScanRequest) -> Any:
        if request.position is not None and request.position.row == b"r5":
            raise Unavailable("not now")
        return page(request)

    rows.scan_page = fails_at_second_page
    with pytest.raises(client.thrift.IOError, match="not now"):
        fetch(client, number, 6)
    rows.scan_page = page
    assert fetch(client, number, 2) == [b"r2", b"r3"]


@pytest.mark.parametrize(
    ("scan", "expected"),
    [
        ({"startRow": b"r3", "stopRow": b"r3"}, [b"r3"]),
        ({"startRow": b"r5", "stopRow": b"r3"}, []),
        ({"startRow": b"r8"}, [b"r8", b"r9"]),
        ({"stopRow": b"r1"}, [b"r0"]),
        ({"reversed": True, "startRow": b"r2"}, [b"r2", b"r1", b"r0"]),
        ({"reversed": True, "startRow": b"r25", "stopRow": b"r1"}, [b"r2"]),
        ({"reversed": True, "startRow": b"", "stopRow": b"r7"}, [b"r9", b"r8"]),
        ({"reversed": True, "startRow": b"r3", "stopRow": b"r3"}, [b"r3"]),
        ({"reversed": True, "startRow": b"r1", "stopRow": b"r3"}, []),
    ],
)
def test_ranges(client: Any, rows: Any, scan: Any, expected: list[bytes]) -> None:
    number = client.call("scannerOpenWithScan", tableName=b"t", scan=client.thrift.TScan(**scan))
    assert fetch(client, number, 100) == expected


def test_parameters_reach_the_table(client: Any, rows: Any) -> None:
    scan = client.thrift.TScan(
        timestamp=5, columns=[b"f:a"], caching=-1, filterString=b"KeyOnlyFilter()", batchSize=2, cacheBlocks=False
    )
    number = client.call("scannerOpenWithScan", tableName=b"t", scan=scan)
    client.call("scannerGet", id=number)
    asked = rows.requests[0]
    assert asked.spec == ReadSpec({b"f": frozenset({b"a"})}, 0, 5, 1, b"KeyOnlyFilter()", False, max_bytes=1 << 20)
    assert (asked.cells_per_row, asked.max_rows) == (2, 1)
    prefixed = client.call("scannerOpenWithPrefix", tableName=b"t", startAndPrefix=b"r\xff")
    client.call("scannerGet", id=prefixed)
    assert rows.requests[1].range == RowRange(b"r\xff", b"s")


def test_a_fetch_ends_before_a_row_that_is_too_large_for_any(small_gateway: Any, connect: Any) -> None:
    client = connect(small_gateway)
    table = small_gateway.table
    table.rows, table.page_rows = [b"a", b"b", b"c"], 1
    table.cells = {row: {b"f:a": (1, b"v")} for row in table.rows}
    table.cells[b"b"][b"f:b"] = (1, bytes(300))
    number = client.call("scannerOpen", tableName=b"t", startRow=b"")
    assert [row.row for row in client.call("scannerGetList", id=number, nbRows=100)] == [b"a"]
    for _ in range(2):
        with pytest.raises(client.thrift.IllegalArgument, match="row b'b' holds more than 300 bytes"):
            client.call("scannerGetList", id=number, nbRows=100)


def test_sorted_columns_replace_columns(client: Any, rows: Any) -> None:
    number = client.call("scannerOpenWithScan", tableName=b"t", scan=client.thrift.TScan(sortColumns=True))
    (row,) = client.call("scannerGet", id=number)
    assert row.columns is None
    assert [(column.columnName, column.cell.value) for column in row.sortedColumns] == [(b"f:a", b"v0")]


def test_the_open_reports_what_can_be_known(client: Any, rows: Any) -> None:
    for arguments, text in (
        ({"tableName": b"no", "startRow": b""}, "TableNotFoundException: no"),
        ({"tableName": b"t", "startRow": b"", "columns": [b"zz:a"]}, "NoSuchColumnFamilyException: Column family zz"),
    ):
        with pytest.raises(client.thrift.IOError, match=text):
            client.call("scannerOpen", **arguments)
    with pytest.raises(client.thrift.IOError, match="IllegalArgumentException: there is no filter"):
        client.call("scannerOpenWithScan", tableName=b"t", scan=client.thrift.TScan(filterString=b"rubbish"))
    number = client.call("scannerOpen", tableName=b"t", startRow=b"")
    client.call("disableTable", tableName=b"t")
    for _ in range(2):
        with pytest.raises(client.thrift.IOError, match="TableNotEnabledException"):
            client.call("scannerGet", id=number)


def test_a_table_disabled_before_its_first_scan_is_reported_at_the_open(client: Any) -> None:
    client.call("disableTable", tableName=b"t")
    with pytest.raises(client.thrift.IOError, match="TableNotEnabledException: t is disabled"):
        client.call("scannerOpen", tableName=b"t", startRow=b"")


def test_a_family_added_later_is_found(client: Any, rows: Any) -> None:
    client.call("scannerOpen", tableName=b"t", startRow=b"")
    client.gateway.cluster.schemas[b"t"].families[b"h"] = FamilySchema(b"h")
    assert client.call("scannerOpen", tableName=b"t", startRow=b"", columns=[b"h"]) == 1


# ---------------------------------------------------------------- the store


def test_an_hour_of_silence_is_fine_and_a_longer_one_is_not(runtime: Any) -> None:
    scanners = Scanners(runtime, ScannerIds(lambda count: 0), ScannerOptions())
    first = scanners.open(b"t", ScanRequest())
    second = scanners.open(b"t", ScanRequest())
    runtime.now += 3599
    scanners.use(first)
    assert scanners.expire() == 0
    runtime.now += 2
    assert scanners.expire() == 1
    scanners.use(first)
    with pytest.raises(ScannerNotFound):
        scanners.use(second)
    runtime.now += 3601
    with pytest.raises(ScannerNotFound):
        scanners.use(first)
    assert len(scanners) == 0


def test_too_many_parameters_close_the_least_recently_used(runtime: Any) -> None:
    scanners = Scanners(runtime, ScannerIds(lambda count: 0), ScannerOptions(memory_bytes=250_000))
    large = ScanRequest(spec=ReadSpec(filter=b"x" * 100_000))
    first, second = scanners.open(b"t", large), scanners.open(b"t", large)
    scanners.use(first)
    third = scanners.open(b"t", large)
    scanners.use(first)
    scanners.use(third)
    with pytest.raises(ScannerNotFound):
        scanners.use(second)


_LARGE = ScanRequest(spec=ReadSpec(filter=b"x" * 100_000))


def _opened_by(scanners: Scanners, who: str, request: ScanRequest) -> int:
    """By a user, or from an address."""

    def opened() -> int:
        come_from(who if ":" in who else "127.0.0.1:1")
        with acting_as(None if ":" in who else User(who)):
            return scanners.open(b"t", request)

    return copy_context().run(opened)


@pytest.mark.parametrize(
    ("flooder", "other"), [("bob", "ann"), ("10.0.0.7:1", "10.0.0.8:1"), ("[2001:db8::1]:1", "ann")]
)
def test_who_opens_many_scanners_closes_his_own_alone(runtime: Any, flooder: str, other: str) -> None:
    scanners = Scanners(runtime, ScannerIds(unsaved()), ScannerOptions(memory_bytes=450_000))
    his = [_opened_by(scanners, other, ScanRequest()), _opened_by(scanners, other, _LARGE)]
    foreign = [_opened_by(scanners, flooder, _LARGE) for _ in range(20)]
    assert [number for number in his if scanners.find(number)] == his
    assert [number for number in foreign if scanners.find(number)] == foreign[-3:]


def test_the_addresses_of_one_network_share_what_they_hold(runtime: Any) -> None:
    scanners = Scanners(runtime, ScannerIds(unsaved()), ScannerOptions(memory_bytes=450_000))
    his = [_opened_by(scanners, "10.0.0.8:1", _LARGE) for _ in range(2)]
    for number in range(20):
        _opened_by(scanners, f"[2001:db8::{number:x}]:1", _LARGE)
    assert all(scanners.find(number) for number in his)


def test_a_scanner_larger_than_what_all_may_have_is_refused_and_nobody_loses_one(runtime: Any) -> None:
    scanners = Scanners(runtime, ScannerIds(unsaved()), ScannerOptions(memory_bytes=250_000))
    anns = _opened_by(scanners, "ann", _LARGE)
    with pytest.raises(LimitExceeded, match="a scanner with 301001 bytes of columns and filter has no room"):
        _opened_by(scanners, "bob", ScanRequest(spec=ReadSpec(filter=b"x" * 300_000)))
    assert scanners.find(anns)
    assert len(scanners) == 1


@pytest.mark.parametrize("way", ["a large one comes", "their hour is over"])
def test_others_run_while_very_many_scanners_are_closed(
    runtime: Any, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """One with 100,000 columns took the place of 8,000 others in one stretch of 185 ms."""
    scanners = Scanners(runtime, ScannerIds(unsaved()), ScannerOptions(memory_bytes=2_200_000))
    open_ones: list[int] = []
    for _ in range(1000):
        scanners.open(b"t", ScanRequest())
    monkeypatch.setattr(runtime, "pause_when_due", lambda: open_ones.append(len(scanners)))
    if way == "a large one comes":
        scanners.open(b"t", ScanRequest(spec=ReadSpec(filter=b"x" * 2_000_000)))
    else:
        runtime.now += 3601
        assert scanners.expire() == 1000
    assert len(scanners) < 200
    assert len(open_ones) >= 40
    assert max(before - after for before, after in pairwise([1000, *open_ones, len(scanners)])) <= 17


def test_others_run_while_a_few_large_scanners_are_closed(runtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scanners = Scanners(runtime, ScannerIds(unsaved()), ScannerOptions(memory_bytes=2_200_000))
    for _ in range(5):
        scanners.open(b"t", _LARGE)
    open_ones: list[int] = []
    monkeypatch.setattr(runtime, "pause_when_due", lambda: open_ones.append(len(scanners)))
    runtime.now += 3601
    assert scanners.expire() == 5
    assert open_ones == [4, 3, 2, 1, 0]


def test_shares_survive_a_restart(runtime: Any) -> None:
    before, after = (Scanners(runtime, ScannerIds(unsaved()), ScannerOptions(memory_bytes=450_000)) for _ in range(2))
    his = [_opened_by(before, "10.0.0.8:1", _LARGE), _opened_by(before, "ann", _LARGE)]
    foreign = [_opened_by(before, "10.0.0.7:1", _LARGE) for _ in range(2)]
    after.restore(before.save())
    for _ in range(20):
        _opened_by(after, "10.0.0.7:2", _LARGE)
    assert all(after.find(number) for number in his)
    assert not any(after.find(number) for number in foreign)


def test_ids_are_reserved_in_blocks_and_skip_open_ones() -> None:
    reserved: list[int] = []

    def reserve(count: int) -> int:
        reserved.append(count)
        return 2**31 - 2 if len(reserved) == 1 else 2**31 + 2

    ids = ScannerIds(reserve, block=4)
    assert [ids.take({0}) for _ in range(4)] == [2**31 - 2, 2**31 - 1, 1, 2]
    assert reserved == [4, 4]


def test_ids_are_reserved_ahead_so_that_scans_go_on_when_nothing_can_be_written() -> None:
    failing = False
    reserved: list[int] = []

    def reserve(count: int) -> int:
        if failing:
            raise OutOfSpace("no room")
        reserved.append(count)
        return 1000 * len(reserved)

    ids = ScannerIds(reserve, block=256)
    ids.prepare()
    failing = True
    assert [ids.take(()) for _ in range(256)] == list(range(1000, 1256))
    with pytest.raises(OutOfSpace):
        ids.take(())
    failing = False
    assert [ids.take(()) for _ in range(257)] == [*range(2000, 2256), 3000]
    assert reserved == [256, 256, 256]


def test_an_orderly_restart_keeps_them(runtime: Any) -> None:
    before = Scanners(runtime, ScannerIds(lambda count: 40), ScannerOptions())
    request = ScanRequest(
        RowRange(b"a\xff", b""),
        ReadSpec({b"f": None, b"g": frozenset({b"", b"\x00q"})}, 0, 77, 1, b"PageFilter(3)", False),
        reversed=True,
        cells_per_row=3,
    )
    plain, busy = before.open(b"t", ScanRequest()), before.open(b"n:t", request, sorted_columns=True)
    before.use(busy).position = ScanPosition(b"k\xfe", 2, b"\x00state")
    before.use(plain).ended = True
    runtime.now += 1000
    saved = before.save()

    runtime.now = 5.0  # another boot
    after = Scanners(runtime, ScannerIds(lambda count: 80), ScannerOptions())
    after.restore(saved)
    assert after.use(plain).ended
    scanner = after.use(busy)
    assert (scanner.table, scanner.request, scanner.sorted_columns) == (b"n:t", request, True)
    assert scanner.position == ScanPosition(b"k\xfe", 2, b"\x00state")
    assert after.save().count(b'"id"') == 2


def test_time_ranges_of_families_survive_a_restart_in_a_format_that_older_releases_refuse(runtime: Any) -> None:
    before = Scanners(runtime, ScannerIds(lambda count: 40), ScannerOptions())
    before.open(b"t", ScanRequest())
    assert json.loads(before.save())["format"] == 1
    request = ScanRequest(family_times={b"f\xff": (3, 9), b"g": (0, 2**63 - 1)})
    number = before.open(b"t", request)
    saved = before.save()
    assert json.loads(saved)["format"] == 2
    after = Scanners(runtime, ScannerIds(lambda count: 80), ScannerOptions())
    after.restore(saved)
    assert after.use(number).request == request
    assert after.use(number).size_bytes == before.use(number).size_bytes
    after.close(number)
    assert json.loads(after.save())["format"] == 1


def test_idle_time_goes_on_over_a_restart(runtime: Any) -> None:
    before = Scanners(runtime, ScannerIds(lambda count: 0), ScannerOptions())
    before.open(b"t", ScanRequest())
    runtime.now += 3000
    saved = before.save()
    after = Scanners(runtime, ScannerIds(lambda count: 0), ScannerOptions())
    after.restore(saved)
    runtime.now += 601
    assert after.expire() == 1


def test_scanners_of_a_newer_version_are_refused(runtime: Any) -> None:
    scanners = Scanners(runtime, ScannerIds(lambda count: 0), ScannerOptions())
    with pytest.raises(UnsupportedFormat, match="remove the file"):
        scanners.restore(b'{"format": 99, "scanners": []}')


@pytest.mark.parametrize(
    "saved", [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 1, "scanners": [{"id": 1}]}', b"\xff\xfe"]
)
def test_what_is_no_saved_scanner_is_said_to_be_damaged(runtime: Any, saved: bytes) -> None:
    scanners = Scanners(runtime, ScannerIds(lambda count: 0), ScannerOptions())
    with pytest.raises(Corruption):
        scanners.restore(saved)
    assert len(scanners) == 0


def test_the_planted_bug_is_found(runtime: Any) -> None:
    is_found("leaking", lambda: test_an_hour_of_silence_is_fine_and_a_longer_one_is_not(runtime))


def test_a_scanner_is_its_owners_alone(gateway: Any) -> None:
    def scanners() -> Scanners:
        return Scanners(gateway.runtime, ScannerIds(unsaved()), ScannerOptions())

    before, after = scanners(), scanners()
    anybodys = before.open(b"t", ScanRequest())
    with acting_as(User("ann")):
        anns = before.open(b"t", ScanRequest())
    saved = before.save()
    after.restore(saved)
    assert [record.get("owner") for record in json.loads(saved)["scanners"]] == [None, "ann"]
    for kept in (before, after):
        with acting_as(User("bob")):
            kept.use(anybodys)
            with pytest.raises(ScannerNotFound):
                kept.use(anns)
            with pytest.raises(ScannerNotFound):
                kept.close(anns)
        with acting_as(User("ann")):
            kept.use(anns)
            kept.close(anns)
