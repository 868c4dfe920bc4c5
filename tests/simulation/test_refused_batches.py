"""Thrift2's batches of which some changes are refused: each good one is carried out, and once.

Checked against a model in plain Python: to delete the newest version of a column twice deletes two.
"""

from functools import partial

import pytest

from hbtable.errors import NoSuchFamily
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.codec.thrift2_structs import TColumn, TDelete
from hbtable.hbase.thrift2.writes import Thrift2WriteCalls
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from tests.simulation.conftest import Machine

VERSIONS = [b"3", b"2", b"1"]
NEWEST = 0
"""TDeleteType.DELETE_COLUMN: one version."""


def writes(cluster: EmbeddedCluster, machine: Machine) -> Thrift2WriteCalls:
    def families(name: bytes) -> list[bytes]:
        return list(cluster.client.admin.record(name).schema.families)

    pause = partial(machine.runtime.sleep, 0.0)
    return Thrift2WriteCalls(TableBackend(cluster.client.table), families, 1 << 20, 1 << 20, pause)


def versions_of(cluster: EmbeddedCluster, rows: list[bytes]) -> dict[bytes, list[bytes]]:
    spec = ReadSpec(columns={b"f": frozenset((b"q",))}, max_versions=10)
    found = cluster.client.table(b"t").read_rows(rows, spec)
    return {row: [value for _, _, value in cells] for row, cells in found}


@pytest.mark.parametrize(
    ("count", "splits", "refused"),
    [
        *((6, splits, {place}) for splits in ([], [b"0003"], [b"0002", b"0004"]) for place in range(6)),
        (6, [b"0002", b"0004"], {0, 5}),
        (6, [b"0002", b"0004"], {2, 3}),
        (6, [b"0002", b"0004"], {0, 2, 4}),
        (1002, [], {1001}),
        (1002, [], {0}),
        (2003, [b"0500", b"1500"], {3, 1000, 2002}),
    ],
)
def test_each_good_delete_of_a_batch_is_carried_out_once(count: int, splits: list[bytes], refused: set[int]) -> None:
    rows = [b"%04d" % number for number in range(count)]
    machine = Machine(1)

    def body(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f", max_versions=5)}), splits)
        table = cluster.client.table(b"t")
        for time in (1, 2, 3):
            table.mutate([RowMutation(row, [(PUT, b"f", b"q", time, b"%d" % time)]) for row in rows])
        deletes = [
            TDelete(row, [TColumn(b"none" if number in refused else b"f", b"q")], delete_type=NEWEST)
            for number, row in enumerate(rows)
        ]
        with pytest.raises(NoSuchFamily):
            writes(cluster, machine).deleteMultiple(b"t", deletes)
        found = versions_of(cluster, rows)
        for number, row in enumerate(rows):
            assert found[row] == (VERSIONS if number in refused else VERSIONS[1:]), (row, found[row])

    machine.life(body)
