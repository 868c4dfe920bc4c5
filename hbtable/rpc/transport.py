"""The way to a role: the embedded cluster hands out the objects themselves, a real cluster proxies."""

from typing import Protocol

from hbtable.rpc.services import MasterService, TabletAdmin, TabletService
from hbtable.switches import switches


class Transport(Protocol):
    """Hands out what can be called; never keeps a tablet's state."""

    @switches
    def tablet_service(self, incarnation: str) -> TabletService:
        """StaleLocation when no such server is alive."""

    @switches
    def tablet_admin(self, incarnation: str) -> TabletAdmin:
        """StaleLocation when no such server is alive."""

    @switches
    def master(self) -> MasterService:
        """Unavailable when there is no master now."""
