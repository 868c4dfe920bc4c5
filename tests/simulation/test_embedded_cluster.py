"""A whole embedded cluster on simulated hardware: tables, splits, compactions, restarts and crashes."""

from dataclasses import replace

import pytest

from hbtable.errors import (
    Conflict,
    DataDamaged,
    InvalidConfiguration,
    InvalidRequest,
    NamespaceNotFound,
    TableExists,
    TableNotDisabled,
    TableNotEnabled,
    TableNotFound,
)
from hbtable.fs.memory import MemoryFileSystem
from hbtable.metadata.tiling import verify_tiling
from hbtable.model.read import EVERYTHING
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableState
from tests.harness.tiers import quick_first


def tile(cluster, name=b"t"):
    """The tablet ids of a table, after a look that they cover each row once."""
    catalog = cluster.client.catalog
    rows = catalog.tablet_rows(catalog.read_table(name).table_id)
    verify_tiling(rows)
    assert all(row.left is None for row in rows)
    return [row.tablet_id for row in rows]


def test_a_written_cell_is_read(machine):
    def body(cluster):
        cluster.client.admin.create_table(machine.schema())
        table = cluster.client.table(b"t")
        table.mutate([machine.put(b"r", b"v")])
        [(row, [(column, _, value)])] = table.read_rows([b"r", b"absent"], EVERYTHING)
        assert (row, column, value) == (b"r", b"f:q", b"v")
        assert table.increment(b"n", b"f", b"c", 5) == 5

    machine.life(body)


def test_data_survives_a_clean_restart_without_any_log(machine):
    def first(cluster):
        cluster.client.admin.create_table(machine.schema())
        machine.write(cluster, range(300))

    def second(cluster):
        assert machine.contents(cluster) == machine.expected(range(300))
        catalog = cluster.client.catalog
        for record in catalog.all_tablet_rows():
            assert [ref.incarnation for ref in record.logs] == [cluster.server.incarnation]

    machine.life(first)
    machine.life(second)
    machine.life(second)


def test_acknowledged_writes_survive_a_power_loss(machine):
    def first(cluster):
        cluster.client.admin.create_table(machine.schema())
        machine.write(cluster, range(1000))

    def second(cluster):
        assert machine.contents(cluster) == machine.expected(range(1000))
        machine.write(cluster, range(1000, 1500))

    def third(cluster):
        assert machine.contents(cluster) == machine.expected(range(1500))

    machine.life(first, clean=False)
    machine.life(second, clean=False)
    machine.life(third, clean=False)
    machine.life(third)


def test_logs_of_earlier_lives_are_let_go(machine):
    def first(cluster):
        cluster.client.admin.create_table(machine.schema())
        machine.write(cluster, range(100))

    def second(cluster):
        # Maintenance flushes what still needs the old log; then METADATA names it no more and a collection drops it.
        machine.runtime.sleep(5)
        cluster.master.collect_garbage()
        logs = {status.path.split("/")[1] for status in machine.fs.list_files("logs")}
        assert logs == {cluster.server.incarnation}
        assert machine.contents(cluster) == machine.expected(range(100))

    machine.life(first, clean=False)
    machine.life(second)


def test_a_split_keeps_every_row_and_the_children_go_on(machine):
    def first(cluster):
        admin = cluster.client.admin
        admin.create_table(machine.schema())
        machine.write(cluster, range(200))
        assert admin.split(b"t", b"row000100")
        assert len(tile(cluster)) == 2
        assert machine.contents(cluster) == machine.expected(range(200))
        machine.write(cluster, range(150, 300), b"new" * 30)
        assert admin.split(b"t")
        assert len(tile(cluster)) == 4
        return tile(cluster)

    def second(cluster):
        expected = machine.expected(range(150)) | machine.expected(range(150, 300), b"new" * 30)
        assert machine.contents(cluster) == expected
        cluster.client.admin.major_compact(b"t")
        assert machine.contents(cluster) == expected
        return tile(cluster)

    ids = machine.life(first, clean=False)
    assert machine.life(second) == ids
    machine.life(second)


def test_a_tablet_splits_by_itself_when_it_has_grown(machine):
    def body(cluster):
        schema = TableSchema(b"t", {b"f": FamilySchema(b"f")}, split_bytes=60_000)
        cluster.client.admin.create_table(schema)
        machine.write(cluster, range(2000), b"x" * 100)
        cluster.client.admin.flush(b"t")
        machine.runtime.sleep(30)
        assert len(tile(cluster)) > 2
        assert machine.contents(cluster) == machine.expected(range(2000), b"x" * 100)

    machine.life(body)


def test_a_split_outside_or_at_the_edge_changes_nothing(machine):
    def body(cluster):
        admin = cluster.client.admin
        admin.create_table(machine.schema(), [b"m"])
        before = tile(cluster)
        assert not admin.split(b"t", b"m")
        assert tile(cluster) == before

    machine.life(body)


