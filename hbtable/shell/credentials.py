"""The user that the shell is to a server: a secret from a file, the environment or the terminal, sent by SASL PLAIN.

A secret never stands in an address or on a command line, which others can read.
"""

import getpass
import os
import socket
import stat
import struct
import sys
from typing import Final, final

from hbtable.shell.address import ServerAddress
from hbtable.shell.errors import CannotConnect

VARIABLE: Final = "HBTABLE_SECRET"
_MESSAGE: Final = struct.Struct(">BI")
_LENGTH: Final = struct.Struct(">I")
_START, _OK, _COMPLETE = 1, 2, 5
_LONGEST_ANSWER_BYTES: Final = 1 << 16
_typed: Final[dict[str, str]] = {}
"""Secrets by user: who typed one is not asked again by the next connection."""


def authenticated(made: socket.socket, address: ServerAddress) -> "FramedSocket":
    """The inside of the connection after the server has let the user in; `made` is closed when it has not, with
    CannotConnect."""
    try:
        secret = _secret(address)
        response = f"\0{address.user}\0{secret}".encode()
        made.sendall(_MESSAGE.pack(_START, 5) + b"PLAIN" + _MESSAGE.pack(_OK, len(response)) + response)
        status, size = _MESSAGE.unpack(_exactly(made, _MESSAGE.size))
        said = _exactly(made, min(size, _LONGEST_ANSWER_BYTES)).decode("utf-8", "replace")
    except (OSError, EOFError, struct.error) as error:
        made.close()
        reason = str(error) or "it closed the connection"
        raise CannotConnect(f"{address.host}:{address.port} did not answer who {address.user} is: {reason}") from None
    except CannotConnect:
        made.close()
        raise
    if status != _COMPLETE:
        made.close()
        _typed.pop(address.user, None)
        raise CannotConnect(f"{address.host}:{address.port} did not let {address.user} in: {said}")
    return FramedSocket(made)


@final
class FramedSocket:
    """A connection with 4 bytes of length before each piece."""

    def __init__(self, carrier: socket.socket) -> None:
        self._carrier = carrier
        self._left = 0
        self.close = carrier.close
        self.settimeout = carrier.settimeout
        self.shutdown = carrier.shutdown

    def recv(self, most: int) -> bytes:
        while not self._left:
            head = self._carrier.recv(_LENGTH.size)
            if not head:
                return b""
            (self._left,) = _LENGTH.unpack(head + _exactly(self._carrier, _LENGTH.size - len(head)))
        data = self._carrier.recv(min(most, self._left))
        self._left -= len(data)
        return data

    def sendall(self, data: bytes) -> None:
        self._carrier.sendall(_LENGTH.pack(len(data)) + data)


def _secret(address: ServerAddress) -> str:
    if address.secret:
        return _of_file(address.secret)
    given = os.environ.get(VARIABLE)
    if given:
        return given
    if address.user not in _typed:
        if not sys.stdin.isatty():
            raise CannotConnect(
                f"the password or token of {address.user} is missing: give --secret FILE, or set {VARIABLE}"
            )
        _typed[address.user] = getpass.getpass(f"Password or token of {address.user}: ")
    return _typed[address.user]


def _of_file(path: str) -> str:
    """Its first line."""
    try:
        with open(path, encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise CannotConnect(
                    f"--secret {path} holds a secret and others may read or change it (mode {mode:04o}): chmod 600 it"
                )
            return file.readline().rstrip("\n")
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "it is no text"
        raise CannotConnect(f"--secret {path} cannot be used: {said}") from None


def _exactly(carrier: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = carrier.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
