"""How much memory a load takes: 2 GB through happybase batches into a server with the default configuration.

The peak is the kernel's VmHWM of the server process, so nothing between two samples is missed. Four tables are
loaded at once and rows are read all the time, so that memtables and block cache are full together; then everything is
scanned, and the server is killed and started again, because recovery needs memory, too.

    python -m tests.campaigns.memory [--rows 2000000] [--limit-mb 466]

The limit is without the block cache, whose default is a share of the machine's memory.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import happybase

from hbtable.launch.config.sections import read_configuration
from tests.harness.server import ServerProcess

VALUE_BYTES = 1000
BATCH = 1000
MB = 1_000_000
TABLES = ["load0", "load1", "load2", "load3"]


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
        self.recovery_bytes = 0

    def run(self, loud: bool = True) -> None:
        with self.server as server:
            self.idle_bytes = server.rss_bytes()
            connection = server.connect()
            for name in TABLES:
                connection.create_table(name, {"f": {"max_versions": 1}})
            tables = [connection.table(name) for name in TABLES]
            self._write(tables, loud)
            after_load = server.peak_bytes()
            assert sum(1 for table in tables for _ in table.scan(batch_size=BATCH)) == self.rows
            self.peak_bytes = server.peak_bytes()
            if loud:
                print(f"peak after loading {after_load // MB} MB, after reading it all {self.peak_bytes // MB} MB")
                print(f"{sum(len(table.regions()) for table in tables)} tablets")
            server.kill()
            server.start()
            connection = server.connect()
            assert sum(1 for name in TABLES for _ in connection.table(name).scan(batch_size=BATCH)) == self.rows
            self.recovery_bytes = server.peak_bytes()
            assert server.stop() == 0

    def _write(self, tables: list[happybase.Table], loud: bool) -> None:
        begin = time.monotonic()
        chance = random.Random(1)
        batches = [table.batch(batch_size=BATCH) for table in tables]
        done: list[int] = []
        for number, (row, key) in enumerate(row_keys(self.rows), 1):
            batches[row % len(tables)].put(key, {b"f:v": value_of(row)})
            done.append(row)
            if number % BATCH == 0:
                for row in chance.sample(done[: -len(tables) * BATCH], min(5, max(0, len(done) - len(tables) * BATCH))):
                    assert tables[row % len(tables)].row(b"row%09d" % row) == {b"f:v": value_of(row)}
            if loud and number % 100_000 == 0:
                rate = number / (time.monotonic() - begin)
                print(
                    f"{number:>9,} rows, {rate:,.0f} rows/s, RSS {self.server.rss_bytes() // MB} MB, "
                    f"peak {self.server.peak_bytes() // MB} MB",
                    flush=True,
                )
        for batch in batches:
            batch.send()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--limit-mb", type=int, default=466, help="of all but the block cache")
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="SECTION.KEY=VALUE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-memory-") as folder:
        load = Load(Path(folder), arguments.rows, arguments.defines)
        load.run()
    print(
        f"{arguments.rows * VALUE_BYTES / 1e9:.2f} GB loaded; peak RSS {load.peak_bytes / MB:.0f} MB, "
        f"{load.recovery_bytes / MB:.0f} MB in the recovery from kill -9"
    )
    cache_bytes = read_configuration(None, {}, arguments.defines).value("cache", "block_cache_bytes")
    limit_bytes = arguments.limit_mb * MB + cache_bytes
    if max(load.peak_bytes, load.recovery_bytes) > limit_bytes:
        raise SystemExit(f"over the limit of {limit_bytes / MB:.0f} MB, {cache_bytes / MB:.0f} MB of it block cache")


if __name__ == "__main__":
    main()
