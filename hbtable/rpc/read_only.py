"""Calls between roles for who may only read: a call that changes anything is refused before it is made.

A call that is not declared as one that changes nothing is refused, so one that is added later cannot be forgotten.
"""

from collections.abc import Callable
from typing import Any, final

from hbtable.errors import InvalidRequest
from hbtable.rpc.declaration import DeclaredCall
from hbtable.rpc.services import MasterService, TabletAdmin, TabletService
from hbtable.rpc.transport import Transport
from hbtable.switches import switches


@final
class ReadOnlyTransport:
    """Implements transport.Transport over another one. `why`: what InvalidRequest says of a call that is refused."""

    def __init__(self, inner: Transport, why: str) -> None:
        self._inner = inner
        self._why = why

    def tablet_service(self, incarnation: str) -> TabletService:
        return TabletService(self._carry(lambda: self._inner.tablet_service(incarnation)))

    def tablet_admin(self, incarnation: str) -> TabletAdmin:
        return TabletAdmin(self._carry(lambda: self._inner.tablet_admin(incarnation)))

    def master(self) -> MasterService:
        return MasterService(self._carry(self._inner.master))

    def _carry(self, find: Callable[[], object]) -> Callable[[DeclaredCall, tuple[Any, ...]], Any]:
        @switches
        def carry(declared: DeclaredCall, arguments: tuple[Any, ...]) -> Any:
            if not declared.changes_nothing:
                raise InvalidRequest(self._why)
            return declared.on(find(), arguments)

        return carry
