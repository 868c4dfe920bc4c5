"""One process per data folder, and only folders of a format that is known."""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hbtable.errors import AlreadyExists, Corruption, InvalidConfiguration, LockLost, StorageFailed, UnsupportedFormat
from hbtable.fs.data_folder import DataFolder, FolderForReading, check_readable
from hbtable.fs.entry_kinds import put_aside
from hbtable.fs.local import LocalFileSystem
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.planted_bugs import is_found


def test_a_new_folder_is_made_with_its_format(tmp_path: Path) -> None:
    root = tmp_path / "new" / "folder"
    folder = DataFolder.open(str(root), "127.0.0.1:9090")
    assert folder.root == str(root)
    assert (root / "FORMAT").read_text() == "hbtable data folder\nformat 1\n"
    assert (root / "LOCK").read_text().startswith(f"pid {os.getpid()}\naddress 127.0.0.1:9090\nhost ")
    folder.set_address("0.0.0.0:1")
    assert (root / "LOCK").read_text().startswith(f"pid {os.getpid()}\naddress 0.0.0.0:1\nhost ")
    folder.close()
    folder.close()


def test_a_second_open_names_the_holder(tmp_path: Path) -> None:
    folder = DataFolder.open(str(tmp_path), "127.0.0.1:9090")
    with pytest.raises(AlreadyExists, match=r"in use by this process \(127\.0\.0\.1:9090\)"):
        DataFolder.open(str(tmp_path))
    program = (
        "import sys; from hbtable.fs.data_folder import DataFolder; from hbtable.errors import AlreadyExists\n"
        "try: DataFolder.open(sys.argv[1])\n"
        "except AlreadyExists as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert f"in use by process {os.getpid()} (127.0.0.1:9090): stop it" in done.stdout
    folder.close()
    DataFolder.open(str(tmp_path)).close()


def test_a_holder_that_has_not_said_who_it_is_yet_may_be_one_that_opens_it(tmp_path: Path) -> None:
    """As when the workers of a web server open a new folder at once."""
    DataFolder.open(str(tmp_path)).close()
    with (tmp_path / "LOCK").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(AlreadyExists, match=r"just opening, .*: stop it, or share it as docs/manual/programs\.md"):
            DataFolder.open(str(tmp_path))


def test_the_lock_is_free_when_its_holder_was_killed(tmp_path: Path) -> None:
    program = (
        "import os, sys; from hbtable.fs.data_folder import DataFolder\n"
        "folder = DataFolder.open(sys.argv[1], 'somewhere'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert "somewhere" in (tmp_path / "LOCK").read_text()
    DataFolder.open(str(tmp_path)).close()


def test_leftovers_of_interrupted_writes_are_removed(tmp_path: Path) -> None:
    DataFolder.open(str(tmp_path)).close()
    (tmp_path / "unfinished").mkdir(exist_ok=True)
    (tmp_path / "unfinished" / "x").write_bytes(b"half")
    DataFolder.open(str(tmp_path)).close()
    assert not (tmp_path / "unfinished" / "x").exists()


def test_a_newer_format_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("hbtable data folder\nformat 2\n")
    with pytest.raises(UnsupportedFormat, match="newer hbtable: it has format 2"):
        DataFolder.open(str(tmp_path))
    (tmp_path / "FORMAT").write_text("hbtable data folder\nformat 1\n")
    DataFolder.open(str(tmp_path)).close()


def test_a_long_list_of_features_that_are_not_known_is_told_whole(tmp_path: Path) -> None:
    """It is a newer folder, and no damaged one, however many features it uses."""
    names = [f"feature-{number:03}-{'x' * 40}" for number in range(200)]
    (tmp_path / "FORMAT").write_text(f"hbtable data folder\nformat 2\nfeatures {' '.join(names)}\n")
    with pytest.raises(UnsupportedFormat, match="written by a newer hbtable") as caught:
        DataFolder.open(str(tmp_path))
    assert all(name in str(caught.value) for name in names)


@pytest.mark.parametrize("content", [b"", b"hbtable", b"hbtable data folder\nformat x\n", b"\xff\x00"])
def test_a_damaged_format_file_is_corruption(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "FORMAT").write_bytes(content)
    with pytest.raises(Corruption, match="FORMAT"):
        DataFolder.open(str(tmp_path))


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InvalidConfiguration, match="not empty and no hbtable data folder"):
        DataFolder.open(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_lost_its_format_file_is_for_a_repair(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(InvalidConfiguration, match="no file FORMAT: restore it, or run hbtable repair"):
        DataFolder.open(str(tmp_path))


def test_a_start_that_crashed_early_does_not_lock_the_user_out(tmp_path: Path) -> None:
    (tmp_path / "LOCK").write_text("")
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "lost+found").mkdir()
    DataFolder.open(str(tmp_path)).close()


def test_a_path_that_cannot_be_a_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidConfiguration, match="it is a file; name a folder"):
        DataFolder.open(str(tmp_path / "file"))


def test_without_its_lock_file_a_folder_in_use_is_no_others(tmp_path: Path) -> None:
    folder = DataFolder.open(str(tmp_path), "127.0.0.1:9090")
    folder.check_held()
    (tmp_path / "LOCK").unlink()
    with pytest.raises(LockLost, match="its file LOCK was removed or replaced while it was in use"):
        folder.check_held()
    program = (
        "import sys; from hbtable.fs.data_folder import DataFolder; from hbtable.errors import AlreadyExists\n"
        "try: DataFolder.open(sys.argv[1])\n"
        "except AlreadyExists as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "in use by another process, whose file LOCK was removed" in done.stdout
    with pytest.raises(LockLost, match="its file LOCK was removed or replaced while it was in use"):
        folder.check_held()
    folder.close()
    DataFolder.open(str(tmp_path)).close()


@pytest.mark.parametrize("text", [b"", b"pid 1\n", b"x" * 2000])
def test_a_folder_whose_lock_file_was_written_over_is_lost(tmp_path: Path, text: bytes) -> None:
    folder = DataFolder.open(str(tmp_path), "127.0.0.1:9090")
    (tmp_path / "LOCK").write_bytes(text)
    with pytest.raises(LockLost, match=r"somebody wrote over its files \(LOCK\), as when a backup is copied into it,"):
        folder.check_held()
    folder.close()
    folder.check_held()


def test_the_planted_bug_is_found(tmp_path: Path) -> None:
    taken = iter("ab")

    def check() -> None:
        folder = DataFolder.open(str(tmp_path / next(taken)))
        with contextlib.closing(folder):
            (Path(folder.root) / "LOCK").write_bytes(b"")
            with pytest.raises(LockLost):
                folder.check_held()

    is_found("overwritten", check)


def test_a_lock_file_that_was_only_touched_is_the_same(tmp_path: Path) -> None:
    folder = DataFolder.open(str(tmp_path), "127.0.0.1:9090")
    for when in (1, 2):
        os.utime(tmp_path / "LOCK", (when, when))
        (tmp_path / "LOCK").chmod(0o600)
        folder.check_held()
    folder.set_address("127.0.0.1:9091")
    folder.check_held()
    folder.close()


@pytest.mark.parametrize("left", [0, 5, 50])
def test_a_folder_in_which_a_file_that_is_being_written_has_another_size_is_lost(tmp_path: Path, left: int) -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        folder = DataFolder.open(str(tmp_path))
        fs = LocalFileSystem(str(tmp_path), runtime)
        fs.belongs_to(folder)
        file = fs.create("a")
        file.append(b"1234567890")
        folder.check_held()
        os.truncate(tmp_path / "a", left)
        with pytest.raises(LockLost, match=r"somebody wrote over its files \(a\)"):
            folder.check_held()
        with pytest.raises(StorageFailed, match="somebody wrote over its files"):
            file.sync()
        file.close()
        folder.check_held()
        folder.close()

    runtime.run(body)


@pytest.mark.parametrize("replaced", [True, False])
def test_a_folder_that_was_moved_is_lost(tmp_path: Path, replaced: bool) -> None:
    root = tmp_path / "data"
    folder = DataFolder.open(str(root))
    root.rename(tmp_path / "old")
    if replaced:
        shutil.copytree(tmp_path / "old", root)
    with pytest.raises(LockLost, match="it was moved or replaced while it was in use"):
        folder.check_held()
    folder.close()
    DataFolder.open(str(root)).close()


@pytest.mark.parametrize(("host", "pids"), [("elsewhere", None), (None, "pid:[1]")])
def test_a_holder_with_the_same_pid_in_another_container_is_not_this_process(tmp_path, host, pids) -> None:
    """Both are pid 1 there."""
    program = (
        "import sys; from hbtable.fs.data_folder import DataFolder\n"
        "folder = DataFolder.open(sys.argv[1], '10.0.0.1:9090'); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        said = dict(line.split(" ", 1) for line in (tmp_path / "LOCK").read_text().splitlines())
        said.update(pid=str(os.getpid()), host=host or said["host"], pids=pids or said["pids"])
        (tmp_path / "LOCK").write_text("".join(f"{name} {value}\n" for name, value in said.items()))
        with pytest.raises(AlreadyExists) as refused:
            DataFolder.open(str(tmp_path))
        who = f"process {os.getpid()} of {said['host']} (10.0.0.1:9090), which is another container or machine"
        assert f"in use by {who}" in str(refused.value)


@pytest.mark.parametrize("name", ["a\0b", "half \ud800"])
def test_a_path_that_no_file_can_have_is_refused_with_a_message(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"cannot be used: no file can have this name") as error:
        DataFolder.open(f"{tmp_path}/{name}")
    assert repr(f"{tmp_path}/{name}") in str(error.value)


def test_those_who_only_read_share_a_folder_and_keep_writers_out(tmp_path: Path) -> None:
    root = str(tmp_path)
    writer = DataFolder.open(root)
    with pytest.raises(AlreadyExists, match="in use by this process"):
        FolderForReading(root)
    writer.close()
    before = sorted(os.listdir(root))
    first, second = FolderForReading(root), FolderForReading(root)
    first.check_format()
    for alone in (lambda: DataFolder.open(root), lambda: FolderForReading(root, alone=True)):
        with pytest.raises(AlreadyExists, match="in use by somebody who only reads it, with hbtable check or"):
            alone()
    first.close()
    first.close()
    with pytest.raises(AlreadyExists, match="somebody who only reads it"):
        DataFolder.open(root)
    second.check_held()
    (tmp_path / "LOCK").unlink()
    with pytest.raises(LockLost, match="its file LOCK was removed or replaced"):
        second.check_held()
    second.close()
    FolderForReading(root).close()
    assert [*before[:1], "LOCK"] == before
    assert os.listdir(root) == ["FORMAT"], "who reads makes no LOCK"
    DataFolder.open(root).close()


def test_what_is_no_data_folder_is_not_read(tmp_path: Path) -> None:
    folder = FolderForReading(str(tmp_path))
    with pytest.raises(InvalidConfiguration, match="it has no file FORMAT"):
        folder.check_format()
    folder.close()
    with pytest.raises(InvalidConfiguration, match="it is not there"):
        FolderForReading(str(tmp_path / "absent"))
    (tmp_path / "FORMAT").write_text("hbtable data folder\nformat 7\n")
    folder = FolderForReading(str(tmp_path))
    with pytest.raises(UnsupportedFormat, match="written by a newer hbtable"):
        folder.check_format()
    folder.close()


FILES = [
    "LOCK", "ballast", "cluster", "lockservice/epochs", "lockservice/files/root-tablet", "metadata/root-tablet",
    "requests-under-way",
]  # fmt: skip
FOLDERS = [
    "lockservice",
    "lockservice/files",
    "logs",
    "logs/1-a",
    "metadata",
    "sstables",
    "sstables/00000001",
    "unfinished",
]


@pytest.mark.parametrize(("path", "kind"), [(path, "folder") for path in FILES] + [(path, "file") for path in FOLDERS])
def test_an_entry_of_the_wrong_kind_is_named_and_put_aside(tmp_path: Path, path: str, kind: str) -> None:
    DataFolder.open(str(tmp_path)).close()
    there = tmp_path / path
    shutil.rmtree(there) if there.is_dir() else there.unlink(missing_ok=True)
    there.parent.mkdir(parents=True, exist_ok=True)
    there.mkdir() if kind == "folder" else there.write_bytes(b"")
    with pytest.raises(InvalidConfiguration, match=f"{path} is a {kind}, where hbtable keeps a .*run hbtable repair"):
        DataFolder.open(str(tmp_path))
    assert len(put_aside(str(tmp_path), dry_run=True)) == 1
    assert there.exists()
    put_aside(str(tmp_path))
    aside = tmp_path / "wrong-kind" / path
    assert aside.is_dir() == (kind == "folder")
    assert not there.exists()
    DataFolder.open(str(tmp_path)).close()


def test_a_folder_that_may_not_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_readable(str(tmp_path))
    check_readable(str(tmp_path / "none"))

    def refused(path: str) -> list[str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "listdir", refused)
    with pytest.raises(InvalidConfiguration, match=f"{tmp_path} cannot be used: Permission denied"):
        check_readable(str(tmp_path))


def test_a_folder_that_cannot_be_made_is_named_with_a_way_out() -> None:
    with pytest.raises(InvalidConfiguration, match=r"the data folder /proc/x cannot be made: No such .* on a disk$"):
        DataFolder.open("/proc/x")


def test_a_new_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    root = tmp_path / "data"
    DataFolder.open(str(root)).close()
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_what_another_thread_is_just_appending_is_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that opens the database again looks while the hub's writes: between the write and what it counts."""
    runtime = SimulatedRuntime(1)
    system = LocalFileSystem(str(tmp_path), runtime)
    seen: list[str] = []
    write = os.write

    def slow_write(descriptor: int, data: bytes) -> int:
        seen.append(system.known.look_at_growing())
        done = write(descriptor, data[:2])
        seen.append(system.known.look_at_growing())
        return done

    def body() -> None:
        file = system.create("log")
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", slow_write)
            file.append(b"record")
        assert set(seen) == {""}
        assert len(seen) == 6
        assert system.known.look_at_growing() == ""
        os.truncate(tmp_path / "log", 3)
        assert system.known.look_at_growing() == "log"
        file.close()
        assert system.known.look_at_growing() == ""

    runtime.run(body)
