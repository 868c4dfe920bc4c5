"""No call of any service keeps the other tasks waiting, whichever of its arguments is very long, and however wide the
row is that it is about: work between two switches, counted."""

from collections.abc import Iterator
from itertools import product

import pytest

from hbtable.access.user import User, act_as
from hbtable.commitlog.options import LogOptions
from hbtable.hbase.connection import GatewayConnection
from hbtable.launch.embedded_cluster import EmbeddedOptions
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tabletserver.role import TabletServerOptions
from tests.harness.guarded_gateway import GuardedGateway
from tests.harness.stretches import LONGEST, Stretches, counted_stretches
from tests.harness.tiers import taking_turns
from tests.harness.wide_arguments import OTHER, ROW, TABLE, WideCall, wide_calls
from tests.harness.wire_trees import binary

COUNT = 12_000
"""As many as it takes for nine calls of functions for each of them to be too much in one stretch."""
NOTHING_TO_WAIT_FOR = EmbeddedOptions(server=TabletServerOptions(log=LogOptions(durability="os")))
"""A write is applied at once, without a sync beside which others could run."""
ADMIN = User("admin")
_CHANGES = ("put", "delete", "mutate", "increment", "append", "check", "atomic", "adminMutate", "adminCheck")
"""Methods that begin so come last: the others are about what there is before."""


class _Client:
    """Sends one message, and takes its answer."""

    def __init__(self, message: bytes) -> None:
        self._message = memoryview(message)
        self.pieces: list[bytes] = []

    def recv(self, most: int) -> bytes:
        piece, self._message = self._message[:most], self._message[most:]
        return bytes(piece)

    def sendall(self, data: bytes) -> None:
        self.pieces.append(bytes(data))

    def settimeout(self, seconds: float | None) -> None: ...

    def close(self) -> None: ...


def _prepare(gateway: GuardedGateway) -> None:
    client = gateway.cluster.client
    for table in (TABLE, OTHER):
        client.admin.create_table(TableSchema(table, {b"f": FamilySchema(b"f")}))
    cells = [(PUT, b"f", b"%07d" % number, SERVER_TIME, b"v") for number in range(COUNT)]
    client.table(TABLE).mutate([RowMutation(ROW, cells)])
    rows = [RowMutation(b"%s%07d" % (ROW, number), cells[:1]) for number in range(1, COUNT)]
    client.table(TABLE).mutate(rows)


SERVICES = ("thrift1", "thrift2", "admin")
PARTS = 4
ELSEWHERE = ("adminCreateTable", "splitRows")
"""Makes as many tablets, of which each costs far more than a thing that is only looked at: test_stretches.py."""


@pytest.mark.parametrize(
    ("service", "part"), taking_turns([pytest.param(*cell) for cell in product(SERVICES, range(PARTS))], PARTS)
)
def test_no_call_keeps_others_waiting(service: str, part: int) -> None:
    gateway = GuardedGateway(options=NOTHING_TO_WAIT_FOR)
    calls = [one for one in wide_calls(COUNT) if one.service == service and (one.method, one.words) != ELSEWHERE]
    calls = sorted(calls[part::PARTS], key=lambda call: call.method.startswith(_CHANGES))
    messages = [binary(call.method.encode(), call.arguments()) for call in calls]  # here, where no work is counted
    wrong: list[str] = []

    def main() -> None:
        with counted_stretches(gateway.runtime) as stretches:  # from the start: a gateway keeps the clock that it finds
            gateway.start()
            act_as(ADMIN)
            _prepare(gateway)
            for call, message in zip(calls, messages, strict=True):
                wrong.extend(_carried_out(gateway, call, message, stretches))
            act_as(ADMIN)
            gateway.stop()

    gateway.runtime.run(main)
    assert not wrong, "\n".join(wrong)


def _carried_out(gateway: GuardedGateway, call: WideCall, message: bytes, stretches: Stretches) -> Iterator[str]:
    """What is wrong with it."""
    client = _Client(message)
    with gateway.of(ADMIN):
        connection = GatewayConnection(client, "host:1", gateway.gateway._context)
    stretches.begin()
    connection.serve()
    stretches.paused()
    assert client.pieces, f"{call.method} with many of {call.words} had no answer"
    if stretches.longest > LONGEST:
        yield f"{call.method}, many of {call.words}: {stretches.longest} calls, before {stretches.where}"
