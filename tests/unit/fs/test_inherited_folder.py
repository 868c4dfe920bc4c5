"""The lock on a data folder is its holder's children's, too: nobody else has the folder before the last one is gone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.errors import AlreadyExists, LockLost
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.folder_identity import InheritedFolder
from tests.harness.waiting import SOON_SECONDS, eventually

HOLDER = """
import os, subprocess, sys
from hbtable.fs.data_folder import DataFolder
folder = DataFolder.open(sys.argv[1])
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
fds = folder.descriptors if sys.argv[2] == "inherits" else ()
child = subprocess.Popen(["sleep", "1000"], pass_fds=fds, **quiet)
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def children() -> Iterator[list[int]]:
    pids: list[int] = []
    yield pids
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def orphan(folder: Path, how: str, children: list[int]) -> int:
    """A child of a holder that was killed."""
    holder = subprocess.run(
        [sys.executable, "-c", HOLDER, str(folder), how], capture_output=True, text=True, check=False
    )
    assert holder.returncode == -signal.SIGKILL, holder.stderr
    children.append(int(holder.stdout))
    return children[-1]


def is_free(folder: Path) -> bool:
    try:
        DataFolder.open(str(folder)).close()
    except AlreadyExists:
        return False
    return True


def test_the_folder_of_a_dead_holder_is_not_free_while_a_child_has_the_lock(
    tmp_path: Path, children: list[int]
) -> None:
    pid = orphan(tmp_path / "data", "inherits", children)
    os.kill(pid, signal.SIGSTOP)  # a process that is stopped keeps it, too
    assert not is_free(tmp_path / "data")
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: is_free(tmp_path / "data"), SOON_SECONDS, "the folder to be free")


def test_a_child_that_did_not_inherit_it_keeps_nothing(tmp_path: Path, children: list[int]) -> None:
    orphan(tmp_path / "data", "not", children)
    assert is_free(tmp_path / "data")


def test_a_child_sees_that_folder_or_lock_are_others(tmp_path: Path) -> None:
    folder = DataFolder.open(str(tmp_path / "data"))
    lock, descriptor = map(os.dup, folder.descriptors)
    os.set_inheritable(lock, True)
    inherited = InheritedFolder(str(tmp_path / "data"), lock, descriptor)
    assert not os.get_inheritable(lock), "a worker process of the child would keep the lock"
    inherited.check_held()
    (tmp_path / "data" / "LOCK").rename(tmp_path / "LOCK")
    (tmp_path / "data" / "LOCK").touch()
    with pytest.raises(LockLost, match="LOCK was removed or replaced"):
        inherited.check_held()
    (tmp_path / "data").rename(tmp_path / "moved")
    with pytest.raises(LockLost, match="it was moved or replaced"):
        inherited.check_held()
    folder.close()
    os.close(lock)
    os.close(descriptor)
