"""The user that the shell is to a server: a secret from a file, the environment or the terminal, sent by SASL PLAIN.

A secret never stands in an address or on a command line, which others can read. Without TLS it is sent to this machine
alone, unless `plain_text` says that it may be read on the way, and only when the server has said that it takes it.
"""

import getpass
import ipaddress
import os
import socket
import stat
import struct
import sys
import threading
from typing import Final, final

from hbtable.shell.address import ServerAddress
from hbtable.shell.encryption import refused
from hbtable.shell.errors import CannotConnect, NotLetIn, WrongOption

VARIABLE: Final = "HBTABLE_SECRET"
_MESSAGE: Final = struct.Struct(">BI")
_LENGTH: Final = struct.Struct(">I")
_START, _OK, _ERROR, _COMPLETE = 1, 2, 4, 5
_FAULT_OF_THE_SERVER: Final = "the list of users cannot be read now"
"""Servers of earlier versions say it with the status of a wrong password."""

_PLAIN: Final = _MESSAGE.pack(_START, 5) + b"PLAIN"
_LONGEST_ANSWER_BYTES: Final = 1 << 16
_typed: Final[dict[tuple[str, int, str], str]] = {}
"""Secrets by server and user: who typed one is not asked again by the next connection to the same server. Another one
has users of its own, who may have the same names."""
_asking: Final = threading.Lock()
"""Held by the connection that asks; others to the same server wait for what is typed."""


def authenticated(made: socket.socket, address: ServerAddress) -> "FramedSocket":
    """The inside of the connection after the server has let the user in; `made` is closed when it has not, with
    NotLetIn, or CannotConnect when it could not tell."""
    try:
        _refuse_readable(made, address)
        secret = _secret(address)
        status, said = _negotiated(made, f"\0{address.user}\0{secret}".encode(), address.tls)
    except (OSError, EOFError, struct.error) as error:
        made.close()
        if denied := refused(error, address):
            raise denied from None
        reason = str(error) or "it closed the connection"
        raise CannotConnect(f"{address.host}:{address.port} did not answer who {address.user} is: {reason}") from None
    except (CannotConnect, WrongOption):
        made.close()
        raise
    if status != _COMPLETE:
        made.close()
        _typed.pop(_key(address), None)
        at_fault = status == _ERROR or said.startswith(_FAULT_OF_THE_SERVER)
        kind = CannotConnect if at_fault else NotLetIn
        raise kind(f"{address.host}:{address.port} did not let {address.user} in: {said}")
    return FramedSocket(made)


def _negotiated(made: socket.socket, response: bytes, encrypted: bool) -> tuple[int, str]:
    """The status and the message that the server ends with. Without TLS it is asked first whether it takes a secret so,
    and one that refuses never gets it."""
    secret = _MESSAGE.pack(_OK, len(response)) + response
    if encrypted:
        made.sendall(_PLAIN + secret)
        return _answer(made)
    made.sendall(_PLAIN + _MESSAGE.pack(_OK, 0))
    status, said = _answer(made)
    if status != _OK:
        return status, said or "it knows no password"
    made.sendall(secret)
    return _answer(made)


def _answer(made: socket.socket) -> tuple[int, str]:
    status, size = _MESSAGE.unpack(_exactly(made, _MESSAGE.size))
    return status, _exactly(made, min(size, _LONGEST_ANSWER_BYTES)).decode("utf-8", "replace")


def _refuse_readable(made: socket.socket, address: ServerAddress) -> None:
    """CannotConnect where others could read what is sent. Who is connected to is asked of the socket, as a name may
    have several addresses. OSError."""
    if address.tls or address.plain_text or _is_this_machine(str(made.getpeername()[0])):
        return
    raise CannotConnect(
        f"{address.host}:{address.port} is another machine, and without TLS others could read the password or token of "
        f"{address.user} on the way: it was not sent; connect with TLS (--tls or --ca FILE, tls=True or ca=), or say "
        "that it may be read (--plain-text, plain_text=True)"
    )


def _is_this_machine(ip: str) -> bool:
    return ipaddress.ip_address(ip.partition("%")[0]).is_loopback


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
    key = _key(address)
    with _asking:
        if key not in _typed:
            if not sys.stdin.isatty():
                raise CannotConnect(
                    f"the password or token of {address.user} is missing: give --secret FILE, or set {VARIABLE}"
                )
            server = f"{address.host}:{address.port}"
            _typed[key] = getpass.getpass(f"Password or token of {address.user} for {server}: ")
        return _typed[key]


def _key(address: ServerAddress) -> tuple[str, int, str]:
    return address.host, address.port, address.user


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
        # Without what was given: some type the secret itself there.
        raise WrongOption(
            f"the file that --secret (or secret=) names cannot be used: {said}; give the name of a file, whose first "
            "line is the secret, and not the secret"
        ) from None


def _exactly(carrier: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = carrier.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
