"""The part of hdfs-native's API that hbtable uses, and the connection to it (measured facts: docs/hdfs.md).

Two things are avoided on purpose. FileWriter is an io.RawIOBase: the garbage collector would close an abandoned one,
in whichever thread it runs, and that close may hang for ever; so the writers without a finalizer, below it, are used.
And a read past the end panics: the exception is not even an Exception, so lengths are checked first and what still
comes is caught by `guarded`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar, final

from hbtable.errors import InvalidConfiguration
from hbtable.switches import switches

T = TypeVar("T")


class NativeStatus(Protocol):
    """The NameNode's entry of one path."""

    path: str
    length: int
    """Of an open file: what was covered by the last hsync."""
    isdir: bool
    modification_time: int
    """Milliseconds since 1970."""


class NativeWriter(Protocol):
    """An open file. Any call may never return."""

    def write(self, data: bytes) -> int: ...
    def hsync(self) -> None: ...
    def close(self) -> None: ...


class NativeReader(Protocol):
    """An opened file, as long as it was when it was opened; without the last block of one that is being written."""

    def file_length(self) -> int: ...
    def read_range(self, offset: int, size: int) -> bytes: ...


class NativeClient(Protocol):
    """A connection to the NameNodes. Calls block, and are safe in many threads."""

    def get_file_info(self, path: str) -> NativeStatus: ...
    def list_status(self, path: str, recursive: bool) -> Iterable[NativeStatus]: ...
    def read(self, path: str) -> NativeReader: ...
    def create(self, path: str, replication: int) -> NativeWriter:
        """Never overwrites; makes the parent folders."""

    def recover_lease(self, path: str) -> bool: ...
    def mkdirs(self, path: str) -> None: ...
    def rename(self, source: str, target: str, overwrite: bool) -> None: ...
    def delete(self, path: str, recursive: bool) -> bool: ...
    def set_times(self, path: str, modified_millis: int, accessed_millis: int) -> None:
        """Of a file or a folder. Always an edit of the NameNode's journal."""


def connect(namenode: str, settings: Mapping[str, str]) -> NativeClient:
    """Nothing is sent before the first call. `namenode`: host:port. `settings`: Hadoop's client settings by name.
    InvalidConfiguration when hdfs-native is not installed."""
    try:
        import hdfs_native
    except ImportError as error:
        raise InvalidConfiguration(
            f"the address hdfs://{namenode} needs the hdfs-native package: pip install 'hbtable[native]', "
            "or use webhdfs://HOST:PORT"
        ) from error
    # .inner: see the first lines.
    return _Connection(hdfs_native.Client(f"hdfs://{namenode}", dict(settings)).inner, hdfs_native.WriteOptions)


@final
class _Connection:
    """hdfs-native's RawClient with the arguments hbtable wants."""

    def __init__(self, raw: Any, write_options: Callable[..., object]) -> None:
        self._raw = raw
        self._write_options = write_options
        self.get_file_info: Callable[[str], NativeStatus] = raw.get_file_info
        self.list_status: Callable[[str, bool], Iterable[NativeStatus]] = raw.list_status
        self.read: Callable[[str], NativeReader] = raw.read
        self.recover_lease: Callable[[str], bool] = raw.recover_lease
        self.rename: Callable[[str, str, bool], None] = raw.rename
        self.delete: Callable[[str, bool], bool] = raw.delete
        self.set_times: Callable[[str, int, int], None] = raw.set_times

    def create(self, path: str, replication: int) -> NativeWriter:
        options = self._write_options(replication=replication, overwrite=False, create_parent=True)
        writer: NativeWriter = self._raw.create(path, options)
        return writer

    def mkdirs(self, path: str) -> None:
        self._raw.mkdirs(path, 0o755, True)


class NativePanic(RuntimeError):
    """The library met a state it has no answer for; the call is void."""


@switches
def guarded(function: Callable[..., T], *arguments: object) -> T:
    """Calls `function`; a panic of the library, which would pass every `except Exception`, becomes NativePanic."""
    try:
        return function(*arguments)
    except Exception:
        raise
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise  # a task is being killed, or a simulated process crashed
        raise NativePanic(f"hdfs-native panicked: {error}") from None


@switches
def put_whole(client: NativeClient, absolute: str, data: bytes, replication: int) -> None:
    """Makes a file with this content, which is on the disks of its DataNodes on return. For a thread: it may hang."""
    writer = client.create(absolute, replication)
    if data:
        writer.write(data)
        writer.hsync()  # close() alone leaves the bytes in the DataNodes' memory
    writer.close()
