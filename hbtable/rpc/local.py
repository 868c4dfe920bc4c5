"""The roles of one process: they register themselves here and are called directly, by their own process (all there is
of a transport in the embedded cluster) and by the server that answers other processes' calls (thrift_server.py)."""

from hbtable.errors import StaleLocation, Unavailable
from hbtable.rpc.services import MasterService, RelayService, TabletAdmin, TabletService


class LocalTransport:
    """Implements rpc.transport.Transport for roles in this process."""

    def __init__(self) -> None:
        self._services: dict[str, TabletService] = {}
        self._admins: dict[str, TabletAdmin] = {}
        self._relays: dict[str, RelayService] = {}
        self._master: MasterService | None = None

    def register_server(self, incarnation: str, service: TabletService, admin: TabletAdmin) -> None:
        self._services[incarnation] = service
        self._admins[incarnation] = admin

    def register_relays(self, incarnation: str, relays: RelayService) -> None:
        """Adds what a registered server does for gateways of others."""
        self._relays[incarnation] = relays

    def remove_server(self, incarnation: str) -> None:
        self._services.pop(incarnation, None)
        self._admins.pop(incarnation, None)
        self._relays.pop(incarnation, None)

    def register_master(self, master: MasterService | None) -> None:
        self._master = master

    def serves(self, incarnation: str) -> bool:
        """Whether that server is in this process."""
        return incarnation in self._services

    def has_master(self) -> bool:
        return self._master is not None

    def tablet_service(self, incarnation: str) -> TabletService:
        service = self._services.get(incarnation)
        if service is None:
            raise StaleLocation(f"tablet server {incarnation} is gone")
        return service

    def relays(self, incarnation: str) -> RelayService:
        relays = self._relays.get(incarnation)
        if relays is None:
            raise StaleLocation(f"tablet server {incarnation} is gone")
        return relays

    def tablet_admin(self, incarnation: str) -> TabletAdmin:
        admin = self._admins.get(incarnation)
        if admin is None:
            raise StaleLocation(f"tablet server {incarnation} is gone")
        return admin

    def master(self) -> MasterService:
        if self._master is None:
            raise Unavailable("there is no master at the moment; it is starting or was lost. Try again")
        return self._master
