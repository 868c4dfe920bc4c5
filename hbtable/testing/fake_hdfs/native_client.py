"""hdfs-native's API over a pretended HDFS (native_cluster.py): the native adapter runs over it in tests.

Its calls take virtual time and are to be made by TaskCalls. It does what was measured with hdfs-native 0.14.7 and
Hadoop 3.4.2 (docs/hdfs.md): a sync waits for a frozen DataNode of its pipeline until that is thawed, and for a killed
one for ever; an open file shows readers nothing; after recover_lease a sync fails; errors are FileNotFoundError and
FileExistsError, else RuntimeErrors with the Java class in the text; reading past the end is a panic.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, NoReturn, TypeVar, final

from hbtable.runtime.interface import Runtime
from hbtable.testing.fake_hdfs.namespace import FakeFile, FakeFolder, FakeHadoopError
from hbtable.testing.fake_hdfs.native_cluster import FROZEN, KILLED, UP, FakeDataNode, FakeHdfs

T = TypeVar("T")

_NAMENODE: Final = "org.apache.hadoop.hdfs.server.namenode"
_TRACE: Final = "\n\tat x.y.Z(Z.java:1)"
_COMPLETION_SECONDS: Final = 0.5
_AWAY_SECONDS: Final = 2.9


class PanicException(BaseException):
    """The exception that pyo3 raises for a panic."""


class FakeStatus(NamedTuple):
    """hdfs-native's FileStatus."""

    path: str
    length: int
    isdir: bool
    modification_time: int


@final
class FakeHdfsClient:
    """Implements hdfs_native_client.NativeClient for one process."""

    def __init__(self, cluster: FakeHdfs, runtime: Runtime, name: str = "client") -> None:
        self.cluster = cluster
        self.runtime = runtime
        self.name = name

    # ------------------------------------------------------------ how calls go wrong

    def hang(self) -> NoReturn:
        """Waits for ever."""
        self.runtime.event().wait()
        raise AssertionError("nobody sets it")

    def _asked(self, look: Callable[[], T]) -> T:
        """A question to the NameNode."""
        self._reach()
        if self._by_chance(self.cluster.quirks.vanished):
            self.hang()
        return _native(look)

    def _changed(self, change: Callable[[], T]) -> T:
        """A change of names."""
        self._reach()
        quirks = self.cluster.quirks
        if self.cluster.safe_mode:
            raise RuntimeError(f'RPCError("{_NAMENODE}.SafeModeException", "Name node is in safe mode.")')
        if self._by_chance(quirks.vanished):
            if self._by_chance(0.5):
                _native(change)
            self.hang()
        done = _native(change)
        if self._by_chance(quirks.repeated):
            self._reach()
            return _native(change)
        self.pass_time()
        return done

    def _reach(self) -> None:
        self.pass_time()
        if not self.cluster.namenode_up:
            self.runtime.sleep(_AWAY_SECONDS)
            if not self.cluster.namenode_up:
                raise OSError("Connection refused (os error 111)")

    def pass_time(self) -> None:
        self.runtime.sleep(self.cluster.chance.uniform(0, self.cluster.quirks.call_seconds / 2))

    def _by_chance(self, chance: float) -> bool:
        return chance > 0 and self.cluster.chance.random() < chance

    # ------------------------------------------------------------ names

    def get_file_info(self, path: str) -> FakeStatus:
        def look() -> FakeStatus:
            node = self.cluster.names.find(path)
            if node is None:
                raise FileNotFoundError(path)
            length = node.length_bytes if isinstance(node, FakeFile) else 0
            return FakeStatus(path, length, isinstance(node, FakeFolder), node.modified_millis)

        return self._asked(look)

    def list_status(self, path: str, recursive: bool) -> Iterable[FakeStatus]:
        """Recursive only, and without the folders."""

        def look() -> list[FakeStatus]:
            names = self.cluster.names
            names.list(path)
            return [
                FakeStatus(name, file.length_bytes, False, file.modified_millis)
                for name, file in names.files().items()
                if name == path or name.startswith(f"{path}/")
            ]

        assert recursive
        yield from self._asked(look)

    def read(self, path: str) -> "FakeReader":
        return self._asked(lambda: FakeReader(self, self.cluster.names.file(path)))

    def recover_lease(self, path: str) -> bool:
        return self._asked(lambda: self.cluster.recover(path))

    def mkdirs(self, path: str) -> None:
        self._changed(lambda: self.cluster.names.mkdirs(path))

    def rename(self, source: str, target: str, overwrite: bool) -> None:
        def change() -> None:
            names = self.cluster.names
            if isinstance(names.find(source), FakeFile) and isinstance(names.find(target), FakeFolder):
                message = f"Source {source} and destination {target} must both be directories"
                raise FakeHadoopError("java.io.IOException", message)
            names.rename(source, target, overwrite)

        self._changed(change)

    def delete(self, path: str, recursive: bool) -> bool:
        return self._changed(lambda: self.cluster.names.delete(path, recursive))

    def set_times(self, path: str, modified_millis: int, accessed_millis: int) -> None:
        def change() -> None:
            node = self.cluster.names.find(path)
            if node is None:
                raise FakeHadoopError("java.io.FileNotFoundException", f"File/Directory {path} does not exist.")
            node.modified_millis = modified_millis

        self._changed(change)

    # ------------------------------------------------------------ writing

    def create(self, path: str, replication: int) -> "FakeWriter":
        def change() -> FakeFile:
            names = self.cluster.names
            there = names.find(path)
            if isinstance(there, FakeFile) and there.holder == self.name:
                own = f"{self.name} is already the current lease holder."
                raise FileExistsError(f"Failed to CREATE_FILE {path} for {self.name} because {own}{_TRACE}")
            return names.create(path, self.name, replication)

        return FakeWriter(self, self._changed(change))

    def check_lease(self, file: FakeFile) -> None:
        """The part of every sync that asks the NameNode."""
        self._reach()
        _native(lambda: self.cluster.names.check_lease(file, self.name))

    def await_node(self, node: FakeDataNode) -> None:
        """Until it answers: for ever when it was killed."""
        while node.state != UP:
            if node.state == KILLED:
                self.hang()
            node.changed.wait()


