"""Aggregates over several servers beside a plain scan, while tablets split and move between the pages."""

import struct

import pytest

from hbtable.aggregates.groups import Groups
from hbtable.model.aggregation import Aggregate, Aggregation
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.tablet.tablet import Tablet
from tests.harness.many_servers import Cluster

ROWS = 300
SPLITS = [b"row000%03d" % number for number in (100, 200)]
ASKED = (Aggregate("rows"), Aggregate("sum", b"f", b"n", "int64"), Aggregate("distinct", b"f", b"n"))


def row(number):
    return b"row000%03d" % number


def answered(table, request, between):
    """The results, of pages with `between` before each; how many pages were rows."""
    groups, rows_sent = Groups(request.aggregation), 0
    while True:
        between()
        page = table.scan_page(request)
        if page.aggregated is None:
            rows_sent += len(page.rows)
            groups.add_rows(page.rows)
        else:
            groups.merge(page.aggregated.groups)
        if page.next is None:
            return groups.results(), rows_sent
        request = ScanRequest(
            request.range, request.spec, max_rows=request.max_rows, position=page.next, aggregation=request.aggregation
        )


def expected(rows, key_bytes):
    found = {}
    for number in rows:
        values = found.setdefault(row(number)[:key_bytes], [])
        values.append(number % 7)
    return {key: [len(values), sum(values), len(set(values))] for key, values in sorted(found.items())}


@pytest.mark.parametrize("old_server", [False, True], ids=["all new", "one of an earlier release"])
def test_tablets_split_and_move_between_pages(machine, monkeypatch, old_server):
    cluster = Cluster(7, machine.options)

    def body():
        cluster.start(3)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        table = cluster.client.table(b"t")
        puts = [
            RowMutation(row(number), ((PUT, b"f", b"n", -1, struct.pack(">q", number % 7)),)) for number in range(ROWS)
        ]
        table.mutate(puts)
        if old_server:
            monkeypatch.setattr(Tablet, "scan", ignoring_aggregates(cluster))
        moves = iter(range(30, ROWS, 60))

        def between():
            """The tablet of a row splits there, and goes to another server."""
            for number in moves:
                admin.split(b"t", row(number))
                tablet = next(one for one in admin.tablets(b"t") if one.range.holds(row(number)))
                admin.move_tablet(b"t", tablet.tablet_id)
                return

        for key_bytes in (0, 7):
            asked = Aggregation(ASKED, row_bytes=key_bytes)
            spec = ReadSpec({b"f": frozenset((b"n",))})
            request = ScanRequest(RowRange(row(20), row(290)), spec, max_rows=41, aggregation=asked)
            found, rows_sent = answered(table, request, between)
            assert found == expected(range(20, 290), key_bytes)
            assert bool(rows_sent) == old_server
        assert len({one.owner for one in admin.tablets(b"t")}) == 3

    cluster.runtime.run(body)


def ignoring_aggregates(cluster):
    """Tablet.scan of a server that passes over fields which it does not know: of every second tablet."""
    scan = Tablet.scan

    def scanned(tablet, request):
        if tablet.record.tablet_id % 2:
            request = ScanRequest(request.range, request.spec, max_rows=request.max_rows, position=request.position)
        return scan(tablet, request)

    return scanned
