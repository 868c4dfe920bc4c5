"""Hostile and broken clients beside a healthy one, one kind after the other on a real server, and what each costs.

Connections that are a burden: 5,000 of a byte a second, 3,000 of a byte at the same moment, 1,000 made and closed a
second, half TLS hellos, 100,000 scanners opened and left, messages over the limit and large ones left unfinished,
readers that never read, more than there are file descriptors, hundreds that ask or scan without a pause, or all at once
for long rows, half requests for /metrics and half calls to the port between roles (tests/harness/attackers.py). And
calls that are a burden each: rows of very many or very large cells, arguments by the hundred thousand, filters that
take long, deserts of deleted rows (tests/harness/wide_calls.py).

Printed for each, and failed beyond the bounds:

    p99        of the healthy client's puts and gets beside it, as a multiple: of the same on the quiet server before,
               or of those of another server that was left alone, in turns with these, whichever is longer. Time in
               which the client or the server's hub could run, and another program had the processor, is left out
               (schedstat of the system): it is not the server's fault, and hits a server with much to do more often.
               Not left out of the hub's time is what the server's other threads and its worker processes ran
               meanwhile, nor any in which it waited for a lock, the disk or the interpreter (run_queue.py). The client
               would be on another machine: what the server takes of this one's processors from it is left out
    clock      the same p99 by the clock, with nothing left out
    peak       the server's largest RSS, against memory.limit_bytes
    grew       its RSS when the attack ended, against what this attack may cost
    stretch    the longest time of the processor in which one task kept all others waiting; the bound is scaled by what
               a million calls of a function take on this machine meanwhile, as in hub_stretches.py
    recovered  after the attack, the time until the healthy client is served as beside the server left alone

    python -m tests.campaigns.hostile [--seconds 20] [--scale 1.0] [--limit 1536] [--only drip,put_many]
"""

import argparse
import contextlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from happybase.connection import Hbase

from tests.campaigns.hub_stretches import slowness
from tests.harness import wide_calls
from tests.harness.attackers import Did, attack, raise_descriptors
from tests.harness.free_ports import free_ports
from tests.harness.run_queue import RunQueue
from tests.harness.server import ServerProcess

IllegalArgument = Hbase.scannerGetList_result.thrift_spec[2][2]
BEFORE_SECONDS = 4.0
WINDOW_SECONDS = 0.25
GIVE_UP_SECONDS = 60.0
ROWS = 10_000
TRANSFER_BYTES = 256 << 20
EACH_TABLET = " INFO hbtable.tabletserver.online_tablets: "
"""Lines of the log of which each tablet of a table has two."""
SCANNERS_KEPT = 80_000
"""More than fit into thrift.scanner_memory_bytes."""


@dataclass(frozen=True)
class Bounds:
    """What the healthy client may feel of any attack, and what the process may take."""

    p99_factor: float = 3.0
    recovered_factor: float = 2.0
    """Of the other server's p99: so much worse is recovered."""
    recovery_seconds: float = 5.0
    stretch_seconds: float = 0.010
    goodput: float = 0.8
    """Of the requests that 200 connections have answered, 2,000 have so many."""
    memory_limit_bytes: int = 1536 << 20
    peak_factor: float = 1.2
    floor_seconds: float = 0.0
    """Latencies below it are never too long."""
    calls: int = 200
    """At least so many are measured, however short the time: a p99 leaves two of them out, those in which the machine
    stood still."""
    with_times: bool = True
    """False: latencies beyond the floor, memory and survival alone, on a machine whose times mean little."""


@dataclass(frozen=True)
class Attack:
    """`count` clients (or a second, or scanners), or the factor of a wide call. `memory_bytes`: what the server may
    grow by, beyond `each_bytes` for every client."""

    kind: str
    count: float
    memory_bytes: int
    each_bytes: int = 0
    port: str = "thrift"
    program: str = "tests.harness.attackers"


