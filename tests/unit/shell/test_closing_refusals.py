"""Refusals of requests that are not read to their end: the server closes the connection behind them."""

from types import SimpleNamespace
from typing import Any

from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.shell.connection import _CLOSING
from hbtable.thrift import message_input


def test_a_connection_knows_them_by_the_servers_texts() -> None:
    too_large, too_many = _CLOSING
    assert too_large in message_input._WAY_OUT
    full: Any = SimpleNamespace(used_bytes=2, limit_bytes=1)
    assert too_many in str(MemoryBudget._overloaded(full))
