"""The session's side: a lock service whose files and locks are in another process of this machine.

The service ends a session when its process closes it, or is gone: no clock is asked, so a session is never suspended.
valid() turns False when the session is closed here, or when the service has ended. In the second case the locks are
free to nobody before this process is gone as well (the launcher's flock, decision 31), and it has to stop.
"""

from collections.abc import Callable
from typing import Any, final

from hbtable.errors import LockLost
from hbtable.lockservice.files import check_data, check_path
from hbtable.lockservice.interface import Session, VersionedFile
from hbtable.lockservice.over_sockets.messages import CLOSE, HINT, OPEN, as_file, encoded, raised, read_message
from hbtable.runtime.interface import Event, Runtime
from hbtable.runtime.network.sockets import Socket
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

Answer = list[Any]
"""Without its number."""


@final
class _Waiting:
    """A call whose answer has not come."""

    __slots__ = ("answer", "done")

    def __init__(self, done: Event) -> None:
        self.done = done
        self.answer: Answer | None = None


@final
class _Watch:
    """Several changes before the call is made cause one call."""

    __slots__ = ("changed", "due")

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed
        self.due = False


@final
class SocketLockService:
    """Implements lockservice.interface.LockService. `connect`: a new connection to the service for each session, which
    owns it. OSError where there is none any more."""

    def __init__(self, runtime: Runtime, connect: Callable[[], Socket]) -> None:
        self._runtime = runtime
        self._connect = connect

    @switches
    def open_session(self, name: str) -> Session:
        """LockLost when the service ended meanwhile."""
        session = SocketSession(self._runtime, self._connect())
        session.open(name)
        return session


@final
class SocketSession:
    """Implements lockservice.interface.Session. Every call *switches*."""

    def __init__(self, runtime: Runtime, socket: Socket) -> None:
        self.session_id = ""
        self._runtime = runtime
        self._socket = socket
        self._sending = runtime.lock()
        self._waiting: dict[int, _Waiting] = {}
        self._watches: dict[int, _Watch] = {}
        self._number = 0
        self._over = False

    @switches
    def open(self, name: str) -> None:
        """Once, before anything else."""
        spawn_counted(self._runtime, self._receive, name="lock service session")
        self.session_id = self._call(OPEN, name)

    def valid(self) -> bool:
        return not self._over

    def over(self) -> bool:
        return self._over

    @switches
    def close(self) -> None:
        if self._over:
            return
        self._over = True
        try:
            self._exchange(CLOSE)
        finally:
            self._socket.close()

    # ------------------------------------------------------------ locks

    @switches
    def lock(self, path: str, data: bytes = b"") -> int:
        check_path(path)
        check_data(path, data)
        epoch: int = self._call("lock", path, data)
        return epoch

    @switches
    def unlock(self, path: str) -> None:
        check_path(path)
        self._call("unlock", path)

    @switches
    def holder(self, path: str) -> VersionedFile | None:
        check_path(path)
        return as_file(self._call("holder", path))

    # ------------------------------------------------------------ files

    @switches
    def create(self, path: str, data: bytes) -> None:
        check_path(path)
        check_data(path, data)
        self._call("create", path, data)

    @switches
    def read(self, path: str, latest: bool = False) -> VersionedFile:
        check_path(path)
        file = as_file(self._call("read", path))
        assert file is not None
        return file

    @switches
    def write(self, path: str, data: bytes, expected_version: int) -> int:
        check_path(path)
        check_data(path, data)
        version: int = self._call("write", path, data, expected_version)
        return version

    @switches
    def delete(self, path: str, expected_version: int = -1) -> None:
        check_path(path)
        self._call("delete", path, expected_version)

    @switches
    def list(self, folder: str) -> list[str]:
        names: list[str] = self._call("list", folder)
        return names

    @switches
    def watch(self, folder: str, changed: Callable[[], None]) -> None:
        number = len(self._watches) + 1
        self._watches[number] = _Watch(changed)
        self._call("watch", number, folder)

    # ------------------------------------------------------------ inside

    @switches
    def _call(self, operation: str, *arguments: object) -> Any:
        if self._over:
            raise self._lost()
        answer = self._exchange(operation, *arguments)
        if answer is None or self._over:
            raise self._lost()
        if len(answer) > 1:
            raise raised(answer)
        return answer[0]

    @switches
    def _exchange(self, operation: str, *arguments: object) -> Answer | None:
        """None: the service has ended."""
        self._number = number = self._number + 1
        waiting = self._waiting[number] = _Waiting(self._runtime.event())
        try:
            self._send(encoded([number, operation, *arguments]))
            waiting.done.wait()
        except OSError:
            self._end()
        finally:
            self._waiting.pop(number, None)
        return waiting.answer

    @switches
    def _send(self, message: bytes) -> None:
        try:
            with self._sending:
                self._socket.sendall(message)
        except BaseException:
            self._socket.close()  # whoever was killed half-way has left a piece of a message: nothing may follow it
            raise

    @switches
    def _receive(self) -> None:
        try:
            while (message := read_message(self._socket.recv)) is not None:
                number, *answer = message
                if number == HINT:
                    self._hint(answer[0])
                elif number in self._waiting:
                    self._waiting[number].answer = answer
                    self._waiting[number].done.set()
        except OSError:
            pass  # its end
        finally:
            self._end()

    def _end(self) -> None:
        """The service has ended, or this session was closed: nobody waits any longer."""
        self._over = True
        for waiting in self._waiting.values():
            waiting.done.set()

    def _hint(self, number: int) -> None:
        watch = self._watches[number]
        if not watch.due and not self._over:
            watch.due = True
            spawn_counted(self._runtime, self._tell, watch, name="lock service watch")

    @switches
    def _tell(self, watch: _Watch) -> None:
        watch.due = False  # first: a change during the call asks for another one
        if not self._over:
            watch.changed()

    def _lost(self) -> LockLost:
        return LockLost(f"the lock service session {self.session_id} is over")
