"""hbase:meta over METADATA: by rows and by pages of every size, forwards and backwards, while tablets split, move and
lose their servers; everybody may read it, and nobody write it."""

import random
from functools import partial
from typing import Any

import pytest

from hbtable.access.user import User
from hbtable.errors import NoSuchFamily
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.errors import JavaError
from hbtable.hbase.meta.layout import order
from hbtable.hbase.meta.meta_rows import MetaRows
from hbtable.hbase.meta.meta_table import MetaTable
from hbtable.hbase.regions import region_name
from hbtable.launch.thrift_gateway import living_servers, masters
from hbtable.lockservice.toggles import OperatorToggles
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.guarded_gateway import GuardedGateway, interface
from tests.harness.sim_cluster import SimCluster, SimOptions
from tests.harness.waiting import SOON_SECONDS

STARTS = [b"\x10", b"+", b",", b",,", b"-", b"m,1", b"\xff"]


class Looked:
    """A cluster of three servers, and hbase:meta over it."""

    def __init__(self, seed: int) -> None:
        self.cluster = SimCluster(SimOptions(seed=seed, masters=1))

    def play(self, act: Any) -> None:
        def body() -> None:
            self.cluster.start()
            process = self.cluster.add_client()
            self.cluster.in_process(process, lambda: (self._begin(process), act()))

        self.cluster.runtime.run(body)

    def _begin(self, process: Any) -> None:
        self.client, self.runtime, session = process.client, process.runtime, process.lease
        backend = ClusterBackend(
            self.client.admin,
            lambda: living_servers(session),
            self.client.operations,
            lambda: masters(session),
            OperatorToggles(session),
        )
        self.meta = MetaTable(self.runtime, partial(MetaRows, backend, lambda owner: (owner.encode(), 9090)))

    def create(self, name: bytes, splits: Any = ()) -> None:
        self.client.admin.create_table(TableSchema(name, {b"f": FamilySchema(b"f")}), splits)

    def scan(self, request: ScanRequest = ScanRequest()) -> list[Any]:  # noqa: B008 - it is frozen
        found: list[Any] = []
        while True:
            page = self.meta.scan_page(request)
            assert len(page.rows) <= request.max_rows
            found += page.rows
            if page.next is None:
                return found
            fields = {name: getattr(request, name) for name in request.__slots__}
            request = ScanRequest(**{**fields, "position": page.next})

    def expected(self) -> list[bytes]:
        """Every row there is, as the other calls tell it."""
        rows = []
        for table in self.client.admin.tables():
            name = table.schema.name
            rows.append(name)
            rows += [region_name(name, one.range.start, one.created_millis) for one in self.client.admin.tablets(name)]
        return rows

    def until(self, holds: Any) -> None:
        until = self.runtime.clock_seconds() + SOON_SECONDS
        while not holds():
            assert self.runtime.clock_seconds() < until
            self.runtime.sleep(0.2)


def names(rows: list[Any]) -> list[bytes]:
    return [row for row, _ in rows]


@pytest.mark.slow
def test_every_page_goes_on_where_the_last_one_ended() -> None:
    looked = Looked(1)

    def act() -> None:
        for name, splits in ((b"s", STARTS), (b"s-t", [b"m"]), (b"a", [])):
            looked.create(name, splits)
        looked.client.admin.disable_table(b"a")
        whole = looked.scan()
        assert names(whole) == looked.expected() == sorted(looked.expected(), key=order)
        assert [looked.meta.read_rows([row], EVERYTHING) for row, _ in whole] == [[found] for found in whole]
        every = names(whole)
        chooser = random.Random(3)
        for _ in range(150):
            low, high = sorted(chooser.sample(every, 2), key=order)
            size, is_reversed = chooser.randint(1, 6), chooser.random() < 0.5
            text = chooser.choice([None, None, b"PrefixFilter('s')", b"PageFilter(3)", b"KeyOnlyFilter()"])
            spec = ReadSpec(filter=text, columns=chooser.choice([None, {b"info": None}, {b"table": None}]))
            asked = ScanRequest(RowRange(low, high), spec, is_reversed, max_rows=size)
            at_once = ScanRequest(RowRange(low, high), spec, is_reversed, max_rows=1000)
            assert looked.scan(asked) == looked.scan(at_once), (asked, chooser)
            if text is None and spec.columns is None:
                inside = [row for row in every if order(low) <= order(row) < order(high)]
                assert names(looked.scan(asked)) == (inside[::-1] if is_reversed else inside)
            in_pieces = ScanRequest(RowRange(low, high), spec, is_reversed, 2, size)
            if text != b"PageFilter(3)":  # counts pieces as rows, as on any table
                pieces: dict[bytes, list[Any]] = {}
                for row, cells in looked.scan(in_pieces):
                    assert len(cells) <= 2
                    pieces.setdefault(row, []).extend(cells)
                assert list(pieces.items()) == looked.scan(at_once)

    looked.play(act)


