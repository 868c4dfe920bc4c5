"""A move that comes to nothing half-way: the tablet may have no server, so the master looks at it at once."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hbtable.errors import Conflict, HbtableError, StaleLocation, Unavailable
from hbtable.master.assignment import ServerLoad
from hbtable.master.census import Census
from hbtable.master.moves import Moves
from hbtable.model.ranges import RowRange
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord

TABLET = TabletRecord(5, 100, RowRange(b"", b""), 1, owner="one", generation=3)
TABLE = TableRecord(5, TableState.ENABLED, TableSchema(b"t", {}))


@pytest.mark.parametrize(("failure", "told"), [(Conflict("x"), Unavailable), (StaleLocation("x"), StaleLocation)])
def test_the_master_looks_again(failure: HbtableError, told: type[HbtableError]) -> None:
    looks: list[bool] = []

    def place(*_: object) -> None:
        raise failure

    def operation(name: bytes) -> AbstractContextManager[object]:
        return nullcontext()

    without_owner = replace(TABLET, owner="")
    moves = Moves(
        SimpleNamespace(read_table=lambda name: TABLE, read_tablet=lambda table, stop: without_owner),  # type: ignore[arg-type]
        SimpleNamespace(vacate=lambda record, living: None, place=place),  # type: ignore[arg-type]
        lambda: Census({"one": ServerLoad(frozenset()), "two": ServerLoad(frozenset())}, frozenset(), {}, []),
        operation,
        lambda table_id: [TABLET],
        lambda: looks.append(True),
    )
    with pytest.raises(told):
        moves.move(b"t", 100, "two")
    assert looks
