"""The campaign in which threads and processes are held up at random, and what it holds them with."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaigns.unsteady import choose, threads_of
from tests.harness import held_threads
from tests.harness.held_threads import HeldThreads
from tests.harness.waiting import SOON_SECONDS, eventually, freeze

TWO_THREADS = "import sys, threading; threading.Thread(target=sys.stdin.read).start(); print('ready', flush=True)"

# A process and its child notice each that they stood still: neither ends before.
PROGRAM = """
import subprocess, sys

GAP = "import time; before = time.monotonic()\\nwhile time.monotonic() - before < 0.05: before = time.monotonic(); time.sleep(0.01)\\n"

with subprocess.Popen([sys.executable, "-c", GAP]) as child:
    exec(GAP)
print("the child ended with", child.returncode)
sys.exit(7)
"""  # noqa: E501


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    """Of two threads, which wait until its input ends."""
    command = [sys.executable, "-c", TWO_THREADS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"ready\n"
        eventually(lambda: len(threads_of([started.pid])[started.pid]) == 2, SOON_SECONDS, "both threads")
        yield started
        started.kill()


def state(pid: int, thread: int) -> str:
    return Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()[0]


def is_held(pid: int, thread: int) -> bool:
    try:
        return state(pid, thread) == "t"
    except FileNotFoundError:
        return False


def test_one_thread_is_held_and_its_neighbour_is_not(process: "subprocess.Popen[bytes]") -> None:
    first, second = threads_of([process.pid])[process.pid]
    for held, free in ((first, second), (second, first)):
        with HeldThreads([held]):
            eventually(lambda held=held: state(process.pid, held) == "t", SOON_SECONDS, f"a halt of {held}")
            assert state(process.pid, free) != "t"
        assert state(process.pid, held) != "t"
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(SOON_SECONDS) == 0


def test_what_a_test_stopped_stays_stopped_and_what_it_ended_ends(process: "subprocess.Popen[bytes]") -> None:
    freeze(process.pid)
    with HeldThreads(threads_of([process.pid])[process.pid]):
        pass
    for thread in threads_of([process.pid])[process.pid]:
        eventually(
            lambda thread=thread: state(process.pid, thread) == "T", SOON_SECONDS, "a process that stays stopped"
        )
    process.send_signal(signal.SIGCONT)
    with HeldThreads([*threads_of([process.pid])[process.pid], 1 << 22]):  # the last: nobody's
        os.kill(process.pid, signal.SIGTERM)
    assert process.wait(SOON_SECONDS) == -signal.SIGTERM


@pytest.mark.parametrize("moment", ["before its halt is met", "before it is let go"])
def test_a_thread_that_is_killed_while_it_is_let_go_is_waited_for(
    process: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Nobody met the end of such a thread, so the process's end could be met by nobody, for as long as this one ran: a
    run of all tests stood still for an hour."""
    _, second = threads_of([process.pid])[process.pid]
    looked_at: list[int] = []

    def kill() -> None:
        os.kill(process.pid, signal.SIGKILL)
        eventually(lambda: not is_held(process.pid, second), SOON_SECONDS, "a thread that goes on to its end")

    waitid, ptrace = os.waitid, held_threads._ptrace

    def look(kind: int, thread: int, options: int) -> "os.waitid_result | None":
        met = waitid(kind, thread, options)
        if met is not None and thread == second and not looked_at and moment == "before its halt is met":
            looked_at.append(thread)
            kill()
        return met

    def ask(request: int, thread: int, data: int = 0) -> bool:
        if (request, thread) == (held_threads._DETACH, second) and moment == "before it is let go":
            kill()
        return ptrace(request, thread, data)

    monkeypatch.setattr(os, "waitid", look)
    monkeypatch.setattr(held_threads, "_ptrace", ask)
    with HeldThreads([second]):
        eventually(lambda: is_held(process.pid, second), SOON_SECONDS, "a halt of the second thread")
    assert process.wait(SOON_SECONDS) == -signal.SIGKILL


def test_each_choice_is_of_threads_that_there_are_and_each_thread_is_chosen() -> None:
    running = {10: [10, 11, 12], 20: [20]}
    chance = random.Random(1)
    choices = [choose(running, chance) for _ in range(500)]
    assert {thread for choice in choices for thread in choice} == {10, 11, 12, 20}
    assert {len(choice) for choice in choices} >= {1, 2, 3}
    assert [10, 11, 12] in choices
    assert [20] in choices


def test_a_commands_processes_are_held_up_until_it_ends() -> None:
    campaign = [sys.executable, "-m", "tests.campaigns.unsteady", "--share", "0.9", "--beside", "0", "--"]
    done = subprocess.run(
        [*campaign, sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=10 * SOON_SECONDS,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert done.returncode == 7, done.stderr
    assert "the child ended with 0\n" in done.stdout
    assert "held up " in done.stdout
