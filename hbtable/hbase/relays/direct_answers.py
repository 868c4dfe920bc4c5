"""The answering side of links (relays.links): to the gateway each is a connection like a client's own."""

import os
from collections.abc import Sequence
from typing import Final, final

from hbtable.hbase.codec.interface import ThriftMethod
from hbtable.hbase.relays.links import DIRECT, DONE, GREETING_BYTES, SENDING, STRAY, TAKEN, Greeting
from hbtable.hbase.relays.relay import RELAYED, Message, Relay
from hbtable.runtime.network.shared_descriptors import SharedNumbers, receive_shared, shared_connection
from hbtable.runtime.network.sockets import ServedSocket, Socket
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_DESCRIPTORS: Final = 2


@final
class DirectStream:
    """Calls from a link, answers to the client. Closes both."""

    __slots__ = ("_answered", "_client", "_link", "_numbers")

    def __init__(self, link: Socket, client: Socket, numbers: SharedNumbers) -> None:
        self._link = link
        self._client = client
        self._numbers = numbers
        self._answered = False

    @switches
    def recv(self, most: int, /) -> bytes:
        if self._answered:
            # Whoever asks for more has sent all of the answer before.
            values = self._numbers.values
            values[DONE] = values[SENDING]
            self._answered = False
        return self._link.recv(most)

    @switches
    def sendall(self, data: bytes, /) -> None:
        if not self._answered:
            values = self._numbers.values
            values[SENDING] = values[DONE] + 1
            self._answered = True
        self._client.sendall(data)

    def settimeout(self, seconds: float | None, /) -> None:
        self._link.settimeout(seconds)

    def close(self) -> None:
        self._client.close()
        self._numbers.leave()
        self._link.close()  # last: it tells the other side that this one has not got the client's connection any more

    def take(self, relay: Relay, method: ThriftMethod, values: Sequence[object], source: Message) -> None:
        """A call is about to be carried out. Does not switch."""
        numbers = self._numbers.values
        numbers[TAKEN] = number = numbers[DONE] + 1
        if relay.refuse(method, values, source) is not None:
            numbers[STRAY] = number


@switches
def accept_link(link: Stream, address: tuple[str, int]) -> tuple[Stream, str] | None:
    """(what carries the link's calls and answers; the address of its client, or RELAYED and the process where it is of
    several). None: it ended. *Switches.* OSError."""
    if not isinstance(link, ServedSocket):
        return None  # nothing but a socket brings what a greeting comes with
    message, descriptors = receive_shared(link, GREETING_BYTES, _DESCRIPTORS)
    if len(message) < GREETING_BYTES:
        return None
    greeting = Greeting.unpacked(message)
    if greeting.kind != DIRECT:
        return link, f"{RELAYED}:{address[1]}"
    if len(descriptors) < _DESCRIPTORS:  # this process had none left for it
        for descriptor in descriptors:
            os.close(descriptor)
        return None
    connection, page = descriptors
    try:
        numbers = SharedNumbers(page)
    except OSError:
        os.close(connection)
        raise
    finally:
        os.close(page)
    return DirectStream(link, shared_connection(connection), numbers), greeting.client
