"""The promises of fs.interface, for whatever `adapter` a test module offers as a fixture: tests/ports/test_fs.py over
adapters that need nothing, cluster-tests/test_fs_on_hdfs.py over real servers. Import everything from here.

What a kind of adapter does not promise is asserted as what it does instead, never skipped.
"""

from collections.abc import Callable

import pytest

from hbtable.errors import AlreadyExists, Corruption, FileNotFound, InvalidRequest, StorageFailed, Unavailable
from hbtable.fs.interface import HDFS, LOCAL, WEBHDFS, AppendFile, FileSystem, PutHints, RandomReadFile
from hbtable.runtime.interface import Runtime


class Adapter:
    """A file system, and how to run a test's body where it may switch."""

    def __init__(self, fs: FileSystem, runtime: Runtime, run: Callable[[Callable[[], None]], None]) -> None:
        self.fs = fs
        self.runtime = runtime
        self.run = run


def append_synced(file: AppendFile, data: bytes) -> None:
    file.append(data)
    file.sync()


def make_empty(fs: FileSystem, path: str) -> None:
    file = fs.create(path)
    file.sync()
    file.close()


def read_or_gone(fs: FileSystem, file: RandomReadFile, expected: bytes) -> bytes:
    """The first bytes of a file whose name went; as expected, too, where the kind lets the content go with the name."""
    try:
        return file.read_at(0, len(expected))
    except FileNotFound:
        assert fs.log_kind != LOCAL
        return expected


