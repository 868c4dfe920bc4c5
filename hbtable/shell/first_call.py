"""Tells who waits for a first answer that something else may listen at the port of its server, and wait for more."""

import logging
import select
import socket
from typing import Final, Protocol, final

from thriftpy2.transport import TSocket

_TOLD_AFTER_SECONDS: Final = 15.0
"""Longer than a server that works takes for a first call, as a rule."""
_log: Final = logging.getLogger("hbtable.shell")


class _Carrier(Protocol):
    def recv(self, most: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> None: ...
    def settimeout(self, seconds: float | None, /) -> None: ...
    def shutdown(self, how: int, /) -> None: ...
    def close(self) -> None: ...


@final
class FirstCallWatch:
    """The handle of a transport up to the first bytes that arrive; `carrier` is it from then on. Logs a warning, which
    commands show, when none do for long, and waits on: a first call may take any time."""

    def __init__(self, transport: TSocket, carrier: _Carrier, made: socket.socket, who: str) -> None:
        """`made`: below `carrier`. `who`: in the message."""
        self._transport = transport
        self._carrier = carrier
        self._made = made
        self._who = who
        self.sendall = carrier.sendall
        self.settimeout = carrier.settimeout
        self.shutdown = carrier.shutdown
        self.close = carrier.close
        transport.set_handle(self)  # type: ignore[arg-type]  # it has all that TSocket calls

    def recv(self, most: int) -> bytes:
        seconds = self._made.gettimeout()
        if (seconds is None or seconds > _TOLD_AFTER_SECONDS) and not self._is_there():
            _log.warning(
                "%s has not answered for %g s: it is busy, or something else than a Thrift server listens there; look "
                "with: ss -ltnp",
                self._who,
                _TOLD_AFTER_SECONDS,
            )
        data = self._carrier.recv(most)
        self._transport.set_handle(self._carrier)  # type: ignore[arg-type]
        return data

    def _is_there(self) -> bool:
        """Within the time, or at once where TLS has it already."""
        pending = getattr(self._made, "pending", None)
        if pending is not None and pending():
            return True
        poll = select.poll()
        poll.register(self._made, select.POLLIN)
        return bool(poll.poll(_TOLD_AFTER_SECONDS * 1000))