ATTACKS = (
    Attack("drip", 5000, 60 << 20, 40_000),
    Attack("bursts", 3000, 60 << 20, 40_000),
    Attack("churn", 1000, 60 << 20),
    Attack("half_tls", 2000, 60 << 20, 40_000),
    Attack("scanners", 100_000, 180 << 20),
    # Requests are decoded and answers are copied once: twice the bound, and two of the largest beside it.
    Attack("oversized", 60, 2 * TRANSFER_BYTES + (128 << 20)),
    Attack("lazy", 200, 2 * TRANSFER_BYTES + (128 << 20)),
    Attack("mute", 18_000, 120 << 20, 40_000),
    Attack("greedy", 200, 60 << 20),
    Attack("overload", 2000, 60 << 20, 40_000),
    Attack("batches", 40, 120 << 20),
    # What is put together at once is bounded as transfers are, and a quarter more waits.
    Attack("crowd", 120, 2 * TRANSFER_BYTES + (128 << 20)),
    Attack("deserts", 40, 120 << 20),
    Attack("scans", 40, 120 << 20),
    # Of each connection the message may grow to its limit.
    Attack("chunks", 20, 2 * TRANSFER_BYTES + (128 << 20)),
    Attack("varints", 20, 120 << 20),
    Attack("nested", 10, 2 * TRANSFER_BYTES + (128 << 20)),
    Attack("half_http", 3000, 60 << 20, port="http"),
    Attack("half_calls", 40, 2 * TRANSFER_BYTES + (128 << 20), port="roles"),
    *(Attack(one.name, 1.0, one.memory_bytes, program=wide_calls.__name__) for one in wide_calls.CALLS.values()),
)


class Healthy:
    """Puts a value and reads it back, again and again."""

    def __init__(self, server: ServerProcess) -> None:
        assert server.process is not None
        self._table = server.connect().table("t")
        self._number = 0
        self._queues = [RunQueue(os.getpid(), with_children=False), RunQueue(server.process.pid)]

    def p99(self, seconds: float, calls: int) -> float:
        """Of a single call, in seconds."""
        times: list[Call] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end or len(times) < calls:
            self.step(times)
        return at_99([one.seconds for one in times])

    def step(self, times: list["Call"]) -> None:
        self._number += 1
        row, value = b"row%d" % (self._number % 100), b"%d" % self._number
        found: dict[bytes, bytes] = {}
        times.append(self._timed(lambda: self._table.put(row, {b"f:n": value})))
        times.append(self._timed(lambda: found.update(self._table.row(row))))
        assert found == {b"f:n": value}
        time.sleep(0.001)  # a client that does something with it

    def _timed(self, call: Callable[[], object]) -> "Call":
        before, began = [queue.read() for queue in self._queues], time.monotonic()
        call()
        took = time.monotonic() - began
        left_out = sum(queue.read().foreign_since(one) for queue, one in zip(self._queues, before, strict=True))
        return Call(max(0.0, took - left_out), took)


class Call(NamedTuple):
    """Of the healthy client, in seconds: without what other programs had of the processor, and by the clock."""

    seconds: float
    clock: float


def at_99(times: list[float]) -> float:
    times.sort()
    return times[math.ceil(len(times) * 0.99) - 1]


def side_by_side(first: Healthy, second: Healthy, seconds: float, calls: int) -> tuple[list[Call], list[float]]:
    """The times of both, of calls in turns: what else goes on on the machine disturbs both alike."""
    times: tuple[list[Call], list[Call]] = ([], [])
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times[0]) < calls:
        first.step(times[0])
        second.step(times[1])
    return times[0], [one.seconds for one in times[1]]


@dataclass
class Figures:
    """Of one attack; seconds and bytes."""

    one: Attack
    count: float
    quiet: float
    during: float
    control: float
    clock: float
    worst: float
    peak: int
    grown: int
    stretch: float
    where: str
    slow: float
    recovered: float
    did: Did

    @property
    def factor(self) -> float:
        return self.during / max(self.quiet, self.control)

    def __str__(self) -> str:
        return (
            f"{self.one.kind:>15} x {self.count:<8g}{self.factor:6.1f} {self.during * 1e3:8.1f} "
            f"{max(self.quiet, self.control) * 1e3:8.1f} {self.clock * 1e3:8.1f} {self.worst * 1e3:9.1f} "
            f"{self.peak / 1e6:8.0f} {self.grown / 1e6:+7.0f} {self.stretch * 1e3:9.1f} {self.slow:5.1f} "
            f"{self.recovered:8.1f}   {self.did}"
        )


HEAD = (
    f"{'attack':>15}   {'count':<8}{'factor':>6} {'p99 ms':>8} {'else ms':>8} {'clock ms':>8} {'worst ms':>9} "
    f"{'peak MB':>8} {'grew MB':>7} {'stretch ms':>9} {'slow':>5} {'recov. s':>8}   the attackers say"
)


