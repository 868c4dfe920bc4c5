"""The checks that a call passes at the gateway and at the tablet server, over a table that does nothing.

What they cost is counted in instructions of Python's own machine, which other work on a computer cannot change.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType, SimpleNamespace
from typing import Any, Final, NoReturn

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


def guarded(family: bytes, others: int = 1000) -> tuple[Any, Any]:
    """(a table without checks, the same with both). The user has his rights to the whole table, or to one family, by
    one of three groups, among so many grants of others."""
    grants = NO_GRANTS
    for number in range(others):
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
WORKS: Final[tuple[tuple[str, Callable[[Any], object]], ...]] = (
    ("put", lambda table: table.mutate(_PUTS)),
    ("get of a column", lambda table: table.read_rows(_ROWS, _COLUMN)),
    ("get of all columns", lambda table: table.read_rows(_ROWS, EVERYTHING)),
    ("page of a scan", lambda table: table.scan_page(_SCAN)),
    ("page of a scan of all columns", lambda table: table.scan_page(_WHOLE_SCAN)),
)


def steps_of(work: Callable[[Any], object], table: Any) -> int:
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
