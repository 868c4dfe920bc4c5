"""A grant while its table is dropped and created again: every order in which the steps of both can come."""

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import Any, cast

import pytest

from hbtable.access.actions import EVERY_ACTION, Action
from hbtable.access.grants import Grant
from hbtable.access.grants_file import begin_table, forget, grants_file
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.access.user import User
from hbtable.errors import AccessDenied, TableNotFound
from hbtable.hbase.permissions.guard import Guard
from hbtable.lockservice.interface import Session
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

TABLE = of_table(b"t")
STEPS = 4
POINTS = 8
"""More than a grant has that begins anew each time that it is overtaken."""


class Interleaved:
    """Eve's gateway, each of whose calls to the lock service and to METADATA lets the master go on before it."""

    def __init__(self, runtime: SimulatedRuntime, places: tuple[int, ...], held: Scope | None, creator: str) -> None:
        self.places = places
        self.creator = creator
        self.reached = 0
        self.done = 0
        self.there = True
        self.was_all_done = False
        """When eve's grant was written."""
        self.session = MemoryLockService(runtime).open_session("test")
        if held is not None:
            grants_file(self.session).change(lambda grants: grants.with_grant("eve", held, Action.ADMIN))
        superusers = frozenset(("eve",) if held is None else ())
        eves = cast(Session, self)
        self.guard = Guard(runtime, eves, superusers, list, self.record, lambda: User("eve"))
        self.guard._know(grants_file(self.session).read())

    def steps(self) -> Iterator[Callable[[], object]]:
        yield lambda: setattr(self, "there", False)  # being deleted
        yield lambda: forget(self.session, TABLE)
        yield lambda: begin_table(self.session, b"t", self.creator)
        yield lambda: setattr(self, "there", True)

    def go_on(self, point: int) -> None:
        steps = list(self.steps())
        while self.done < STEPS and self.places[self.done] <= point:
            steps[self.done]()
            self.done += 1

    def __getattr__(self, name: str) -> Any:
        self.go_on(self.reached)
        self.reached += 1
        if name == "write":
            self.was_all_done = self.done == STEPS
        return getattr(self.session, name)

    def record(self, name: bytes) -> TableRecord:
        self.go_on(self.reached)
        self.reached += 1
        if not self.there:
            raise TableNotFound("t")
        return TableRecord(1, TableState.ENABLED, TableSchema(name, {b"f": FamilySchema(b"f")}))

    def run(self) -> bool:
        """Whether eve's grant was made."""

        try:
            self.guard.grant("bob", TABLE, EVERY_ACTION)
            return True
        except (AccessDenied, TableNotFound):
            return False
        finally:
            self.go_on(POINTS)


@pytest.mark.parametrize("creator", ["ann", ""])
@pytest.mark.parametrize("held", [TABLE, GLOBAL, None], ids=["of the table", "of everything", "superuser"])
def test_a_grant_on_a_table_is_not_one_on_the_next(held: Scope | None, creator: str) -> None:
    """Who may grant everywhere may grant on the next one, too: when it is there."""
    outcomes = set()
    runtime = SimulatedRuntime(1)

    def every_order() -> None:
        for places in combinations_with_replacement(range(POINTS + 1), STEPS):
            order = Interleaved(runtime, places, held, creator)
            granted = order.run()
            found = {one for one in grants_file(order.session).read() if one.scope == TABLE}
            new = granted and order.was_all_done and held != TABLE
            holders = [*([creator] if creator else []), *(["bob"] if new else [])]
            assert found == {Grant(holder, TABLE, EVERY_ACTION) for holder in holders}, places
            outcomes.add((granted, new))

    runtime.run(every_order)
    assert outcomes == {(True, False), (False, False)} | ({(True, True)} if held != TABLE else set())
