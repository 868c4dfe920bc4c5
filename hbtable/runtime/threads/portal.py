"""The gevent hub in a background thread, for hbtable.open() in an ordinary threaded program.

Any thread calls `call`; the function runs as a task in the hub's thread, and only its result or error comes back. A
call is two thread switches, about 50 us.

Invariants: a call that the hub has taken is answered, at the latest when the hub ends; one that it has not taken is
taken back by its caller. No thread waits here for a lock: a signal handler may call or close at any step of the thread
that it interrupts. `_running` belongs to the hub's thread. Nothing made in the hub (events, locks, tasks, sockets) may
be touched from outside.
"""

import contextlib
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar, final

import gevent
import gevent.hub
from gevent.event import Event as HubEvent

from hbtable.errors import InvalidRequest, OutcomeUnknown, Unavailable
from hbtable.runtime.gevent_runtime import GeventOptions, GeventRuntime
from hbtable.runtime.threads.native_threads import NativeEvent, NativeThread, get_ident, latch
from hbtable.switches import switches

T = TypeVar("T")


@final
class _Call(Generic[T]):
    """One call on its way through the portal."""

    __slots__ = ("_answered", "_arguments", "_done", "_error", "_function", "_result", "closing")

    def __init__(self, function: Callable[..., T], arguments: tuple[object, ...], closing: bool = False) -> None:
        self.closing = closing
        self._function = function
        self._arguments = arguments
        self._result: T | None = None
        self._error: BaseException | None = None
        self._answered = False

    def expect(self) -> None:
        """In the caller's thread. What is expected is answered: a latch that nobody waits for may keep a hub alive."""
        self._done = latch()

    def here(self) -> T:
        """Without a latch: the caller is in the hub's thread itself."""
        return self._function(*self._arguments)

    def run(self) -> None:
        """In the hub's thread."""
        try:
            self._result = self._function(*self._arguments)
        except BaseException as error:  # noqa: BLE001  it is raised again in the caller's thread
            self._answer(error)
        else:
            self._answer(None)

    def fail(self, error: BaseException) -> None:
        """In the hub's thread: the caller waits no longer, whatever run() still comes to. In the caller's, when it has
        taken the call back."""
        self._answer(error)

    def _answer(self, error: BaseException | None) -> None:
        if not self._answered:
            self._answered = True
            self._error = error
            self._done.release()

    def result(self) -> T:
        """In the caller's thread, which it blocks."""
        self._done.acquire()
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # or the error, its traceback, this frame and we would hold each other
        return self._result  # type: ignore[return-value]  # None only if T is, when there is no error


