"""Hostile and broken clients beside a healthy one: 5,000 connections of a byte a second, 1,000
connects and closes a second, half TLS hellos, 100,000 scanners opened and left, messages over the limit and large ones
left unfinished, readers that never read, more connections than there are file descriptors, 200 connections that ask
without a pause, 40 that fetch or scan many rows, and half requests for /metrics.

For each kind, in the same run: the healthy client's p99 on the quiet server, during, and 5 s after; and the server's
memory. During, p99 may be five times the quiet one; after it must be near that of a server which was left alone,
measured in turns; the process must live, and memory must stay within what the configuration allows.

    python -m tests.campaigns.hostile [--seconds 20] [--scale 1.0] [--only drip]
"""

import argparse
import contextlib
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from happybase.connection import Hbase

from tests.harness.attackers import Did, attack, raise_descriptors
from tests.harness.real_servers import free_ports
from tests.harness.server import ServerProcess

IllegalArgument = Hbase.scannerGetList_result.thrift_spec[2][2]
BEFORE_SECONDS = 4.0
AFTER_SECONDS = 4.0
RECOVERY_SECONDS = 5.0
WORSE = 5.0
NORMAL = 2.0
CALLS = 200
"""At least so many are measured, however short the time: a p99 leaves two of them out, those in which the machine stood
still."""
ROWS = 10_000
TRANSFER_BYTES = 256 << 20
SCANNERS_KEPT = 80_000
"""More than fit into thrift.scanner_memory_bytes."""


@dataclass(frozen=True)
class Attack:
    """`count` clients (or a second, or scanners). `memory_bytes`: what the server may grow by, beyond `each_bytes` for
    every client."""

    kind: str
    count: int
    memory_bytes: int
    each_bytes: int = 0
    at_http: bool = False


ATTACKS = (
    Attack("drip", 5000, 60 << 20, 40_000),
    Attack("churn", 1000, 60 << 20),
    Attack("half_tls", 2000, 60 << 20, 40_000),
    Attack("scanners", 100_000, 180 << 20),
    # Requests are decoded and answers are copied once: twice the bound, and two of the largest beside it.
    Attack("oversized", 60, 2 * TRANSFER_BYTES + (128 << 20)),
    Attack("lazy", 200, 2 * TRANSFER_BYTES + (128 << 20)),
    Attack("mute", 18_000, 120 << 20, 40_000),
    Attack("greedy", 200, 60 << 20),
    Attack("batches", 40, 120 << 20),
    Attack("deserts", 40, 120 << 20),
    Attack("half_http", 3000, 60 << 20, at_http=True),
)


class Healthy:
    """Puts a value and reads it back, again and again."""

    def __init__(self, server: ServerProcess) -> None:
        self._table = server.connect().table("t")
        self._number = 0

    def p99(self, seconds: float) -> float:
        """Of a single call, in seconds."""
        times: list[float] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end or len(times) < CALLS:
            self.step(times)
        return at_99(times)

    def step(self, times: list[float]) -> None:
        self._number += 1
        row, value = b"row%d" % (self._number % 100), b"%d" % self._number
        began = time.monotonic()
        self._table.put(row, {b"f:n": value})
        middle = time.monotonic()
        found = self._table.row(row)
        times += [middle - began, time.monotonic() - middle]
        assert found == {b"f:n": value}
        time.sleep(0.001)  # a client that does something with it


def at_99(times: list[float]) -> float:
    times.sort()
    return times[math.ceil(len(times) * 0.99) - 1]


