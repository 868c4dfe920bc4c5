"""Whose the calls of a connection are, and which are carried out at all."""

from collections.abc import Callable
from typing import Any

import pytest

from hbtable.access.options import AuthOptions
from hbtable.access.user import User, acting_user
from hbtable.hbase.security import GatewaySecurity
from hbtable.runtime.network.tls import TlsOptions


def demand(gateway: Any, user: User | None, enabled: bool) -> None:
    gateway.context.security = GatewaySecurity(TlsOptions(), AuthOptions(enabled=enabled))
    gateway.context.user = user


@pytest.mark.parametrize(("user", "enabled"), [(None, False), (User("ann"), False), (User("ann"), True)])
def test_calls_are_carried_out_for_the_connections_user(
    gateway: Any, connect: Callable[..., Any], user: User | None, enabled: bool
) -> None:
    seen = []
    demand(gateway, user, enabled)
    gateway.interface.methods[b"getTableNames"].call = lambda: seen.append(acting_user()) or []
    assert connect(gateway).call("getTableNames") == []
    assert seen == [user]
    assert acting_user() is None


def test_with_authentication_nobody_comes_in_who_says_nothing(gateway: Any, connect: Callable[..., Any]) -> None:
    demand(gateway, None, True)
    client = connect(gateway)
    with pytest.raises(client.thrift.IOError) as refused:
        client.call("getTableNames")
    assert b"AccessDeniedException" in refused.value.message
    assert b"auth.enabled" in refused.value.message
