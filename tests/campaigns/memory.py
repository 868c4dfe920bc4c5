"""How much memory a load takes: 2 GB through happybase batches into a server with the default configuration.

The peak is the kernel's VmHWM of the server process, so nothing between two samples is missed. Afterwards some rows
are read back, and the rate at which the table is scanned once is printed, because the block cache fills then.

    python -m tests.campaigns.memory [--rows 2000000] [--limit-mb 600]
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import happybase

from tests.harness.server import ServerProcess

VALUE_BYTES = 1000
BATCH = 1000
MB = 1_000_000


def value_of(row: int) -> bytes:
    """Bytes that no compression shortens, different for each row, and cheap to make again."""
    return random.Random(row).randbytes(VALUE_BYTES)


def row_keys(rows: int) -> Iterator[tuple[int, bytes]]:
    """Numbers in an order that fills the whole key range all the time, as hashed keys do."""
    step = 1_000_003  # prime, so every number comes once as long as `rows` is no multiple of it
    for number in range(rows):
        row = number * step % rows
        yield row, b"row%09d" % row


class Load:
    """Loads, then reads; `peak_bytes` afterwards."""

    def __init__(self, folder: Path, rows: int, defines: Sequence[str] = ()) -> None:
        self.rows = rows
        self.server = ServerProcess(folder / "data", defines)
        self.idle_bytes = 0
        self.peak_bytes = 0

    def run(self, loud: bool = True) -> None:
        with self.server as server:
            self.idle_bytes = server.rss_bytes()
            connection = server.connect()
            connection.create_table("load", {"f": {"max_versions": 1}})
            self._write(connection.table("load"), loud)
            after_load = server.peak_bytes()
            self._read(connection.table("load"))
            self.peak_bytes = server.peak_bytes()
            if loud:
                print(f"peak after loading {after_load // MB} MB, after reading it all {self.peak_bytes // MB} MB")
                print(f"{len(connection.table('load').regions())} tablets")
            connection.close()
            assert server.stop() == 0

    def _write(self, table: happybase.Table, loud: bool) -> None:
        begin = time.monotonic()
        with table.batch(batch_size=BATCH) as batch:
            for number, (row, key) in enumerate(row_keys(self.rows), 1):
                batch.put(key, {b"f:v": value_of(row)})
                if loud and number % 100_000 == 0:
                    rate = number / (time.monotonic() - begin)
                    print(
                        f"{number:>9,} rows, {rate:,.0f} rows/s, RSS {self.server.rss_bytes() // MB} MB, "
                        f"peak {self.server.peak_bytes() // MB} MB",
                        flush=True,
                    )

    def _read(self, table: happybase.Table) -> None:
        chance = random.Random(1)
        for _ in range(1000):
            row = chance.randrange(self.rows)
            assert table.row(b"row%09d" % row) == {b"f:v": value_of(row)}
        assert sum(1 for _ in table.scan(batch_size=BATCH)) == self.rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--limit-mb", type=int, default=600)
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="SECTION.KEY=VALUE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-memory-") as folder:
        load = Load(Path(folder), arguments.rows, arguments.defines)
        load.run()
    print(f"{arguments.rows * VALUE_BYTES / 1e9:.2f} GB loaded; peak RSS {load.peak_bytes / MB:.0f} MB")
    if load.peak_bytes > arguments.limit_mb * MB:
        raise SystemExit(f"over the limit of {arguments.limit_mb} MB")


if __name__ == "__main__":
    main()
