"""No answer to a user who may read one column of one row among thousands has anything of the other rows' keys: every
read of every service, with pages that end for their time behind rows that he may not know of.

The secret keys are told by their shape, so that also a part of one is found. A user who writes as well asks from each
position that he was told, again and again, whether rows of his come that he wrote meanwhile: on which side of the
position a row lies may tell him nothing but where rows are that he sees.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from hbtable.access.user import User
from hbtable.hbase import cell_methods
from hbtable.hbase.permissions.methods import ADMIN as REQUIREMENTS
from hbtable.hbase.permissions.requirements import of_cells
from hbtable.launch.embedded_cluster import EmbeddedOptions
from hbtable.launch.http.page_access import OF_SINGLE_READS
from hbtable.metrics.registry import Registry
from hbtable.model.mutation import DELETE_COLUMN, PUT
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.role import TabletServerOptions
from tests.harness.guarded_gateway import GuardedGateway, interface

ROOT, BEN, EVA, MIA = User("root"), User("ben"), User("eva"), User("mia")
ONE, TWO, ADMIN = interface("thrift1"), interface("thrift2"), interface("admin")
ROWS: Final = 1300
KNOWN: Final = b"01100-known"
SECRETS: Final = re.compile(rb"\d{3,5}-(?!known)|-sec")
PAGES_END_AT_ONCE: Final = EmbeddedOptions(TabletServerOptions(tablet=TabletOptions(scan_seconds=0.0)))
TABLES: Final = (b"t", b"u")
MAY_CHANGE: Final = ("Mutate", "Delete", "mutate", "delete", "put", "Put", "increment", "append", "atomic")
READS: Final = {
    f"{service} {name}"
    for service, names in (
        ("thrift1", cell_methods.THRIFT1),
        ("thrift2", cell_methods.THRIFT2),
        ("admin", {name for name, requirement in REQUIREMENTS.items() if requirement is of_cells}),
    )
    for name in names
    if not any(word in name for word in MAY_CHANGE) and name not in ("checkAndMutate",)
}


def key(number: int) -> bytes:
    return KNOWN if number == 1100 else b"%05d-secret" % number


class Watched:
    """A user's client of one service. All that it is sent is looked at, and what it called is remembered."""

    def __init__(self, gateway: GuardedGateway, user: User, service: str, called: set[str]) -> None:
        self._client, self._service, self._called = gateway.client(user, service), service, called
        self._wire = self._client._iprot.trans
        self.sent = b""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self._called.add(f"{self._service} {name}")
            flush = self._wire.flush

            def flushed() -> None:
                flush()
                self.sent += self._wire._in

            self._wire.flush = flushed
            try:
                return getattr(self._client, name)(*arguments)
            finally:
                self._wire.flush = flush

        return call

    def look(self, what: object) -> None:
        found = SECRETS.findall(self.sent)
        assert not found, f"{self._service} told ben {found[:3]}: {what}"
        self.sent = b""


def in_gateway(check: Callable[[GuardedGateway, Callable[[User, str], Watched], set[str]], None]) -> None:
    gateway = GuardedGateway(options=PAGES_END_AT_ONCE)
    called: set[str] = set()

    def main() -> None:
        gateway.start()
        root = gateway.client(ROOT, "admin")
        for table in TABLES:
            families = [ADMIN.AdminFamily(name=name) for name in (b"f", b"g")]
            root.adminCreateTable(ADMIN.AdminTable(name=table, families=families), [b"01"])
            hidden = [ADMIN.AdminOperation(8, b"f", b"b", 1, b"secret")]
            shown = [*hidden, ADMIN.AdminOperation(8, b"f", b"a", 1, b"7")]
            numbers = range(ROWS) if table == b"t" else range(1100, 1101)
            rows = [ADMIN.AdminMutation(key(n), shown if key(n) == KNOWN else hidden) for n in numbers]
            root.adminMutateRows(table, rows)
            root.adminFlush(table, 0)
            for user, rights in (("ben", "R"), ("eva", "R"), ("mia", "RW")):
                root.adminGrant(ADMIN.AdminGrant(user, rights, b"", table, b"f", b"a"), False)
        check(gateway, lambda user, service: Watched(gateway, user, service, called), called)
        gateway.stop()

    gateway.runtime.run(main)


