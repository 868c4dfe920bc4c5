"""The waits that tests rely on where machines stand still."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness import waiting
from tests.harness.waiting import RunningTime, eventually, freeze, of_the_program, runs

pytestmark = pytest.mark.integration

BUSY = """
import hashlib, threading
def work():
    while True:
        hashlib.sha256(bytes(1 << 20)).digest()
for _ in range(4):
    threading.Thread(target=work).start()
print("busy", flush=True)
"""


def test_who_stood_still_past_the_end_asks_once_more() -> None:
    begin = time.monotonic()

    def holds() -> bool:
        time.sleep(0.1)  # for longer than it is to be waited for
        return time.monotonic() - begin > 0.15

    eventually(holds, 0.05, "the second answer")


class StandingStill:
    """A clock of a machine that stands still for an hour in every third pause."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses = 0

    def sleep(self, seconds: float) -> None:
        self.pauses += 1
        self.now += seconds if self.pauses % 3 else 3600.0


def test_time_in_which_the_machine_stood_still_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = StandingStill()
    running = RunningTime(lambda: machine.now, machine.sleep)
    for _ in range(9):
        running.pause(0.05)
    assert 0.4 < running.seconds() < 3.0
    monkeypatch.setattr(waiting, "RunningTime", lambda: RunningTime(lambda: machine.now, machine.sleep))
    machine.pauses = 0
    eventually(lambda: machine.pauses == 20, 5.0, "the twentieth answer, some hours later")
    with pytest.raises(AssertionError, match="the impossible"):
        eventually(lambda: False, 5.0, "the impossible")


def test_only_lines_of_a_machine_that_stood_still_are_left_out() -> None:
    machine = "2026-11-23 03:50:00,000 WARNING hbtable.runtime.hub_lag: the hub stood still for 5.010 s (or the machine"
    program = "2026-11-23 03:50:00,000 WARNING hbtable.launch.serve: stopping at once"
    assert of_the_program([machine, program, program.replace("stopping", "the hub stood still")]) == [
        program,
        program.replace("stopping", "the hub stood still"),
    ]


def test_what_never_holds_is_named() -> None:
    with pytest.raises(AssertionError, match=r"not within 0\.1 s: the impossible"):
        eventually(lambda: False, 0.1, "the impossible")


def test_nothing_of_a_frozen_process_runs_any_more() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "busy\n"
            freeze(process.pid)
            threads = Path(f"/proc/{process.pid}/task").iterdir()
            states = {one.name: (one / "stat").read_text().rpartition(")")[2].split()[0] for one in threads}
            assert set(states.values()) == {"T"}
            assert len(states) == 5
            assert runs(process.pid), "it has not ended"
        finally:
            process.kill()
    assert not runs(process.pid)
