"""A gate at which a task waits for the answer to what it sent over a connection of its own.

gevent's own wait makes a timer, a Timeout and a Waiter for each answer, and takes them apart again. A connection to
another role waits for one answer after the other, mostly with the same limit: it has one timer for all of them.
"""

from typing import Any, final

import gevent

from hbtable.switches import switches


@final
class AnswerGate:
    """Holds the one task that waits for a connection's answer. A sockets.RestOfReading."""

    __slots__ = ("_hub", "_readable", "_seconds", "_silence", "_task")

    def __init__(self) -> None:
        """To be called in the thread of the hub."""
        self._hub = gevent.get_hub()
        self._task: Any = None
        self._readable: Any = None
        self._silence: Any = None
        self._seconds = 0.0
        """The time after which the timer rings; 0 as long as there is none."""

    @switches
    def wait(self, readable: Any, seconds: float) -> None:
        """*Switches.* Until the watcher of a socket says that something has arrived. TimeoutError when nothing does
        within `seconds`."""
        if seconds != self._seconds:
            self._silence = self._hub.loop.timer(seconds, seconds)
            self._seconds = seconds
        self._readable = readable
        self._task = gevent.getcurrent()
        readable.start(self._come)
        self._silence.again(self._is_silent)
        try:
            self._hub.switch()
        except BaseException:  # the connection was closed or silent, or the task killed
            readable.stop()
            self._silence.stop()
            raise
        finally:
            self._task = None

    def _come(self) -> None:
        """Something has arrived. In the hub."""
        self._readable.stop()
        self._silence.stop()
        self._task.switch()

    def _is_silent(self) -> None:
        """Nothing has arrived in time. In the hub."""
        self._task.throw(TimeoutError("timed out"))

    def throw(self, error: BaseException | type[BaseException]) -> None:
        """Gevent calls this in the hub when the socket is closed in wait()."""
        if self._task is not None:
            self._task.throw(error)

    def closed(self) -> None:
        """Its socket is being closed: gevent, whose loop watches it, tells whoever waits."""
