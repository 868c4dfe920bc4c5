"""`hbtable shadow` as a process and as an object, a server that passes calls on and lies about the answers, and one
that answers as a test says."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import happybase

from hbtable.hbase.codec.sniffing import sniff
from hbtable.shell.address import ServerAddress
from hbtable.shell.shadow.links import ServerLink
from hbtable.shell.shadow.proxy import Proxy, ServerPair
from hbtable.shell.shadow.races import ReadSpan
from hbtable.shell.shadow.repeating import ShadowSurroundings, WaitingRoom
from hbtable.shell.shadow.wire import Answer, Pair, ThriftWire, interface, pair_of
from tests.harness.commands import LONG_SECONDS

Lie = Callable[[str, Any, Answer], Answer]
"""Takes method, arguments and the true answer."""


class ShadowProcess:
    """The proxy between two ports of this machine, on a free one."""

    def __init__(self, primary: int, secondary: int, report: Path, *more: str) -> None:
        self.report_file = report
        words = ["--primary", f"thrift://127.0.0.1:{primary}", "--secondary", f"127.0.0.1:{secondary}"]
        words += ["--port", "0", "--report", str(report), *more]
        command = [sys.executable, "-m", "hbtable", "shadow", *words]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.said: list[str] = []
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"hbtable shadow on \S+:(\d+) answers", line):
                self.port = int(found[1])
                break
        else:
            raise AssertionError("".join(self.said))

    def connect(self, **options: Any) -> happybase.Connection:
        return happybase.Connection("127.0.0.1", self.port, timeout=60_000, **options)

    def stop(self) -> int:
        """Calls that wait are repeated first. The exit code; `said` is then all that it said."""
        self.process.send_signal(signal.SIGTERM)
        _, rest = self.process.communicate(timeout=LONG_SECONDS)
        self.said.append(rest)
        return self.process.returncode

    def report(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.report_file.read_text().splitlines()]

    def differences(self) -> dict[tuple[str, str], dict[str, Any]]:
        """By method and kind."""
        return {(one["method"], one["difference"]): one for one in self.report() if one["kind"] == "difference"}

    def method(self, name: str) -> dict[str, Any]:
        (found,) = [one for one in self.report() if one.get("method") == name and one["kind"] == "method"]
        return found

    def __enter__(self) -> "ShadowProcess":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def thrift_client(port: int, transport: str, protocol: str) -> Any:
    """A client of thriftpy2 that knows every method; happybase's interface lacks some."""
    from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
    from thriftpy2.thrift import TClient
    from thriftpy2.transport import TBufferedTransport, TFramedTransport, TSocket

    made = TSocket("127.0.0.1", port, socket_timeout=60_000)
    made.open()
    over = (TFramedTransport if transport == "framed" else TBufferedTransport)(made)
    return TClient(interface().Hbase, (TCompactProtocol if protocol == "compact" else TBinaryProtocol)(over))


class Scripted:
    """A server whose every answer is what `answer`, which takes method and arguments, returns."""

    def __init__(self, answer: Callable[[str, Any], Answer]) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            spoken = sniff(client.recv(5, socket.MSG_PEEK | socket.MSG_WAITALL))
            pair = pair_of(spoken) if spoken else None
            if pair is None:
                return
            wire = ThriftWire(client, pair)
            with self.answering(pair) as answer, suppress(Exception, SystemExit):  # its client has left
                while True:
                    call = wire.read_call()
                    wire.write_answer(call.name, call.sequence, answer(call.name, call.arguments))

    @contextmanager
    def answering(self, _: Pair) -> Iterator[Callable[[str, Any], Answer]]:
        """For one connection."""
        yield self._answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class Liar(Scripted):
    """Answers as the server at `port` does, as far as `lie` leaves it."""

    def __init__(self, port: int, lie: Lie) -> None:
        self._lie = lie
        self._server = ServerAddress("127.0.0.1", port)
        super().__init__(lambda *_: None)

    @contextmanager
    def answering(self, pair: Pair) -> Iterator[Callable[[str, Any], Answer]]:
        link = ServerLink(self._server, pair, 10, 60)
        try:
            yield lambda name, arguments: self._lie(name, arguments, link.call(name, arguments))
        finally:
            link.close()


class ProxyHere:
    """The proxy in this process, between two ports of this machine. `tally` is read best behind stop()."""

    def __init__(
        self,
        primary: int,
        secondary: int,
        room: WaitingRoom,
        wait_seconds: float = 60.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.said: list[str] = []
        self.around = ShadowSurroundings(
            clock, time.sleep, lambda: time.time_ns() // 1_000_000, room, 60.0, self.said.append
        )
        servers = ServerPair(ServerAddress("127.0.0.1", primary), ServerAddress("127.0.0.1", secondary), LONG_SECONDS)
        self._proxy = Proxy(servers, self.around, wait_seconds)
        self._runs = True
        self.port = self._proxy.start("127.0.0.1", 0)

    def client(self) -> Any:
        """Knows every method."""
        return thrift_client(self.port, "buffered", "binary")

    def stop(self) -> None:
        """Calls that wait are repeated first."""
        if self._runs:
            self._runs = False
            self._proxy.close(LONG_SECONDS)

    def method(self, name: str) -> dict[str, Any]:
        (found,) = [one for one in self.around.tally.lines() if (one["kind"], one.get("method")) == ("method", name)]
        return found

    def reason(self, table: bytes, row: bytes) -> str:
        """The reason why a read of this row, now, says nothing."""
        now = self.around.clock()
        return self.around.races.reason(table, row, None, ReadSpan(now, now, now, now))

    def differences(self) -> list[tuple[object, object]]:
        """Methods and kinds."""
        return [(one["method"], one["difference"]) for one in self.around.tally.lines() if one["kind"] == "difference"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
