"""What TLS and permissions add to a put and a get of one row.

    TLS           a client inside of TLS, beside one without, of the same server, in turns
    permissions   both checks that a call passes, the gateway's and the tablet server's, beside the same call without
                  them, in turns, over a table that does nothing: beside a whole call they are lost in the noise

Printed: the processor's time of one call, of the server alone and with the client's, and the medians of what the rounds
say. That time hardly minds other work on the machine. Bounds are those that were asked for: a put over TLS at most 1.4
times a plain one, permissions at most 3 us a call.

    python -m tests.bench.bench_access [--calls 2000] [--rounds 15]
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import happybase
import happybase.connection
from thriftpy2.transport import TSocket, TSSLSocket

from tests.bench.bench_trees import cpu_of
from tests.harness.certificates import CA, put_certificate
from tests.harness.permission_steps import WORKS, guarded, steps_of
from tests.harness.server import ServerProcess

VALUE = os.urandom(1000)
TLS_FACTOR, PERMISSION_MICROS = 1.4, 3.0


class Side(NamedTuple):
    """One client of one server."""

    server: ServerProcess
    table: happybase.Table

    def micros(self, call: Callable[[happybase.Table, int], object], calls: int) -> tuple[float, float]:
        """The processor's time of one call: (of the server, and of the client as well)."""
        assert self.server.process is not None
        server, client = cpu_of(self.server.process.pid), time.process_time()
        for number in range(calls):
            call(self.table, number)
        server = cpu_of(self.server.process.pid) - server
        return server / calls * 1e6, (server + time.process_time() - client) / calls * 1e6


def put(table: happybase.Table, number: int) -> None:
    table.put(b"%05d" % (number % 1000), {b"f:q": VALUE})


def get(table: happybase.Table, number: int) -> None:
    assert table.row(b"%05d" % (number % 1000))


def side(server: ServerProcess, socket: Callable[..., object]) -> Side:
    happybase.connection.TSocket = socket
    try:
        connection = happybase.Connection("localhost", server.port, timeout=60000)
    finally:
        happybase.connection.TSocket = TSocket
    return Side(server, connection.table("t"))


def compare(what: str, plain: Side, other: Side, calls: int, rounds: int) -> tuple[float, float, float]:
    """(medians over the rounds: the ratio of the server's time, that of all time, the server's difference in us)."""
    found: list[tuple[float, float, float]] = []
    shown: list[tuple[float, ...]] = []
    act = put if what.startswith("put") else get
    for one in (plain, other):
        one.micros(act, calls)
    for number in range(rounds):
        order = (plain, other) if number % 2 else (other, plain)
        times = {id(one): one.micros(act, calls) for one in order}
        (plain_server, plain_all), (server, everything) = times[id(plain)], times[id(other)]
        found.append((server / plain_server, everything / plain_all, server - plain_server))
        shown.append((plain_server, server, plain_all, everything))
    ratio, of_all, difference = (statistics.median(column) for column in zip(*found, strict=True))
    a, b, c, d = (statistics.median(column) for column in zip(*shown, strict=True))
    print(
        f"{what:>24}: server {a:6.1f} -> {b:6.1f} us, {ratio:.2f} times, {difference:+.1f} us; "
        f"with the client {c:6.1f} -> {d:6.1f} us, {of_all:.2f} times",
        flush=True,
    )
    return ratio, of_all, difference


def permissions_micros(calls: int, rounds: int) -> float:
    """The dearest call: what the checks add to it. Without the right to the whole table, a read of all columns is
    narrowed to the family."""
    dearest = 0.0
    for held, family in (("table", b""), ("family", b"f")):
        plain, checked = guarded(family)
        for name, work in WORKS:
            found = [_added(work, plain, checked, calls, bool(number % 2)) for number in range(rounds)]
            added = statistics.median(found)
            steps = steps_of(work, checked) - steps_of(work, plain)
            print(f"{name}, rights to the {held}: {added:+.2f} us, {steps} steps of Python's machine", flush=True)
            dearest = max(dearest, added)
    return dearest


def _added(work: Callable[[Any], object], plain: Any, checked: Any, calls: int, checked_first: bool) -> float:
    if checked_first:
        return _once(work, checked, calls) - _once(work, plain, calls)
    return -_once(work, plain, calls) + _once(work, checked, calls)


def _once(work: Callable[[Any], object], table: Any, calls: int) -> float:
    began = time.process_time()
    for _ in range(calls):
        work(table)
    return (time.process_time() - began) / calls * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    calls, rounds, wrong = arguments.calls, arguments.rounds, []
    with tempfile.TemporaryDirectory(prefix="hbtable-access-") as folder:
        certificate, key = put_certificate("server", Path(folder))
        defines = [f"tls.certificate={certificate}", f"tls.key={key}", "log.durability=os"]
        with ServerProcess(Path(folder) / "data", defines) as server:
            server.connect().create_table("t", {"f": {}})
            plain, over_tls = side(server, TSocket), side(server, partial(TSSLSocket, cafile=CA))
            for what in ("put over TLS", "get over TLS"):
                ratio, of_all, _ = compare(what, plain, over_tls, calls, rounds)
                if what.startswith("put") and max(ratio, of_all) > TLS_FACTOR:
                    wrong.append(f"a {what} costs {ratio:.2f} times a plain one, with the client {of_all:.2f}")
            compare("put, both plain", plain, side(server, TSocket), calls, rounds)
    added = permissions_micros(calls * 10, rounds)
    if added > PERMISSION_MICROS:
        wrong.append(f"permissions cost {added:.2f} us a call")
    assert not wrong, "; ".join(wrong)


if __name__ == "__main__":
    main()
