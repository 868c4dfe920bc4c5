"""The calls of our own admin service that the master or tablet servers carry out: one for each that rpc/services.py
declares with `admin=`.

Nothing of them stands here but what the types of parameters mean to whoever calls from outside. A tablet server's call
has the servers as one parameter more, the last: it is carried out on each, one after the other, or without any on all
that live; the answers are by server. A call whose arguments or answer mean something else than the role's has a method
of its own in the other files of this package.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter
from typing import Any, Final, final

from hbtable.hbase.backend import TableBackend
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.server_names import ServerNames
from hbtable.rpc.declaration import DeclaredCall, calls_of, type_of
from hbtable.rpc.services import MasterService, NamespaceName, ServerName, TableName, TabletAdmin
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches

OFFERED: Final = {one.admin: one for one in calls_of(MasterService).values() if one.admin}
"""The master's, by the name in thrift/admin.thrift."""

OFFERED_BY_SERVERS: Final = {one.admin: one for one in calls_of(TabletAdmin).values() if one.admin}
"""Each tablet server's, by that name."""

DECLARED: Final = {**OFFERED, **OFFERED_BY_SERVERS}


@final
class DeclaredAdminCalls:
    """Has a method of each name in OFFERED and OFFERED_BY_SERVERS."""

    def __init__(
        self, tables: TableBackend, cluster: ClusterBackend, names: ServerNames, pause: Callable[[], object]
    ) -> None:
        """`pause` lets other tasks run between many names."""
        self._cluster = cluster
        self._names = names
        self._meanings: dict[object, Callable[[Any], Any]] = {
            TableName: tables.canonical,
            NamespaceName: _namespace,
            ServerName: lambda given: names.one(given or b""),
            Sequence[ServerName]: self._servers,
            Sequence[TableName]: lambda given: [tables.canonical(name) for name in with_pauses(given or (), pause)],
            Sequence[int]: lambda given: tuple(given or ()),
            Mapping[str, str]: lambda given: given or {},
            bool: bool,  # of a parameter with a default; see _meaning()
            str: lambda given: given or "",
            int: lambda given: given or 0,
        }
        for name, declared in OFFERED.items():
            setattr(self, name, self._asks_master(declared))
        for name, declared in OFFERED_BY_SERVERS.items():
            setattr(self, name, self._asks_servers(declared))

    def _asks_master(self, declared: DeclaredCall) -> Callable[..., Any]:
        """A handler that asks the master. An argument that was not sent is None."""
        arguments = self._arguments(declared)

        def handle(*given: Any) -> Any:
            return declared.on(self._cluster.admin, arguments(given))

        return handle

    def _asks_servers(self, declared: DeclaredCall) -> Callable[..., Any]:
        """A handler that asks the wanted tablet servers. An argument that was not sent is None."""
        arguments = self._arguments(declared)

        def handle(*given: Any) -> Any:
            *values, wanted = given
            found = self._names.those(wanted or ())
            meant = arguments(values)
            answers = {
                self._names.shown(one.name, one.started_millis): declared.on(
                    self._cluster.operations.on_server(one.name), meant
                )
                for one in found
            }
            return None if declared.returns is None else answers

        return handle

    def _arguments(self, declared: DeclaredCall) -> Callable[[Sequence[Any]], list[Any]]:
        meanings = [self._meaning(parameter) for parameter in declared.parameters]
        return lambda given: [meaning(value) for meaning, value in zip(meanings, given, strict=True)]

    def _meaning(self, parameter: Parameter) -> Callable[[Any], Any]:
        """Turns a value of the wire into an argument. For a parameter with a default an empty name or list means the
        default, as no value does; False and 0 are values."""
        kind, default = type_of(parameter), parameter.default
        meaning = self._meanings[kind]
        if default is Parameter.empty:
            return partial(flag, parameter.name) if kind is bool else meaning
        return lambda given: meaning(given) if given or isinstance(given, int) else default

    @switches
    def _servers(self, given: Sequence[bytes] | None) -> list[str]:
        if not given:
            raise BadArgument("the call has no servers")
        return [server.name for server in self._names.those(given)]


def flag(name: str, given: bool | None) -> bool:
    """One that was not sent must not turn off what nobody spoke of."""
    if given is None:
        raise BadArgument(f"the call has no value for {name}: true or false")
    return bool(given)


def _namespace(given: bytes | None) -> bytes:
    if given is None:
        raise BadArgument("the call has no namespace")
    return given
