"""The file system port over HDFS by Hadoop's own protocol (GFS's place in the paper, section 4): hdfs://host:8020/root.

hdfs-native may hang for ever, so every call has a deadline (fs/blocking_calls.py), and each file being written a thread
of its own (threads.py). What the port leaves open:

    append      buffered here; nothing of it outlives this process before sync()
    sync        hsync: on the disks of all DataNodes of the pipeline; asks the NameNode, too
    reading     a file that is being written reads as empty; once something was synced it is Unavailable instead.
                Complete after close() or seal()
    close       the file is completed by a task of its own; calls of this object wait for that
    unfinished/ a write_file that was cut off leaves its content there, and nothing else; listed by that name only

Renaming tells a lost answer from a missing source by looking at both names.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeVar, final

from hbtable.errors import AlreadyExists, FileNotFound, Stalled, StorageFailed, Unavailable
from hbtable.fs.blocking_calls import BlockingCalls, ThreadCalls
from hbtable.fs.hdfs.client import NativeClient, NativeReader, NativeStatus, guarded, put_whole
from hbtable.fs.hdfs.errors import NotAllowed, is_a_folder, message, missing_parent, translated
from hbtable.fs.hdfs.files import NativeAppendFile, NativeReadFile, grown
from hbtable.fs.hdfs.first_answer import FirstAnswer
from hbtable.fs.hdfs.namenodes import open_client
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.hdfs.sealing import sealed_length
from hbtable.fs.hdfs.threads import WriterThread, WriterThreads
from hbtable.fs.interface import HDFS, NO_HINTS, AppendFile, Copies, FileStatus, PutHints, RandomReadFile
from hbtable.fs.paths import UNFINISHED, check_path
from hbtable.runtime.interface import Event, Runtime
from hbtable.switches import switches

T = TypeVar("T")

logger = logging.getLogger(__name__)

_LOGS: Final = "logs/"
_FIRST_PUT_PAUSE_SECONDS: Final = 0.05
_LONGEST_PUT_PAUSE_SECONDS: Final = 0.8
_SLOW_SECONDS: Final = 0.5
_OPEN_TRIES: Final = 6
_OPEN_PAUSE_SECONDS: Final = 0.05


@final
class HdfsNativeFileSystem:
    """Implements fs.interface.FileSystem below `root`, a folder that is made with the first file."""

    log_kind = HDFS

    def __init__(
        self,
        runtime: Runtime,
        namenodes: str,
        root: str,
        options: HdfsNativeOptions | None = None,
        client: NativeClient | None = None,
        calls: BlockingCalls | None = None,
        count_copies: Callable[[str], int | None] = lambda path: None,
        on_close: Callable[[], None] = lambda: None,
        looks_only: bool = False,
    ) -> None:
        """`count_copies`: of the file at an absolute path; hdfs-native cannot tell. `on_close` closes what it uses.
        `looks_only`: ActiveNameNode's. Sends nothing. InvalidConfiguration without hdfs-native, unless a `client` is
        handed in."""
        self.runtime = runtime
        self.options = options or HdfsNativeOptions()
        self._root = f"/{root.strip('/')}".rstrip("/")
        self.client = client or open_client(
            namenodes,
            self.options.settings(),
            self._root or "/",
            runtime.clock_seconds,
            runtime.wall_millis,
            looks_only,
        )
        self.completing: dict[str, Event] = {}
        """Closed files that are not complete yet."""
        answers = calls or ThreadCalls(runtime)
        self._calls = FirstAnswer(answers) if self.options.sign_in == "simple" else answers
        self.threads = WriterThreads(self._calls)
        self._writing: set[str] = set()
        self._count_copies = count_copies
        self._on_close = on_close

    def close(self) -> None:
        """Closes connections. To be called after the last call. hdfs-native closes its own when they are idle."""
        self._on_close()

    # ------------------------------------------------------------ writing

    @switches
    def create(self, path: str) -> AppendFile:
        """*Switches.* Stalled: it may exist, now or later."""
        absolute = self._absolute(path)
        if path in self._writing:
            # The NameNode would say the same, in the words for an earlier try whose answer was lost.
            raise AlreadyExists(f"{path} exists already")
        options = self.options
        is_log = path.startswith(_LOGS)
        replication = options.log_replication if is_log else options.replication
        thread = self.threads.take(for_log=is_log)
        self._writing.add(path)
        try:
            writer = self.threads.call(thread, options.names_seconds, self.client.create, absolute, replication)
        except BaseException as error:
            self.writer_ended(path, thread)
            if not isinstance(error, Exception):
                raise
            raise translated(error, path, "creating", writes=True) from error
        sync_seconds = options.log_sync_seconds if is_log else options.file_sync_seconds
        return NativeAppendFile(self, path, writer, thread, sync_seconds)

    @switches
    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        """*Switches.* The client does not say which DataNodes it uses: `hints` are ignored."""
        absolute = self._absolute(path)
        if path in self._writing:
            raise AlreadyExists(f"{path} exists already")
        self._writing.add(path)
        try:
            self._put(path, absolute, data, self._replication(path))
        finally:
            self._writing.discard(path)

    @switches
    def write_file(self, path: str, data: bytes) -> None:
        absolute = self._absolute(path)
        replication = self._replication(path)
        end = self.runtime.clock_seconds() + self.options.put_give_up_seconds
        pause_seconds = _FIRST_PUT_PAUSE_SECONDS
        while True:
            temporary = f"{self._root}/{UNFINISHED}/{self.runtime.random.getrandbits(64):016x}"
            try:
                self._put(path, temporary, data, replication)
                self._replace(path, temporary, absolute, data)
                return
            except NotAllowed:
                raise
            except StorageFailed:
                # A DataNode that hangs or refuses, as a rule: another name gets other DataNodes, fewer of them more
                # likely ones that answer.
                self._drop_unfinished(temporary)
                replication = min(replication, self.options.log_replication)
                if self.runtime.clock_seconds() >= end:
                    raise
            self.runtime.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LONGEST_PUT_PAUSE_SECONDS)

    @switches
    def _drop_unfinished(self, temporary: str) -> None:
        try:
            self._ask(self.client.delete, temporary, False)
        except Exception as error:  # noqa: BLE001  only tidiness
            logger.info("%s is left: %s", temporary, message(error))

    @switches
    def _put(self, path: str, absolute: str, data: bytes, replication: int) -> None:
        thread = self.threads.take(for_log=path.startswith(_LOGS))
        deadline_seconds = grown(self.options.put_seconds, len(data))
        try:
            self.threads.call(thread, deadline_seconds, put_whole, self.client, absolute, data, replication)
        except Exception as error:
            raise translated(error, path, "writing", writes=True) from error
        finally:
            self.threads.give_back(thread)

    @switches
    def _replace(self, path: str, temporary: str, absolute: str, data: bytes) -> None:
        """Renames over what is there."""
        self._settle(path)
        try:
            try:
                self._rename(temporary, absolute, overwrite=True)
            except (Stalled, FileNotFoundError):
                # Stalled: it may yet be done, over a later content. Without its source it can do nothing any more.
                # FileNotFoundError: the client repeats calls whose answer was lost, so the first one may have done it.
                if self._ask(self.client.delete, temporary, False) or self.read_file(path) != data:
                    raise
        except Exception as error:
            raise translated(error, path, "writing", writes=True) from error

    def _replication(self, path: str) -> int:
        return self.options.log_replication if path.startswith(_LOGS) else self.options.replication

    # ------------------------------------------------------------ reading

    @switches
    def open(self, path: str) -> RandomReadFile:
        """*Switches.* Unavailable while somebody writes the file."""
        absolute = self._absolute(path)
        self._settle(path)
        for attempt in range(_OPEN_TRIES):
            if attempt:
                self.runtime.sleep(_OPEN_PAUSE_SECONDS * attempt)
            status, reader = self.read_repeatedly(path, 0, lambda: self._look_and_open(absolute))
            if reader.file_length() == status.length:
                return NativeReadFile(self, path, reader, status.modification_time)
        raise Unavailable(f"{path} is being written, {status.length} bytes so far: close or seal it before it is read")

    @switches
    def _look_and_open(self, absolute: str) -> tuple[NativeStatus, NativeReader]:
        """In a thread."""
        # In this order: were the file completed between the two, the lengths differ.
        status = self.client.get_file_info(absolute)
        return status, self.client.read(absolute)

    @switches
    def read_file(self, path: str) -> bytes:
        """*Switches.*"""
        file = self.open(path)
        return file.read_at(0, file.length_bytes)

    @switches
    def read_repeatedly(
        self, path: str, size: int, read: Callable[[], T], after_slow: Callable[[], None] | None = None
    ) -> T:
        """Returns the result of `read`, called in a thread. Each try has longer than the one before; `after_slow` is
        called after one that failed or was slow. FileNotFound, Unavailable."""
        tries = self.options.read_tries
        for attempt in range(1, tries + 1):
            started = self.runtime.clock_seconds()
            try:
                deadline_seconds = grown(self.options.read_seconds * attempt, size)
                result = self._calls.call("hdfs-read", deadline_seconds, lambda: guarded(read))
            except Exception as error:
                known = translated(error, path, "reading", writes=False)
                if attempt == tries or isinstance(known, FileNotFound):
                    raise known from error
                if after_slow is not None:
                    after_slow()
                continue
            if after_slow is not None and self.runtime.clock_seconds() - started > grown(_SLOW_SECONDS, size):
                after_slow()
            return result
        raise AssertionError("there is at least one try")

    @switches
    def exists(self, path: str) -> bool:
        """*Switches.*"""
        try:
            self.status(path)
        except FileNotFound:
            return False
        return True

    @switches
    def status(self, path: str) -> FileStatus:
        """*Switches.* Of a file that is being written: the length at its last sync."""
        absolute = self._absolute(path)
        self._settle(path)
        try:
            status = self._ask(self.client.get_file_info, absolute)
        except Exception as error:
            raise translated(error, path, "looking at", writes=False) from error
        if status.isdir:
            raise FileNotFound(f"{path} is a folder")
        return FileStatus(path, status.length, status.modification_time)

    @switches
    def copies(self, path: str) -> Copies | None:
        """As CountsCopies.copies. *Switches.*"""
        found = self._count_copies(self._absolute(path))
        return None if found is None else Copies(found, self._replication(path))

    @switches
    def list_files(self, folder: str) -> list[FileStatus]:
        """An empty `folder` lists everything that is finished."""
        below = f"{self._absolute(folder)}/" if folder else f"{self._root}/"
        for path in [path for path in self.completing if path.startswith(f"{folder}/" if folder else "")]:
            self._settle(path)
        try:
            found = self._ask(lambda: list(self.client.list_status(below[:-1] or "/", True)))
        except FileNotFoundError:
            return []
        except Exception as error:
            known = translated(error, folder or "/", "listing", writes=False)
            if isinstance(known, FileNotFound):
                return []  # a part of the path is a file
            raise known from error
        hidden = () if folder else (f"{self._root}/{UNFINISHED}/",)
        start = len(self._root) + 1
        return sorted(
            FileStatus(status.path[start:], status.length, status.modification_time)
            for status in found
            if not status.isdir and status.path.startswith(below) and not status.path.startswith(hidden)
        )

    # ------------------------------------------------------------ names

    @switches
    def seal(self, path: str) -> int:
        self._absolute(path)
        self._settle(path)
        return self.seal_now(path)

    @switches
    def seal_now(self, path: str) -> int:
        """seal() for a file that this process may be completing."""
        absolute = self._absolute(path)

        @switches
        def recovered_length() -> int | None:
            is_closed = self._ask(self.client.recover_lease, absolute)
            return self._ask(self.client.get_file_info, absolute).length if is_closed else None

        return sealed_length(self.runtime, path, self.options.seal_seconds, recovered_length)

    @switches
    def rename(self, source: str, target: str) -> None:
        absolute_source, absolute_target = self._absolute(source), self._absolute(target)
        before = self.status(source)
        self._settle(target)
        try:
            self._rename(absolute_source, absolute_target, overwrite=False)
        except FileNotFoundError as error:
            # It was there just now. The client repeats calls whose answer was lost: then the first one did it.
            if not self.exists(target) or self.status(target)[1:] != before[1:]:
                raise FileNotFound(f"there is no file {source} to rename to {target}") from error
        except Exception as error:
            if is_a_folder(error) or isinstance(error, FileExistsError):
                raise AlreadyExists(f"{target} exists already, so {source} keeps its name") from error
            raise translated(error, source, "renaming", writes=True) from error

    @switches
    def _rename(self, source: str, target: str, overwrite: bool) -> None:
        """hdfs-native's errors, and Stalled."""
        try:
            self._ask(self.client.rename, source, target, overwrite)
        except FileNotFoundError as error:
            if not missing_parent(error):
                raise
            self._ask(self.client.mkdirs, target.rpartition("/")[0])
            self._ask(self.client.rename, source, target, overwrite)

    @switches
    def delete(self, path: str) -> None:
        absolute = self._absolute(path)
        self._settle(path)
        try:
            there = self._ask(self.client.delete, absolute, False)
        except Exception as error:
            raise translated(error, path, "deleting", writes=True) from error
        if not there:
            raise FileNotFound(f"there is no file {path} to delete")

    @switches
    def delete_folder(self, folder: str) -> None:
        absolute = self._absolute(folder)
        try:
            self._ask(self.client.delete, absolute, True)
        except FileNotFoundError:
            return
        except Exception as error:
            raise translated(error, folder, "deleting", writes=True) from error

    # ------------------------------------------------------------ inside, and for the open files

    def absolute(self, path: str) -> str:
        """The path in HDFS."""
        return f"{self._root}/{path}"

    def _absolute(self, path: str) -> str:
        check_path(path)
        return f"{self._root}/{path}"

    @switches
    def _ask(self, function: Callable[..., T], *arguments: object) -> T:
        """A call that the NameNode answers alone."""
        return self._calls.call("hdfs-names", self.options.names_seconds, lambda: guarded(function, *arguments))

    def writer_ended(self, path: str, thread: WriterThread) -> None:
        """Tells that no more calls are made with this file's writer. Never switches."""
        self._writing.discard(path)
        self.threads.give_back(thread)

    def completed(self, path: str) -> None:
        """The end of what close() began. Never switches."""
        event = self.completing.pop(path, None)
        if event is not None:
            event.set()

    @switches
    def _settle(self, path: str) -> None:
        """Waits for a close of our own, but not longer than that is given."""
        event = self.completing.get(path)
        if event is not None:
            event.wait(self.options.file_sync_seconds)
