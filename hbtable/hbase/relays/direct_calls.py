"""The asking side of direct links (relays.links): calls of one client for rows of other processes.

This gateway has the client's connection and reads each call. One for another process's row it sends on as it came, and
goes on with the next call: the gateway beside the row's owner sends the answer to the client itself. Before the next
call is looked at, the page of the link tells whether the last one was answered; clients that wait for their answers
never make this side wait.

The other process may end meanwhile. Then the page says how far it came:

    the call was not begun                  it is carried out here
    it was begun, nothing was sent          a read is done again here; a write may have been carried out, which its
                                            client is told, as of any server that dies
    something of the answer was sent        the connection is closed, since nobody knows how much
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import SHUT_WR
from typing import Final, NamedTuple, Protocol, final

from hbtable.errors import HbtableError, Overloaded
from hbtable.hbase.cell_methods import READS_OF_A_ROW
from hbtable.hbase.codec.interface import ThriftMethod
from hbtable.hbase.relays.links import DIRECT, DONE, SENDING, STRAY, TAKEN, Greeting
from hbtable.hbase.relays.relay import U32, Elsewhere, Relay, outcome_unknown
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.shared_descriptors import SharedNumbers, send_shared, shared_page
from hbtable.runtime.network.sockets import ServedSocket, Socket
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches
from hbtable.thrift.message_input import MessageInput
from hbtable.thrift.wire import WireError

_EXCHANGED: Final = 8
"""Calls of a client to a process before a link is made for it, which costs as much as some exchanged calls."""
_LOOKS: Final = 20
"""At once, for an answer that a client did not wait for."""
_LOOK_SECONDS: Final = 0.002
_CLOSE_SECONDS: Final = 1.0

PassOn = Callable[[ThriftMethod, int, list[object]], bool]
"""DirectCalls.pass_on."""


class RelayedClient(Protocol):
    """The connection whose calls these are."""

    client: str

    @switches
    def answer_here(
        self, method: ThriftMethod, sequence: int, values: list[object], error: HbtableError | None
    ) -> None:
        """Carries a call out and answers it, or answers it with the error."""

    def close(self) -> None: ...


@final
class Link:
    """A link to the gateway beside one tablet server. `calls`: how many went over it."""

    __slots__ = ("calls", "numbers", "owner", "socket")

    def __init__(self, owner: str, socket: Socket, numbers: SharedNumbers) -> None:
        self.owner = owner
        self.socket = socket
        self.numbers = numbers
        self.calls = 0


class _Passed(NamedTuple):
    """A call that the other side is to answer."""

    link: Link
    number: int
    found: Elsewhere
    method: ThriftMethod
    sequence: int
    values: list[object]

    @property
    def is_answered(self) -> bool:
        return bool(self.link.numbers.values[DONE] >= self.number)


@final
class DirectCalls:
    """The calls of the client of `stream`, whose messages come from `source`. close() at its end."""

    def __init__(
        self, runtime: Runtime, relay: Relay, connection: RelayedClient, stream: ServedSocket, source: MessageInput
    ) -> None:
        self._runtime = runtime
        self._relay = relay
        self._connection = connection
        self._stream = stream
        self._source = source
        self._begin: Callable[[], bool] = source.begin
        self._found: Elsewhere | None = None
        self._passed: _Passed | None = None
        self._links: dict[str, Link] = {}
        self._asked: dict[str, int] = {}
        self._closed = False
        self._unlinked = runtime.event()

    @property
    def awaits(self) -> bool:
        """Whether a call has not been answered yet."""
        return self._passed is not None and not self._passed.is_answered

    def forget_answered(self) -> None:
        """An idle client must not cost what its last request did. Does not switch."""
        if not self.awaits:
            self._passed = None

    @switches
    def begin(self) -> bool:
        """As MessageInput.begin. The last call has been answered on return."""
        try:
            more = self._begin()
        except (WireError, Overloaded, TimeoutError):
            self._settle()  # its answer comes before the refusal
            raise
        if more and self._passed is not None:
            self._settle()
        return more

    @switches
    def pass_on(self, method: ThriftMethod, sequence: int, values: list[object]) -> bool:
        """Whether another process has the call now, and answers it. *Switches* to make a link, only."""
        self._found = found = self._relay.elsewhere(method.name, values)
        if found is None:
            return False
        link = self._links.get(found.owner) or self._linked(found.owner)
        message = None if link is None else self._source.whole()
        if link is None or message is None:
            return False
        try:
            link.socket.sendall(U32.pack(len(message)) + message if self._source.framed else message)
        except OSError:  # it never got all of it, and so does none of it
            self._drop(link)
            return False
        link.calls += 1
        self._passed = _Passed(link, link.calls, found, method, sequence, values)
        self._relay.count.value += 1
        return True

    @switches
    def exchange(self, method: ThriftMethod, values: Sequence[object], source: MessageInput) -> bytes | None:
        """As Relay.ask, for a call that pass_on() has just left here."""
        return None if self._found is None else self._relay.exchange(self._found, method, values, source)

    @switches
    def close(self) -> None:
        """Calls that were passed on are answered all the same. Idempotent. On return the other processes have closed
        the client's connection, unless they take long: closed here before, it makes this process's epoll begin anew
        with all connections."""
        self._closed = True
        if self._links:
            for link in self._links.values():
                with suppress(OSError):
                    link.socket.shutdown(SHUT_WR)
            self._unlinked.wait(_CLOSE_SECONDS)
        for link in list(self._links.values()):
            self._drop(link)
        self._passed = None  # its link's page costs a descriptor, and a connection refers to itself

    @switches
    def _settle(self) -> None:
        looks = 0
        while (passed := self._passed) is not None and not passed.is_answered:
            looks += 1
            self._runtime.sleep(0 if looks < _LOOKS else _LOOK_SECONDS)
        if passed is not None and passed.link.numbers.values[STRAY] == passed.number:
            passed.found.table.forget_tablet(passed.found.row)
        self._passed = None

    @switches
    def _linked(self, owner: str) -> Link | None:
        """A new link, where it is worth one."""
        self._asked[owner] = asked = self._asked.get(owner, 0) + 1
        if asked <= _EXCHANGED or self._relay.direct_links >= self._relay.most_links:
            return None
        self._asked[owner] = 0
        self._relay.direct_links += 1
        try:
            socket = self._relay.connect(owner)
        except HbtableError:
            self._relay.direct_links -= 1
            return None
        page = -1
        try:
            page = shared_page()
            link = Link(owner, socket, SharedNumbers(page))
            greeting = Greeting(DIRECT, self._connection.client)
            send_shared(socket, greeting.packed(), [self._stream.fileno(), page])
        except OSError:
            socket.close()
            self._relay.direct_links -= 1
            return None
        finally:
            if page >= 0:
                os.close(page)
        self._links[owner] = link
        spawn_counted(self._runtime, self._watch, link, name="direct link")
        return link

    def _drop(self, link: Link) -> None:
        if self._links.get(link.owner) is link:
            del self._links[link.owner]
            self._relay.direct_links -= 1
            link.socket.close()
            if self._closed and not self._links:
                self._unlinked.set()

    @switches
    def _watch(self, link: Link) -> None:
        """Nothing comes over a link but its end."""
        with suppress(OSError):
            link.socket.recv(1)
        self._drop(link)
        passed = self._passed
        if self._closed or passed is None or passed.link is not link or passed.is_answered:
            return
        try:
            self._recover(passed)
        finally:
            self._passed = None

    @switches
    def _recover(self, passed: _Passed) -> None:
        numbers = passed.link.numbers.values
        passed.found.table.forget_tablet(passed.found.row)
        if numbers[SENDING] >= passed.number:
            self._connection.close()
        elif numbers[TAKEN] >= passed.number and passed.method.name not in READS_OF_A_ROW:
            error = outcome_unknown(passed.link.owner, passed.method, passed.values, "its process has ended")
            self._connection.answer_here(passed.method, passed.sequence, passed.values, error)
        else:
            self._relay.await_end(passed.link.owner)
            self._connection.answer_here(passed.method, passed.sequence, passed.values, None)
