"""Without writes maintenance comes to rest: a tablet that cannot be split is looked at again when it has doubled, or
after a minute, and not as soon as the last look is over."""

import logging
from dataclasses import replace

import pytest

from hbtable.client.table import Table
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.ranges import RowRange
from hbtable.model.read import ScanRequest
from hbtable.tablet.compactions.writing import CompactionWriter, Sources
from tests.simulation.conftest import SMALL, Machine

OPTIONS = replace(
    SMALL, server=replace(SMALL.server, maintenance=replace(SMALL.server.maintenance, split_bytes=20_000))
)
LOOK = "looked at for a split"


def test_a_tablet_that_is_one_huge_row_is_looked_at_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hbtable.tabletserver.maintenance")
    machine = Machine(3, OPTIONS)

    def looks() -> int:
        return sum(LOOK in record.getMessage() for record in caplog.records)

    def life(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema())
        cluster.client.table(b"t").mutate([machine.put(b"row", b"v" * 60_000)])
        cluster.client.admin.flush(b"t")
        machine.runtime.sleep(30.0)
        assert 1 <= looks() <= 2, looks()  # the minute may pass meanwhile
        cluster.client.table(b"t").mutate([machine.put(b"other", b"v" * 60_000)])
        cluster.client.admin.flush(b"t")
        machine.runtime.sleep(5.0)
        assert len(cluster.client.admin.tablets(b"t")) == 2

    machine.life(life)


@pytest.mark.parametrize(("deleted", "is_given_up"), [(RowRange(b"00010", b"00020"), False), (RowRange(), True)])
def test_a_compaction_that_a_range_delete_overtook_is_no_failure(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, deleted: RowRange, is_given_up: bool
) -> None:
    """The range is deleted of what it wrote, too. Where its inputs are gone it gives that up. Nothing is wrong."""
    caplog.set_level(logging.INFO, "hbtable.tabletserver.maintenance")
    machine = Machine(3)
    deletes: list[Table] = []
    write = CompactionWriter.write

    def write_slowly(writer: CompactionWriter, sources: Sources, *others: object) -> object:
        written = write(writer, sources, *others)  # type: ignore[arg-type]
        if sources.files and deletes:
            deletes.pop().delete_range(deleted)
        return written

    monkeypatch.setattr(CompactionWriter, "write", write_slowly)

    def life(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema())
        table = cluster.client.table(b"t")
        deletes.append(table)
        rows = [b"%05d" % number for number in range(100)]
        while deletes:
            table.mutate([machine.put(row, b"v") for row in rows])
            cluster.client.admin.flush(b"t")
            machine.runtime.sleep(2.0)
        machine.runtime.sleep(60.0)
        said = any("was deleted meanwhile; it is tried again later" in one.getMessage() for one in caplog.records)
        assert said is is_given_up
        assert [one.getMessage() for one in caplog.records if one.levelno > logging.INFO] == []
        found = [row for row, _ in table.scan_page(ScanRequest(max_rows=1000)).rows]
        assert found == [row for row in rows if not deleted.holds(row)]

    machine.life(life)


def test_a_tablet_is_flushed_while_it_is_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its compaction may take minutes, and its memtables would keep all writers of the server waiting for memory."""
    machine = Machine(3)
    compacting, go_on = machine.runtime.event(), machine.runtime.event()
    write = CompactionWriter.write

    def write_at_last(writer: CompactionWriter, sources: Sources, *others: object) -> object:
        if any(file.ref.length_bytes > 50_000 for file in sources.files):  # not METADATA's
            compacting.set()
            go_on.wait()
        return write(writer, sources, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(CompactionWriter, "write", write_at_last)

    def life(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema())
        table = cluster.client.table(b"t")
        number = 0
        while not compacting.is_set():
            for _ in range(4):
                table.mutate([machine.put(b"%06d" % number, b"v" * 60_000)])
                number += 1
            cluster.client.admin.flush(b"t")
            machine.runtime.sleep(0.5)
        limit = cluster.server.shared.memtable_limit_bytes
        for _ in range(4 * limit // 60_000):  # else one of them would be told Unavailable after ten seconds
            table.mutate([machine.put(b"%06d" % number, b"v" * 60_000)])
            number += 1
        assert compacting.is_set()
        assert not go_on.is_set()
        go_on.set()
        machine.runtime.sleep(5.0)
        rows = table.scan_page(ScanRequest(max_rows=10_000, max_bytes=1 << 30)).rows
        assert [row for row, _ in rows] == [b"%06d" % one for one in range(number)]

    machine.life(life)
