"""A large request for which there is no memory is answered, wherever its beginning was read; nothing of it stays."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("first_bytes", [1000, 50_000, 1_000_000])
def test_a_request_that_finds_no_memory_is_told_to_come_again(
    gateway: Any, connect: Callable[..., Any], first_bytes: int, framed: bool, before: bool
) -> None:
    """`first_bytes` arrive at once; `before`: the request is not the first of its connection."""
    client, budget = connect(gateway, framed=framed), gateway.context.budget
    pieces = [client.encode("getTableNames")] if before else []
    small = len(gateway.talk(*pieces).sent)
    large = client.encode("getRow", tableName=b"t", row=b"r" * 200_000)
    others = budget.begin(None)
    budget.arrive(others, 2 * budget.limit_bytes)
    sent = gateway.talk(*pieces, large[:first_bytes], large[first_bytes:]).sent
    budget.end(others)
    assert budget.used_bytes == 0
    with pytest.raises(client.thrift.IOError, match="CallQueueTooBig"):
        client.decode(sent[small:], "getRow")