class Ground:
    """The server that is attacked, and the one that is left alone."""

    def __init__(self, server: ServerProcess, control: Healthy, notes: Path, http_port: int, bounds: Bounds) -> None:
        self.server = server
        self._control = control
        self._notes = notes
        self._bounds = bounds
        self.ports = {"thrift": server.port, "http": http_port, "roles": int(notes.with_suffix(".port").read_text())}

    def suffer(self, one: Attack, count: float, seconds: float) -> Figures:
        server, bounds = self.server, self._bounds
        if one.program == wide_calls.__name__:
            connection = server.connect()
            wide_calls.CALLS[one.kind].setup(connection, count)
            connection.close()
        healthy = Healthy(server)
        quiet = healthy.p99(min(BEFORE_SECONDS, seconds), bounds.calls)
        base = server.rss_bytes()
        server.forget_peak()
        self._notes.write_text("")
        did: Did = {}
        with attack(one.kind, self.ports[one.port], count, did, one.program, end_seconds=300):
            times, others = side_by_side(healthy, self._control, seconds, bounds.calls)
            grown = server.rss_bytes() - base
            slow = slowness() if bounds.with_times else 1.0
        grown = max(grown, server.rss_bytes() - base)
        recovered = self._recovery(healthy)
        stretch, where = self._longest_stretch()
        if one.kind == "scanners":
            _oldest_scanners_are_gone(server, did, int(count))
        late = server.connect()  # who comes now is served, too
        assert b"t" in late.tables()
        late.close()
        return Figures(
            one, count, quiet, at_99([each.seconds for each in times]), at_99(others),
            at_99([each.clock for each in times]), max(each.seconds for each in times), server.peak_bytes(), grown,
            stretch, where, slow, recovered, did,
        )  # fmt: skip

    def _recovery(self, healthy: Healthy) -> float:
        """Seconds until the healthy client is served as beside the other server; those of the look are not counted."""
        began = time.monotonic()
        while True:
            here = time.monotonic() - began
            times, others = side_by_side(healthy, self._control, WINDOW_SECONDS, self._bounds.calls)
            usual = max(self._bounds.recovered_factor * at_99(others), self._bounds.floor_seconds)
            if at_99([one.seconds for one in times]) <= usual or here > GIVE_UP_SECONDS:
                return here

    def _longest_stretch(self) -> tuple[float, str]:
        stretches = [json.loads(line) for line in self._notes.read_text().splitlines()]
        longest = max(stretches, key=lambda each: each["seconds"], default={"seconds": 0.0, "where": []})
        where = " < ".join(longest["where"][::-1][:6])
        looked = longest.get("collected", 0.0)
        return longest["seconds"], where + (f" ({looked * 1e3:.1f} ms of it looked for garbage)" if looked else "")


def _oldest_scanners_are_gone(server: ServerProcess, did: Did, count: int) -> None:
    connection = server.connect()
    assert did["opened"] == count
    connection.client.scannerGetList(did["last"], 1)
    if count > SCANNERS_KEPT:
        with contextlib.suppress(IllegalArgument):
            connection.client.scannerGetList(did["first"], 1)
            raise AssertionError("the first scanner is still open")
    connection.close()


def beyond(figures: Figures, bounds: Bounds) -> list[str]:
    """What is not as it should be."""
    one, wrong = figures.one, []
    if figures.during > max(bounds.p99_factor * max(figures.quiet, figures.control), bounds.floor_seconds):
        wrong.append(f"p99 is {figures.factor:.1f} times what it is without")
    if figures.recovered > (bounds.recovery_seconds if bounds.with_times else GIVE_UP_SECONDS):
        wrong.append(f"the healthy client is not served as before after {figures.recovered:.1f} s")
    if figures.peak > bounds.peak_factor * bounds.memory_limit_bytes:
        wrong.append(f"{figures.peak / 1e6:.0f} MB of memory, and the limit is {bounds.memory_limit_bytes / 1e6:.0f}")
    if figures.grown > one.memory_bytes + figures.count * one.each_bytes:
        wrong.append(f"memory grew by {figures.grown / 1e6:.0f} MB")
    if bounds.with_times and figures.stretch > bounds.stretch_seconds * figures.slow:
        wrong.append(f"{figures.stretch * 1e3:.1f} ms without a switch, before {figures.where}")
    return [f"{one.kind}: {each}" for each in wrong]


