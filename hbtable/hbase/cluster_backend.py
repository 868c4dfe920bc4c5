"""The cluster below our own admin service (thrift/admin.thrift), as a whole."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from hbtable.client.admin import Admin
from hbtable.client.cluster_admin import ClusterAdmin
from hbtable.switches import switches


class LivingServer(NamedTuple):
    """A tablet server that holds its lock."""

    name: str
    started_millis: int
    decommissioned: bool = False


class LivingMaster(NamedTuple):
    """A master process. `address`: host:port of its internal service; "": it lives in the process of the only tablet
    server. `started_millis` is 0 when it does not say."""

    address: str
    started_millis: int


class Masters(NamedTuple):
    """The master that holds the lock, None when none does at the moment, and those that wait for it."""

    active: LivingMaster | None
    standbys: list[LivingMaster]


class TogglesBackend(Protocol):
    """The toggles of operators, as lockservice.toggles.OperatorToggles describes them."""

    @switches
    def is_on(self, name: str) -> bool: ...
    @switches
    def turn(self, name: str, on: bool) -> bool: ...


class ClusterBackend(NamedTuple):
    """Handed to the gateway by the composition root."""

    admin: Admin
    servers: Callable[[], list[LivingServer]]
    operations: ClusterAdmin
    masters: Callable[[], Masters]
    toggles: TogglesBackend
    unreachable: Callable[[set[str]], dict[str, str]] = lambda living: {}
    """Of these servers, which hold their locks, those that others cannot reach, and who says so, in words."""
