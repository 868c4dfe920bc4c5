"""adminAggregate of a gateway with users, through Thrift's own client: rights, pages, limits, and what it refuses."""

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.access.user import User
from hbtable.hbase.admin import aggregates
from hbtable.hbase.admin.structs import AdminAggregate, AdminAggregation, AdminScan
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.model.read import ScanPage, ScanPosition, ScanRequest
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.request_budget import RequestBudget, hold, work_for
from tests.harness.guarded_gateway import GuardedGateway, interface

ROOT, ANN = User("root"), User("ann")
ADMIN = interface("admin")
ROWS = 40


def asked(*aggregates: Any, **grouped: Any) -> Any:
    made = [ADMIN.AdminAggregate(*one) if isinstance(one, tuple) else ADMIN.AdminAggregate(one) for one in aggregates]
    return ADMIN.AdminAggregation(aggregates=made, **grouped)


def read(*names: bytes, **fields: Any) -> Any:
    columns = [ADMIN.AdminColumn(*name.split(b":")) for name in names] if names else None
    return ADMIN.AdminRead(columns=columns, **fields)


def groups(page: Any) -> dict[bytes, Any]:
    return {group.key: json.loads(group.states) for group in page.groups}


def in_gateway(check: Callable[[Any, Any], None]) -> None:
    """With root's and ann's clients: t has f:a, f:b and g:a, and ann may read f:a and g of it."""
    gateway = GuardedGateway()

    def main() -> None:
        gateway.start()
        root, ann = (gateway.client(user, "admin") for user in (ROOT, ANN))
        families = [ADMIN.AdminFamily(name=name) for name in (b"f", b"g")]
        root.adminCreateTable(ADMIN.AdminTable(name=b"t", families=families), [b"r10", b"r20"])
        for number in range(ROWS):
            put = [ADMIN.AdminOperation(8, b"f", b"b", 1, b"secret")]
            if number % 2:
                put += [ADMIN.AdminOperation(8, b"f", b"a", 1, struct.pack(">q", number))]
                put += [ADMIN.AdminOperation(8, b"g", b"a", 1, b"%d" % (number % 5))]
            root.adminMutate(b"t", b"r%02d" % number, put, 0)
        root.adminFlush(b"t", 0)
        for family, qualifier in ((b"f", b"a"), (b"g", None)):
            root.adminGrant(ADMIN.AdminGrant("ann", "R", b"", b"t", family, qualifier), False)
        check(root, ann)
        gateway.stop()

    gateway.runtime.run(main)


def test_the_tablets_are_merged() -> None:
    def check(root: Any, _: Any) -> None:
        what = asked("rows", "cells", ("sum", b"f", b"a", "int64"), ("max", b"g", b"a", "number"), ("count", b"f"))
        page = root.adminAggregate(b"t", ADMIN.AdminScan(), what)
        odd = sum(range(1, ROWS, 2))
        assert groups(page) == {b"": [ROWS, 80, [20, f"{odd:x}", 0], "4", 60]}
        assert (page.position, page.tablets, page.rowsScanned) == (None, 3, ROWS)
        page = root.adminAggregate(b"t", ADMIN.AdminScan(startRow=b"r05", stopRow=b"r25"), asked("rows", rowBytes=2))
        assert groups(page) == {b"r0": [5], b"r1": [10], b"r2": [5]}
        page = root.adminAggregate(b"t", ADMIN.AdminScan(), asked("rows", "cells", byColumn=True))
        assert groups(page) == {b"f:a": [20, 20], b"f:b": [ROWS, ROWS], b"g:a": [20, 20]}

    in_gateway(check)


def test_what_a_user_may_not_read_is_not_counted() -> None:
    def check(_: Any, ann: Any) -> None:
        what = asked("rows", "cells", ("count", b"f", b"b"), ("count", b"f"), ("distinct", b"g"))
        (found,) = groups(ann.adminAggregate(b"t", ADMIN.AdminScan(), what)).values()
        assert found[:4] == [20, 40, 0, 20]
        both = ADMIN.AdminScan(read=read(b"f:b", b"f:a"))
        page = ann.adminAggregate(b"t", both, asked("cells", ("count", b"f", b"b")))
        assert groups(page) == {b"": [20, 0]}
        with pytest.raises(ADMIN.IOError, match="AccessDenied"):
            ann.adminAggregate(b"t", ADMIN.AdminScan(read=read(b"f:b")), asked("rows"))

    in_gateway(check)


