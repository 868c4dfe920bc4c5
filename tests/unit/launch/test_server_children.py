"""The launcher's server processes: connections when it has no file descriptor left, and signals at their start."""

import errno
import os
import signal
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import Unavailable
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.servers import children, server_child
from hbtable.launch.servers.handed_connections import LAUNCHER
from hbtable.launch.servers.inheritance import Inheritance
from hbtable.lockservice.local import LocalLockService
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.handed_sockets import Handed, Handover, handover_pair
from tests.harness.early_reloads import COMMAND


def test_without_descriptors_a_process_hears_that_there_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left() -> tuple[int, int]:
        raise OSError(errno.EMFILE, "Too many open files")

    def gets(serial: int, slot: int) -> Inheritance:
        raise AssertionError

    runtime = GeventRuntime()
    service = LocalLockService(MemoryFileSystem(runtime), runtime)
    launched = children.ServerChildren(runtime, service, 1, gets)
    ours, theirs = handover_pair()
    child: Any = SimpleNamespace(serial=1, slot=0, handover=Handover(ours))
    heard = Handover(theirs)
    monkeypatch.setattr(children, "stream_pair", none_left)
    launched._connect_child(child, 7, LAUNCHER, b"role")
    assert heard.take() == Handed(b"absent 7", -1)
    with pytest.raises(Unavailable, match="Too many open files"):
        launched.connect("process", 1, 1.0)
    child.handover.close()
    heard.close()


@pytest.mark.parametrize("fails", ["Popen", "handover_pair", "stream_pair", "pipe"])
def test_a_process_that_could_not_be_started_leaves_no_descriptor_open(
    monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """It is tried again and again, for as long as the system has no process or no descriptor for it."""

    def none_left(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr({"Popen": subprocess, "pipe": os}.get(fails, server_child), fails, none_left)
    runtime = GeventRuntime()
    service = LocalLockService(MemoryFileSystem(runtime), runtime)
    folder = os.open(".", os.O_RDONLY)
    gets = Inheritance(
        os.getpid(), 1, 0, ".", "127.0.0.1", 9090, 0, "", [], -1, -1, -1, lock_fd=folder, folder_fd=folder
    )
    before, tries = len(os.listdir("/proc/self/fd")), 10
    for _ in range(tries):
        child = server_child.ServerChild(runtime, service, gets, lambda *_: None)
        with pytest.raises(OSError, match="temporarily unavailable"):
            child.start()
    # Something else in this process, its runtime say, may have opened one meanwhile.
    assert len(os.listdir("/proc/self/fd")) < before + tries
    os.close(folder)


def test_a_process_that_is_just_starting_reads_its_files_again_when_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was ended, and where it was among the first, the launcher and all others with it."""
    monkeypatch.setattr(server_child, "_COMMAND", COMMAND)
    runtime = GeventRuntime()
    service = LocalLockService(MemoryFileSystem(runtime), runtime)
    folder = os.open(".", os.O_RDONLY)
    gets = Inheritance(
        os.getpid(), 1, 0, ".", "127.0.0.1", 9090, 0, "", [], -1, -1, -1, lock_fd=folder, folder_fd=folder
    )
    child = server_child.ServerChild(runtime, service, gets, lambda *_: None)
    child.start()
    child.signal(signal.SIGHUP)
    assert child.live() == 0
    assert signal.SIGHUP not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    os.close(folder)