def test_rows_follow_splits_moves_and_deaths() -> None:
    looked = Looked(2)

    def cells(row: bytes) -> dict[bytes, bytes]:
        found = looked.meta.read_rows([row], EVERYTHING)
        return {column: value for column, _, value in found[0][1]} if found else {}

    def act() -> None:
        looked.create(b"t", [b"m"])
        looked.until(lambda: [cells(row).get(b"info:state") for row in looked.expected()[1:]] == [b"OPEN"] * 2)
        first = looked.expected()[1]
        before = cells(first)
        tablet = looked.client.admin.tablets(b"t")[0]
        assert before[b"info:server"] == b"%b:9090" % tablet.owner.encode()
        assert before[b"info:sn"].startswith(b"%b,9090," % tablet.owner.encode())
        looked.client.admin.move_tablet(b"t", tablet.tablet_id)
        moved = cells(first)
        assert moved[b"info:server"] != before[b"info:server"]
        assert moved[b"info:seqnumDuringOpen"] > before[b"info:seqnumDuringOpen"]
        name = looked.client.admin.tablets(b"t")[0].owner
        (process,) = [slot.process for slot in looked.cluster.servers if slot.process.role.incarnation == name]
        process.kill()
        looked.until(lambda: cells(first).get(b"info:server") not in (None, moved[b"info:server"]))
        table = looked.client.table(b"t")
        for row in (b"a", b"b", b"c", b"d"):
            table.mutate([RowMutation(row, [(PUT, b"f", b"q", -1, b"v")])])
        looked.client.admin.split(b"t", b"c")
        looked.until(lambda: names(looked.scan()) == looked.expected() and len(looked.expected()) == 4)

    looked.play(act)


def test_what_cannot_be_asked_is_told() -> None:
    looked = Looked(3)

    def act() -> None:
        with pytest.raises(NoSuchFamily):
            looked.scan(ScanRequest(spec=ReadSpec(columns={b"nope": None})))
        with pytest.raises(JavaError, match="read-only"):
            looked.meta.mutate([RowMutation(b"r", [(PUT, b"info", b"q", -1, b"v")])])
        assert looked.meta.read_rows([b"none", b"none,,5.x.", b","], EVERYTHING) == []
        assert looked.scan(ScanRequest(spec=ReadSpec(max_timestamp=5))) == []

    looked.play(act)


def test_everybody_who_comes_in_may_read_it_and_nobody_write() -> None:
    gateway = GuardedGateway()

    def body() -> None:
        gateway.start()
        admin, ann = gateway.client(User("admin"), "thrift1"), gateway.client(User("ann"), "thrift1")
        descriptor = {"name": b"f:"}
        one, two = interface("thrift1"), interface("thrift2")
        admin.createTable(b"t", [one.ColumnDescriptor(**descriptor)])
        scanner = ann.scannerOpenWithScan(b"hbase:meta", one.TScan(columns=[b"info:server"]), {})
        (found,) = ann.scannerGetList(scanner, 10)
        assert found.row.startswith(b"t,,")
        assert {column: cell.value for column, cell in found.columns.items()} == {b"info:server": b"host:9090"}
        assert ann.getRow(b"hbase:meta", b"t", {})[0].columns[b"table:state"].value == b"\x08\x00"
        assert [one.name for one in ann.getTableRegions(b"hbase:meta")] == [b"hbase:meta,,1"]
        newer = gateway.client(User("ann"), "thrift2")
        (row,) = newer.getScannerResults(b"hbase:meta", two.TScan(startRow=b"t,"), 10)
        assert {one.qualifier for one in row.columnValues} >= {b"regioninfo", b"server", b"state"}
        assert newer.get(b"hbase:meta", two.TGet(row=b"t")).columnValues[0].value == b"\x08\x00"
        for who in (admin, ann):
            with pytest.raises(one.IOError) as refused:
                who.mutateRow(b"hbase:meta", b"r", [one.Mutation(column=b"info:q", value=b"v")], {})
            assert "DoNotRetryIOException: hbase:meta shows what METADATA holds" in str(refused.value)
            with pytest.raises(one.IOError, match="read-only"):
                who.deleteAllRow(b"hbase:meta", b"t", {})
        gateway.stop()

    gateway.runtime.run(body)