def test_what_was_appended_is_read_back(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        file = fs.create("logs/a-1/000.log")
        assert file.path == "logs/a-1/000.log"
        file.append(b"one")
        file.append(b"")
        file.append(b"two" * 1000)
        if fs.log_kind == WEBHDFS:
            file.append(b"end")
            file.sync()
            file.sync()
            with pytest.raises(StorageFailed):
                file.append(b"more")
        else:
            file.sync()
            file.append(b"end")
        file.close()
        file.close()
        assert fs.read_file("logs/a-1/000.log") == b"one" + b"two" * 1000 + b"end"
        assert fs.status("logs/a-1/000.log").length_bytes == 3006

    adapter.run(body)


def test_when_appended_bytes_are_seen(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        file = fs.create("a")
        if fs.log_kind == WEBHDFS:
            assert not fs.exists("a"), "files of this kind appear whole"
            file.append(b"abc")
            assert fs.list_files("") == []
            file.sync()
        else:
            assert fs.read_file("a") == b""
            file.append(b"abc")
        if fs.log_kind == HDFS:
            assert fs.read_file("a") == b"", "nothing reaches HDFS before a sync"
            file.sync()
            with pytest.raises(Unavailable, match="close or seal"):
                fs.read_file("a")
            file.close()
        assert fs.read_file("a") == b"abc"
        file.close()

    adapter.run(body)


def test_a_file_that_was_never_synced_may_be_gone_but_is_never_wrong(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        file = fs.create("a")
        file.append(b"abc")
        file.close()
        if fs.log_kind == WEBHDFS:
            assert not fs.exists("a")
        else:
            assert fs.read_file("a") in (b"", b"abc")

    adapter.run(body)


def test_create_refuses_a_file_that_is_there(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        fs.write_file("a/b", b"kept")
        with pytest.raises(AlreadyExists, match="a/b"):
            fs.create("a/b")
        assert fs.read_file("a/b") == b"kept"

    adapter.run(body)


def test_a_closed_file_takes_no_more(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        file = fs.create("a")
        file.close()
        with pytest.raises(StorageFailed, match="closed"):
            file.append(b"x")
        with pytest.raises(StorageFailed, match="closed"):
            file.sync()

    adapter.run(body)


def test_read_at_gives_exactly_the_bytes_or_corruption(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        fs.write_file("a", bytes(range(100)))
        file = fs.open("a")
        assert file.path == "a"
        assert file.length_bytes == 100
        assert file.read_at(0, 0) == b""
        assert file.read_at(10, 5) == bytes(range(10, 15))
        assert file.read_at(95, 5) == bytes(range(95, 100))
        assert isinstance(file.read_at(0, 3), bytes)
        for offset, size in ((96, 5), (100, 1), (1000, 1)):
            with pytest.raises(Corruption) as caught:
                file.read_at(offset, size)
            assert caught.value.path == "a"
        file.close()
        file.close()

    adapter.run(body)


def test_a_big_file_is_read_whole_and_in_big_pieces(adapter: Adapter) -> None:
    fs = adapter.fs
    content = bytes(range(256)) * 12_000

    def body() -> None:
        fs.write_file("big", content)
        assert fs.read_file("big") == content
        file = fs.open("big")
        assert file.read_at(7, 2_000_000) == content[7:2_000_007]
        with pytest.raises(Corruption):
            file.read_at(0, len(content) + 1)
        file.close()

    adapter.run(body)


def test_an_open_file_stays_readable_when_its_name_goes(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        fs.write_file("a", b"content")
        file = fs.open("a")
        fs.delete("a")
        assert read_or_gone(fs, file, b"content") == b"content"
        file.close()

    adapter.run(body)


def test_write_file_creates_and_replaces(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        fs.write_file("x/y/z", b"first")
        before = fs.open("x/y/z")
        fs.write_file("x/y/z", b"second one")
        assert fs.read_file("x/y/z") == b"second one"
        assert read_or_gone(fs, before, b"first") == b"first", "a reader of the old content is not given the new"
        before.close()
        fs.write_file("x/y/z", b"")
        assert fs.read_file("x/y/z") == b""
        assert [status.path for status in fs.list_files("")] == ["x/y/z"], "no temporary file is left or shown"

    adapter.run(body)


def test_concurrent_write_files_leave_one_of_the_contents(adapter: Adapter) -> None:
    fs, runtime = adapter.fs, adapter.runtime
    contents = [bytes([number]) * 5000 for number in range(6)]

    def body() -> None:
        for task in [runtime.spawn(fs.write_file, "same", content) for content in contents]:
            task.join()
            assert task.error is None
        assert fs.read_file("same") in contents

    adapter.run(body)


def test_what_is_not_there_is_not_found(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        fs.write_file("folder/file", b"")
        calls: list[Callable[[], object]] = [
            lambda: fs.open("no"),
            lambda: fs.read_file("no/such"),
            lambda: fs.status("no"),
            lambda: fs.status("folder"),
            lambda: fs.read_file("folder"),
            lambda: fs.rename("no", "other"),
            lambda: fs.delete("no"),
            lambda: fs.read_file("folder/file/deeper"),
        ]
        for call in calls:
            with pytest.raises(FileNotFound):
                call()
        assert not fs.exists("no")
        assert not fs.exists("folder")
        assert fs.exists("folder/file")
        assert fs.list_files("no") == []
        fs.delete_folder("no/such/folder")

    adapter.run(body)


def test_listing_is_complete_deep_and_ascending_by_path(adapter: Adapter) -> None:
    fs = adapter.fs
    paths = ["t/b", "t/a/2", "t/a/10", "t/a.x", "t/c/d/e/f", "ta", "u/t/1"]

    def body() -> None:
        for path in paths:
            fs.write_file(path, path.encode())
        found = fs.list_files("t")
        assert [status.path for status in found] == sorted(path for path in paths if path.startswith("t/"))
        assert [status.length_bytes for status in found] == [len(status.path) for status in found]
        assert fs.list_files("t/a/2") == [], "a file is no folder"
        assert [status.path for status in fs.list_files("")] == sorted(paths)

    adapter.run(body)


def test_status_says_when_a_file_changed(adapter: Adapter) -> None:
    fs, runtime = adapter.fs, adapter.runtime

    def body() -> None:
        fs.write_file("a", b"1")
        first = fs.status("a").modified_millis
        runtime.sleep(0.01)
        fs.write_file("a", b"2")
        assert fs.status("a").modified_millis >= first > 1_600_000_000_000

    adapter.run(body)


def test_rename_moves_and_never_replaces(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        fs.write_file("a/one", b"1")
        fs.write_file("b/two", b"2")
        fs.rename("a/one", "trash/deep/one")
        assert not fs.exists("a/one")
        assert fs.read_file("trash/deep/one") == b"1"
        with pytest.raises(AlreadyExists, match="b/two"):
            fs.rename("trash/deep/one", "b/two")
        assert fs.read_file("trash/deep/one") == b"1"
        assert fs.read_file("b/two") == b"2"

    adapter.run(body)


def test_only_one_of_several_renames_to_a_target_wins(adapter: Adapter) -> None:
    fs, runtime = adapter.fs, adapter.runtime
    lost: list[str] = []

    def rename(source: str) -> None:
        try:
            fs.rename(source, "target")
        except AlreadyExists:
            lost.append(source)

    def body() -> None:
        for name in "abc":
            fs.write_file(name, name.encode())
        for task in [runtime.spawn(rename, name) for name in "abc"]:
            task.join()
        assert len(lost) == 2
        assert all(fs.read_file(name) == name.encode() for name in lost)
        assert fs.read_file("target").decode() not in lost

    adapter.run(body)


def test_only_one_of_several_creates_of_a_path_wins(adapter: Adapter) -> None:
    fs, runtime = adapter.fs, adapter.runtime
    won: list[int] = []

    def create(number: int) -> None:
        try:
            file = fs.create("x/y")
            file.append(str(number).encode())
            file.sync()
            file.close()
        except (AlreadyExists, StorageFailed):
            return
        won.append(number)

    def body() -> None:
        for task in [runtime.spawn(create, number) for number in range(4)]:
            task.join()
            assert task.error is None
        assert len(won) == 1
        assert fs.read_file("x/y") == str(won[0]).encode()

    adapter.run(body)


def test_put_new_makes_whole_files_and_never_replaces(adapter: Adapter) -> None:
    fs, runtime = adapter.fs, adapter.runtime
    nodes: list[str] = []

    def body() -> None:
        puts = [(f"logs/p/{number}", bytes([number]) * 5000) for number in range(8)]
        for task in [runtime.spawn(fs.put_new, path, data, PutHints((), nodes.append)) for path, data in puts]:
            task.join()
            assert task.error is None
        for path, data in puts:
            assert fs.read_file(path) == data
        with pytest.raises(AlreadyExists):
            fs.put_new("logs/p/3", b"other", PutHints(nodes[:1]))
        assert fs.read_file("logs/p/3") == puts[3][1]
        fs.put_new("logs/p/empty", b"")
        assert fs.status("logs/p/empty").length_bytes == 0
        # One that is tried again, where HDFS was slow, says it again.
        assert len(nodes) >= 8 or fs.log_kind != WEBHDFS, "each put says which node takes it"

    adapter.run(body)


def test_only_one_of_several_puts_of_a_path_wins(adapter: Adapter) -> None:
    fs, runtime = adapter.fs, adapter.runtime
    won: list[int] = []

    def put(number: int) -> None:
        try:
            fs.put_new("x/y", str(number).encode())
        except AlreadyExists:
            return
        won.append(number)

    def body() -> None:
        for task in [runtime.spawn(put, number) for number in range(4)]:
            task.join()
            assert task.error is None
        assert len(won) == 1
        assert fs.read_file("x/y") == str(won[0]).encode()

    adapter.run(body)


def test_a_sealed_file_has_its_final_length_and_all_that_was_synced(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        with pytest.raises(FileNotFound):
            fs.seal("logs/no")
        file = fs.create("logs/a-1/000.log")
        file.append(b"synced")
        file.sync()
        assert fs.seal("logs/a-1/000.log") == 6
        assert fs.seal("logs/a-1/000.log") == 6, "any number may seal it"
        if fs.log_kind != LOCAL:  # there the flock keeps other writers away
            with pytest.raises(StorageFailed):
                append_synced(file, b"more")
            assert fs.read_file("logs/a-1/000.log") == b"synced"
        file.close()

    adapter.run(body)


def test_delete_removes_one_file_and_delete_folder_all_below(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        for path in ("f/a", "f/b/c", "f2/a"):
            fs.write_file(path, b"")
        fs.delete("f/a")
        assert [status.path for status in fs.list_files("")] == ["f/b/c", "f2/a"]
        make_empty(fs, "f/a")
        fs.delete_folder("f")
        assert [status.path for status in fs.list_files("")] == ["f2/a"]
        make_empty(fs, "f/a")

    adapter.run(body)


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "..", "a/../b", "./a", "a b", "a\n", "a\x00", "ä", "a\\b"])
def test_malformed_paths_are_refused(adapter: Adapter, path: str) -> None:
    fs = adapter.fs

    def body() -> None:
        for call in (fs.create, fs.open, fs.read_file, fs.exists, fs.status, fs.delete, fs.delete_folder):
            with pytest.raises(InvalidRequest):
                call(path)
        with pytest.raises(InvalidRequest):
            fs.write_file(path, b"")
        fs.write_file("ok", b"")
        with pytest.raises(InvalidRequest):
            fs.rename("ok", path)

    adapter.run(body)


def test_dots_inside_names_are_fine(adapter: Adapter) -> None:
    fs = adapter.fs

    def body() -> None:
        for path in ("a.b", ".hidden", "a..b", "...", "x/.y/z."):
            fs.write_file(path, b"")
            assert fs.exists(path)

    adapter.run(body)