def scans() -> Iterator[Any]:
    reads = [None]
    reads += [ADMIN.AdminRead(columns=[ADMIN.AdminColumn(*one)]) for one in ((b"f",), (b"f", b"a"))]
    filters = (b"KeyOnlyFilter()", b"PageFilter(2)", b"RowFilter(>=, 'binary:004')", b"WHILE PrefixFilter('0')")
    reads += [ADMIN.AdminRead(filter=one) for one in filters]
    for read in reads:
        for backwards in (False, True):
            yield ADMIN.AdminScan(read, b"", b"", backwards, 0, 10)
    yield ADMIN.AdminScan(None, b"003", b"012", False, 0, 10)
    yield ADMIN.AdminScan(None, b"003", b"012", True, 0, 10)
    yield ADMIN.AdminScan(None, b"", b"", False, 1, 1)
    yield ADMIN.AdminScan(ADMIN.AdminRead(raw=True, maxVersions=3), b"", b"", True, 1, 1)


def walked(call: Callable[[Any], Any], scan: Any, most: int = 400) -> Iterator[Any]:
    for _ in range(most):
        page = call(scan)
        yield page
        if page.position is None:
            return
        scan.position = page.position
    raise AssertionError("the scan comes to no end")


def sweep_admin(client: Watched) -> int:
    """How many positions were told."""
    rows = ADMIN.AdminAggregation(aggregates=[ADMIN.AdminAggregate("rows")])
    by_key = replace_fields(rows, rowBytes=5)
    wide = [ADMIN.AdminArrowColumn(b"f", b"a", "binary")]
    positions = 0
    for scan in scans():
        calls: dict[str, Callable[[Any], Any]] = {"rows": lambda one: client.adminScan(b"t", one)}
        if scan.cellsPerRow == 0:
            calls["aggregate"] = lambda one: client.adminAggregate(b"t", one, rows)
            calls["groups"] = lambda one: client.adminAggregate(b"t", one, by_key)
            calls["limited"] = lambda one: client.adminAggregate(b"t", one, replace_fields(rows, maxRows=1))
            calls["arrow"] = lambda one: client.adminScanArrow(b"t", one, None)
            if scan.read is None or scan.read.columns is None or scan.read.columns[0].qualifier is not None:
                calls["wide"] = lambda one: client.adminScanArrow(b"t", one, wide)
        for name, call in calls.items():
            pages = list(walked(call, replace_fields(scan)))
            client.look((name, scan))
            positions += len(pages) - 1
            assert sum(page.rowsScanned for page in pages) <= 1, (name, scan)
            if name == "rows":
                assert [row.row for page in pages for row in page.rows] == [KNOWN], scan
    for row in (KNOWN, key(1099)):
        assert len(client.adminGet(b"t", row, ADMIN.AdminRead())) == (row == KNOWN)
        client.sent = client.sent.replace(row, b"")
        client.look("get")
    return positions


def replace_fields(struct: Any, **fields: Any) -> Any:
    made = type(struct)()
    made.__dict__.update({**struct.__dict__, **fields})
    return made


def sweep_thrift1(client: Watched) -> None:
    every = [key(number) for number in range(1090, 1110)]
    for batch in (0, 1):
        for backwards in (False, True):
            for text in (None, b"KeyOnlyFilter()", b"PageFilter(2)"):
                scan = ONE.TScan(batchSize=batch or None, reversed=backwards, filterString=text)
                drain(client, client.scannerOpenWithScan(b"t", scan, {}))
    drain(client, client.scannerOpen(b"t", b"", [], {}), one=True)
    drain(client, client.scannerOpenTs(b"t", b"", [b"f"], 9, {}))
    drain(client, client.scannerOpenWithStop(b"t", b"", b"02", [b"f:a"], {}))
    drain(client, client.scannerOpenWithStopTs(b"t", b"", b"02", [], 9, {}))
    drain(client, client.scannerOpenWithPrefix(b"t", b"0", [], {}))
    shown = [
        *client.getRows(b"t", every, {}),
        *client.getRowsTs(b"t", every, 9, {}),
        *client.getRowsWithColumns(b"t", every, [b"f"], {}),
        *client.getRowsWithColumnsTs(b"t", every, [b"f:a"], 9, {}),
    ]
    assert [one.row for one in shown] == [KNOWN] * 4
    for row in every[:12]:
        client.getRow(b"t", row, {}), client.getRowTs(b"t", row, 9, {})
        client.getRowWithColumns(b"t", row, [b"f"], {}), client.getRowWithColumnsTs(b"t", row, [b"f"], 9, {})
        (
            client.get(b"t", row, b"f:a", {}),
            client.getVer(b"t", row, b"f:a", 3, {}),
            client.getVerTs(b"t", row, b"f:a", 9, 3, {}),
        )
    client.look("gets")


def drain(client: Watched, scanner: int, one: bool = False) -> None:
    rows = 0
    while found := client.scannerGet(scanner) if one else client.scannerGetList(scanner, 5):
        rows += len(found)
    assert rows == 1
    client.scannerClose(scanner)
    client.look("scanner")


