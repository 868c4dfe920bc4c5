"""As test_two_worlds.py, with reads that are all as they should be: every kind of filter over all shapes of reads.

There most calls have something that is refused before a row is looked at. Pages end where they are full, and not for
their time, which hidden rows take as well.
"""

import itertools
import random
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import pytest

from hbtable.access.data_checks import DataChecks
from hbtable.access.user import User
from tests.harness.fresh_seed import fresh_seed
from tests.harness.guarded_gateway import GuardedGateway, interface
from tests.unit.hbase.permissions.test_two_worlds import EVENS, KNOWN, NONE, ODDS, ROOT, ROWS, STEP_SECONDS, WIDE, World

ADMIN, ONE, TWO = interface("admin"), interface("thrift1"), interface("thrift2")
MIA: Final = User("mia")
FILTERS: Final = (
    None,
    b"KeyOnlyFilter()",
    b"FirstKeyOnlyFilter()",
    b"PageFilter(2)",
    b"ColumnCountGetFilter(1)",
    b"ColumnPaginationFilter(1,1)",
    b"ColumnPaginationFilter(1,0)",
    b"SingleColumnValueFilter('f','b',=,'binary:ssssss')",
    b"SingleColumnValueFilter('f','b',=,'binary:ssssss',true,true)",
    b"SingleColumnValueExcludeFilter('f','b',!=,'binary:x',true,true)",
    b"SingleColumnValueFilter('f','a',=,'binary:7',true,true)",
    b"DependentColumnFilter('f','b')",
    b"DependentColumnFilter('f','a')",
    b"ValueFilter(=,'substring:s')",
    b"SKIP ValueFilter(!=,'substring:s')",
    b"WHILE ValueFilter(!=,'substring:s')",
    b"SKIP QualifierFilter(=,'binary:a')",
    b"WHILE QualifierFilter(=,'binary:a')",
    b"SKIP FamilyFilter(=,'binary:f')",
    b"RowFilter(=,'regexstring:.*hid')",
    b"RowFilter(>,'binary:0003')",
    b"InclusiveStopFilter('00030-hid')",
    b"TimestampsFilter(1)",
    b"TimestampsFilter(4398046511104)",
    b"ColumnPrefixFilter('b')",
    b"MultipleColumnPrefixFilter('a','b')",
    b"ColumnRangeFilter('a',true,'c',true)",
    b"FamilyFilter(=,'binary:g')",
    b"PageFilter(1) AND ValueFilter(!=,'binary:x')",
    b"KeyOnlyFilter() OR ValueFilter(=,'substring:s')",
    b"FirstKeyOnlyFilter() AND SingleColumnValueFilter('g','a',=,'binary:ssssss',true,true)",
)
OWN_COLUMNS: Final = ((), (b"f",), (b"f:a",), (b"f:b",), (b"f:a", b"f:b"), (b"f", b"g"))


class Call(NamedTuple):
    """A method of a service, and its arguments."""

    service: str
    method: str
    arguments: tuple[Any, ...]


