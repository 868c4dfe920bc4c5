"""Stretches of deleted rows, as a client of a whole cluster meets them: an empty answer means the end, so whatever the
tablets' pages are like, it has to come with rows or at the end."""

from dataclasses import replace

import pytest

from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, RowMutation
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.tablet.options import TabletOptions
from tests.simulation.conftest import SMALL, Machine

LIVE = (b"00000", b"00700", b"01399")


@pytest.mark.parametrize("backwards", [False, True])
def test_a_scan_comes_with_rows_or_at_the_end(backwards):
    tablet = TabletOptions(memtable_bytes=48 << 10, scan_seconds=0.0)
    machine = Machine(7, replace(SMALL, server=replace(SMALL.server, tablet=tablet)))

    def body(cluster):
        cluster.client.admin.create_table(machine.schema(), [b"00300", b"00900"])
        table = cluster.client.table(b"t")
        rows = [b"%05d" % number for number in range(1400)]
        table.mutate([machine.put(row, b"v") for row in rows])
        table.mutate(
            [RowMutation(row, [(DELETE_FAMILY, b"f", b"", SERVER_TIME, b"")]) for row in rows if row not in LIVE]
        )
        request = ScanRequest(spec=ReadSpec({b"f": None}), reversed=backwards, max_rows=2)
        first = table.scan_page(request)
        second = table.scan_page(replace(request, position=first.next))
        found = [row for row, _ in first.rows + second.rows]
        assert found == sorted(LIVE, reverse=backwards)
        assert second.next is None
        assert first.rows_scanned + second.rows_scanned == 3

    machine.life(body)
