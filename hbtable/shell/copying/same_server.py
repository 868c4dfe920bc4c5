"""A copy of a cluster to itself is refused: it would compare tables with themselves, and say that all is well."""

import socket

from hbtable.shell.address import parse_address
from hbtable.shell.copying.peers import CopyPeer, PeerAddress
from hbtable.shell.errors import ArgumentError


def refuse_itself(source: CopyPeer, target: CopyPeer, addresses: tuple[PeerAddress, PeerAddress]) -> None:
    """ArgumentError when both are the same cluster, by what they tell of themselves, or the same address."""
    if source.identity() & target.identity() or _places(addresses[0]) & _places(addresses[1]):
        raise ArgumentError(
            f"--from {addresses[0].address} and --to {addresses[1].address} are the same cluster: a copy goes from one "
            f"to another"
        )


def _places(peer: PeerAddress) -> set[tuple[str, int]]:
    """Each address of the host with the port; none when the name is not known here."""
    address = parse_address(peer.address)
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {(str(place[0]), address.port) for _, _, _, _, place in found}