@final
class Portal:
    """Owns the hub's thread and the runtime in it."""

    def __init__(self, options: GeventOptions | None = None, name: str = "hbtable") -> None:
        """Returns when the hub runs."""
        self.runtime = GeventRuntime(options)
        """For the functions that are called; not to be used outside of the hub's thread."""
        self._process = os.getpid()
        self._open = True
        self._grace_seconds = 0.0
        self._calls: deque[_Call[object]] = deque()
        self._running: set[_Call[object]] = set()
        self._refusal: Callable[[], BaseException] | None = None
        self._drained: HubEvent | None = None
        """Waited for by drain()."""
        self._started = NativeEvent()
        self._thread = NativeThread(self._live, f"{name} hub")
        self._thread.start()
        self._started.wait()

    # ------------------------------------------------------------ from any thread

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Runs `function` as a task in the hub; its result, or its error raised. Blocks the calling thread.

        Unavailable once the portal is closed. A KeyboardInterrupt ends only the waiting: what was called goes on.
        """
        return self._cross(_Call(function, arguments))

    def call_to_close(self, function: Callable[..., T], *arguments: object) -> T:
        """As call(), also after refuse(): for what has to be closed all the same."""
        return self._cross(_Call(function, arguments, closing=True))

    def _cross(self, call: "_Call[T]") -> T:
        if get_ident() == self._thread.ident:
            return call.here()
        if os.getpid() != self._process:
            raise InvalidRequest(
                "this was opened before the process forked, and does not live here: open it after the fork, in one "
                "process alone; docs/manual/programs.md says how several share it"
            )
        if sys.is_finalizing():  # the hub's thread does not run any more, and would never answer
            raise Unavailable("this is closed: the program ends")
        self._submit(call)
        return call.result()

    def _submit(self, call: "_Call[T]") -> None:
        call.expect()
        self._calls.append(call)  # type: ignore[arg-type]  # the queue does not look at results
        if self._open:
            self._wake_hub()
        else:
            self._take_back(call)

    def _take_back(self, call: "_Call[T]") -> None:
        """The portal was closed before the hub could be sure to look at the queue again. What it took it answers."""
        with contextlib.suppress(ValueError):
            self._calls.remove(call)  # type: ignore[arg-type]  # as in _submit()
            call.fail(Unavailable("this is closed: open it again"))

    def _wake_hub(self) -> None:
        try:
            self._wake.send()
        except ValueError:
            pass  # the hub has ended since

    def close(self, grace_seconds: float = 10.0) -> None:
        """Refuses new calls, waits for those under way (after the grace they fail with OutcomeUnknown), and ends the
        hub and its thread. Idempotent; never from inside the hub."""
        if get_ident() == self._thread.ident:
            raise InvalidRequest("the portal cannot be closed from inside the hub")
        if self._open:
            self._grace_seconds = grace_seconds
            self._open = False
        self._wake_hub()  # by each: a signal handler may close before the thread that it interrupts comes to here
        self._thread.join()

    # ------------------------------------------------------------ in the hub's thread

    def refuse(self, refusal: Callable[[], BaseException], unknown: Callable[[], BaseException]) -> None:
        """Every call() fails from now on with a `refusal` of its own. Those under way fail at once with an `unknown`:
        their tasks go on, and nobody waits for them any more. Does not switch."""
        self._refusal = refusal
        for call in [call for call in self._running if not call.closing]:
            call.fail(unknown())
            self._running.discard(call)
        if not self._open:
            self._look_whether_idle()

    @switches
    def drain(self, refusal: Callable[[], BaseException], grace_seconds: float = 10.0) -> None:
        """*Switches.* Every call() fails from now on with a `refusal` of its own, unless others are refused already.
        Waits for the end of those under way; after the grace they fail with OutcomeUnknown. To be called by
        call_to_close()."""
        self._refusal = self._refusal or refusal
        self._drained = HubEvent()
        self._look_whether_idle()
        self._drained.wait(grace_seconds)
        given_up = [call for call in self._running if not call.closing]
        self._give_up(given_up)
        self._running.difference_update(given_up)  # or close() would wait for them as long once more

    def _give_up(self, calls: "list[_Call[object]]") -> None:
        for call in calls:
            call.fail(OutcomeUnknown("this was closed while the call was under way: whether it took effect is unknown"))

    @switches
    def _live(self) -> None:
        self._serve()
        # If gevent kept the exception by which a hub ends, and so this frame: it must not refer to the portal, which
        # refers to all that was ever called.
        del self
        _end_hub(gevent.get_hub())

    @switches
    def _serve(self) -> None:
        hub = gevent.get_hub()
        self._idle = HubEvent()
        self._closing = HubEvent()
        self._wake = hub.loop.async_()
        self._wake.start(self._take)
        self._started.set()
        self._closing.wait()
        # What comes later is taken back: close() ended the submitting before it woke us.
        self._take()
        self._look_whether_idle()
        self._idle.wait(self._grace_seconds)
        self._give_up(list(self._running))
        self._wake.close()
        self.runtime.close()

    def _take(self) -> None:
        calls = self._calls
        while True:
            try:
                call = calls.popleft()
            except IndexError:  # `while calls` would not do: the last one may be taken back after that look
                break
            if self._refusal is not None and not call.closing:
                call.fail(self._refusal())
                continue
            self._running.add(call)
            gevent.spawn_raw(self._run, call)
        if not self._open:
            self._closing.set()

    def _run(self, call: "_Call[object]") -> None:
        call.run()
        self._running.discard(call)
        if self._drained is not None or not self._open:
            self._look_whether_idle()

    def _look_whether_idle(self) -> None:
        if not self._running:
            self._idle.set()
        if self._drained is not None and all(call.closing for call in self._running):
            self._drained.set()


@switches
def _end_hub(hub: gevent.hub.Hub) -> None:
    """Ends the hub of this thread. Its loop ends before destroy(), which of a loop that still runs keeps 35 objects for
    ever."""
    hub.loop.run_callback(hub.loop.break_)
    with contextlib.suppress(gevent.hub.LoopExit):
        hub.switch()
    hub.destroy()
