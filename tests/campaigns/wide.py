"""Wide calls (tests/harness/wide_calls.py) beside a healthy client, one after the other on a real server.

    python -m tests.campaigns.wide [--only NAME] [--scale 1.0]

Prints for each: the healthy client's p99 before and during, its longest wait, the longest stretch in which one task
kept all others waiting, how much memory it cost, how long it took, and what the server answered.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.campaigns.hostile import at_99
from tests.harness.server import ServerProcess
from tests.harness.wide_calls import CALLS, TABLE, WideCall, connect

QUIET_SECONDS = 1.0


@dataclass
class Figures:
    """Seconds and bytes."""

    name: str
    quiet: float
    during: float
    worst: float
    stretch: float
    where: str
    grown: int
    took: float
    answer: str

    def __str__(self) -> str:
        return (
            f"{self.name:>15}: healthy p99 {self.quiet * 1000:5.1f} -> {self.during * 1000:7.1f} ms, worst "
            f"{self.worst * 1000:7.1f}; stretch {self.stretch * 1000:7.1f} ms; {self.grown / 1e6:+6.0f} MB; "
            f"{self.took:5.1f} s; {self.answer[:100]}\n{'':17}{self.where}"
        )


def gets_until(port: int, over: threading.Event, times: list[float]) -> None:
    """A get every millisecond or so, as a healthy client."""
    connection = connect(port)
    table = connection.table("t")
    while not over.is_set():
        began = time.monotonic()
        assert table.row(b"healthy") == {b"f:a": b"value"}
        times.append(time.monotonic() - began)
        time.sleep(0.001)
    connection.close()


def measure(server: ServerProcess, notes: Path, one: WideCall, scale: float) -> Figures:
    connection = connect(server.port)
    one.setup(connection, scale)
    connection.close()
    quiet: list[float] = []
    over = threading.Event()
    timer = threading.Timer(QUIET_SECONDS, over.set)
    timer.start()
    gets_until(server.port, over, quiet)
    base = server.rss_bytes()
    server.forget_peak()
    notes.write_text("")
    times: list[float] = []
    over = threading.Event()
    healthy = threading.Thread(target=gets_until, args=(server.port, over, times))
    healthy.start()
    began = time.monotonic()
    command = [sys.executable, "-m", "tests.harness.wide_calls", one.name, str(server.port), str(scale)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    took = time.monotonic() - began
    over.set()
    healthy.join()
    stretches = [json.loads(line) for line in notes.read_text().splitlines()]
    longest = max(stretches, key=lambda each: each["seconds"], default={"seconds": 0.0, "where": []})
    return Figures(
        one.name, at_99(quiet), at_99(times), max(times), longest["seconds"], " < ".join(longest["where"][::-1][:6]),
        server.peak_bytes() - base, took, answer,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names, with commas between")
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers of cells and rows")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-wide-") as folder:
        notes = Path(folder) / "notes"
        program = ("tests.harness.traced_server", str(notes))
        with ServerProcess(Path(folder) / "data", ["log.durability=os"], program=program) as server:
            connection = connect(server.port)
            connection.create_table("t", {"f": {"max_versions": 1}})
            connection.create_table(TABLE, {"f": {"max_versions": 1}, "g": {"max_versions": 1}})
            connection.table("t").put(b"healthy", {b"f:a": b"value"})
            connection.close()
            for name in arguments.only.split(",") if arguments.only else CALLS:
                print(measure(server, notes, CALLS[name], arguments.scale), flush=True)
            server.stop()


if __name__ == "__main__":
    main()
