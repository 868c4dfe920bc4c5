"""`status` while METADATA cannot be read: the servers that nobody reaches may be why, so the error names them."""

from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import Unavailable
from hbtable.hbase.admin.cluster import AdminClusterCalls
from hbtable.hbase.admin.structs import AdminStatus
from hbtable.hbase.cluster_backend import ClusterBackend, LivingServer, Masters
from hbtable.hbase.server_names import ServerNames
from hbtable.testing.simulated.runtime import SimulatedRuntime

AWAY = "METADATA row b'00000000;' could not be reached after 21 tries in 10 seconds: it gave no answer"


def status_of(unreachable: dict[str, str]) -> AdminStatus:
    def every_tablet() -> list[object]:
        raise Unavailable(AWAY)

    unused: Any = None
    operations: Any = SimpleNamespace(every_tablet=every_tablet)
    servers = [LivingServer("a", 1), LivingServer("b", 2)]
    backend = ClusterBackend(
        unused,
        lambda: servers,
        operations,
        lambda: Masters(None, []),
        unused,
        lambda living: {name: who for name, who in unreachable.items() if name in living},
    )
    names = ServerNames(backend, lambda incarnation: (incarnation.encode(), 9090))
    return SimulatedRuntime(1).run(AdminClusterCalls(backend, names).adminStatus)


def test_the_error_names_who_cannot_be_reached_and_who_says_so() -> None:
    with pytest.raises(Unavailable) as caught:
        status_of({"b": "the master and 2 of the 2 tablet servers that watch it", "dead": "the master"})
    assert str(caught.value) == (
        f"{AWAY}. Unreachable tablet servers that hold their locks: "
        "b,9090,2, by: the master and 2 of the 2 tablet servers that watch it"
    )


def test_without_one_the_error_is_as_it_was() -> None:
    with pytest.raises(Unavailable) as caught:
        status_of({})
    assert str(caught.value) == AWAY
