"""What a supervisor does when its child ends."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hbtable.errors import Unavailable
from hbtable.launch.roles.session_pipe import VARIABLE, SessionRecord, hand_over, take_over
from hbtable.launch.roles.supervisor import SupervisorOptions, supervise
from hbtable.lockservice.zookeeper.wire import Credentials
from tests.harness.early_reloads import COMMAND
from tests.harness.waiting import SOON_SECONDS, eventually

QUICK = SupervisorOptions(first_pause_seconds=0.0, longest_pause_seconds=0.0)
OURS = SessionRecord("zk:1", Credentials(-5, bytes(range(16))))


class Children:
    """Spawns children that end with the given codes; what happened in `events`."""

    def __init__(self, lives: list[Callable[[dict], int]]) -> None:
        self.lives = lives
        self.events: list[object] = []
        self.pid = 0
        self._environ: dict = {}

    def spawn(self, command, environ):
        self.events.append("spawn")
        self._environ = environ
        return self

    def wait(self) -> int:
        return self.lives.pop(0)(self._environ)

    def send_signal(self, number) -> None:
        self.events.append(f"signal {int(number)}")

    def close(self, handed: SessionRecord) -> None:
        self.events.append(handed)


def ends(code: int, session: bool = True) -> Callable[[dict], int]:
    def live(environ):
        if session:
            hand_over(environ, *OURS)
        return code

    return live


def test_the_session_of_a_dead_child_is_closed_before_the_next_one_starts() -> None:
    children = Children([ends(-9), ends(3), ends(0)])
    assert supervise(["role"], children.close, QUICK, children.spawn) == 0
    assert children.events == ["spawn", OURS, "spawn", OURS, "spawn", OURS]


@pytest.mark.parametrize("code", [0, 2])
def test_some_ends_are_final(code: int) -> None:
    children = Children([ends(code, session=False)])
    assert supervise(["role"], children.close, QUICK, children.spawn) == code
    assert children.events == ["spawn"], "it never opened a session"


def test_signals_are_forwarded_and_end_the_supervisor_with_the_child() -> None:
    def asked(environ):
        for number, event in ((signal.SIGTERM, "signal 15"), (signal.SIGINT, "signal 2")):
            # Any thread may be given it, and the handler runs in this one, soon: not before kill() returns.
            os.kill(os.getpid(), number)
            eventually(lambda event=event: children.events[-1] == event, SOON_SECONDS, event)
        hand_over(environ, *OURS)
        return -2

    children = Children([asked])
    before = signal.getsignal(signal.SIGTERM)
    assert supervise(["role"], children.close, QUICK, children.spawn) == 130
    assert children.events == ["spawn", "signal 15", "signal 2", OURS]
    assert signal.getsignal(signal.SIGTERM) is before


class SignalledAtOnce:
    """A real process; the supervisor gets a SIGHUP before it can have a handler for one."""

    def __init__(self, command, environ) -> None:
        self._process = subprocess.Popen(command, env=environ)

    def wait(self) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        return self._process.wait(SOON_SECONDS)

    def send_signal(self, number) -> None:
        self._process.send_signal(number)


def test_a_child_that_is_just_starting_reads_its_files_again_when_it_can() -> None:
    def never(handed):
        raise AssertionError

    lives = iter([SignalledAtOnce])
    assert supervise(COMMAND, never, QUICK, lambda *child: next(lives)(*child), reloads=True) == 0


def test_a_session_that_cannot_be_closed_does_not_keep_the_next_child_waiting() -> None:
    children = Children([ends(1), ends(0)])

    def fail(handed):
        children.events.append("tried")
        raise Unavailable("no lock service")

    assert supervise(["role"], fail, QUICK, children.spawn) == 0
    assert children.events == ["spawn", "tried", "spawn", "tried"]


def test_messages_name_the_role_and_how_it_ended(caplog: pytest.LogCaptureFixture) -> None:
    children = Children([ends(-9), ends(3), ends(1), ends(200), ends(0)])

    def fail(handed):
        raise Unavailable("no lock service")

    with caplog.at_level(logging.WARNING):
        supervise([sys.executable, "-m", "x"], fail, QUICK, children.spawn, name="tablet server")
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "the lock service session of the last tablet server ends by its timeout only: no lock service"
    assert [message.partition("; ")[0] for message in said if "ended" in message] == [
        "tablet server ended with code 137: SIGKILL",
        "tablet server ended with code 3: it lost its lock",
        "tablet server ended with code 1",
        "tablet server ended with code 200",
    ]
    assert not [message for message in said if sys.executable in message]


def test_pauses_double_while_children_die_young() -> None:
    now = [0.0]
    seen: list[float] = []

    def life(seconds, code):
        def live(environ):
            now[0] += seconds
            return code

        return live

    children = Children([life(0, 1), life(0, 1), life(0, 1), life(100, 1), life(0, 0)])
    options = SupervisorOptions(0.001, 0.002, 30.0)

    class Pauses(logging.Handler):
        def emit(self, record):
            seen.append(record.args[2])

    logger, handler = logging.getLogger("hbtable.launch.roles.supervisor"), Pauses()
    logger.addHandler(handler)
    try:
        assert supervise(["role"], children.close, options, children.spawn, lambda: now[0]) == 0
    finally:
        logger.removeHandler(handler)
    assert seen == [0.001, 0.002, 0.002, 0.001]


def test_a_session_is_taken_over_once() -> None:
    sessions, childs = os.pipe()
    os.set_blocking(sessions, False)
    try:
        assert take_over(sessions) is None
        hand_over({VARIABLE: str(childs)}, *OURS)
        assert take_over(sessions) == OURS
        assert take_over(sessions) is None
        hand_over({}, *OURS)  # nobody supervises
    finally:
        os.close(sessions)
        os.close(childs)


TELLING = """
import os
from hbtable.launch.roles.session_pipe import hand_over
from hbtable.lockservice.zookeeper.wire import Credentials
hand_over(os.environ, "zk:1", Credentials(-5, bytes(range(16))))
"""


def test_a_child_of_its_own_program_tells_its_session() -> None:
    closed: list[SessionRecord] = []
    assert supervise([sys.executable, "-c", TELLING], closed.append, QUICK) == 0
    assert closed == [OURS]


CHILD = """
import os
from hbtable.launch.roles.watchdog import Watchdog
from hbtable.runtime.gevent_runtime import GeventRuntime
runtime = GeventRuntime()
runtime.spawn(runtime.sleep, 60)  # as long as its ports are open the hub has something to do
watchdog = Watchdog(runtime)
watchdog.handle_signals()
watchdog.watch_supervisor(os.environ)
print("ready", flush=True)
watchdog.wait()
print("stopped in order", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_stops_in_order_when_its_supervisor_dies_and_nothing_is_left(
    number: signal.Signals, tmp_path: Path
) -> None:
    code = f"from hbtable.launch.roles.supervisor import supervise; supervise({[sys.executable, '-c', CHILD]!r})"
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environ) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == "ready\n"
        supervisor.send_signal(number)
        assert supervisor.stdout.read() == "stopped in order\n"
    assert list(tmp_path.iterdir()) == []
