"""Connections that processes of one machine hand to each other, over pairs of Unix sockets that a parent makes.

A pair has no name, so nobody but the two processes that were given its ends can speak on it. A Handover is a pair whose
messages may carry a connection: the parent accepts a client, say, and gives the connection to a child. Linux alone
keeps the borders between messages (SOCK_SEQPACKET).
"""

import array
import contextlib
import os
import socket as standard_socket
from collections.abc import Callable
from typing import Final, NamedTuple, final

from gevent import socket as hub_socket

from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.sockets import Address, Connections, Socket, capacity_of, raise_descriptors
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

_MESSAGE_BYTES: Final = 4096
_DESCRIPTOR_BYTES: Final = array.array("i").itemsize


class Handed(NamedTuple):
    """A message of a Handover. `descriptor`: of the connection that came with it, which the receiver owns; -1: none."""

    message: bytes
    descriptor: int


def stream_pair() -> tuple[int, int]:
    """Descriptors of a connection's two ends."""
    ours, theirs = standard_socket.socketpair()
    return ours.detach(), theirs.detach()


def handover_pair() -> tuple[int, int]:
    """Descriptors of the two ends of a Handover."""
    ours, theirs = standard_socket.socketpair(standard_socket.AF_UNIX, standard_socket.SOCK_SEQPACKET)
    return ours.detach(), theirs.detach()


def connected(descriptor: int) -> hub_socket.socket:
    """The connection of this descriptor, which it owns from now on."""
    return hub_socket.socket(fileno=descriptor)


@final
class Handover:
    """One end. Owns its descriptor. Messages have up to 4096 bytes, and arrive whole and in order."""

    def __init__(self, descriptor: int) -> None:
        self._socket = connected(descriptor)
        self._unwaiting = standard_socket.socket(fileno=os.dup(descriptor))
        """The same, by which nothing waits."""

    def give(self, message: bytes, descriptor: int = -1) -> bool:
        """Does not switch. The connection stays the caller's, too. False: the other side has ended, or is so far behind
        that nothing more can be sent to it."""
        rights = array.array("i", [descriptor] if descriptor >= 0 else [])
        ancillary = [(standard_socket.SOL_SOCKET, standard_socket.SCM_RIGHTS, rights)] if rights else []
        try:
            self._unwaiting.sendmsg([message], ancillary, standard_socket.MSG_DONTWAIT)
        except OSError:
            return False
        return True

    @switches
    def take(self) -> Handed | None:
        """*Switches.* None: the other side has ended."""
        try:
            message, ancillary, _, _ = self._socket.recvmsg(
                _MESSAGE_BYTES, standard_socket.CMSG_SPACE(_DESCRIPTOR_BYTES), standard_socket.MSG_CMSG_CLOEXEC
            )
        except OSError:
            return None
        for level, kind, data in ancillary:
            if level == standard_socket.SOL_SOCKET and kind == standard_socket.SCM_RIGHTS:
                descriptor = array.array("i", data[:_DESCRIPTOR_BYTES])[0]
                return Handed(message, descriptor)
        return Handed(message, -1) if message else None

    def close(self) -> None:
        """Idempotent."""
        self._socket.close()
        self._unwaiting.close()


@final
class HandedListener:
    """Takes connections that were accepted elsewhere, as runtime.sockets.Listener takes its own. `port`: the one at
    which clients see it."""

    def __init__(self, runtime: Runtime, port: int, handle: Callable[[Socket, Address], None]) -> None:
        self._runtime = runtime
        self.port = port
        self.capacity = capacity_of(raise_descriptors())
        self._connections = Connections(handle, self.capacity + 16)
        self._accepts = True

    def take(self, descriptor: int, address: Address) -> None:
        """Serves this connection, which it owns from now on, in a task of its own. Does not switch."""
        socket = connected(descriptor)
        if self._accepts:
            spawn_counted(self._runtime, self._serve, socket, address, name="connection")
        else:
            socket.close()

    @switches
    def _serve(self, socket: hub_socket.socket, address: Address) -> None:
        try:
            self._connections.serve(socket, address)
        finally:
            with contextlib.suppress(OSError):
                socket.close()

    def stop_accepting(self) -> None:
        """Connections that are handed over from now on are closed. Idempotent."""
        self._accepts = False

    @switches
    def close(self, grace_seconds: float = 5.0) -> None:
        """As Listener.close."""
        self.stop_accepting()
        self._connections.close(grace_seconds)
