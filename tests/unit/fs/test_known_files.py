"""What a process knows of the files that it read and wrote: others' changes are seen, and its own are not mistaken for
them."""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hbtable.errors import AlreadyExists, FileNotFound, LockLost, StorageFailed
from hbtable.fs import known_files
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.local import LocalFileSystem
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.planted_bugs import is_found

STATE = "lockservice/files/.sroot"
SEGMENT = "logs/1-a/00000001"
SSTABLE = "sstables/00000001/1-a-1.sst"


@pytest.fixture(autouse=True)
def _no_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda descriptor: None)


@pytest.fixture(autouse=True)
def _looks_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look is ended by a clock, which a busy machine may hold up."""
    monkeypatch.setattr(known_files, "_LOOK_SECONDS", 1e9)
    monkeypatch.setattr(known_files, "_ROUND_SECONDS", 0.0)


@contextlib.contextmanager
def held(root: Path, runtime: SimulatedRuntime) -> Iterator[tuple[DataFolder, LocalFileSystem]]:
    folder = DataFolder.open(str(root))
    with contextlib.closing(folder):
        fs = LocalFileSystem(str(root), runtime)
        fs.belongs_to(folder)
        yield folder, fs


def grow(fs: LocalFileSystem, path: str, data: bytes) -> None:
    with contextlib.closing(fs.create(path)) as file:
        file.append(data)
        file.sync()


def look(folder: DataFolder) -> None:
    folder.check_held()
    for _ in range(3):
        folder.check_files()


def look_often(folder: DataFolder) -> None:
    for _ in range(6):
        folder.check_files()


def in_place(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def renamed(path: Path, data: bytes) -> None:
    new = path.with_name("new")
    new.write_bytes(data)
    new.rename(path)


def removed(path: Path, data: bytes) -> None:
    path.unlink()


def touched(path: Path, data: bytes) -> None:
    os.utime(path, (1, 1))


SEEN = [
    (STATE, in_place, b"old"),
    (STATE, renamed, b"old"),
    (STATE, in_place, b"old, and longer"),
    (STATE, removed, b""),
    (SEGMENT, in_place, b"ne"),
    (SEGMENT, renamed, b"news"),
]
HARMLESS = [
    (STATE, touched, b""),
    (STATE, in_place, b"new"),
    (STATE, renamed, b"new"),
    (SEGMENT, touched, b""),
    (SEGMENT, renamed, b"new"),
    (SEGMENT, removed, b""),
    (SSTABLE, removed, b""),
]


def check_change(root: Path, path: str, how: Callable[[Path, bytes], None], data: bytes, seen: bool) -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        with held(root, runtime) as (folder, fs):
            fs.write_file(STATE, b"old")
            fs.write_file(STATE, b"new")
            grow(fs, SEGMENT, b"new")
            grow(fs, SSTABLE, b"new")
            look(folder)
            how(root / path, data)
            if not seen:
                look(folder)
                return
            for _ in range(2):
                with pytest.raises(LockLost, match=rf"somebody wrote over its files \({path}\), as when a backup"):
                    look(folder)

    runtime.run(body)


@pytest.mark.parametrize(("path", "how", "data"), SEEN)
def test_a_file_that_somebody_else_changed_is_seen(
    tmp_path: Path, path: str, how: Callable[[Path, bytes], None], data: bytes
) -> None:
    check_change(tmp_path, path, how, data, seen=True)


@pytest.mark.parametrize(("path", "how", "data"), HARMLESS)
def test_a_file_with_the_same_bytes_is_the_same(
    tmp_path: Path, path: str, how: Callable[[Path, bytes], None], data: bytes
) -> None:
    check_change(tmp_path, path, how, data, seen=False)


def test_the_planted_bug_is_found(tmp_path: Path) -> None:
    taken = iter("ab")
    is_found("forgotten", lambda: check_change(tmp_path / next(taken), SEGMENT, in_place, b"ne", seen=True))


@pytest.mark.parametrize("how", ["delete", "delete_folder", "rename"])
@pytest.mark.parametrize(("path", "seen"), [(STATE, True), (SEGMENT, True), (SSTABLE, False)])
def test_a_deleted_file_that_is_back_is_seen(tmp_path: Path, how: str, path: str, seen: bool) -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        with held(tmp_path, runtime) as (folder, fs):
            fs.write_file(path, b"old")
            if how == "delete":
                fs.delete(path)
            elif how == "delete_folder":
                fs.delete_folder(path.rpartition("/")[0])
            else:
                fs.rename(path, "trash/it")
            look(folder)
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(b"old")
            with pytest.raises(LockLost) if seen else contextlib.nullcontext():
                look(folder)
            fs_again = held(tmp_path / "other", runtime)
            with fs_again as (other, again):
                again.write_file(path, b"a")
                again.delete(path)
                again.write_file(path, b"b")
                look(other)

    runtime.run(body)


@pytest.mark.parametrize("how", [renamed, removed])
def test_another_file_in_the_place_of_one_that_is_being_written_is_seen(
    tmp_path: Path, how: Callable[[Path, bytes], None]
) -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        with held(tmp_path, runtime) as (folder, fs), contextlib.closing(fs.create(SEGMENT)) as file:
            file.append(b"new")
            how(tmp_path / SEGMENT, b"new")
            with pytest.raises(LockLost, match="somebody wrote over"):
                folder.check_held()
            with pytest.raises(StorageFailed, match="somebody wrote over"):
                file.sync()

    runtime.run(body)


def test_what_is_read_again_after_a_change_by_somebody_else_is_not_taken_for_right(tmp_path: Path) -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        with held(tmp_path, runtime) as (folder, fs):
            fs.write_file(STATE, b"new")
            (tmp_path / STATE).write_bytes(b"old")
            assert fs.read_file(STATE) == b"old"
            with pytest.raises(LockLost):
                look(folder)

    runtime.run(body)


def test_a_file_that_was_only_read_is_looked_after(tmp_path: Path) -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        with held(tmp_path, runtime) as (folder, fs):
            (tmp_path / "cluster").write_bytes(b"id")
            fs.read_file("cluster")
            look(folder)
            (tmp_path / "cluster").write_bytes(b"ix")
            with pytest.raises(LockLost):
                look(folder)

    runtime.run(body)


def test_many_files_are_looked_at_in_turn(tmp_path: Path) -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        with held(tmp_path, runtime) as (folder, fs):
            for number in range(120):
                fs.write_file(f"metadata/{number}", b"new")
            folder.check_files()
            (tmp_path / "metadata/119").write_bytes(b"old")
            with pytest.raises(LockLost):
                look_often(folder)

    runtime.run(body)


def test_a_look_ends_early_where_each_file_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system of another machine a hundred of them held all requests up, ten times a second."""
    monkeypatch.undo()
    (tmp_path / "metadata").mkdir()
    clock = itertools.count()
    known = known_files.KnownFiles(str(tmp_path), lambda: float(next(clock)))
    known.alone = True
    paths = [f"metadata/{number}" for number in range(10)]
    for path in paths:
        (tmp_path / path).write_bytes(b"new")
        known.whole(path, b"new")
    looked: list[str] = []
    is_other = known._is_other
    monkeypatch.setattr(known, "_is_other", lambda path: (looked.append(path), is_other(path))[1])
    assert known.look() == ""
    for number in range(1, 11):
        assert known.look() == ""
        assert looked == paths[:number]
    (tmp_path / paths[9]).write_bytes(b"old")
    assert paths[9] in [known.look() for _ in range(12)]