def goodput_lost(found: Sequence[Figures], bounds: Bounds) -> list[str]:
    """Many more connections than the server has capacity for must not cost those that are answered."""
    answered = {
        each.one.kind: int(str(each.did["answers_a_second"])) - int(str(each.did["refused_a_second"]))
        for each in found
        if each.one.kind in ("greedy", "overload")
    }
    if len(answered) == 2 and bounds.with_times and answered["overload"] < bounds.goodput * answered["greedy"]:
        return [f"overload: {answered['overload']} requests a second are answered, of {answered['greedy']}"]
    return []


def campaign(
    folder: Path,
    seconds: float,
    scale: float = 1.0,
    bounds: Bounds | None = None,
    only: Sequence[str] = (),
    loud: bool = True,
) -> None:
    """Raises AssertionError with everything that was wrong."""
    raise_descriptors()
    bounds = bounds or Bounds()
    wrong: list[str] = []
    found: list[Figures] = []
    http_port = free_ports(1)
    options = ["log.durability=os", f"memory.limit_bytes={bounds.memory_limit_bytes}"]
    watched = [*options, f"server.http_port={http_port}"]
    notes = folder / "notes"
    program = ("tests.harness.traced_server", str(notes))
    other_program = ("tests.harness.traced_server", str(folder / "other-notes"))
    with (
        ServerProcess(folder / "data", watched, program=program) as server,
        ServerProcess(folder / "other", options, program=other_program) as other,
    ):
        quiet = other.connect()
        quiet.create_table("t", {"f": {"max_versions": 1}})
        control = Healthy(other)
        control.p99(min(1.0, seconds), bounds.calls)
        prepare(server)
        Healthy(server).p99(min(3.0, seconds), bounds.calls)
        ground = Ground(server, control, notes, http_port, bounds)
        if loud:
            print(HEAD, flush=True)
        for one in ATTACKS:
            if only and one.kind not in only:
                continue
            count = one.count * scale
            figures = ground.suffer(one, count if one.program == wide_calls.__name__ else max(1, int(count)), seconds)
            found.append(figures)
            beyond_it = beyond(figures, bounds)
            if loud:
                print(figures, *(f"{'':>17} ! {each}" for each in beyond_it), sep="\n", flush=True)
            wrong += beyond_it
            assert server.process is not None
            assert server.process.poll() is None, f"the server died of {one.kind}"
        assert server.stop() == 0
    text = server.errors.read_text()
    assert "Traceback" not in text, text[-3000:]
    lines = [line for line in text.splitlines() if EACH_TABLET not in line]
    assert len(lines) < 2000, f"{len(lines)} lines of log"
    wrong += goodput_lost(found, bounds)
    assert not wrong, "\n".join(["", *wrong])


def prepare(server: ServerProcess) -> None:
    """The tables that healthy clients and attackers use."""
    connection = server.connect()
    for name in ("t", "large", "many"):
        connection.create_table(name, {"f": {"max_versions": 1}})
    connection.create_table(wide_calls.TABLE, {"f": {"max_versions": 1}, "g": {"max_versions": 1}})
    with connection.table("many").batch(batch_size=1000) as batch:
        for number in range(ROWS):
            batch.put(b"%06d" % number, {b"f:a": b"v" * 100})
    connection.table("large").put(b"row", {b"f:%d" % number: bytes(4 << 20) for number in range(2)})
    for first in range(0, 5000, 1000):
        connection.table("large").put(
            b"parts", {b"f:%d" % number: bytes(2000) for number in range(first, first + 1000)}
        )
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of measuring during each attack")
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers of clients, cells and rows")
    parser.add_argument("--limit", type=int, default=Bounds.memory_limit_bytes >> 20, help="memory.limit_bytes, in MiB")
    parser.add_argument("--only", default="", help="kinds, with commas between")
    parser.add_argument("--seed", type=int, default=0, help="as of other campaigns; nothing here is random")
    arguments = parser.parse_args()
    only = arguments.only.split(",") if arguments.only else ()
    with tempfile.TemporaryDirectory(prefix="hbtable-hostile-") as folder:
        bounds = Bounds(memory_limit_bytes=arguments.limit << 20)
        campaign(Path(folder), arguments.seconds, arguments.scale, bounds, only=only)
    print("the server outlived them all, and the healthy client hardly noticed")


if __name__ == "__main__":
    main()