class Reads:
    """Seeded reads of `t`, and changes that read."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._kinds: list[Callable[[], Call]] = [
            lambda: Call("admin", "adminScan", (b"t", self._scan(self._one((0, 0, 1))))),
            lambda: Call("admin", "adminGet", (b"t", self._row(), self._read())),
            lambda: Call("admin", "adminAggregate", (b"t", self._scan(0), self._aggregation())),
            lambda: Call("admin", "adminScanArrow", (b"t", self._scan(0), self._one((None, self._arrow())))),
            lambda: Call("thrift1", "getRowsWithColumns", (b"t", self._rows(), self._names(), {})),
            lambda: Call("thrift1", "getRowWithColumnsTs", (b"t", self._row(), self._names(), 1 << 43, {})),
            lambda: Call("thrift1", "scannerOpenWithScan", (b"t", self._scan1(), {})),
            lambda: Call("thrift2", "getScannerResults", (b"t", self._scan2(), self._one((1, 5)))),
            lambda: Call("thrift2", "getMultiple", (b"t", [self._get2() for _ in range(3)])),
            lambda: Call("thrift2", "existsAll", (b"t", [TWO.TGet(row=row) for row in self._rows()])),
            lambda: Call("thrift2", "append", (b"t", TWO.TAppend(self._row(), [TWO.TColumnValue(b"f", b"a", b"x")]))),
            lambda: Call(
                "admin",
                "adminMutateIf",
                (
                    b"t",
                    self._row(),
                    ADMIN.AdminRead(columns=[ADMIN.AdminColumn(b"f", b"a")], filter=self._one(FILTERS)),
                    self._one((">", "=", "!=")),
                    self._one((None, b"7")),
                    [ADMIN.AdminOperation(8, b"f", b"a", 5, b"1")],
                    None,
                ),
            ),
        ]

    def next(self) -> Call:
        return self._one(self._kinds)()

    def _one(self, choices: Any) -> Any:
        return self.chance.choice(choices)

    def _row(self) -> bytes:
        number = self.chance.randrange(ROWS)
        row: bytes = self._one((KNOWN, b"%05d-hid" % number, b"%05d" % number, b"%05d-mia" % number))
        return row

    def _rows(self) -> list[bytes]:
        return [self._row() for _ in range(4)]

    def _names(self) -> list[bytes]:
        return list(self._one(OWN_COLUMNS))

    def _read(self) -> Any:
        columns = [ADMIN.AdminColumn(*name.split(b":")) for name in self._names()] or None
        return ADMIN.AdminRead(
            columns=columns,
            filter=self._one(FILTERS),
            maxVersions=self._one((1, 3)),
            raw=self.chance.random() < 0.2,
        )

    def _scan(self, cells_per_row: int) -> Any:
        start, stop, backwards = self._one((b"", self._row())), self._one((b"", self._row())), self._one((False, True))
        return ADMIN.AdminScan(self._read(), start, stop, backwards, cells_per_row, self._one((1, 3, 10)))

    def _aggregation(self) -> Any:
        rows = [ADMIN.AdminAggregate("rows")]
        return ADMIN.AdminAggregation(aggregates=rows, rowBytes=self._one((None, 5)), maxRows=self._one((None, 1)))

    def _arrow(self) -> list[Any]:
        return [ADMIN.AdminArrowColumn(b"f", name, "binary") for name in self._one(((b"a",), (b"b", b"a")))]

    def _scan1(self) -> Any:
        return ONE.TScan(
            startRow=self._one((b"", self._row())),
            stopRow=self._one((b"", self._row())),
            columns=self._names(),
            filterString=self._one(FILTERS),
            reversed=self._one((False, True)),
            batchSize=self._one((None, 1)),
            sortColumns=self.chance.random() < 0.2,
            caching=self._one((None, 2)),
        )

    def _columns2(self) -> Any:
        return [TWO.TColumn(*name.split(b":")) for name in self._names()] or None

    def _scan2(self) -> Any:
        return TWO.TScan(
            startRow=self._one((b"", self._row())),
            columns=self._columns2(),
            filterString=self._one(FILTERS),
            reversed=self._one((False, True)),
            batchSize=self._one((None, 1)),
            limit=self._one((None, 2)),
        )

    def _get2(self) -> Any:
        return TWO.TGet(
            row=self._row(),
            columns=self._columns2(),
            filterString=self._one(FILTERS),
            storeLimit=self._one((None, 1)),
            storeOffset=self._one((None, 1)),
        )


def answers(world: World, seed: int, count: int) -> list[tuple[str, bytes]]:
    """What mia is told, who may read and write one column."""
    numbers = itertools.count()  # so that sealed positions are the same if their rows are
    with patch("os.urandom", lambda size: next(numbers).to_bytes(size)):
        return _answers(world, seed, count)


def _answers(world: World, seed: int, count: int) -> list[tuple[str, bytes]]:
    gateway, reads, found = GuardedGateway(), Reads(seed), list[tuple[str, bytes]]()

    def told(call: Call) -> Any:
        client = gateway.client(MIA, call.service)
        wire = client._iprot.trans
        sent: list[bytes] = []
        flush = wire.flush
        wire.flush = lambda: (flush(), sent.append(wire._in))
        try:
            return getattr(client, call.method)(*call.arguments)
        except Exception:
            return None  # refusals are compared as well
        finally:
            found.append((call.method, b"".join(sent)))

    def main() -> None:
        gateway.start()
        root = gateway.client(ROOT, "admin")
        families = [ADMIN.AdminFamily(name=name) for name in (b"f", b"g")]
        root.adminCreateTable(ADMIN.AdminTable(name=b"t", families=families), [b"00040"])
        root.adminMutateRows(b"t", world.rows())
        if seed % 2:
            root.adminFlush(b"t", 0)
        root.adminGrant(ADMIN.AdminGrant("mia", "RW", b"", b"t", b"f", b"a"), False)
        clock, open_scanners = gateway.runtime.clock_seconds, list[int]()
        gateway.runtime.sleep(60.0 - clock() % 60)  # in both worlds the reads begin at the same time
        began = clock()
        for number in range(count):
            gateway.runtime.sleep(max(0.0, began + STEP_SECONDS * number - clock()))
            if open_scanners and reads.chance.random() < 0.5:
                told(Call("thrift1", "scannerGetList", (open_scanners.pop(), 3)))
                continue
            call = reads.next()
            answer = told(call)
            if call.method == "scannerOpenWithScan" and answer is not None:
                open_scanners.append(answer)
        gateway.stop()

    gateway.runtime.run(main)
    return found


def compare(other: World, seed: int, count: int) -> set[str]:
    """The calls of which answers differ."""
    here, there = answers(EVENS, seed, count), answers(other, seed, count)
    assert sum(KNOWN in answer or b"f:a" in answer for _, answer in here) > count // 20
    return {name for (name, one), (_, two) in zip(here, there, strict=True) if one != two}


@pytest.mark.slow
def test_no_filter_tells_of_rows_that_the_user_may_not_see() -> None:
    assert not compare(NONE, 1, 150)


@pytest.mark.verify
def test_nor_in_reads_that_no_run_has_made_before() -> None:
    seed = fresh_seed()
    other = (ODDS, WIDE, NONE)[seed % 3]
    assert not compare(other, seed, 250), (other, seed)


@pytest.mark.slow
def test_a_filter_that_sees_hidden_columns_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataChecks, "readable", lambda checks, table, asked: asked)
    assert compare(ODDS, 1, 60)
