"""`hbtable shadow` as a process, and a server that passes calls on and lies about the answers."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import happybase

from hbtable.hbase.codec.sniffing import sniff
from hbtable.shell.address import ServerAddress
from hbtable.shell.shadow.links import ServerLink
from hbtable.shell.shadow.wire import Answer, ThriftWire, interface, pair_of
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


class Liar:
    """Answers as the server at `port` does, as far as `lie` leaves it."""

    def __init__(self, port: int, lie: Lie) -> None:
        self.lie = lie
        self._server = ServerAddress("127.0.0.1", port)
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
            wire, link = ThriftWire(client, pair), ServerLink(self._server, pair, 10, 60)
            try:
                while True:
                    call = wire.read_call()
                    answer = self.lie(call.name, call.arguments, link.call(call.name, call.arguments))
                    wire.write_answer(call.name, call.sequence, answer)
            except Exception:
                return
            finally:
                link.close()

    def __enter__(self) -> "Liar":
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