def sweep_thrift2(client: Watched) -> None:
    every = [key(number) for number in range(1090, 1110)]
    for backwards in (False, True):
        for text in (None, b"KeyOnlyFilter()", b"PageFilter(2)"):
            for batch in (None, 1):
                asked = TWO.TScan(reversed=backwards, filterString=text, batchSize=batch, caching=3)
                scanner = client.openScanner(b"t", asked)
                found = list(client.getScannerRows(scanner, 3))
                while more := client.getScannerRows(scanner, 3):
                    found += more
                assert [one.row for one in found] == [KNOWN]
                client.closeScanner(scanner)
                assert [one.row for one in client.getScannerResults(b"t", asked, 3)] == [KNOWN]
                client.look(asked)
    gets = [TWO.TGet(row=row) for row in every]
    assert [one.row for one in client.getMultiple(b"t", gets) if one.row] == [KNOWN]
    for get in gets[5:12]:
        client.get(b"t", get), client.exists(b"t", TWO.TGet(row=get.row, columns=[TWO.TColumn(b"f", b"a")]))
    client.existsAll(b"t", [TWO.TGet(row=row, columns=[TWO.TColumn(b"f", b"a")]) for row in every])
    client.look("gets")


def test_no_read_of_any_service_tells_keys_of_rows_that_are_not_the_users() -> None:
    def check(gateway: GuardedGateway, client: Callable[[User, str], Watched], called: set[str]) -> None:
        whole = client(ROOT, "admin")
        found = [
            row.row for page in walked(lambda one: whole.adminScan(b"t", one), ADMIN.AdminScan()) for row in page.rows
        ]
        assert found == sorted(map(key, range(ROWS)))
        assert SECRETS.search(whole.sent)
        called.clear()
        assert sweep_admin(client(BEN, "admin")) > 20, "no page ended before its rows"
        sweep_thrift1(client(BEN, "thrift1"))
        sweep_thrift2(client(BEN, "thrift2"))
        assert called >= READS, READS - called

    in_gateway(check)


def test_a_sealed_position_is_good_for_its_scan_alone() -> None:
    """Who could give it another end would find the row by halving: whether anything is left would tell him."""

    def check(gateway: GuardedGateway, client: Callable[[User, str], Watched], _: set[str]) -> None:
        ben, eva = client(BEN, "admin"), client(EVA, "admin")
        rows = ADMIN.AdminAggregation(aggregates=[ADMIN.AdminAggregate("rows")], maxRows=1)
        scan = ADMIN.AdminScan(None, b"0", b"9")
        position = ben.adminAggregate(b"t", scan, rows).position
        assert position.cellsDone == -1
        mine = replace_fields(scan, position=position)
        assert ben.adminAggregate(b"t", mine, rows).position is not None
        assert [row.row for row in ben.adminScan(b"t", mine).rows] == [KNOWN]
        elsewhere = [
            (ben, b"t", replace_fields(mine, stopRow=b"0051")),
            (ben, b"t", replace_fields(mine, startRow=b"0051")),
            (ben, b"t", replace_fields(mine, reversed=True)),
            (ben, b"u", mine),
            (eva, b"t", mine),
        ]
        elsewhere += [(ben, b"t", replace_fields(scan, position=one)) for one in forged(position)]
        for whose, table, asked in elsewhere:
            with pytest.raises(ADMIN.IllegalArgument, match="the position is not one of this scan"):
                whose.adminAggregate(table, asked, rows)
            with pytest.raises(ADMIN.IllegalArgument, match="the position is not one of this scan"):
                whose.adminScan(table, asked)
            with pytest.raises(ADMIN.IllegalArgument, match="the position is not one of this scan"):
                whose.adminScanArrow(table, asked, None)
        again = ben.adminAggregate(b"t", scan, rows).position
        assert (len(again.row), again.row == position.row) == (len(position.row), False)
        root = gateway.client(ROOT, "admin")
        root.adminGrant(ADMIN.AdminGrant("ben", "R", b"", b"t"), False)
        assert SECRETS.search(ben.adminScan(b"t", mine).rows[0].row), "a wider right opens it as well"

    in_gateway(check)


class Prober:
    """mia, who sees KNOWN alone, and may write rows of her own. She finds out which of these a scan has yet to come
    to."""

    def __init__(self, client: Watched) -> None:
        self.client = client
        self._clock = 2

    def comes(self, call: Callable[[Any], Any], scan: Any, row: bytes) -> bool:
        """Whether the row, written for the question and deleted again, comes from the scan's position on."""
        self._clock += 1
        before = self._rows(call, scan)
        self.client.adminMutate(b"t", row, [ADMIN.AdminOperation(PUT, b"f", b"a", self._clock, b"1")], None)
        try:
            return self._rows(call, scan) > before
        finally:
            self.client.adminMutate(b"t", row, [ADMIN.AdminOperation(DELETE_COLUMN, b"f", b"a", self._clock)], None)

    def _rows(self, call: Callable[[Any], Any], scan: Any) -> int:
        return sum(page.rowsScanned for page in walked(call, replace_fields(scan)))

    def halved(self, call: Callable[[Any], Any], scan: Any, low: int, high: int) -> tuple[int, int]:
        """Hidden rows by their numbers, between which the position has to be: next to each other, where it is between
        two."""
        while high - low > 1:
            middle = (low + high) // 2
            if self.comes(call, scan, b"%05d-mia" % middle) != scan.reversed:
                high = middle
            else:
                low = middle
        return low, high


