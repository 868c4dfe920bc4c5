"""Temporary folders of processes that are killed, and of those that live."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hbtable.runtime.processes.temporary_folder import remove_abandoned, temporary_folder

HOLDS = """
import subprocess, sys
from hbtable.runtime.processes.temporary_folder import temporary_folder
with temporary_folder("one-") as folder:
    (folder.path / "deep" / "er").mkdir(parents=True)
    (folder.path / "deep" / "er" / "file").touch()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=0, pass_fds=[folder.descriptor])
    print(child.pid, flush=True)
    child.wait()
"""


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def holder(place: Path, stdin: int) -> subprocess.Popen[str]:
    """It has made its folder, and a child that holds it as well until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=stdin, stdout=subprocess.PIPE, text=True, env={"TMPDIR": str(place)}
    )
    assert process.stdout is not None
    assert int(process.stdout.readline())
    return process


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def test_a_folder_goes_with_its_block(tmp_path: Path) -> None:
    with temporary_folder("one-") as folder, temporary_folder("one-") as other:
        Path(folder.path, "file").touch()
        assert len(names(tmp_path)) == 2
        assert folder.path != other.path
        assert folder.path.stat().st_mode & 0o777 == 0o700
    assert names(tmp_path) == []


def test_processes_that_are_killed_leave_one_folder_at_most(tmp_path: Path) -> None:
    for _ in range(4):
        with holder(tmp_path, subprocess.PIPE) as process:
            assert len(names(tmp_path)) == 1
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert process.stdin is not None
            process.stdin.close()  # the child ends, and with it the last that holds the folder
            assert process.stdout is not None
            assert process.stdout.read() == ""
    remove_abandoned("one-")
    assert names(tmp_path) == []


def test_what_somebody_holds_stays_and_so_does_what_is_none_of_ours(tmp_path: Path) -> None:
    Path(tmp_path, "one-of-an-earlier-version").mkdir()
    Path(tmp_path, "two-left.held").mkdir()
    Path(tmp_path, "one-file.held").touch()
    elsewhere = Path(tmp_path, "elsewhere")
    elsewhere.mkdir()
    Path(tmp_path, "one-link.held").symlink_to(elsewhere)
    before = names(tmp_path)
    with holder(tmp_path, subprocess.PIPE) as process:
        (mine,) = set(names(tmp_path)) - set(before)
        process.send_signal(signal.SIGKILL)
        process.wait()
        remove_abandoned("one-")
        assert names(tmp_path) == sorted([*before, mine]), "its child holds it"
        assert process.stdin is not None
        process.stdin.close()
        assert process.stdout is not None
        assert process.stdout.read() == ""
    Path(tmp_path, "one-left.held").mkdir()
    remove_abandoned("one-")
    assert names(tmp_path) == before
