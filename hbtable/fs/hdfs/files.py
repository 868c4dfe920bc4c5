"""Open files of the native HDFS adapter: one being written, one being read.

Invariants of a file being written: `_turn` is held around every call, so bytes go out in the order of the appends and
a close comes last; after the first failure, or a call that was given up, no further call is made with the writer: its
thread may be in the old one for ever.
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol, final

from hbtable.errors import Corruption, HbtableError, Stalled, StorageFailed
from hbtable.fs.hdfs.client import NativeClient, NativeReader, NativeWriter
from hbtable.fs.hdfs.errors import sync_error
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.hdfs.threads import WriterThread, WriterThreads
from hbtable.runtime.interface import Event, Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

logger = logging.getLogger(__name__)

_BYTES_PER_SECOND: Final = 20_000_000


def grown(seconds: float, size: int) -> float:
    """A deadline for a call that moves `size` bytes."""
    return seconds + size / _BYTES_PER_SECOND


class OpenFilesOwner(Protocol):
    """The file system as its open files use it (file_system.py says what each call does)."""

    runtime: Runtime
    options: HdfsNativeOptions
    client: NativeClient
    threads: WriterThreads
    completing: dict[str, Event]
    """By path, files whose writers are being closed."""

    def absolute(self, path: str) -> str: ...

    @switches
    def seal_now(self, path: str) -> int: ...

    def completed(self, path: str) -> None: ...

    def writer_ended(self, path: str, thread: WriterThread) -> None: ...

    @switches
    def read_repeatedly(
        self, path: str, size: int, read: Callable[[], bytes], after_slow: Callable[[], None] | None = None
    ) -> bytes: ...


@final
class NativeAppendFile:
    """One open file, one writer. Readers see nothing of it before it is closed or sealed."""

    __slots__ = (
        "_buffered",
        "_bytes",
        "_closed",
        "_failed",
        "_fs",
        "_sync_seconds",
        "_thread",
        "_turn",
        "_writer",
        "path",
    )

    def __init__(
        self, fs: OpenFilesOwner, path: str, writer: NativeWriter, thread: WriterThread, sync_seconds: float
    ) -> None:
        self.path = path
        self._fs = fs
        self._writer: NativeWriter | None = writer
        self._thread = thread
        self._sync_seconds = sync_seconds
        self._turn = fs.runtime.lock()
        self._buffered: list[bytes] = []
        self._bytes = 0
        self._closed = False
        self._failed = False

    @switches
    def append(self, data: bytes) -> None:
        """Switches only when much is buffered. Stalled as sync()."""
        self._check_usable()
        self._buffered.append(data)
        self._bytes += len(data)
        if self._bytes >= self._fs.options.buffer_bytes:
            self._send(_write)

    @switches
    def sync(self) -> None:
        """Stalled when it does not end in time or the file was sealed; OutOfSpace: a quota, or no DataNode with room.
        Never call again after either: what was not synced before is unknown."""
        self._check_usable()
        self._send(_write_and_sync)

    @switches
    def _send(self, function: Callable[[NativeWriter, bytes], None]) -> None:
        with self._turn:
            if self._failed:  # while this task waited for its turn
                raise Stalled(f"{self.path} was given up while its sync waited")
            writer = self._writer
            assert writer is not None, "a close waits for its turn, and nothing is sent after it"
            data = b"".join(self._buffered)
            self._buffered, self._bytes = [], 0
            deadline_seconds = grown(self._sync_seconds, len(data))
            try:
                self._fs.threads.call(self._thread, deadline_seconds, function, writer, data)
            except Exception as error:
                self._give_up()
                raise sync_error(error, self.path) from error
            except BaseException:
                self._give_up()  # this task is killed; the thread may still be at it, so nobody may follow
                raise

    def _give_up(self) -> None:
        self._failed = True
        self._writer = None
        self._fs.writer_ended(self.path, self._thread)

    def close(self) -> None:
        """Never switches: the file is completed by a task of its own, for which open(), rename() and the like of this
        file system wait."""
        if self._closed:
            return
        self._closed = True
        if not self._failed:
            completed = self._fs.runtime.event()
            self._fs.completing[self.path] = completed
            spawn_counted(self._fs.runtime, self._complete, name="hdfs-complete")

    @switches
    def _complete(self) -> None:
        try:
            if not self._finish():
                self._fs.seal_now(self.path)
        except HbtableError as error:
            logger.warning("%s is left open: %s", self.path, error)
        finally:
            self._fs.completed(self.path)

    @switches
    def _finish(self) -> bool:
        """False when the file must be sealed, because it could not be completed by its writer: what was synced is safe,
        but nobody could read it before."""
        with self._turn:
            writer, data = self._writer, b"".join(self._buffered)
            if writer is None:
                return True  # given up meanwhile: whoever wants to read it seals it
            deadline_seconds = grown(self._fs.options.file_sync_seconds, len(data))
            try:
                self._fs.threads.call(self._thread, deadline_seconds, _write_and_close, writer, data)
            except Exception as error:  # noqa: BLE001  sealing does not depend on what it was
                logger.warning("%s could not be completed: %s", self.path, sync_error(error, self.path))
                return False
            finally:
                self._writer = None
                self._fs.writer_ended(self.path, self._thread)
            return True

    def _check_usable(self) -> None:
        if self._closed or self._failed:
            state = "is closed" if self._closed else "failed earlier"
            raise StorageFailed(f"{self.path} {state}: nothing more can be written to it")


@switches
def _write(writer: NativeWriter, data: bytes) -> None:
    if data:
        writer.write(data)


@switches
def _write_and_sync(writer: NativeWriter, data: bytes) -> None:
    if data:
        writer.write(data)
    writer.hsync()  # with nothing new, too: it fails once the file is sealed


@switches
def _write_and_close(writer: NativeWriter, data: bytes) -> None:
    if data:
        writer.write(data)
    writer.close()


@final
class NativeReadFile:
    """An open immutable file. After a delete it is readable for the seconds until the DataNodes remove its blocks."""

    __slots__ = ("_fs", "_modified_millis", "_reader", "length_bytes", "path")

    def __init__(self, fs: OpenFilesOwner, path: str, reader: NativeReader, modified_millis: int) -> None:
        self.path = path
        self.length_bytes = reader.file_length()
        self._fs = fs
        self._modified_millis = modified_millis
        self._reader: NativeReader | None = reader

    @switches
    def read_at(self, offset: int, size: int) -> bytes:
        """*Switches.* Unavailable when no copy answers in time; FileNotFound when the file is gone, but not always:
        a copy may outlive its file by seconds."""
        have = min(size, max(0, self.length_bytes - offset))
        if have < size:
            reason = f"{size} bytes are wanted from byte {offset} on, and only {have} are there"
            raise Corruption(self.path, offset + have, reason)
        if not size:
            return b""

        data = self._fs.read_repeatedly(self.path, size, lambda: self._read_range(offset, size), self._forget_reader)
        if len(data) != size:
            reason = f"{size} bytes are wanted from byte {offset} on, and {len(data)} came"
            raise Corruption(self.path, offset + len(data), reason)
        return data

    @switches
    def _read_range(self, offset: int, size: int) -> bytes:
        """In a thread."""
        reader = self._reader
        if reader is None:
            absolute = self._fs.absolute(self.path)
            reader = self._fs.client.read(absolute)
            # In this order: what has the old file's time now was the old file when it was opened.
            modified_millis = self._fs.client.get_file_info(absolute).modification_time
            if (reader.file_length(), modified_millis) != (self.length_bytes, self._modified_millis):
                raise FileNotFoundError  # the name was given to another file
            self._reader = reader
        return reader.read_range(offset, size)

    def _forget_reader(self) -> None:
        """The client does not remember which copy kept it waiting, so the reader would be slow every time; a new one is
        given the copies in another order."""
        self._reader = None

    def close(self) -> None:
        """Nothing is held."""
