"""A delete of a whole row names every family of the table. While another client adds and drops one it never fails of a
family that its caller has not named, and it takes the row."""

from functools import partial
from typing import Any, Final

import pytest

from hbtable.client.table import Table
from hbtable.errors import NoSuchFamily
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.calls.writes import WriteCalls
from hbtable.hbase.codec.thrift2_structs import TColumnValue, TDelete, TMutation, TPut, TRowMutations
from hbtable.hbase.thrift2.writes import Thrift2WriteCalls
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.library.row_changes import RowChanges
from hbtable.library.table import Table as LibraryTable
from hbtable.model.read import EVERYTHING
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.runtime.interface import Runtime

ROUNDS: Final = 60
CLIENTS: Final = 3


class WaysIn:
    """Every way in by which a row is deleted whole, of table t; the row has f:q before."""

    def __init__(self, cluster: EmbeddedCluster, runtime: Runtime) -> None:
        table, backend = cluster.client.table, TableBackend(cluster.client.table)
        owner: Any = None
        pause = partial(runtime.sleep, 0.0)

        def families(name: bytes) -> list[bytes]:
            return list(cluster.client.admin.record(name).schema.families)

        self.first = WriteCalls(backend, families, 1 << 20, pause)
        self.second = Thrift2WriteCalls(backend, families, 1 << 20, 1 << 20, pause)
        self.library = LibraryTable(table(b"t"), owner)

    def delete_all_row(self, row: bytes) -> None:
        self.first.deleteAllRow(b"t", row, None)

    def delete_all_row_at(self, row: bytes) -> None:
        self.first.deleteAllRowTs(b"t", row, 10**15, None)

    def delete_single(self, row: bytes) -> None:
        self.second.deleteSingle(b"t", TDelete(row))

    def mutate_row(self, row: bytes) -> None:
        self.second.mutateRow(b"t", TRowMutations(row, [TMutation(delete_single=TDelete(row))]))

    def check_and_delete(self, row: bytes) -> None:
        assert self.second.checkAndDelete(b"t", row, b"f", b"q", b"v", TDelete(row))

    def check_and_mutate(self, row: bytes) -> None:
        changes = TRowMutations(row, [TMutation(delete_single=TDelete(row))])
        assert self.second.checkAndMutate(b"t", row, b"f", b"q", 2, b"v", changes)

    def library_delete(self, row: bytes) -> None:
        self.library.delete(row)

    def library_mutate_row(self, row: bytes) -> None:
        self.library.mutate_row(row, RowChanges().delete())

    def library_check_and_mutate(self, row: bytes) -> None:
        assert self.library.check_and_mutate(row, b"f:q", "=", b"v", RowChanges().delete())


WAYS: Final = [name for name in vars(WaysIn) if not name.startswith("_")]


def families(*names: bytes) -> dict[bytes, FamilySchema]:
    return {name: FamilySchema(name) for name in names}


def change_families(cluster: EmbeddedCluster, runtime: Runtime, ended: list[int]) -> int:
    """Until all clients have: how often g came or went."""
    admin, changes = cluster.client.admin, 0
    while len(ended) < CLIENTS:
        names = (b"f",) if changes % 2 else (b"f", b"g")
        admin.alter_table(TableSchema(b"t", families(*names), admin.schema(b"t").version + 1))
        changes += 1
        runtime.sleep(0.001)
    return changes


def delete_rows(way: str, client: int, ways: WaysIn, table: Table, failed: list[str]) -> None:
    for number in range(ROUNDS):
        row = b"%d-%d" % (client, number)
        ways.second.put(b"t", TPut(row, [TColumnValue(b"f", b"q", b"v")]))
        try:
            getattr(ways, way)(row)
        except NoSuchFamily as error:
            failed.append(str(error))
        else:
            assert table.read_rows([row], EVERYTHING) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_row_is_deleted_whichever_families_come_and_go(machine: Any, way: str) -> None:
    def body(cluster: EmbeddedCluster) -> tuple[int, list[str]]:
        cluster.client.admin.create_table(TableSchema(b"t", families(b"f")))
        ways, table = WaysIn(cluster, machine.runtime), cluster.client.table(b"t")
        failed: list[str] = []
        ended: list[int] = []

        def one(client: int) -> None:
            try:
                delete_rows(way, client, ways, table, failed)
            finally:
                ended.append(client)

        tasks = [machine.runtime.spawn(partial(one, client)) for client in range(CLIENTS)]
        changes = change_families(cluster, machine.runtime, ended)
        for task in tasks:
            task.join()
        return changes, failed

    changes, failed = machine.life(body)
    assert changes > 10
    assert failed == [], f"{len(failed)} of {CLIENTS * ROUNDS}"
