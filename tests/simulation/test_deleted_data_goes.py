"""What was deleted, overwritten or has expired is on no file of the machine any more after the promised time (README:
docs/operations.md, "How long deleted data stays"): not in SSTables, nor in the log, nor in the trash."""

from dataclasses import replace

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, RowMutation
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
        case _:
            return RowMutation(row, [(PUT, b"f", b"q", SERVER_TIME, b"another")])


@pytest.mark.parametrize("flushed", [False, True])
@pytest.mark.parametrize("how", ["deleted", "column", "overwritten", "expired"])
def test_its_bytes_are_nowhere(how, flushed):
    machine = Machine(3, OPTIONS)
    family = FamilySchema(b"f", max_versions=1, ttl_seconds=100 if how == "expired" else 2**31 - 1)

    def body(cluster):
        cluster.client.admin.create_table(TableSchema(b"t", {b"f": family}))
        machine.write(cluster, range(2000))
        table = cluster.client.table(b"t")
        table.mutate([machine.put(b"secret", SECRET)])
        if flushed:
            cluster.client.admin.flush(b"t")
        assert files_with(machine, SECRET)
        if how != "expired":
            table.mutate([change(how)])
        machine.runtime.sleep(PROMISED)
        assert files_with(machine, SECRET) == []
        if how != "expired":
            assert len(machine.contents(cluster)) == 2000 + (how == "overwritten")

    machine.life(body)
