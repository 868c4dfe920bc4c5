"""Connections and numbers that two processes of one machine share. Their descriptors go over a Unix socket.

Numbers are read and written in one step each. Who reads a number sees what its writer did before only when a message
came in between, as from this writer, or from somebody whom it told.
"""

import array
import mmap
import os
import socket as standard_socket
from collections.abc import Sequence
from typing import Final, final

from hbtable.runtime.network.handed_sockets import connected
from hbtable.runtime.network.sockets import ServedSocket, Socket
from hbtable.switches import switches

_PAGE_BYTES: Final = mmap.PAGESIZE
_DESCRIPTOR_BYTES: Final = array.array("i").itemsize
_KEPT: Final = 8
"""Numbers that stay when the page is left."""


def send_shared(socket: Socket, message: bytes, descriptors: Sequence[int]) -> None:
    """Sends copies of these descriptors with a short message, on a Unix socket with nothing under way. OSError. Does
    not switch."""
    with _unwaiting(socket) as sender:
        standard_socket.send_fds(sender, [message], list(descriptors), standard_socket.MSG_DONTWAIT)


@switches
def receive_shared(socket: Socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """(a message of `size` bytes, or b"" when the peer has ended; up to `most` descriptors that came with it and are
    the caller's now). Programs that this process starts do not get them. *Switches.* OSError."""
    socket.recv(1, standard_socket.MSG_PEEK)
    flags = standard_socket.MSG_DONTWAIT | standard_socket.MSG_CMSG_CLOEXEC
    with _unwaiting(socket) as receiver:
        # Python's own recv_fds looks at no flags.
        message, ancillary, _, _ = receiver.recvmsg(size, standard_socket.CMSG_LEN(most * _DESCRIPTOR_BYTES), flags)
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == standard_socket.SOL_SOCKET and kind == standard_socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % _DESCRIPTOR_BYTES])
    return message, list(descriptors)


def shared_connection(descriptor: int) -> Socket:
    """A connection that came with a message. Owns its descriptor."""
    return ServedSocket(connected(descriptor))


@final
class SharedNumbers:
    """Numbers in a page of memory, all 0 at first. `descriptor`: of that page, which stays the caller's. The page takes
    another one until leave(), or until nothing refers to the numbers."""

    __slots__ = ("values",)

    def __init__(self, descriptor: int) -> None:
        self.values = memoryview(mmap.mmap(descriptor, _PAGE_BYTES)).cast("Q")

    def leave(self) -> None:
        """The numbers stay as they are, for this process alone. Idempotent."""
        self.values = memoryview(bytearray(self.values[:_KEPT])).cast("Q")


def shared_page() -> int:
    """The descriptor of a new page for SharedNumbers, which the caller owns. Linux alone has them."""
    descriptor = os.memfd_create("hbtable", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, _PAGE_BYTES)
    return descriptor


def _unwaiting(socket: Socket) -> standard_socket.socket:
    """The same connection, by which nothing waits."""
    return standard_socket.socket(fileno=os.dup(socket.fileno()))
