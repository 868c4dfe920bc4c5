"""Every option of a table and of a family changed while cells wait in memory and writers are at it: nothing that was
acknowledged may be missing, whatever the end of that life."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from hbtable.errors import InvalidRequest
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.features import FAMILY_IDENTITIES, read_cluster
from hbtable.lockservice.paths import CLUSTER
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import EVERYTHING
from hbtable.model.schema import READ_ONLY, FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.tiers import quick_first

FAMILIES: Final = (b"f", b"g", b"h")
WRITERS: Final = 16
ROWS_BEFORE: Final = 20
Change = Callable[[TableSchema], TableSchema]


def base() -> TableSchema:
    return TableSchema(b"t", {name: FamilySchema(name) for name in FAMILIES})


def family_change(**options: object) -> Change:
    """Of family g."""

    def change(schema: TableSchema) -> TableSchema:
        return replace(schema, families=schema.families | {b"g": replace(schema.families[b"g"], **options)})

    return change


def table_change(**options: object) -> Change:
    return lambda schema: replace(schema, **options)


def grouped(*names: bytes) -> Change:
    def change(schema: TableSchema) -> TableSchema:
        together = {name: replace(schema.families[name], locality_group="one") for name in names}
        return replace(schema, families=schema.families | together)

    return change


def without(name: bytes) -> Change:
    return lambda schema: replace(schema, families={k: v for k, v in schema.families.items() if k != name})


def with_one_more(schema: TableSchema) -> TableSchema:
    return replace(schema, families=schema.families | {b"a": FamilySchema(b"a")})


CHANGES: Final[dict[str, Change]] = {
    "READONLY": table_change(attributes=(READ_ONLY,)),
    "READONLY in another case": table_change(attributes=(("READONLY", "TRUE"),)),
    "another attribute": table_change(attributes=(("OWNER", "me"),)),
    "MAX_FILESIZE": table_change(split_bytes=1 << 30),
    "VERSIONS": family_change(max_versions=1),
    "MIN_VERSIONS": family_change(min_versions=2),
    "TTL": family_change(ttl_seconds=3600),
    "COMPRESSION": family_change(compression="SNAPPY"),
    "BLOOMFILTER": family_change(bloom="ROWCOL"),
    "IN_MEMORY": family_change(in_memory=True),
    "BLOCKCACHE": family_change(block_cache=True),
    "BLOCKSIZE": family_change(block_bytes=1024),
    "NEW_VERSION_BEHAVIOR": family_change(new_version_behavior=True),
    "an attribute of a family": family_change(attributes=(("KEEP_DELETED_CELLS", "TRUE"),)),
    "a group of two": grouped(b"f", b"g"),
    "a group of all": grouped(*FAMILIES),
    "a family more": with_one_more,
    "a family less": without(b"g"),
}
ENDS: Final = ("flush", "nothing", "power loss", "major", "orderly stop")


class Writers:
    """Each writes rows of its own, every family of a row at once, and notes what was acknowledged."""

    def __init__(self, cluster: EmbeddedCluster, runtime: SimulatedRuntime) -> None:
        self._cluster = cluster
        self._runtime = runtime
        self.acknowledged: set[bytes] = set()
        self.sent: set[bytes] = set()
        self.stopped = False

    def write(self, row: bytes) -> None:
        self.sent.add(row)
        families = self._cluster.client.table(b"t").record().schema.families
        operations = [(PUT, name, b"q", SERVER_TIME, name + row) for name in sorted(families) if name in FAMILIES]
        self._cluster.client.table(b"t").mutate([RowMutation(row, operations)])
        self.acknowledged.add(row)

    def live(self, number: int) -> None:
        count = 0
        while not self.stopped:
            count += 1
            try:
                self.write(b"writer%02d-%05d" % (number, count))
            except InvalidRequest:
                self._runtime.sleep(0.001)  # read only, or of a family that is no more


def cells_of(cluster: EmbeddedCluster, rows: set[bytes]) -> dict[bytes, dict[bytes, bytes]]:
    found = cluster.client.table(b"t").read_rows(sorted(rows), EVERYTHING)
    return {row: {column: value for column, _, value in cells} for row, cells in found}


@pytest.mark.parametrize("end", quick_first(ENDS, 1, 3))
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_the_schema_loses_nothing_acknowledged(machine, what, end):
    kept: list[Writers] = []

    def first(cluster):
        admin = cluster.client.admin
        admin.create_table(base(), [b"writer08"])
        writers = Writers(cluster, machine.runtime)
        kept.append(writers)
        for number in range(ROWS_BEFORE):
            writers.write(b"before%03d" % number)
        tasks = [machine.runtime.spawn(writers.live, number, name="writer") for number in range(WRITERS)]
        machine.runtime.sleep(0.05)
        admin.alter_table(replace(CHANGES[what](base()), version=2))
        machine.runtime.sleep(0.05)
        writers.stopped = True
        for task in tasks:
            task.join()
        assert len(writers.acknowledged) > ROWS_BEFORE + WRITERS
        check(cluster)
        if end in ("flush", "major"):
            admin.flush(b"t") if end == "flush" else admin.major_compact(b"t")
            check(cluster)

    def check(cluster):
        [writers] = kept
        if what.startswith("READONLY"):
            with pytest.raises(InvalidRequest, match="read only"):
                cluster.client.table(b"t").mutate([machine.put(b"writer99", b"v")])
        families = cluster.client.table(b"t").record().schema.families
        found = cells_of(cluster, writers.sent)
        for row in writers.acknowledged:
            wanted = {name + b":q": name + row for name in FAMILIES if name in families}
            assert found.get(row) == wanted, row

    machine.life(first, clean=end == "orderly stop")
    machine.life(check)


def test_a_family_that_is_added_is_listed_as_a_feature_and_nothing_else_is(machine):
    """Who does not know such families refuses the folder; who does not use them keeps a folder for older versions."""

    def features(cluster):
        return read_cluster(cluster.session.read(CLUSTER).data)["features"]

    def change(cluster):
        admin = cluster.client.admin
        admin.create_table(machine.schema(b"t", b"f", b"g"))
        for versions in (1, 2):
            schema = admin.schema(b"t")
            changed = replace(schema.families[b"f"], max_versions=versions)
            admin.alter_table(replace(schema, version=schema.version + 1, families={**schema.families, b"f": changed}))
        assert features(cluster) == []
        schema = admin.schema(b"t")
        admin.alter_table(replace(schema, version=schema.version + 1, families={b"f": schema.families[b"f"]}))
        assert features(cluster) == []
        schema = admin.schema(b"t")
        added = {**schema.families, b"g": FamilySchema(b"g")}
        admin.alter_table(replace(schema, version=schema.version + 1, families=added))
        assert features(cluster) == [FAMILY_IDENTITIES]

    machine.life(change)
    assert machine.life(features) == [FAMILY_IDENTITIES]
