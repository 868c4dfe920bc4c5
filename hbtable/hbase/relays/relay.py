"""Gateways of one machine pass each other the calls for rows that the other one's tablet server has, as they came.

A call's bytes go on whole to the gateway beside the row's owner, and its answer comes back whole (relays.links:
EXCHANGE). A call between roles would be made of the decoded call, and the answer of the decoded answer. For clients
that stay, the answer does not even come back (relays.direct_calls).

A gateway that closes an idle connection of another one says NOT_MINE before. A call that was sent at that moment finds
it as its answer, and was not begun.

Which calls: those of Thrift1's strict binary protocol that name one table and, but for batches, one row. All others,
those of batches over several tablets, large ones, and all while users are asked who they are, go by the client library
as on any cluster. So they do where this way fails before the call went out. After that a read is done again; a write
may have been carried out, which its client is told, as of any server that dies.
"""

import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol, TypeVar, final

from hbtable.errors import HbtableError, OutcomeUnknown
from hbtable.hbase.cell_methods import BATCHES, PASSED_ON_WRITES, READS_OF_A_ROW, WRITES_OF_A_ROW
from hbtable.hbase.codec.interface import ThriftMethod
from hbtable.hbase.codec.thrift_structs import Mutation
from hbtable.hbase.relays.links import EXCHANGE, Greeting
from hbtable.hbase.unknown_puts import of_puts
from hbtable.metrics.registry import Registry
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.network.sockets import Socket, capacity_of, raise_descriptors
from hbtable.switches import switches
from hbtable.thrift.frames import chunk_bytes
from hbtable.thrift.gathered import Gathered, Join
from hbtable.thrift.message_input import Stream

RELAYED: Final = "relayed"
"""The host, as far as a gateway knows it, of calls that another one passed on: these go no further."""
NOT_MINE: Final = b"not mine"

U32: Final = struct.Struct(">I")
_PIECES_AT_ONCE: Final = 8
_KEPT: Final = 64
"""Connections to each gateway, between calls."""
_MOST_LINKS: Final = 500
_DESCRIPTORS_PER_LINK: Final = 32
"""A link takes two descriptors here and three in the process that answers, whom several others may ask. More links
would take those that clients and files need."""
_MOST_ROWS: Final = 200
"""A longer batch lies in several tablets mostly."""

Connect = Callable[[str], Socket]
"""A new connection to the gateway beside this tablet server. *Switches.* HbtableError when there is none."""

Ask = Callable[..., bytes | None]
"""Relay.ask, or what stands in its place. *Switches.*"""


class Located(Protocol):
    """A table as a relay asks it (client.table.Table)."""

    def cached_tablet(self, row: bytes) -> TabletRecord | None: ...
    def forget_tablet(self, row: bytes) -> None: ...


T = TypeVar("T", bound=Located)


class Message(Protocol):
    """The call's bytes (thrift.message_input.MessageInput)."""

    def whole(self) -> bytes | None: ...


class Elsewhere(NamedTuple):
    """A row that another process serves, as far as is known."""

    table: Located
    row: bytes
    owner: str


class _Lost(Exception):
    """The call went out and no answer came."""