def test_few_files_are_looked_at_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a server at rest, looks at the same dozen files ten times a second were most of its calls of the system."""
    monkeypatch.undo()
    (tmp_path / "metadata").mkdir()
    times = [0.0]
    known = known_files.KnownFiles(str(tmp_path), lambda: times[0])
    known.alone = True
    paths = [f"metadata/{number}" for number in range(10)]
    for path in paths:
        (tmp_path / path).write_bytes(b"new")
        known.whole(path, b"new")
    looked: list[str] = []
    is_other = known._is_other
    monkeypatch.setattr(known, "_is_other", lambda path: (looked.append(path), is_other(path))[1])
    for number in range(50):  # ten a second, from the first to the fifth
        times[0] = 1 + number / 10
        assert known.look() == ""
    assert looked == paths * 5
    (tmp_path / paths[9]).write_bytes(b"old")
    found = []
    for number in range(50, 62):
        times[0] = 1 + number / 10
        found.append(known.look())
    assert paths[9] in found


REPLACED = [STATE, "lockservice/epochs", "logs/1-a/synced", "logs/0-a/synced", "metadata/root-tablet"]
DELETED = ["lockservice/files", "logs/0-a", "sstables/00000001"]
"""Not that of the log to which something is being written: that would be lost."""


@pytest.mark.parametrize("seed", range(10))
def test_what_this_process_does_itself_is_never_somebody_elses(tmp_path: Path, seed: int) -> None:
    """Tasks change the same few files in every way at once, are killed in the middle, and each look between is calm."""
    runtime = SimulatedRuntime(seed)
    random = runtime.random
    grown: list[str] = []

    def any_file() -> str:
        return random.choice(REPLACED + grown)

    def change(fs: LocalFileSystem) -> None:
        data = random.randbytes(random.randrange(5))
        with contextlib.suppress(FileNotFound, AlreadyExists, StorageFailed):
            match random.randrange(6):
                case 0 | 1:
                    fs.write_file(random.choice(REPLACED), data)
                case 2:
                    file = fs.create(f"{random.choice([SEGMENT, SSTABLE])}{len(grown)}")
                    grown.append(file.path)
                    with contextlib.closing(file):
                        file.append(data)
                        file.sync()
                        file.append(data)
                        runtime.sleep(random.choice([0, 0.001, 0.01]))
                case 3:
                    fs.delete(any_file())
                case 4:
                    fs.rename(any_file(), f"trash/{random.random()}")
                case 5:
                    fs.delete_folder(random.choice(DELETED))

    def read(fs: LocalFileSystem) -> None:
        with contextlib.suppress(FileNotFound):
            fs.read_file(any_file())

    def body() -> None:
        with held(tmp_path, runtime) as (folder, fs):
            for _ in range(60):
                task = runtime.spawn(change, fs)
                runtime.sleep(random.choice([0, 0.001, 0.01]))
                read(fs)
                if random.random() < 0.1:
                    task.kill()
                look(folder)
            runtime.sleep(5)
            look(folder)

    runtime.run(body)
