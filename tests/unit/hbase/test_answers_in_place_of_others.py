"""A call that was passed on to a process that ended is carried out here, within the limits of any other."""

from collections.abc import Callable
from typing import Any

import pytest

from hbtable.errors import CostExceeded
from hbtable.hbase.connection import GatewayConnection
from hbtable.runtime.request_budget import current_budget, work_for
from tests.unit.hbase.conftest import FakeStream


@pytest.mark.parametrize("fails", [False, True])
def test_what_it_costs_and_holds_is_counted_until_it_is_answered(
    gateway: Any, connect: Callable[..., Any], fails: bool
) -> None:
    budget, held = gateway.context.budget, []
    method = gateway.context.methods[b"getRow"]

    def read(*_: object) -> list[object]:
        mine = current_budget()
        assert mine is not None
        mine.hold(5 << 20)
        held.append(budget.used_bytes)
        if fails:
            raise CostExceeded("too much")
        return []

    method.call = read
    stream = FakeStream(())
    connection = GatewayConnection(stream, "client:1", gateway.context)
    connection._wire = next(iter(gateway.context.wires.values()))
    work_for(connection._cost)
    try:
        connection.answer_here(method, 1, [b"t", b"row", {}], None)
        assert (held, budget.used_bytes) == ([5 << 20], 0)
        assert not connection._cost.is_used  # the next call of the client may be under way
    finally:
        work_for(None)
    assert stream.sent
    assert gateway.context.in_flight == 0
