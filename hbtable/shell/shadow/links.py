"""A connection to one of the two servers, which speaks as the client does."""

import select
import socket
from typing import Any

from hbtable.shell.address import ServerAddress
from hbtable.shell.credentials import authenticated
from hbtable.shell.encryption import encrypted
from hbtable.shell.errors import CannotConnect
from hbtable.shell.shadow.wire import Answer, Pair, ThriftWire


class Broken(Exception):
    """The connection broke during the call, which may have been carried out."""


class ServerLink:
    """Opened at the first call. Used by one thread at a time."""

    def __init__(self, address: ServerAddress, pair: Pair, connect_seconds: float, call_seconds: float | None) -> None:
        self._address = address
        self._pair = pair
        self._connect_seconds = connect_seconds
        self._call_seconds = call_seconds
        self._socket: socket.socket | None = None
        self._wire: ThriftWire | None = None

    def call(self, name: str, arguments: Any) -> Answer:
        """CannotConnect: nothing was sent. Broken: it may have been carried out."""
        if self._wire is None or self._is_closed():
            self.close()
            self._open()
        assert self._wire is not None
        try:
            self._wire.write_call(name, arguments)
            return self._wire.read_answer(name)
        except Exception as error:  # noqa: BLE001 - whatever it is, half of an answer may be under way
            self.close()
            raise Broken(f"{self._address.host}:{self._address.port} broke off during {name}: {error}") from None

    def connection(self) -> object:
        """Another object each time that it is opened."""
        return self._socket

    def answer_bytes(self) -> int:
        """About so many were received of the last answer."""
        return self._wire.message_bytes() if self._wire is not None else 0

    def _is_closed(self) -> bool:
        """Between calls nothing is to be read: HBase closes what rests for a minute."""
        assert self._socket is not None
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def _open(self) -> None:
        place = self._address.host, self._address.port
        try:
            made = socket.create_connection(place, self._connect_seconds)
        except OSError as error:
            raise CannotConnect(f"no server answers at {place[0]}:{place[1]}: {error}") from None
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._address.tls:
            made = encrypted(made, self._address)
        inside = authenticated(made, self._address) if self._address.user else made
        made.settimeout(self._call_seconds)
        self._socket, self._wire = made, ThriftWire(inside, self._pair)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = self._wire = None