@final
class Relay:
    """`mine`: the tablet server beside this gateway. `table`: by its name in any spelling; HbtableError for one that no
    table can have. `ping`: asks a tablet server whether it is there; HbtableError when it gives no answer, and then
    none of the connections that the roles had to it is used again."""

    def __init__(
        self,
        mine: str,
        table: Callable[[bytes], Located],
        connect: Connect,
        ping: Callable[[str], None],
        registry: Registry,
        pause: Callable[[], None],
        join: Join,
    ) -> None:
        """`pause` gives other tasks a turn, `join` puts the pieces of a large answer together."""
        self._mine = mine
        self._ping = ping
        self._table = table
        self.connect = connect
        self._pause = pause
        self._join = join
        self.direct_links = 0
        """Those of this process's clients (relays.direct_calls)."""
        self.most_links = min(_MOST_LINKS, capacity_of(raise_descriptors()) // _DESCRIPTORS_PER_LINK)
        self._idle: dict[str, list[Socket]] = {}
        self._used: set[str] = set()
        """Owners that were asked since the last drop_unused()."""
        self.count = registry.counter("hbtable_relayed_calls_total", "Calls that the gateway of another process did.")

    @switches
    def ask(self, method: ThriftMethod, values: Sequence[object], source: Message) -> bytes | None:
        """The answer of the gateway beside the row's owner; None: it is to be done here, and nothing was done yet.
        *Switches.* OutcomeUnknown."""
        found = self.elsewhere(method.name, values)
        return None if found is None else self.exchange(found, method, values, source)

    def elsewhere(self, method: str, values: Sequence[object]) -> Elsewhere | None:
        """The place of a call that may be passed on. Does not switch."""
        found = self._located(method, values)
        if found is None or found[2].owner in ("", self._mine):
            return None
        return Elsewhere(found[0], found[1], found[2].owner)

    @switches
    def exchange(self, found: Elsewhere, method: ThriftMethod, values: Sequence[Any], source: Message) -> bytes | None:
        """As ask(), of a call whose place is known."""
        message = source.whole()
        if message is None:
            return None
        try:
            answer = self._exchange(found.owner, message)
        except _Lost as error:
            found.table.forget_tablet(found.row)
            if method.name in READS_OF_A_ROW:
                return None
            raise outcome_unknown(found.owner, method, values, str(error)) from error
        if answer is None or answer == NOT_MINE:
            found.table.forget_tablet(found.row)
            return None
        self.count.value += 1
        return answer

    @switches
    def await_end(self, owner: str) -> None:
        """*Switches.* To be called once a link to `owner` has ended, before a call is carried out again. A process that
        dies closes its connections one after the other: a write that is sent over one which is still open would be
        answered by nobody, and its outcome unknown."""
        with suppress(HbtableError):
            self._ping(owner)

    def drop_unused(self) -> None:
        """Closes the idle links to owners that nobody asked since the last call of this. A process that died is asked
        for nothing any more, once its tablets are found elsewhere. Does not switch."""
        for owner in self._idle.keys() - self._used:
            self._close(owner)
        self._used.clear()

    def refuse(self, method: ThriftMethod, values: Sequence[object], source: Message) -> bytes | None:
        """The answer to a call that was passed on: NOT_MINE when it is known that another server has the row, else
        None. Does not switch."""
        found = self._located(method.name, values)
        return None if found is None or found[2].owner == self._mine else NOT_MINE

    def _located(self, name: str, values: Sequence[object]) -> tuple[Located, bytes, TabletRecord] | None:
        """Table, row and the tablet of all of it; None: not of one tablet, or not known."""
        name_of_table, row, rows = None, None, None
        if name in READS_OF_A_ROW or name in WRITES_OF_A_ROW:
            name_of_table, row = values[:2]
        elif name in BATCHES and isinstance(values[1], list) and 0 < len(values[1]) <= _MOST_ROWS:
            name_of_table, rows = values[:2]
            row = values[1][0][0]
        found = located(self._table, name_of_table, row)
        if found is None or (isinstance(rows, list) and not _within(rows, found[2])):
            return None
        return found

    @switches
    def _exchange(self, owner: str, message: bytes) -> bytes | None:
        """None: not begun. _Lost."""
        idle = self._idle.get(owner)
        frame = U32.pack(len(message)) + message
        socket = _sent(idle.pop(), frame) if idle else None
        if socket is None:
            # None of the idle ones is better than the one used last.
            self._close(owner)
            try:
                socket = _sent(self.connect(owner), Greeting(EXCHANGE).packed() + frame)
            except HbtableError:
                return None
        if socket is None:
            return None
        try:
            answer = self._answer(socket)
        except BaseException as error:
            socket.close()
            if isinstance(error, _Lost):
                self._close(owner)  # it died, most often, and may never be asked again
            raise
        self._keep(owner, socket, answer)
        return answer

    def _keep(self, owner: str, socket: Socket, answer: bytes) -> None:
        self._used.add(owner)
        # Others asked the same owner meanwhile, and what was idle then may have been closed.
        idle = self._idle.setdefault(owner, [])
        if len(idle) >= _KEPT or answer == NOT_MINE:  # which may be a farewell
            socket.close()
        else:
            idle.append(socket)

    @switches
    def _answer(self, socket: Socket) -> bytes:
        """_Lost."""
        gathered = Gathered(b"")
        size, count = 4, 0
        try:
            while gathered.size < size:
                piece = socket.recv(chunk_bytes(size - gathered.size))
                if not piece:
                    raise _Lost("it ended in the middle of its answer" if gathered.size else "it closed the connection")
                gathered.add(piece)
                if size == 4 and gathered.size >= 4:
                    size += U32.unpack(gathered.beginning(4))[0]
                count += 1
                if not count % _PIECES_AT_ONCE:
                    self._pause()  # the rest may be there already: a row may have 60 MB
        except OSError as error:
            raise _Lost(str(error)) from error
        return gathered.split(size, self._join)[0][4:]

    def _close(self, owner: str) -> None:
        for socket in self._idle.pop(owner, ()):
            socket.close()


def located(table_of: Callable[[bytes], T], name: object, row: object) -> tuple[T, bytes, TabletRecord] | None:
    """Table, row and the row's tablet; None: it is not known, or no table can have the name. Does not switch."""
    if not isinstance(name, bytes) or not isinstance(row, bytes):
        return None
    try:
        table = table_of(name)
    except HbtableError:
        return None  # said where it is done
    record = table.cached_tablet(row)
    return None if record is None else (table, row, record)


def outcome_unknown(owner: str, method: ThriftMethod, values: Sequence[Any], why: str) -> OutcomeUnknown:
    """The error of a write that went to a tablet server and was not answered. PutsUnknown for puts alone."""
    error = OutcomeUnknown(f"tablet server {owner} gave no answer to {method.name}, which may have been done: {why}")
    return of_puts(error) if _has_only_puts(method.name, values) else error


def _has_only_puts(name: str, values: Sequence[Any]) -> bool:
    if name in BATCHES:
        # A batch of three is a row's put, made quickly (codec.fast_puts).
        return all(len(batch) != 2 or are_puts(batch[1]) for batch in values[1])
    return name in PASSED_ON_WRITES and are_puts(values[2])


def are_puts(mutations: Sequence[Mutation] | None) -> bool:
    return not any(mutation[0] for mutation in mutations or ())


@switches
def _sent(socket: Socket, frame: bytes) -> Socket | None:
    """None: the gateway never got all of it, and so does none of it. A peer that has ended shows at once: these are
    Unix sockets."""
    try:
        socket.sendall(frame)
    except BaseException as error:
        socket.close()
        if not isinstance(error, OSError):
            raise
        return None
    return socket


def bid_farewell(stream: Stream) -> None:
    """Tells another gateway, whose connection is idle, that what it has just sent is not begun. Does not switch."""
    with suppress(OSError):
        stream.settimeout(0.0)
        stream.sendall(U32.pack(len(NOT_MINE)) + NOT_MINE)


def _within(batches: Sequence[tuple[object, ...]], record: TabletRecord) -> bool:
    start, stop = record.range
    for batch in batches:
        row = batch[0]
        if not isinstance(row, bytes) or row < start or (stop and row >= stop):
            return False
    return True