def test_flushes_and_compactions_happen_by_themselves(machine):
    def body(cluster):
        cluster.client.admin.create_table(machine.schema())
        for version in range(10):
            machine.write(cluster, range(400), b"%d" % version * 100)
        machine.runtime.sleep(30)
        [status] = [one for one in cluster.server.admin.tablets() if one.record.table_id >= 16]
        assert 0 < status.sstables < 6
        assert machine.contents(cluster) == machine.expected(range(400), b"9" * 100)

    machine.life(body)


def test_garbage_goes_to_the_trash_and_the_trash_is_emptied(machine):
    def body(cluster):
        admin = cluster.client.admin
        admin.create_table(machine.schema())
        for _ in range(3):
            machine.write(cluster, range(100))
            admin.flush(b"t")
        admin.major_compact(b"t")
        cluster.master.collect_garbage()
        table_id = cluster.client.catalog.read_table(b"t").table_id
        assert len(machine.fs.list_files(f"sstables/{table_id:08x}")) == 1
        assert len([one for one in machine.fs.list_files("trash") if f"{table_id:08x}" in one.path]) >= 3
        assert machine.contents(cluster) == machine.expected(range(100))
        machine.runtime.sleep(61)
        cluster.master.collect_garbage()
        assert not [one for one in machine.fs.list_files("trash") if f"{table_id:08x}" in one.path]

    machine.life(body)


def test_a_deleted_table_takes_its_files_along_and_its_name_is_free(machine):
    def first(cluster):
        admin = cluster.client.admin
        admin.create_table(machine.schema(), [b"row000050"])
        machine.write(cluster, range(100))
        admin.flush(b"t")
        with pytest.raises(TableNotDisabled, match=r"^t$"):
            admin.delete_table(b"t")
        admin.disable_table(b"t")
        with pytest.raises(TableNotEnabled, match=r"^t is disabled.$"):
            admin.disable_table(b"t")
        with pytest.raises(TableNotEnabled):
            machine.write(cluster, range(1))
        admin.delete_table(b"t")
        with pytest.raises(TableNotFound):
            machine.write(cluster, range(1))
        cluster.master.collect_garbage()
        assert not [one for one in machine.fs.list_files("sstables") if "/00000010/" in one.path]
        admin.create_table(machine.schema())
        assert machine.contents(cluster) == {}

    machine.life(first)
    machine.life(lambda cluster: machine.contents(cluster))


def test_disable_and_enable_keep_the_data(machine):
    def first(cluster):
        admin = cluster.client.admin
        admin.create_table(machine.schema(), [b"row000050"])
        machine.write(cluster, range(100))
        admin.disable_table(b"t")
        assert not admin.is_enabled(b"t")

    def second(cluster):
        admin = cluster.client.admin
        assert not admin.is_enabled(b"t")
        assert not [one for one in cluster.server.admin.tablets() if one.record.table_id >= 16]
        admin.enable_table(b"t")
        with pytest.raises(TableNotDisabled):
            admin.enable_table(b"t")
        assert machine.contents(cluster) == machine.expected(range(100))

    machine.life(first)
    machine.life(second)


def test_what_create_refuses(machine):
    def body(cluster):
        admin = cluster.client.admin
        admin.create_table(machine.schema())
        with pytest.raises(TableExists):
            admin.create_table(machine.schema())
        with pytest.raises(NamespaceNotFound):
            admin.create_table(machine.schema(b"nowhere:t"))
        with pytest.raises(InvalidRequest, match="at least one column family"):
            admin.create_table(TableSchema(b"u"))
        with pytest.raises(InvalidRequest, match="twice"):
            admin.create_table(machine.schema(b"u"), [b"a", b"a"])
        assert admin.table_names() == [b"t"]

    machine.life(body)


def test_an_altered_schema_is_in_effect_at_once(machine):
    def body(cluster):
        admin = cluster.client.admin
        admin.create_table(machine.schema())
        machine.write(cluster, range(10))
        changed = TableSchema(b"t", {b"f": FamilySchema(b"f"), b"g": FamilySchema(b"g")}, version=2)
        admin.alter_table(changed)
        with pytest.raises(Conflict):
            admin.alter_table(changed)
        cluster.client.table(b"t").mutate([machine.put(b"r", b"v", b"g")])

    machine.life(body)
    machine.life(lambda cluster: machine.contents(cluster)[b"r"])


def test_an_interrupted_creation_is_taken_back(machine):
    def first(cluster):
        # What a master leaves that crashed after the name row and the first of two tablet rows.
        master, catalog = cluster.master, cluster.client.catalog
        cluster.client.admin.create_table(machine.schema(), [b"m"])
        record = catalog.read_table(b"t")
        cluster.client.admin.disable_table(b"t")
        [left, _right] = catalog.tablet_rows(record.table_id)
        catalog.delete_tablet(left)
        disabled = catalog.read_table(b"t")
        catalog.replace_table(disabled, type(disabled)(record.table_id, TableState.CREATING, record.schema))
        master.stop()

    def second(cluster):
        assert cluster.client.admin.table_names() == []
        cluster.client.admin.create_table(machine.schema())

    machine.life(first, clean=False)
    machine.life(second)


