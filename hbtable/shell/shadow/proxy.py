"""The proxy: a port that answers as the primary does, whatever becomes of the secondary."""

import socket
import threading
from typing import Final, final

from hbtable.hbase.codec.sniffing import NEEDED_BYTES, sniff
from hbtable.shell.address import ServerAddress
from hbtable.shell.errors import CannotConnect
from hbtable.shell.shadow.calls import Cells, Kind, touch_of
from hbtable.shell.shadow.comparing import compare
from hbtable.shell.shadow.links import Broken, ServerLink
from hbtable.shell.shadow.races import NAMED_TIME, OUTCOME
from hbtable.shell.shadow.repeating import NOT_THERE, Job, Repeater, ShadowSurroundings, outcome_is_unknown
from hbtable.shell.shadow.scanned import Scanned
from hbtable.shell.shadow.wire import (
    UNKNOWN_METHOD,
    Answer,
    Pair,
    ReceivedCall,
    ThriftWire,
    failure,
    interface,
    kept_bytes,
    pair_of,
    refusal,
)

_BACKLOG: Final = 512
_CONNECT_SECONDS: Final = 10.0
_CONNECT_SECONDARY_SECONDS: Final = 2.0
_ACCEPT_AGAIN_SECONDS: Final = 0.1


@final
class ServerPair:
    """The two servers, and connections to them. `call_seconds`: for a call of the secondary."""

    def __init__(self, primary: ServerAddress, secondary: ServerAddress, call_seconds: float) -> None:
        self._primary, self._secondary, self._call_seconds = primary, secondary, call_seconds
        self._lock = threading.Lock()
        self._pair = Pair()
        self._links: tuple[ServerLink, ServerLink] | None = None

    def primary(self, pair: Pair) -> ServerLink:
        return ServerLink(self._primary, pair, _CONNECT_SECONDS, None)

    def secondary(self, pair: Pair) -> ServerLink:
        return ServerLink(self._secondary, pair, _CONNECT_SECONDARY_SECONDS, self._call_seconds)

    def spoken(self, pair: Pair) -> None:
        """Clients speak so, and the servers do."""
        self._pair = pair

    def differs(self, cells: Cells, around: ShadowSurroundings) -> bool | None:
        """Whether this one cell differs when it is read by itself. None: it cannot be read."""
        (column,) = cells.columns or (b"",)
        asked = interface().Hbase.get_args(tableName=cells.table, row=cells.row, column=column, attributes={})
        with self._lock:
            if self._links is None:
                self._links = self.primary(self._pair), self.secondary(self._pair)
            try:
                answers = [link.call("get", asked) for link in self._links]
            except (CannotConnect, Broken):
                return None
        if any(failure(answer) for answer in answers):
            return None
        return any(compare("get", touch_of("get", asked), answers[0], answers[1], around.times.may_be_alike))

    def close(self) -> None:
        for link in self._links or ():
            link.close()


