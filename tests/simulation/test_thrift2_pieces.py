"""Thrift2's scanners that give rows in pieces: a piece says rightly whether another one of its row follows."""

from collections.abc import Iterator
from functools import partial
from itertools import product

import pytest

from hbtable.hbase.backend import TableBackend
from hbtable.hbase.calls.scanner_calls import ScannerCalls
from hbtable.hbase.calls.scanner_ids import ScannerIds, unsaved
from hbtable.hbase.calls.scanners import ScannerOptions, Scanners
from hbtable.hbase.codec.thrift2_structs import Thrift2Scan, TResult
from hbtable.hbase.thrift2.scanners import Thrift2ScannerCalls
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.runtime.memory_budget import MemoryBudget
from tests.simulation.conftest import Machine

CELLS = {b"a": 1, b"b": 3, b"c": 2, b"d": 1, b"e": 4, b"f": 2}


def scanners(cluster: EmbeddedCluster, machine: Machine) -> Thrift2ScannerCalls:
    runtime, pause = machine.runtime, partial(machine.runtime.sleep, 0.0)
    calls = ScannerCalls(
        TableBackend(cluster.client.table),
        cluster.client.admin.record,
        Scanners(runtime, ScannerIds(unsaved()), ScannerOptions()),
        lambda _: None,
        64 << 20,
        pause,
        MemoryBudget(1 << 30, runtime.sleep, runtime.clock_seconds),
    )
    return Thrift2ScannerCalls(calls, 64 << 20, pause)


def pieces(calls: Thrift2ScannerCalls, scan: Thrift2Scan, count: int) -> Iterator[TResult]:
    number = calls.openScanner(b"t", scan)
    while found := calls.getScannerRows(number, count):
        yield from found


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("splits", [[], [b"c", b"e"], [b"b", b"c", b"d", b"e", b"f"]])
def test_a_piece_says_whether_another_of_its_row_follows(splits: list[bytes], backwards: bool) -> None:
    machine = Machine(1)

    def body(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f")}), splits)
        for row, cells in CELLS.items():
            operations = [(PUT, b"f", b"%d" % number, SERVER_TIME, b"v") for number in range(cells)]
            cluster.client.table(b"t").mutate([RowMutation(row, operations)])
        calls = scanners(cluster, machine)
        for batch_size, count, limit in product((1, 2, 3, 10), (1, 2, 5, 100), (None, 1, 3, 5)):
            found = list(pieces(calls, Thrift2Scan(batch_size=batch_size, reversed=backwards, limit=limit), count))
            rows = sorted(CELLS, reverse=backwards)[:limit]
            expected = [
                (row, min(batch_size, CELLS[row] - done), done + batch_size < CELLS[row])
                for row in rows
                for done in range(0, CELLS[row], batch_size)
            ]
            assert [(one.row, len(one.column_values), one.partial) for one in found] == expected, (batch_size, count)

    machine.life(body)