@pytest.mark.parametrize("seed", quick_first(range(8), 2, 4))
def test_power_losses_at_any_moment_lose_nothing_acknowledged(machine_of, seed):
    machine = machine_of(seed)
    acknowledged = {}

    def first(cluster):
        cluster.client.admin.create_table(machine.schema())

    def work(cluster):
        assert acknowledged.items() <= machine.contents(cluster).items()
        number = 0
        while True:
            number += 1
            row = b"row%06d" % machine.runtime.random.randrange(300)
            value = b"%d " % number * 40
            acknowledged.pop(row, None)  # until the answer comes the row may hold either value
            cluster.client.table(b"t").mutate([machine.put(row, value)])
            acknowledged[row] = value
            if number % 60 == 0:
                cluster.client.admin.flush(b"t")
            if number % 130 == 0:
                cluster.client.admin.split(b"t", b"row%06d" % machine.runtime.random.randrange(300))
            if number % 170 == 0:
                cluster.client.admin.major_compact(b"t")

    def check(cluster):
        assert acknowledged.items() <= machine.contents(cluster).items()
        tile(cluster)

    machine.life(first, clean=False)
    for life in range(4):
        machine.crash_during(work, 0.5 + (seed * 7 + life * 13) % 10 / 4)
    machine.life(check)


def test_metadata_itself_splits_and_stays_whole(machine):
    def first(cluster):
        admin, server = cluster.client.admin, cluster.server.admin
        for name in (b"a", b"b"):
            admin.create_table(machine.schema(name), [b"row000050"])
        assert server.split(2, b"00000011;")
        admin.create_table(machine.schema(), [b"row000050"])
        machine.write(cluster, range(100))
        assert admin.split(b"t", b"row000020")
        assert len(cluster.client.catalog.tablet_rows(0)) == 3
        verify_tiling(cluster.client.catalog.tablet_rows(0))

    def second(cluster):
        assert machine.contents(cluster) == machine.expected(range(100))
        assert cluster.client.admin.table_names() == [b"a", b"b", b"t"]
        assert [len(tile(cluster, name)) for name in (b"a", b"b", b"t")] == [2, 2, 3]
        cluster.client.admin.disable_table(b"a")
        cluster.client.admin.delete_table(b"a")

    machine.life(first, clean=False)
    machine.life(second, clean=False)
    machine.life(lambda cluster: machine.contents(cluster))


def test_a_split_that_nobody_finished_is_finished_by_the_next_life(machine):
    def first(cluster):
        cluster.client.admin.create_table(machine.schema())
        machine.write(cluster, range(100))
        cluster.client.admin.split(b"t", b"row000050")
        # What the commit alone leaves: the right row embeds the left record, and the left row is not there.
        catalog = cluster.client.catalog
        [left, right] = catalog.tablet_rows(catalog.read_table(b"t").table_id)
        catalog.replace_tablet(right, replace(right, left=left))
        catalog.delete_tablet(left)
        assert machine.contents(cluster) == machine.expected(range(100))

    def second(cluster):
        assert len(tile(cluster)) == 2
        assert machine.contents(cluster) == machine.expected(range(100))

    machine.life(first, clean=False)
    machine.life(second)


def test_a_damaged_table_does_not_keep_the_others_from_being_served(machine):
    def first(cluster):
        for name in (b"t", b"u"):
            cluster.client.admin.create_table(machine.schema(name))
            machine.write(cluster, range(100), name=name)
            cluster.client.admin.flush(name)
        table_id = cluster.client.catalog.read_table(b"u").table_id
        [file] = machine.fs.list_files(f"sstables/{table_id:08x}")
        machine.fs.delete(file.path)

    def second(cluster):
        assert machine.contents(cluster) == machine.expected(range(100))
        with pytest.raises(DataDamaged, match="the file is missing"):
            machine.contents(cluster, b"u")

    machine.life(first)
    machine.life(second)


def test_a_lost_lock_service_is_not_taken_for_a_new_cluster(machine):
    machine.life(lambda cluster: cluster.client.admin.create_table(machine.schema()))
    machine.lock_service = type(machine.lock_service)(machine.runtime)
    with pytest.raises(InvalidConfiguration, match="lock service is empty"):
        machine.life(lambda cluster: None)


@pytest.mark.parametrize("seconds", [0.1, 0.9, 1.0, 1.1, 1.5, 2.0, 2.9, 3.5, 10.0, 40.0])
def test_a_start_waits_for_a_log_however_long_it_is_sorted(machine, monkeypatch, seconds: float) -> None:
    """It ended with "METADATA is not served" when that took one to three seconds, and nothing was wrong."""
    slow = [seconds]
    opened = MemoryFileSystem.open

    def open_slowly(self, path):
        if path.startswith("logs/") and slow:
            machine.runtime.sleep(slow.pop())
        return opened(self, path)

    def first(cluster):
        cluster.client.admin.create_table(machine.schema())
        machine.write(cluster, range(1000))

    def second(cluster):
        assert not slow
        assert machine.contents(cluster) == machine.expected(range(1000))

    machine.life(first, clean=False)
    monkeypatch.setattr(MemoryFileSystem, "open", open_slowly)
    machine.life(second)