@final
class Proxy:
    """start() and close(), by one thread."""

    def __init__(self, servers: ServerPair, around: ShadowSurroundings, wait_seconds: float) -> None:
        self._servers = servers
        self.around = around
        self._wait_seconds = wait_seconds
        self._listener: socket.socket | None = None
        self._lock = threading.Lock()
        self._clients: dict[socket.socket, threading.Thread] = {}
        self._repeaters: list[Repeater] = []

    def start(self, host: str, port: int) -> int:
        """The port. OSError."""
        kind = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=kind, backlog=_BACKLOG)
        threading.Thread(target=self._accept, args=(self._listener,), name="shadow accepts", daemon=True).start()
        found: int = self._listener.getsockname()[1]
        return found

    def close(self, drain_seconds: float) -> None:
        """Calls under way are answered, and those that wait repeated, for so many seconds each."""
        around = self.around
        around.stopping.set()
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        with self._lock:
            clients = list(self._clients.items())
        for client, _ in clients:
            _shut(client, socket.SHUT_RD)
        ends = around.clock() + drain_seconds
        for _, thread in clients:
            thread.join(max(0.0, ends - around.clock()))
        ends = around.clock() + drain_seconds
        for repeater in self._repeaters:
            repeater.thread.join(max(0.0, ends - around.clock()))
        around.hurry.set()
        for repeater in self._repeaters:
            repeater.thread.join(drain_seconds)
        self._servers.close()

    def _accept(self, listener: socket.socket) -> None:
        while not self.around.stopping.is_set():
            try:
                client, _ = listener.accept()
            except OSError:  # no file descriptor is left, or the proxy stops
                self.around.sleep(_ACCEPT_AGAIN_SECONDS)
                continue
            try:
                self._begin(client)
            except (OSError, RuntimeError) as error:  # it left at once, or there is no room for a thread
                self.around.say(f"a client is not served: {error}")
                client.close()

    def _begin(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        thread = threading.Thread(target=self._serve, args=(client,), name="shadow answers", daemon=True)
        with self._lock:
            if self.around.stopping.is_set():
                client.close()
                return
            thread.start()
            self._clients[client] = thread

    def _serve(self, client: socket.socket) -> None:
        repeater = None
        try:
            pair = _spoken(client)
            if pair is None:
                self.around.say("a client speaks none of Thrift's pairs of transport and protocol; its connection ends")
                return
            self._servers.spoken(pair)
            link = self._servers.secondary(pair)
            repeater = Repeater(self.around, link, lambda cells: self._servers.differs(cells, self.around))
            with self._lock:
                self._repeaters = [one for one in self._repeaters if one.thread.is_alive()] + [repeater]
            _Connection(client, pair, self._servers.primary(pair), repeater, self.around, self._wait_seconds).serve()
        finally:
            if repeater is not None:
                repeater.end()
            with self._lock:
                self._clients.pop(client, None)
            client.close()


@final
class _Connection:
    """One client's: reads a call, has the primary answer it, gives it on to be repeated, sends the answer."""

    def __init__(
        self,
        client: socket.socket,
        pair: Pair,
        primary: ServerLink,
        repeater: Repeater,
        around: ShadowSurroundings,
        wait_seconds: float,
    ) -> None:
        self._wire = ThriftWire(client, pair)
        self._primary = primary
        self._repeater = repeater
        self._around = around
        self._wait_seconds = wait_seconds

    def serve(self) -> None:
        """Until the client or the primary ends it."""
        try:
            while (call := self._next()) is not None:
                if call.arguments is None:
                    said = f"the proxy knows HBase's Thrift1 alone, and not the method {call.name}"
                    self._wire.write_answer(call.name, call.sequence, refusal(UNKNOWN_METHOD, said))
                else:
                    self._wire.write_answer(call.name, call.sequence, self._answered(call))
        except (CannotConnect, Broken) as error:
            self._around.say(f"the primary: {error}")  # its client sees what the primary did: the connection ends
        except OSError:
            pass  # the client did not wait for its answer
        finally:
            self._primary.close()

    def _next(self) -> ReceivedCall | None:
        """None when there is none, or it cannot be read: clients close as they like."""
        if self._around.stopping.is_set():
            return None
        try:
            return self._wire.read_call()
        except Exception:  # noqa: BLE001 - thriftpy2 raises of many kinds
            return None

    def _answered(self, call: ReceivedCall) -> Answer:
        around, name = self._around, call.name
        touch = touch_of(name, call.arguments)
        size = kept_bytes(call.arguments, self._wire.message_bytes())
        write = around.races.begin(touch) if touch.kind in (Kind.WRITE, Kind.SCHEMA) else None
        sent, asking = around.clock(), object()
        around.races.reading(asking, sent)
        try:
            answer = self._primary.call(name, call.arguments)
        except (CannotConnect, Broken) as error:
            if write is not None:
                around.races.drop(write, OUTCOME if isinstance(error, Broken) else "")
            around.races.read(asking)
            raise
        size += kept_bytes(answer, self._primary.answer_bytes())
        around.tally.answered(name, around.clock() - sent)
        turn = around.turns.take(touch)
        around.races.reading(turn, sent)
        around.races.read(asking)
        if write is not None:
            around.races.acknowledged(write)
            if touch.deletes and around.times.may_be_servers(touch.rows, touch.times):
                around.races.doubt(touch.rows, NAMED_TIME)
            around.times.give(touch.rows, touch.times)
        job = Job(name, call.arguments, touch, answer, sent, around.clock(), size, turn, write)
        self._pass_on(self._with_scan(job))
        return answer

    def _pass_on(self, job: Job) -> None:
        around, touch = self._around, job.touch
        if touch.tables and around.lacking.issuperset(touch.tables):
            if job.name != "createTable" or failure(job.answer) is not None:
                return self._repeater.leave_out(job, NOT_THERE)
            around.lacking.difference_update(touch.tables)
        if job.write is not None and outcome_is_unknown(job.answer):
            around.races.drop(job.write, OUTCOME)
            return self._repeater.leave_out(job, OUTCOME)
        return self._repeater.put(job, self._wait_seconds)

    def _with_scan(self, job: Job) -> Job:
        scans, kind = self._around.scans, job.touch.kind
        if kind is Kind.OPEN and failure(job.answer) is None:
            asked, not_comparable = getattr(job.arguments, "scan", None), _not_comparable(job, self._around)
            ways = bool(getattr(asked, "reversed", False)), getattr(asked, "batchSize", None) is not None
            scan = Scanned(job.touch.tables[0], job.answer.success, *ways, job.sent, not_comparable)
            scan.before_a_time = bool(job.touch.times)
            scans.opened(scan, self._repeater)
            return job._replace(scan=scan)
        if kind in (Kind.NEXT, Kind.CLOSE):
            return job._replace(scan=scans.called(job.arguments.id, job.acked, closes=kind is Kind.CLOSE))
        return job


def _not_comparable(job: Job, around: ShadowSurroundings) -> str:
    return NAMED_TIME if around.times.may_be_servers((), job.touch.times) else ""


def _spoken(client: socket.socket) -> Pair | None:
    """Looks at the first bytes, and leaves them."""
    seen = 0
    while True:
        first = client.recv(NEEDED_BYTES, socket.MSG_PEEK | (socket.MSG_WAITALL if seen else 0))
        if not first:
            return None
        spoken = sniff(first)
        if spoken is not None:
            return pair_of(spoken)
        if len(first) == seen:
            return None
        seen = len(first)


def _shut(client: socket.socket, how: int) -> None:
    try:
        client.shutdown(how)
    except OSError:
        return  # it has gone