@final
class FakeWriter:
    """hdfs-native's RawFileWriter."""

    def __init__(self, client: FakeHdfsClient, file: FakeFile) -> None:
        self._client = client
        self._file = file
        self._replicas: dict[FakeDataNode, int] | None = None

    def write(self, data: bytes) -> int:
        client, file = self._client, self._file
        if self._replicas is None:
            client.check_lease(file)
            self._replicas = self._set_up()
        if file.holder == client.name:  # else the next sync says it
            _native(lambda: client.cluster.names.write(file, client.name, data))
        return len(data)

    def _set_up(self) -> dict[FakeDataNode, int]:
        client = self._client
        nodes = client.cluster.pipeline(self._file.replication)
        if not nodes:
            message = "File could only be written to 0 of the 1 minReplication nodes."
            raise RuntimeError(f'RPCError("java.io.IOException", "{message}")')
        if nodes[0].state == KILLED:
            raise OSError("Connection refused (os error 111)")
        if nodes[0].state == FROZEN:
            client.runtime.sleep(client.cluster.quirks.socket_timeout_seconds)
            raise OSError("No data received for 2000ms")
        for node in nodes[1:]:
            client.await_node(node)
        replicas = client.cluster.block(self._file).replicas = dict.fromkeys(nodes, 0)
        return replicas

    def hsync(self) -> None:
        client, file = self._client, self._file
        length = self._deliver()
        client.check_lease(file)
        file.synced_bytes = max(file.synced_bytes, length)

    def _deliver(self) -> int:
        """All that was written is on the disks of all nodes on return."""
        client, file, replicas = self._client, self._file, self._replicas
        length = len(file.received)
        for node in replicas or ():
            client.pass_time()
            client.await_node(node)
            if file.holder != client.name:
                raise RuntimeError('DataTransferError("Block writer is closed")')
            assert replicas is not None
            replicas[node] = max(replicas[node], length)
        return length

    def close(self) -> None:
        client, file, cluster = self._client, self._file, self._client.cluster
        self._deliver()
        if cluster.chance.random() < cluster.quirks.slow_completion:
            client.runtime.sleep(_COMPLETION_SECONDS)
        client.check_lease(file)
        _native(lambda: cluster.names.complete(file, client.name))


@final
class FakeReader:
    """hdfs-native's RawFileReader: the copies in an order of its own, which it never changes."""

    def __init__(self, client: FakeHdfsClient, file: FakeFile) -> None:
        self._client = client
        self._file = file
        self._length = 0 if file.holder else len(file.received)
        replicas = client.cluster.block(file).replicas
        self._copies = client.cluster.chance.sample(list(replicas), len(replicas))
        self._gone_at_seconds: float | None = None

    def file_length(self) -> int:
        return self._length

    def read_range(self, offset: int, size: int) -> bytes:
        if offset + size > self._length:
            raise PanicException("Cannot read past end of the file")
        client, quirks = self._client, self._client.cluster.quirks
        client.pass_time()
        if self._still_there():
            for node in self._copies:
                if node.state == FROZEN:
                    client.runtime.sleep(quirks.socket_timeout_seconds)
                if node.state == UP:
                    return bytes(self._file.received[offset : offset + size])
        raise RuntimeError('DataTransferError("All DataNodes failed: [...]")')

    def _still_there(self) -> bool:
        """The DataNodes remove a deleted file's blocks with their next heartbeats."""
        if not self._file.deleted:
            return True
        now = self._client.runtime.clock_seconds()
        if self._gone_at_seconds is None:
            self._gone_at_seconds = now + self._client.cluster.quirks.lingering_seconds
        return now < self._gone_at_seconds


def _native(call: Callable[[], T]) -> T:
    """The NameNode's errors as hdfs-native raises them."""
    try:
        return call()
    except FakeHadoopError as error:
        if error.short_class == "FileNotFoundException":
            raise FileNotFoundError(error.message + _TRACE) from error
        if error.short_class in ("FileAlreadyExistsException", "AlreadyBeingCreatedException"):
            raise FileExistsError(error.message + _TRACE) from error
        text = f'RPCError("{error.java_class}", "{error.message}\\n\\tat x.y.Z(Z.java:1)")'
        raise RuntimeError(text) from error
