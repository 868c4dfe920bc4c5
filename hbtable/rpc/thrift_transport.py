"""The transport of a cluster of processes: calls as Thrift messages over TCP; in this process, straight to the object.

A tablet server's address never changes, so it is asked for once per incarnation; a failure makes it be asked again.
"""

from collections.abc import Callable, Sequence
from typing import Final, final

from hbtable.errors import StaleLocation, Unavailable
from hbtable.model.cell import Cell
from hbtable.model.mutation import RowMutation, keep_checksums
from hbtable.model.read import ReadSpec
from hbtable.rpc.codec.calls import METHODS
from hbtable.rpc.connections import Connect, RpcConnectionPool, RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.peer import Peer
from hbtable.rpc.proof import ClusterKey
from hbtable.rpc.services import MasterService, RelayService, TabletAdmin, TabletService
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network import sockets
from hbtable.switches import switches

_NO_MASTER: Final = "there is no master at the moment; it is starting or was lost. Try again"


@final
class CheckedTabletService(TabletService):
    """Calls a tablet server in another process. Mutations get their checksums before they wait for a connection."""

    @switches
    def mutate(self, tablet_id: int, mutations: Sequence[RowMutation]) -> None:
        keep_checksums(mutations)
        super().mutate(tablet_id, mutations)

    @switches
    def check_and_mutate(
        self,
        tablet_id: int,
        row: bytes,
        family: bytes,
        qualifier: bytes,
        expected: bytes | None,
        mutation: RowMutation,
        checksum: int = 0,
    ) -> bool:
        keep_checksums((mutation,))
        return super().check_and_mutate(tablet_id, row, family, qualifier, expected, mutation, checksum)

    @switches
    def mutate_if(
        self,
        tablet_id: int,
        row: bytes,
        spec: ReadSpec,
        operator: str,
        value: bytes | None,
        mutation: RowMutation,
        checksum: int = 0,
    ) -> bool:
        keep_checksums((mutation,))
        return super().mutate_if(tablet_id, row, spec, operator, value, mutation, checksum)

    @switches
    def add_to_columns(self, tablet_id: int, mutation: RowMutation) -> list[Cell]:
        keep_checksums((mutation,))
        return super().add_to_columns(tablet_id, mutation)


_RELAY_READ: Final = METHODS["relay_read"]
_RELAY_WRITE: Final = METHODS["relay_write"]


@final
class RelaysOfPeer(RelayService):
    """Calls the gateway beside a tablet server in another process. Each call of a client is one of these, so they go
    the short way, without a look at their declaration."""

    __slots__ = ("_peer",)

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer.carry)
        self._peer = peer

    @switches
    def relay_read(self, tablet_id: int, message: bytes) -> bytes:
        answer: bytes = self._peer.call(_RELAY_READ, (self._peer.name, tablet_id, message))
        return answer

    @switches
    def relay_write(self, tablet_id: int, message: bytes) -> bytes:
        answer: bytes = self._peer.call(_RELAY_WRITE, (self._peer.name, tablet_id, message))
        return answer


@final
class _Server:
    """The connections to one tablet server."""

    __slots__ = ("admin", "peer", "relays", "tablets")

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.tablets = CheckedTabletService(peer.carry)
        self.relays = RelaysOfPeer(peer)
        self.admin = TabletAdmin(peer.carry)


@final
class RpcTransport:
    """Implements rpc.transport.Transport. `address_of`: host:port of a tablet server that lives, None of one that does
    not; `master_address` likewise. Both may switch and raise; `address_of` is asked once per incarnation, after
    failures, and every `watch_seconds` of a call that takes longer, `master_address` at every master(). `key`: by which
    they prove that they are of the cluster."""

    def __init__(
        self,
        runtime: Runtime,
        address_of: Callable[[str], str | None],
        master_address: Callable[[], str | None],
        options: RpcOptions | None = None,
        local: LocalTransport | None = None,
        connect: Connect = sockets.connect,
        key: ClusterKey | None = None,
    ) -> None:
        self._runtime = runtime
        self._address_of = address_of
        self._master_address = master_address
        self._options = options or RpcOptions()
        self._local = local or LocalTransport()
        self._connect = connect
        self._key = key
        self._servers: dict[str, _Server] = {}
        self._master: tuple[Peer, MasterService] | None = None

    @switches
    def tablet_service(self, incarnation: str) -> TabletService:
        """*Switches* the first time."""
        if self._local.serves(incarnation):
            return self._local.tablet_service(incarnation)
        return (self._servers.get(incarnation) or self._find(incarnation)).tablets

    @switches
    def relays(self, incarnation: str) -> RelayService:
        """*Switches* the first time. StaleLocation when no such server is alive."""
        if self._local.serves(incarnation):
            return self._local.relays(incarnation)
        return (self._servers.get(incarnation) or self._find(incarnation)).relays

    @switches
    def tablet_admin(self, incarnation: str) -> TabletAdmin:
        """*Switches* the first time."""
        if self._local.serves(incarnation):
            return self._local.tablet_admin(incarnation)
        return (self._servers.get(incarnation) or self._find(incarnation)).admin

    @switches
    def master(self) -> MasterService:
        """*Switches.*"""
        if self._local.has_master():
            return self._local.master()
        address = self._master_address()
        if not address:
            raise Unavailable(_NO_MASTER)
        if self._master is None or self._master[0].pool.address != address:
            self._forget_master()
            peer = Peer(
                self._runtime,
                "the master",
                RpcConnectionPool(self._runtime, address, self._options, self._connect, self._key),
                self._options,
                lambda: self._master_address() == address,
                Unavailable,
                self._forget_master,
            )
            self._master = (peer, MasterService(peer.carry))
        return self._master[1]

    def close(self) -> None:
        """Closes what is idle; calls under way end by themselves."""
        for incarnation in list(self._servers):
            self._forget(incarnation)
        self._forget_master()

    @switches
    def _find(self, incarnation: str) -> _Server:
        address = self._address_of(incarnation)
        if not address:
            raise StaleLocation(f"tablet server {incarnation} is gone")
        found = self._servers.get(incarnation)  # another task may have asked meanwhile
        if found is not None and found.peer.pool.address == address:
            return found
        peer = Peer(
            self._runtime,
            incarnation,
            RpcConnectionPool(self._runtime, address, self._options, self._connect, self._key),
            self._options,
            lambda: self._address_of(incarnation) == address,
            StaleLocation,
            lambda: self._forget(incarnation),
        )
        self._forget_ended()
        server = self._servers[incarnation] = _Server(peer)
        return server

    def _forget_ended(self) -> None:
        """Peers that stopped are not called again, and nobody would look at what they left: a half-closed connection
        for each that was idle. A peer that comes back does so under another name, and so this is looked at whenever one
        is called for the first time."""
        for incarnation, server in list(self._servers.items()):
            if server.peer.pool.close_ended():
                self._forget(incarnation)

    def _forget(self, incarnation: str) -> None:
        """Closes the idle connections of a server, whose address is asked for again."""
        server = self._servers.pop(incarnation, None)
        if server is not None:
            server.peer.pool.close()

    def _forget_master(self) -> None:
        master, self._master = self._master, None
        if master is not None:
            master[0].pool.close()
