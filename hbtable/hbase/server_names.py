"""Tablet servers by the names that HBase's people use: host, `host,port` or `host,port,startcode`."""

from collections.abc import Sequence
from typing import final

from hbtable.hbase.backend import Address
from hbtable.hbase.cluster_backend import ClusterBackend, LivingServer
from hbtable.hbase.errors import BadArgument
from hbtable.switches import switches


@final
class ServerNames:
    """Host and port are those of a server's gateway."""

    def __init__(self, cluster: ClusterBackend, address: Address) -> None:
        self._cluster = cluster
        self._address = address

    def place(self, incarnation: str) -> tuple[str, int]:
        """Host and port; of "" those of this gateway."""
        host, port = self._address(incarnation)
        return host.decode(), port

    def shown(self, incarnation: str, started_millis: int) -> str:
        host, port = self.place(incarnation)
        return f"{host},{port},{started_millis}"

    @switches
    def all_shown(self) -> dict[str, str]:
        """The names for people of the living servers, by incarnation."""
        return {server.name: self.shown(server.name, server.started_millis) for server in self._cluster.servers()}

    @switches
    def living(self, name: bytes | None) -> list[LivingServer]:
        """The living servers that `name` means: several when it is a host. BadArgument for none."""
        text = (name or b"").decode("utf-8", "backslashreplace").replace(":", ",")
        found = [server for server in self._cluster.servers() if text in self._names_of(server)]
        if not found:
            raise BadArgument(f"Could not find any server(s) with specified name(s): {text}")
        return found

    @switches
    def those(self, names: Sequence[bytes]) -> list[LivingServer]:
        """The servers of all these names, each once; without names: all that live. BadArgument for a name that none
        has."""
        if not names:
            return self._cluster.servers()
        return list(dict.fromkeys(server for name in names for server in self.living(name)))

    @switches
    def one(self, name: bytes) -> str:
        """The incarnation. BadArgument for none, or several."""
        found = self.living(name)
        if len(found) > 1:
            known = ", ".join(self.shown(server.name, server.started_millis) for server in found)
            raise BadArgument(f"{name.decode(errors='replace')} has several tablet servers: {known}")
        return found[0].name

    def _names_of(self, server: LivingServer) -> tuple[str, ...]:
        host, port = self.place(server.name)
        address = f"{host},{port}"
        return server.name, host, address, f"{address},{server.started_millis}"