def test_a_page_ends_in_time_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(root: Any, _: Any) -> None:
        monkeypatch.setattr(aggregates, "_PAGE_SECONDS", 0.0)
        monkeypatch.setattr(aggregates, "AGGREGATED_ROWS", 7)
        rows, position, pages = 0, None, 0
        while True:
            page = root.adminAggregate(b"t", ADMIN.AdminScan(position=position), asked("rows"))
            rows += sum(found for (found,) in groups(page).values())
            position, pages = page.position, pages + 1
            if position is None:
                break
        assert (rows, pages) == (ROWS, 7)  # 7 + 3, 7 + 3, 7 + 7 + 6

    in_gateway(check)


def test_groups_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page ends at half of what groups may take. A tablet's page alone that is beyond it is refused."""
    made: list[aggregates.AdminAggregateCalls] = []
    init = aggregates.AdminAggregateCalls.__init__

    def noted(calls: aggregates.AdminAggregateCalls, *arguments: Any) -> None:
        made.append(calls)
        init(calls, *arguments)

    monkeypatch.setattr(aggregates.AdminAggregateCalls, "__init__", noted)

    def check(root: Any, _: Any) -> None:
        (calls,) = made
        calls._options = replace(calls._options, aggregate_bytes=10_000)
        page = root.adminAggregate(b"t", ADMIN.AdminScan(), asked("rows", rowBytes=3))
        assert len(page.groups) == 20
        rest = ADMIN.AdminScan(position=page.position)
        assert len(root.adminAggregate(b"t", rest, asked("rows", rowBytes=3)).groups) == 20
        calls._options = replace(calls._options, aggregate_bytes=1000)
        with pytest.raises(ADMIN.IllegalArgument, match=r"10 groups.*more than thrift.aggregate_bytes = 1000"):
            root.adminAggregate(b"t", ADMIN.AdminScan(), asked("rows", rowBytes=3))

    in_gateway(check)


def test_rows_that_are_counted_and_gone_take_no_memory_of_others() -> None:
    """Those of all pages of a call were counted until its answer: 60 MB after 13 pages of long rows."""
    memory, before = MemoryBudget(1 << 30, lambda seconds: None, lambda: 0.0), list[int]()

    class Positions:
        def page(self, table: bytes, request: ScanRequest) -> ScanPage:
            before.append(memory.used_bytes)
            hold(5 << 20)
            row = (b"%04d" % len(before), [(b"f:a", 1, b"v")])
            return ScanPage([row], None if len(before) == 2000 else ScanPosition(row[0]))

        def before(self, table: bytes, scan: AdminScan) -> None: ...
        def after(self, table: bytes, scan: AdminScan, page: ScanPage) -> None: ...

    clock: Any = SimpleNamespace(clock_seconds=lambda: 0.0)
    positions: Any = Positions()
    calls = aggregates.AdminAggregateCalls(clock, positions, ThriftGatewayOptions(), lambda: None)
    work_for(budget := RequestBudget(memory))
    try:
        found = calls.adminAggregate(b"t", None, AdminAggregation([AdminAggregate("rows")], row_bytes=4))
    finally:
        work_for(None)
    assert len(found.groups or ()) == len(before) == 2000
    assert before[1] == 0 < before[-1] <= memory.used_bytes < 1 << 20, "the groups"
    budget.clear()
    assert memory.used_bytes == memory.growing_bytes == 0


REFUSED = [
    (ADMIN.AdminScan(), None, "0 aggregates"),
    (ADMIN.AdminScan(), asked(*["rows"] * 65), "65 aggregates are asked for: it is 1 to 64"),
    (ADMIN.AdminScan(), asked("median"), "no aggregate 'median': it is one of rows, cells, last, count"),
    (ADMIN.AdminScan(), asked(("sum", b"f", b"a", "int65")), "read as 'int65' for sum: it is one of int8"),
    (ADMIN.AdminScan(), asked("rows", rowBytes=-1), "the bytes of a row"),
    (ADMIN.AdminScan(), asked("rows", rowBytes=1, byColumn=True), "grouped in one way"),
    (ADMIN.AdminScan(cellsPerRow=2), asked("rows"), "one of whole rows"),
    (ADMIN.AdminScan(read=ADMIN.AdminRead(raw=True)), asked("rows"), "without markers"),
    (ADMIN.AdminScan(), asked(("sum", b"f", b"b", "int32")), r"r00' has the value b'secret' in column b'f:b'.* 6 byt"),
    (ADMIN.AdminScan(), asked(("count", b"nope")), None),
]


def test_what_is_refused_is_named() -> None:
    def check(root: Any, _: Any) -> None:
        for scan, what, message in REFUSED:
            if message is None:
                assert groups(root.adminAggregate(b"t", scan, what)) == {b"": [0]}
                continue
            with pytest.raises((ADMIN.IllegalArgument, ADMIN.IOError), match=message):
                root.adminAggregate(b"t", scan, what)

    in_gateway(check)
