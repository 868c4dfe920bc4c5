"""What was deleted, overwritten or has expired is on no file of the machine any more after the promised time (README:
docs/operations.md, "How long deleted data stays"): not in SSTables, nor in the log, nor in the trash."""

from dataclasses import replace

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from tests.simulation.conftest import SMALL, Machine

MAJOR, FLUSH, ROLL = 600.0, 60.0, 60.0
OPTIONS = replace(
    SMALL,
    server=replace(
        SMALL.server,
        log=LogOptions(),
        tablet=TabletOptions(major_compaction_seconds=MAJOR),
        maintenance=MaintenanceOptions(period_seconds=1.0, flush_age_seconds=FLUSH, roll_seconds=ROLL, split_bytes=0),
    ),
)
PROMISED = FLUSH + 1.5 * MAJOR + 2 * ROLL + SMALL.collector.trash_seconds + 2 * SMALL.collector.period_seconds + 90.0
SECRET = b"a value that must go"


def files_with(machine, needle):
    return [path for path in machine.fs.disk.files if needle in machine.fs.read_file(path)]


def change(how, row=b"secret"):
    match how:
        case "deleted":
            return RowMutation(row, [(DELETE_FAMILY, b"f", b"", SERVER_TIME, b"")])
        case "column":
            return RowMutation(row, [(DELETE_COLUMN, b"f", b"q", SERVER_TIME, b"")])
        case "version":
            return RowMutation(row, [(DELETE_VERSION, b"f", b"q", SERVER_TIME, b"")])
        case _:
            return RowMutation(row, [(PUT, b"f", b"q", SERVER_TIME, b"another")])


def carry_out(how, cluster):
    admin, table = cluster.client.admin, cluster.client.table(b"t")
    match how:
        case "expired":
            return
        case "range":
            table.delete_range(RowRange(b"secret", b"secret\0"), MAX_TIMESTAMP)
        case "family":
            schema = table.record().schema
            kept = {name: family for name, family in schema.families.items() if name != b"g"}
            admin.alter_table(replace(schema, version=schema.version + 1, families=kept))
        case "dropped":
            admin.disable_table(b"t")
            admin.delete_table(b"t")
        case _:
            table.mutate([change(how)])


ROWS_LEFT = {"overwritten": 2001, "expired": 0}


@pytest.mark.parametrize("flushed", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "how", ["deleted", "column", "version", "overwritten", "expired", "range", "family", "dropped"]
)
def test_its_bytes_are_nowhere(how, flushed):
    machine = Machine(3, OPTIONS)
    family = FamilySchema(b"f", max_versions=1, ttl_seconds=100 if how == "expired" else 2**31 - 1)

    def body(cluster):
        cluster.client.admin.create_table(TableSchema(b"t", {b"f": family, b"g": FamilySchema(b"g")}))
        machine.write(cluster, range(2000))
        table = cluster.client.table(b"t")
        table.mutate([machine.put(b"secret", SECRET, b"g" if how == "family" else b"f")])
        if flushed:
            cluster.client.admin.flush(b"t")
        assert files_with(machine, SECRET)
        carry_out(how, cluster)
        machine.runtime.sleep(PROMISED)
        assert files_with(machine, SECRET) == []
        if how != "dropped":
            assert len(machine.contents(cluster)) == ROWS_LEFT.get(how, 2000)

    machine.life(body)
