"""Connections that one process hands to another."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.handed_sockets import HandedListener, Handover, connected, handover_pair, stream_pair
from tests.harness.waiting import SOON_SECONDS, eventually

CHILD = """
import os, subprocess, sys
from hbtable.runtime.processes.parent_death import die_with
die_with(os.getppid())
print(os.getpid(), flush=True)
os.kill(os.getpid(), 19)
"""
PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
sys.stdout.write(child.stdout.readline().decode())
os.waitpid(child.pid, os.WUNTRACED)
sys.stdout.flush()
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime()
    yield runtime
    runtime.close()


def test_messages_arrive_whole_in_order_and_with_their_connections() -> None:
    ours, theirs = map(Handover, handover_pair())
    left, right = stream_pair()
    assert ours.give(b"first")
    assert ours.give(b"second", left)
    os.close(left)
    first, second = theirs.take(), theirs.take()
    assert first == (b"first", -1)
    assert second is not None
    assert second.message == b"second"
    assert not os.get_inheritable(second.descriptor)  # a worker process that begins now would keep it open
    one, other = socket.socket(fileno=second.descriptor), socket.socket(fileno=right)
    one.sendall(b"through")
    assert other.recv(10) == b"through"
    ours.close()
    assert theirs.take() is None
    assert not theirs.give(b"to nobody")
    for end in (one, other, theirs):
        end.close()


def test_who_does_not_take_anything_holds_nobody_up() -> None:
    ours, theirs = map(Handover, handover_pair())
    given = 0
    while ours.give(b"x" * 4000):
        given += 1
        assert given < 100_000
    assert theirs.take() == (b"x" * 4000, -1)
    assert ours.give(b"there is room again")
    ours.close()
    theirs.close()


def test_a_handed_connection_is_served_and_closed(runtime: GeventRuntime) -> None:
    seen: list[tuple[str, int]] = []

    def handle(stream: object, address: tuple[str, int]) -> None:
        seen.append(address)
        stream.sendall(stream.recv(10))  # type: ignore[attr-defined]

    listener = HandedListener(runtime, 9090, handle)
    left, right = stream_pair()
    listener.take(left, ("a client", 7))
    client = connected(right)
    client.sendall(b"echo")
    assert client.recv(10) == b"echo"
    assert client.recv(10) == b""
    assert seen == [("a client", 7)]
    listener.stop_accepting()
    left, late = stream_pair()
    listener.take(left, ("late", 8))
    late_client = connected(late)
    assert late_client.recv(10) == b""
    for one in (client, late_client):
        one.close()
    listener.close()


@pytest.mark.slow
def test_the_kernel_ends_a_stopped_child_with_its_parent() -> None:
    parent = subprocess.run([sys.executable, "-c", PARENT, CHILD], capture_output=True, text=True, check=False)
    assert parent.returncode == -9, parent.stderr
    pid = int(parent.stdout)

    def gone() -> bool:
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(") ")[2].startswith("Z")
        except FileNotFoundError:
            return True

    eventually(gone, SOON_SECONDS, "the child to be gone")
