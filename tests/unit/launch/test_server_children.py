"""The launcher's connections among its server processes, when it has no file descriptor left."""

import errno
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import Unavailable
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.servers import children
from hbtable.launch.servers.handed_connections import LAUNCHER
from hbtable.launch.servers.inheritance import Inheritance
from hbtable.lockservice.local import LocalLockService
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.handed_sockets import Handed, Handover, handover_pair


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
