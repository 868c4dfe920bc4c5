"""Patterns of use that wear a database out: each operation should cost at the end what it cost at the beginning, and
what is left on disk should be about what is alive.

Each pattern runs in an embedded cluster on a simulated machine, maintenance and collection included, so that hours pass
in seconds; what is measured is the processor time of this process, all background work in it. The table has a line per
pattern: microseconds per operation in the first and in the last fifth, the cells that reads looked at per operation
there, files and bytes outside of the trash at the end, and the Python objects and descriptors that there are more than
after the first fifth. Patterns in which whole databases, peers or clients come and go are in soak_lives.py.

    python -m tests.campaigns.soak [--scale 1.0] [--seed 0]
"""

import argparse
import gc
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from hbtable.client.options import MAX_CACHED_TABLES
from hbtable.client.table import Table
from hbtable.commitlog.options import LogOptions
from hbtable.errors import TableNotFound
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, RowMutation
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.role import TabletServerOptions
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.campaigns.soak_lives import LIVES
from tests.campaigns.soak_worn import Worn, bounds, leave_out_what_is_there, living_objects

OPTIONS: Final = EmbeddedOptions(
    server=TabletServerOptions(
        log=LogOptions(durability="os"), maintenance=MaintenanceOptions(flush_age_seconds=60.0, roll_seconds=60.0)
    ),
    normalizer=NormalizerOptions(period_seconds=30.0, emptied_age_seconds=30.0),
)
STEP_SECONDS: Final = 0.001
"""Simulated time of one operation: maintenance looks at its tablets every 250 of them."""

IDLE_SECONDS: Final = 300.0
"""Then what has expired is known to have, and what was replaced is collected."""

FIFTHS: Final = 5
COLUMN: Final = ReadSpec({b"f": frozenset((b"q",))})


def put(row: bytes, value: bytes = b"v" * 20, qualifier: bytes = b"q") -> RowMutation:
    return RowMutation(row, [(PUT, b"f", qualifier, SERVER_TIME, value)])


def delete(row: bytes, qualifier: bytes | None = None) -> RowMutation:
    """Of the family, or of one column."""
    kind = DELETE_FAMILY if qualifier is None else DELETE_COLUMN
    return RowMutation(row, [(kind, b"f", qualifier or b"", SERVER_TIME, b"")])


def lock(table: Table, number: int) -> None:
    """One row is put, read, deleted and read."""
    table.mutate([put(b"lock")])
    assert len(table.read_rows([b"lock"], COLUMN)) == 1
    table.mutate([delete(b"lock")])
    assert table.read_rows([b"lock"], COLUMN) == []


def column_lock(table: Table, number: int) -> None:
    """The same at the empty qualifier, by deletes of the column, where nothing that is read settles anything."""
    spec = ReadSpec({b"f": frozenset((b"",))})
    table.mutate([put(b"lock", qualifier=b"")])
    assert len(table.read_rows([b"lock"], spec)) == 1
    table.mutate([delete(b"lock", b"")])
    assert table.read_rows([b"lock"], spec) == []


def queue(table: Table, number: int) -> None:
    """An item is added behind ten others; the first one is found by a scan, and deleted."""
    table.mutate([put(b"item%09d" % number)])
    if number >= 10:
        [(row, _)] = table.scan_page(ScanRequest(max_rows=1)).rows
        assert row == b"item%09d" % (number - 10)
        table.mutate([delete(row)])


def counter(table: Table, number: int) -> None:
    """One cell is incremented and read."""
    assert table.increment(b"counter", b"f", b"n", 1) == number + 1
    assert len(table.read_rows([b"counter"], ReadSpec())) == 1


def clicks(table: Table, number: int) -> None:
    """Rows that live for ten seconds; the newest are read."""
    table.mutate([put(b"click%09d" % number, b"v" * 200)])
    if number % 50 == 0:
        table.scan_page(ScanRequest(max_rows=50))


def emptied(cluster: EmbeddedCluster, number: int) -> None:
    """The same in a table that splits again and again, where the newest rows begin."""
    clicks(cluster.client.table(b"t"), number)
    if number % 100 == 99:
        cluster.client.admin.split(b"t", b"click%09d" % number)


def tables(cluster: EmbeddedCluster, number: int) -> None:
    """A table is made, written to, flushed, read and dropped."""
    admin, name = cluster.client.admin, b"made%09d" % number
    admin.create_table(TableSchema(name, {b"f": FamilySchema(b"f")}))
    table = cluster.client.table(name)
    table.mutate([put(b"row")])
    admin.flush(name)
    assert len(table.read_rows([b"row"], COLUMN)) == 1
    admin.disable_table(name)
    admin.delete_table(name)


def absent_names(cluster: EmbeddedCluster, number: int) -> None:
    """Somebody asks for tables that there are not."""
    try:
        cluster.client.table(b"absent%09d" % number).read_rows([b"row"], COLUMN)
    except TableNotFound:
        return
    raise AssertionError("there is no such table")


