"""Who may only read: every call that is declared is known to change nothing, or is refused."""

import pytest

from hbtable.errors import InvalidRequest
from hbtable.rpc.declaration import calls_of
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.read_only import ReadOnlyTransport
from hbtable.rpc.services import MasterService, TabletAdmin, TabletService

ROLES = {
    "tablet_service": TabletService,
    "tablet_admin": TabletAdmin,
    "master": MasterService,
}
CALLS = [(role, declared) for role, service in ROLES.items() for declared in calls_of(service).values()]


@pytest.mark.parametrize(("role", "declared"), CALLS, ids=lambda one: getattr(one, "name", one))
def test_a_call_reads_or_is_refused_before_it_is_made(role, declared) -> None:
    made = []
    inner = LocalTransport()
    services = [
        service(lambda declared, arguments: made.append((declared.name, arguments))) for service in ROLES.values()
    ]
    inner.register_server("s", services[0], services[1])
    inner.register_master(services[2])
    transport = ReadOnlyTransport(inner, "only to be read")
    service = transport.master() if role == "master" else getattr(transport, role)("s")
    arguments = (1,) * len(declared.parameters)
    if declared.changes_nothing:
        declared.on(service, arguments)
        assert made == [(declared.name, arguments)]
    else:
        with pytest.raises(InvalidRequest, match="only to be read"):
            declared.on(service, arguments)
        assert made == []


READING = {
    *("read_rows", "scan", "scan_with_times", "tablets", "served_changes", "served_record", "files_in_flight"),
    *("task_deaths", "ping", "balancer_enabled", "balancer_rests", "normalizer_enabled", "throttling_enabled"),
    *("quotas", "space_usage", "family_usage", "master_task_deaths", "ping_master"),
}
"""The calls that change nothing, once more: whoever declares one so by mistake meets this."""


def test_what_is_declared_to_change_nothing_does_so() -> None:
    assert {declared.name for _, declared in CALLS if declared.changes_nothing} == READING