def side_by_side(first: Healthy, second: Healthy, seconds: float) -> tuple[float, float]:
    """Both p99, of calls in turns: what else goes on on the machine disturbs both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times[0]) < CALLS:
        first.step(times[0])
        second.step(times[1])
    return at_99(times[0]), at_99(times[1])


@dataclass
class Figures:
    """Of one attack; seconds and bytes."""

    kind: str
    count: int
    quiet: float
    during: float
    after: float
    control: float
    grown: int
    left: int
    did: Did

    def __str__(self) -> str:
        milliseconds = " / ".join(f"{one * 1000:.2f}" for one in (self.quiet, self.during, self.after, self.control))
        return (
            f"{self.kind:>9} x {self.count}: p99 quiet / during / after / of another server then {milliseconds} ms "
            f"({self.during / self.quiet:.1f} times), memory {self.grown / 1e6:+.0f} MB during, "
            f"{self.left / 1e6:+.0f} MB after; {self.did}"
        )


def suffer(
    server: ServerProcess, http_port: int, control: Healthy, one: Attack, count: int, seconds: float, recovery: float
) -> Figures:
    healthy = Healthy(server)
    quiet = healthy.p99(min(BEFORE_SECONDS, seconds))
    base = server.rss_bytes()
    did: Did = {}
    with attack(one.kind, http_port if one.at_http else server.port, count, did):
        during = healthy.p99(seconds)
        grown = server.rss_bytes() - base
    grown = max(grown, server.rss_bytes() - base)
    if one.kind == "scanners":
        _oldest_scanners_are_gone(server, did, count)
    time.sleep(recovery)
    after, other = side_by_side(healthy, control, min(AFTER_SECONDS, seconds))
    late = server.connect()  # who comes now is served, too
    assert b"t" in late.tables()
    late.close()
    return Figures(one.kind, count, quiet, during, after, other, grown, server.rss_bytes() - base, did)


def _oldest_scanners_are_gone(server: ServerProcess, did: Did, count: int) -> None:
    connection = server.connect()
    assert did["opened"] == count
    connection.client.scannerGetList(did["last"], 1)
    if count > SCANNERS_KEPT:
        with contextlib.suppress(IllegalArgument):
            connection.client.scannerGetList(did["first"], 1)
            raise AssertionError("the first scanner is still open")
    connection.close()


def log_limiter(figures: Figures, one: Attack, floor_seconds: float) -> list[str]:
    """What is not as it should be. `floor_seconds`: latencies below it are never too long."""
    wrong = []
    if figures.during > max(WORSE * figures.quiet, floor_seconds):
        wrong.append(f"{one.kind}: p99 during is {figures.during / figures.quiet:.1f} times the quiet one")
    if figures.after > max(NORMAL * figures.control, floor_seconds):
        wrong.append(f"{one.kind}: p99 after is {figures.after / figures.control:.1f} times that of another server")
    if figures.grown > one.memory_bytes + figures.count * one.each_bytes:
        wrong.append(f"{one.kind}: memory grew by {figures.grown / 1e6:.0f} MB")
    return wrong


def campaign(
    folder: Path,
    seconds: float,
    scale: float = 1.0,
    floor_seconds: float = 0.0,
    only: str = "",
    recovery: float = RECOVERY_SECONDS,
    loud: bool = True,
    http_port: int = 0,
) -> None:
    """Raises AssertionError with everything that was wrong. `http_port` 0: without the attacks on the HTTP port."""
    raise_descriptors()
    wrong: list[str] = []
    options = ["log.durability=os"]
    watched = [*options, f"server.http_port={http_port}"]
    with ServerProcess(folder / "data", watched) as server, ServerProcess(folder / "other", options) as other:
        quiet = other.connect()
        quiet.create_table("t", {"f": {"max_versions": 1}})
        control = Healthy(other)
        control.p99(min(1.0, seconds))
        connection = server.connect()
        for name in ("t", "large", "many"):
            connection.create_table(name, {"f": {"max_versions": 1}})
        with connection.table("many").batch(batch_size=1000) as batch:
            for number in range(ROWS):
                batch.put(b"%06d" % number, {b"f:a": b"v" * 100})
        connection.table("large").put(b"row", {b"f:%d" % number: bytes(4 << 20) for number in range(2)})
        Healthy(server).p99(min(3.0, seconds))
        for one in ATTACKS:
            if (only and one.kind != only) or (one.at_http and not http_port):
                continue
            figures = suffer(server, http_port, control, one, max(1, int(one.count * scale)), seconds, recovery)
            if loud:
                print(figures, flush=True)
            wrong += log_limiter(figures, one, floor_seconds)
            assert server.process is not None
            assert server.process.poll() is None, f"the server died of {one.kind}"
        assert server.stop() == 0
    text = server.errors.read_text()
    assert "Traceback" not in text, text[-3000:]
    assert len(text.splitlines()) < 2000, f"{len(text.splitlines())} lines of log"
    assert not wrong, "; ".join(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of measuring during each attack")
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers of clients")
    parser.add_argument("--only", default="", help="one kind")
    parser.add_argument("--seed", type=int, default=0, help="as of other campaigns; nothing here is random")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-hostile-") as folder:
        campaign(Path(folder), arguments.seconds, arguments.scale, only=arguments.only, http_port=free_ports(1))
    print("the server outlived them all, and the healthy client hardly noticed")


if __name__ == "__main__":
    main()