SEEN: Final = ((0, 999), (1001, 1099), (1101, ROWS))
"""Stretches without a row that mia sees, or a tablet that begins, by numbers of rows."""


def test_who_writes_rows_does_not_find_hidden_ones_by_halving() -> None:
    """From each position that a read tells, all places that are alike to her are on the same side."""

    def check(gateway: GuardedGateway, client: Callable[[User, str], Watched], _: set[str]) -> None:
        mia = client(MIA, "admin")
        prober, positions = Prober(mia), 0
        for name, call, scan in probed(mia):
            asked = replace_fields(scan)
            for page in walked(call, asked):
                if page.position is None:
                    continue
                at = replace_fields(scan, position=page.position)
                positions += 1
                for first, last in SEEN:
                    sides = {prober.comes(call, at, b"%05d-mia" % one) for one in (first, (first + last) // 2, last)}
                    if len(sides) > 1:
                        low, _ = prober.halved(call, at, first, last)
                        pytest.fail(f"{name} {scan}: a page ended behind {key(low)!r}, which mia may not know")
        assert positions > 8, "no page ended before its rows"

    in_gateway(check)


def probed(client: Watched) -> Iterator[tuple[str, Callable[[Any], Any], Any]]:
    rows = ADMIN.AdminAggregation(aggregates=[ADMIN.AdminAggregate("rows")])
    limited, by_key = replace_fields(rows, maxRows=1), replace_fields(rows, rowBytes=5, maxRows=1)
    wide = [ADMIN.AdminArrowColumn(b"f", b"a", "binary")]
    calls: dict[str, Callable[[Any], Any]] = {
        "rows": lambda one: client.adminScan(b"t", one),
        "limited": lambda one: client.adminAggregate(b"t", one, limited),
        "groups": lambda one: client.adminAggregate(b"t", one, by_key),
        "arrow": lambda one: client.adminScanArrow(b"t", one, None),
        "wide": lambda one: client.adminScanArrow(b"t", one, wide),
    }
    for name, call in calls.items():
        for backwards in (False, True):
            yield name, call, ADMIN.AdminScan(None, b"", b"", backwards, 0, 1)


def forged(position: Any) -> Iterator[Any]:
    for place in range(0, len(position.row), 7):
        changed = bytearray(position.row)
        changed[place] ^= 1
        yield replace_fields(position, row=bytes(changed))
    for row in (b"", b"x", position.row[:-1], position.row[:48], position.row + b"x"):
        yield replace_fields(position, row=row)


def test_no_figure_that_every_user_may_see_tells_whether_a_guessed_row_is_there() -> None:
    """One column of each row is read, of rows that are there and of rows that are not; nothing else goes on."""

    def check(gateway: GuardedGateway, client: Callable[[User, str], Watched], _: set[str]) -> None:
        ben, registry = client(BEN, "admin"), gateway.cluster.registry
        assert ben.adminGet(b"t", key(1), ADMIN.AdminRead()) == []  # who serves the tablet is known from now on
        changed: list[set[tuple[str, float]]] = []
        for guess in (b"%05d-secret", b"%05d-secres"):
            before = dict(figures(registry))
            for number in range(200, 300, 7):
                assert ben.adminGet(b"t", guess % number, ADMIN.AdminRead()) == []
            changed.append({(name, level - before.get(name, 0)) for name, level in figures(registry)})
        told = {name for name, _ in changed[0] ^ changed[1]}
        assert told, "no figure differs at all: the test reads the wrong ones"
        assert all(name.encode().startswith(OF_SINGLE_READS) for name in told), told
        root, seer = gateway.client(ROOT, "admin"), gateway.gateway.describes
        assert [seer(user, None) for user in (ROOT, BEN)] == [True, False]
        for right, sees in (("R", False), ("C", True), ("A", True)):
            root.adminGrant(ADMIN.AdminGrant("ben", right), False)
            assert seer(BEN, None) is sees

    in_gateway(check)


def figures(registry: Registry) -> Iterator[tuple[str, float]]:
    for samples in (registry.counters(), registry.gauges()):
        for name, labels, level in samples:
            yield f"{name}{labels}", level