def regroup(cluster: EmbeddedCluster, number: int) -> None:
    """Two families come into one locality group, or part again, between a put and a read."""
    admin, table = cluster.client.admin, cluster.client.table(b"t")
    table.mutate([put(b"row", b"%d" % number)])
    schema = table.record().schema
    group = "" if number % 2 else "both"
    old = {b"f": schema.families[b"f"], b"g": schema.families.get(b"g", FamilySchema(b"g"))}
    families = {name: replace(family, locality_group=group) for name, family in old.items()}
    admin.alter_table(replace(schema, version=schema.version + 1, families=families))
    [(_, [(_, _, value)])] = table.read_rows([b"row"], COLUMN)
    assert value == b"%d" % number


def on_table(operation: Callable[[Table, int], None]) -> Callable[[EmbeddedCluster, int], None]:
    """On the table that is there from the beginning."""
    return lambda cluster, number: operation(cluster.client.table(b"t"), number)


Operation = Callable[[EmbeddedCluster, int], None]


def soak(name: str, operation: Operation, count: int, family: FamilySchema, seed: int) -> Worn:
    """`count` operations, then some minutes without any."""
    runtime = SimulatedRuntime(seed)
    memory = MemoryFileSystem(runtime)
    worn = Worn(name)

    def main() -> None:
        cluster = EmbeddedCluster(runtime, memory, MemoryLockService(runtime), OPTIONS)
        cluster.start()
        cluster.client.admin.create_table(TableSchema(b"t", {b"f": family}))
        fifth = max(1, count // FIFTHS)
        for part in range(FIFTHS):
            gc.collect()
            begin, cells = time.process_time(), examined(cluster)
            for number in range(part * fifth, (part + 1) * fifth):
                operation(cluster, number)
                runtime.sleep(STEP_SECONDS)
            worn.last_micros = (time.process_time() - begin) / fifth * 1e6
            worn.last_cells = (examined(cluster) - cells) / fifth
            if not part:
                worn.first_micros, worn.first_cells = worn.last_micros, worn.last_cells
                runtime.sleep(IDLE_SECONDS)
                objects = alive(cluster)
        runtime.sleep(IDLE_SECONDS)
        worn.objects = alive(cluster) - objects
        files = memory.list_files("sstables")
        worn.tablets = len(cluster.client.admin.tablets(b"t"))
        worn.files, worn.sstable_bytes = len(files), sum(file.length_bytes for file in files)
        worn.log_bytes = sum(file.length_bytes for file in memory.list_files("logs"))
        cluster.stop()

    runtime.run(main)
    return worn


def examined(cluster: EmbeddedCluster) -> int:
    """Cells that reads of user tables looked at, as far as their tablets are still the same."""
    assert cluster.server is not None
    return sum(
        tablet.cells_examined for tablet in cluster.server._online_tablets.tablets.values() if tablet.record.table_id
    )


def alive(cluster: EmbeddedCluster) -> int:
    """Python objects that hold others, without those in caches that have a bound."""
    if len(cluster.client._tables) <= MAX_CACHED_TABLES:
        cluster.client._tables.clear()
    cache = cluster.server.cache
    for path in list(cache._offsets):
        cache.drop_file(path)
    return living_objects()


PATTERNS: Final[list[tuple[str, Operation, int, FamilySchema]]] = [
    ("lock", on_table(lock), 30_000, FamilySchema(b"f")),
    ("column lock", on_table(column_lock), 15_000, FamilySchema(b"f")),
    ("queue", on_table(queue), 160_000, FamilySchema(b"f")),
    ("counter", on_table(counter), 1_000_000, FamilySchema(b"f")),
    ("clicks", on_table(clicks), 100_000, FamilySchema(b"f", ttl_seconds=10)),
    ("emptied", emptied, 20_000, FamilySchema(b"f", ttl_seconds=10)),
    ("tables", tables, 5_000, FamilySchema(b"f")),
    ("absent names", absent_names, 50_000, FamilySchema(b"f")),
    ("regroup", regroup, 5_000, FamilySchema(b"f")),
]


def campaign(scale: float, seed: int) -> tuple[list[Worn], list[str]]:
    """What each pattern has cost, and what of it is out of bounds, processor time apart."""
    results = []
    for name, operation, count, family in PATTERNS:
        results.append(soak(name, operation, int(count * scale), family, seed))
        logging.info("%s", results[-1])
    for _name, run, count in LIVES:
        results.append(run(max(10, int(count * scale)), seed))
        logging.info("%s", results[-1])
    return results, [line for worn in results for line in bounds(worn)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"seed {given.seed}, scale {given.scale}")
    leave_out_what_is_there()
    results, wrong = campaign(given.scale, given.seed)
    for worn in results:
        print(worn)
        if worn.last_micros > 3 * worn.first_micros + 200:
            wrong.append(
                f"{worn.name}: an operation costs {worn.last_micros / worn.first_micros:.1f} times what it did"
            )
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
