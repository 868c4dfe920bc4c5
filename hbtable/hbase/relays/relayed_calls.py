"""The answering side of calls that other tablet servers' gateways pass on as they came (rpc.services.RelayService).

A call is decoded, carried out and answered as by this server's own gateway, but at the tablet that it is said to be
about: where that one is not here, nothing is looked for, and whoever has passed it on hears so.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast, final

from hbtable.errors import InvalidRequest
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.calls.reads import ReadCalls
from hbtable.hbase.calls.writes import WriteCalls
from hbtable.hbase.cell_methods import PASSED_ON_READS, PASSED_ON_WRITES
from hbtable.hbase.codec.interface import ThriftMethod
from hbtable.hbase.codec.large_answers import LargeAnswer
from hbtable.hbase.codec.wires import Wire
from hbtable.model.cell import Row
from hbtable.model.mutation import RowMutation
from hbtable.model.read import ReadSpec
from hbtable.rpc.services import RelayService, TabletService
from hbtable.switches import switches
from hbtable.thrift.binary_reader import read_arguments, read_strict
from hbtable.thrift.gathered import Join
from hbtable.thrift.message import MessageReader
from hbtable.thrift.wire import CALL, WireError


class Gateway(Protocol):
    """The part of a gateway that its calls share (connection_context.ConnectionContext)."""

    methods: dict[bytes, ThriftMethod]
    pause: Callable[[], None]

    @property
    def join(self) -> Join: ...


class _Tablet:
    """Stands in the place of a call's table."""

    __slots__ = ("_service", "_tablet_id")

    def __init__(self, service: TabletService, tablet_id: int) -> None:
        self._service = service
        self._tablet_id = tablet_id

    @switches
    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        return self._service.read_rows(self._tablet_id, rows, spec)

    @switches
    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        self._service.mutate(self._tablet_id, mutations)


class _Tablets:
    """A backend.TableBackend of what stands in the place of tables."""

    def named(self, tablet: _Tablet) -> _Tablet:
        return tablet

    def canonical(self, tablet: _Tablet) -> None:
        """Accepts the name of a table in a call that does nothing."""


@final
class RelayedCalls(RelayService):
    """Carries them out. `service`: the tablet server's, as others reach it. `gateway`: that beside it, with its `wire`
    and its limits."""

    __slots__ = ("_calls", "_join", "_methods", "_pause", "_reply", "_service")

    def __init__(
        self,
        service: TabletService,
        gateway: Gateway,
        wire: Wire,
        answer_bytes: int,
        cell_bytes: int,
    ) -> None:
        self._service = service
        self._methods = gateway.methods
        self._reply = wire.dialect.reply
        self._pause = pause = gateway.pause
        self._join = gateway.join
        tablets = cast(TableBackend, _Tablets())
        reads, writes = ReadCalls(tablets, answer_bytes, pause), WriteCalls(tablets, _no_families, cell_bytes, pause)
        self._calls: dict[str, Callable[..., Any]] = {
            **{name: getattr(reads, name) for name in PASSED_ON_READS},
            **{name: getattr(writes, name) for name in PASSED_ON_WRITES},
        }

    @switches
    def relay_read(self, tablet_id: int, message: bytes) -> bytes:
        return self._answer(PASSED_ON_READS, tablet_id, message)

    @switches
    def relay_write(self, tablet_id: int, message: bytes) -> bytes:
        return self._answer(PASSED_ON_WRITES, tablet_id, message)

    @switches
    def _answer(self, allowed: frozenset[str], tablet_id: int, message: bytes) -> bytes:
        source = MessageReader(message, self._pause)
        try:
            name, kind, sequence = read_strict(source)
            method = self._methods.get(name)
            if method is None or kind != CALL or method.name not in allowed:
                raise InvalidRequest(f"{name[:40]!r} is no call that is passed on as it came")
            values = read_arguments(source, method)
            if method.choose is not None:
                method, values = method.choose(values, None)
        except WireError as error:
            raise InvalidRequest(f"a call that was passed on cannot be decoded: {error}") from error
        values[0] = _Tablet(self._service, tablet_id)
        answer = self._reply(method, sequence, self._calls[method.name](*values))
        return self._join(list(answer.take())) if isinstance(answer, LargeAnswer) else answer


def _no_families(name: bytes) -> list[bytes]:
    raise InvalidRequest(f"whole rows of {name!r} are not deleted by calls that are passed on")
