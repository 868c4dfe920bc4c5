"""The six workloads of the paper's section 7, as one client runs them over its connection."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, final
from zlib import crc32

from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ShellError

SEQUENTIAL_WRITES: Final = "sequential writes"
RANDOM_WRITES: Final = "random writes"
SEQUENTIAL_READS: Final = "sequential reads"
RANDOM_READS: Final = "random reads"
MEMORY_READS: Final = "random reads (mem)"
SCANS: Final = "scans"
MEMORY_WRITES: Final = "sequential writes (mem)"
"""No workload of the paper: it writes what random reads (mem) read."""

PAPER_SERVERS: Final = (1, 50, 250, 500)
PAPER: Final = {
    RANDOM_READS: (1212, 593, 479, 241),
    MEMORY_READS: (10811, 8511, 8000, 6250),
    RANDOM_WRITES: (8850, 3745, 3425, 2000),
    SEQUENTIAL_READS: (4425, 2463, 2625, 2469),
    SEQUENTIAL_WRITES: (8547, 3623, 2451, 1905),
    SCANS: (15385, 10526, 9524, 7843),
}
"""Figure 6: values a second and tablet server, with so many tablet servers. In the figure's order."""

KEY_BYTES: Final = 10
COLUMN: Final = b"f:v"
_ROWS_A_PAGE: Final = 500
_ROWS_A_LOOK: Final = 64


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """The server, the tables and the sizes of one measurement, for all its clients."""

    address: str
    """As shell.address has it."""
    table: bytes
    memory_table: bytes
    """Of a family that is to stay in memory."""
    rows: int
    memory_rows: int
    value_bytes: int

    def rows_of(self, workload: str) -> int:
        return self.memory_rows if workload in (MEMORY_READS, MEMORY_WRITES) else self.rows

    def table_of(self, workload: str) -> bytes:
        return self.memory_table if workload in (MEMORY_READS, MEMORY_WRITES) else self.table


def key(number: int) -> bytes:
    return b"%010d" % number


@final
class BenchClient:
    """One client and its connection. A row is one cell; its value is its key, and random bytes, so that no two are
    alike. Every value that is read is looked at."""

    def __init__(self, plan: BenchPlan, ended: Callable[[], bool] = lambda: False) -> None:
        """`ended`: whether nobody waits for the workload any more; run() looks now and then."""
        self._plan = plan
        self._ended = ended
        self._server = ShellConnection(plan.address)

    def open(self) -> None:
        """CannotConnect."""
        self._server.open()

    def run(self, workload: str, first: int, end: int) -> int:
        """The workload over rows `first` to `end`, which is not one of them; how many values were written or read.
        ShellError: also a value that is not the one that was written."""
        if workload == SCANS:
            return self._scan(first, end)
        rows, table = self._plan.rows_of(workload), self._plan.table_of(workload)
        random = Random(f"{workload} {first}")
        for number in range(first, end):
            if number % _ROWS_A_LOOK == 0 and self._ended():
                raise ShellError("the benchmark was broken off")
            # hashed immediately before the call, as in the paper; reads shadow the writes
            row = key(crc32(key(number)) % rows if workload.startswith("random") else number)
            if "writes" in workload:
                self._write(table, row, random)
            else:
                self._check(row, self._columns(table, row))
        return end - first

    def _write(self, table: bytes, row: bytes, random: Random) -> None:
        value = row + random.randbytes(self._plan.value_bytes - KEY_BYTES)
        mutation = self._server.hbase_struct("Mutation", column=COLUMN, value=value, isDelete=False, writeToWAL=True)
        self._server.hbase("mutateRow", table, row, [mutation], {})

    def _columns(self, table: bytes, row: bytes) -> dict[bytes, object]:
        found = self._server.hbase("getRow", table, row, {})
        return found[0].columns if found else {}

    def _scan(self, first: int, end: int) -> int:
        table = self._plan.table
        scan = self._server.hbase_struct("TScan", startRow=key(first), stopRow=key(end), caching=_ROWS_A_PAGE)
        scanner = self._server.hbase("scannerOpenWithScan", table, scan, {})
        number = first
        while page := self._server.hbase("scannerGetList", scanner, _ROWS_A_PAGE):
            for found in page:
                self._check(key(number), found.columns if found.row == key(number) else {})
                number += 1
        self._server.hbase("scannerClose", scanner)
        if number != end:
            self._check(key(number), {})
        return end - first

    def _check(self, row: bytes, columns: dict[bytes, object]) -> None:
        cell = columns.get(COLUMN)
        value: bytes = getattr(cell, "value", b"")
        if len(value) != self._plan.value_bytes or not value.startswith(row):
            raise ShellError(
                f"row {row.decode()} of the benchmark's table came back with {len(value)} bytes that begin with "
                f"{value[:20]!r}, and not with the value that was written: has something else changed the table?"
            )
