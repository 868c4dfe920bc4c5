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
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, Final, NamedTuple, NoReturn

import happybase
import happybase.connection
from thriftpy2.transport import TSocket, TSSLSocket

from hbtable.access.actions import Action
from hbtable.access.data_checks import DataChecks
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.scopes import of_table
from hbtable.access.user import User, act_as
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.permissions.guarded_table import GuardedTable
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import EVERYTHING, ReadSpec, ScanRequest
from hbtable.tabletserver.guarded_service import GuardedTabletService
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.bench.bench_trees import cpu_of
from tests.harness.certificates import CA, put_certificate
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


class DoesNothing:
    """A tablet server's calls, and a client's table over them."""

    name = b"t"

    def mutate(self, *_: object) -> None: ...

    def read_rows(self, *_: object) -> list[object]:
        return []

    def scan(self, *_: object) -> object: ...

    def scan_page(self, *_: object) -> object: ...


class OfTable:
    """A client's table over the tablet server's calls."""

    name = b"t"

    def __init__(self, service: Any) -> None:
        self._service = service

    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        self._service.mutate(20, mutations)

    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> object:
        return self._service.read_rows(20, rows, spec)

    def scan_page(self, request: ScanRequest) -> object:
        return self._service.scan(20, request)


def checks_of(grants: Grants, user: User) -> DataChecks:
    """The checks of a gateway whose grants are these, and stay good."""
    runtime: Any = SimulatedRuntime(1)
    guard = runtime.run(lambda: Guard(runtime, MemoryLockService(runtime).open_session("s"), frozenset(), list, _none))
    guard._clock = time.monotonic
    guard._copy.good_until = math.inf
    guard._know(grants)
    act_as(user)
    checks: DataChecks = guard.data
    return checks


def _none(_: bytes) -> NoReturn:
    raise AssertionError


def guarded(family: bytes) -> tuple[Any, Any]:
    """(a table without checks, the same with both). The user has his rights to the whole table, or to one family, by
    one of three groups, among a thousand grants of others."""
    grants = NO_GRANTS
    for number in range(1000):
        grants = grants.with_grant(f"user{number}", of_table(b"t%d" % (number % 300)), 0b11)
    rights = Action.READ | Action.WRITE
    ann = User("ann", frozenset(("staff", "readers", "night")))
    checks = checks_of(grants.with_grant("@readers", of_table(b"t", family), rights), ann)
    tablet = SimpleNamespace(schema=SimpleNamespace(name=b"t"), record=SimpleNamespace(table_id=16))
    tablets: Any = {20: tablet}
    inner: Any = DoesNothing()
    table: Any = OfTable(GuardedTabletService(inner, tablets, checks))
    return OfTable(inner), GuardedTable(table, checks)


_ROWS: Final = (b"r",)
_PUTS: Final = (RowMutation(b"r", [(PUT, b"f", b"q", 5, b"v")]),)
_COLUMN: Final = ReadSpec({b"f": frozenset({b"q"})})
_SCAN: Final = ScanRequest(spec=ReadSpec({b"f": None}))
_WHOLE_SCAN: Final = ScanRequest()
_WORKS: Final[tuple[tuple[str, Callable[[Any], object]], ...]] = (
    ("put", lambda table: table.mutate(_PUTS)),
    ("get of a column", lambda table: table.read_rows(_ROWS, _COLUMN)),
    ("get of all columns", lambda table: table.read_rows(_ROWS, EVERYTHING)),
    ("page of a scan", lambda table: table.scan_page(_SCAN)),
    ("page of a scan of all columns", lambda table: table.scan_page(_WHOLE_SCAN)),
)


def permissions_micros(calls: int, rounds: int) -> float:
    """The dearest call: what the checks add to it. Without the right to the whole table, a read of all columns is
    narrowed to the family."""
    dearest = 0.0
    for held, family in (("table", b""), ("family", b"f")):
        plain, checked = guarded(family)
        for name, work in _WORKS:
            found = [_added(work, plain, checked, calls, bool(number % 2)) for number in range(rounds)]
            added = statistics.median(found)
            steps = _steps(work, checked) - _steps(work, plain)
            print(f"{name}, rights to the {held}: {added:+.2f} us, {steps} steps of Python's machine", flush=True)
            dearest = max(dearest, added)
    return dearest


def _added(work: Callable[[Any], object], plain: Any, checked: Any, calls: int, checked_first: bool) -> float:
    if checked_first:
        return _once(work, checked, calls) - _once(work, plain, calls)
    return -_once(work, plain, calls) + _once(work, checked, calls)


def _steps(work: Callable[[Any], object], table: Any) -> int:
    """Instructions of Python's own machine in one call: a number that other work on this computer cannot change."""
    found = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal found
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        found += event == "opcode"
        return count

    work(table)
    sys.settrace(count)
    try:
        work(table)
    finally:
        sys.settrace(None)
    return found


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
