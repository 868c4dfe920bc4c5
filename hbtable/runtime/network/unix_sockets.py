"""Unix sockets over gevent, for clients of this machine: served as TCP is (runtime.network.sockets)."""

import itertools
import os
import socket as standard_socket
from collections.abc import Callable
from typing import Final

from gevent import socket as hub_socket

from hbtable.runtime.network.sockets import (
    AcceptRetryingServer,
    Address,
    Connections,
    Listener,
    Socket,
    capacity_of,
    raise_descriptors,
)
from hbtable.switches import switches

_HOST: Final = "unix"
"""Stands in the address of each client, with a number in place of a port."""


@switches
def serve_unix(
    bound: standard_socket.socket, handle: Callable[[Socket, Address], None], backlog: int = 1024
) -> Listener:
    """As runtime.network.sockets.serve, at a socket that is bound already, and is the listener's from now on."""
    numbers = itertools.count(1)
    capacity = capacity_of(raise_descriptors())
    connections = Connections(lambda socket, _: handle(socket, (_HOST, next(numbers))), capacity + 16)
    bound.setblocking(False)
    bound.listen(backlog)
    server = AcceptRetryingServer(hub_socket.socket(fileno=bound.detach()), connections)
    server.start()
    return Listener(_HOST, 0, server, connections, capacity)


def let_go(descriptors: list[int]) -> None:
    """In a forked child: connections, ports and locks of the parent end with it, and not with its last child. Each
    number stays taken, by nothing: objects that the child inherited refer to it."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in descriptors:
        os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)
