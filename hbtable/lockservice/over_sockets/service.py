"""The service's side: carries out the calls of one session that lives in another process.

A session ends when its process says so, or when the one who serves it ends it: never because the connection broke. So
who serves it decides what counts as the process's end. The launcher waits until the kernel says that the process is
gone (decision 31): then nothing of it can be under way any more.
"""

from collections.abc import Callable
from typing import Any, Final, final

from hbtable.errors import HbtableError
from hbtable.lockservice.interface import LockService, Session
from hbtable.lockservice.over_sockets.messages import CLOSE, HINT, OPEN, as_bytes, described, encoded, read_message
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.sockets import Socket
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

Call = Callable[..., object]

_FILES: Final = ("lock", "create", "write")
"""Operations whose second argument is a file's content."""


@final
class ServedSession:
    """One session of `service`, for the process at the other end of `socket`, which it owns. serve() once, in a task of
    its own; end() when nothing of the process is under way any more."""

    def __init__(self, runtime: Runtime, service: LockService, socket: Socket) -> None:
        self._runtime = runtime
        self._service = service
        self._socket = socket
        self._session: Session | None = None
        self._ended = False
        self._sending = runtime.lock()

    @switches
    def serve(self) -> None:
        """Returns when the process closes its end. Its session, unless it closed that before, goes on until end()."""
        try:
            while (message := read_message(self._socket.recv)) is not None:
                # Each in a task of its own: one that waits for the disk must not hold up the others.
                spawn_counted(self._runtime, self._answer, message, name="lock service call")
        except OSError:
            return  # its end
        finally:
            self._socket.close()

    @switches
    def end(self) -> None:
        """The locks are free on return, and none is taken any more. Idempotent."""
        self._ended = True
        session, self._session = self._session, None
        if session is not None:
            session.close()

    @switches
    def _answer(self, message: list[Any]) -> None:
        number, operation, *arguments = message
        try:
            answer = [number, self._carry_out(operation, arguments)]
        except HbtableError as error:
            answer = [number, *described(error)]
        self._send(answer)

    @switches
    def _carry_out(self, operation: str, arguments: list[Any]) -> object:
        if operation == OPEN:
            return self._open(arguments[0])
        session = self._session
        if session is None:
            raise HbtableError("this session was not opened")
        if operation == CLOSE:
            return session.close()
        if operation == "watch":
            watch, folder = arguments
            return session.watch(folder, lambda: self._send([HINT, watch]))
        if operation in _FILES:
            arguments[1] = as_bytes(arguments[1])
        call: Call = getattr(session, operation)
        return call(*arguments)

    @switches
    def _open(self, name: str) -> str:
        """A call that the process made before its end may come after it, and nobody would end its session."""
        session = None if self._ended else self._service.open_session(name)
        if session is None or self._ended:
            if session is not None:
                session.close()
            raise HbtableError("the process of this session is gone")
        self._session = session
        return session.session_id

    @switches
    def _send(self, message: list[Any]) -> None:
        try:
            with self._sending:
                self._socket.sendall(encoded(message))
        except OSError:
            return  # its process ends: its business
