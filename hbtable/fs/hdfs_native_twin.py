"""hdfs-native's API over a pretended HDFS (hdfs_native_twin_nodes.py): the native adapter runs over it in tests.

Its calls take virtual time and are to be made by TaskCalls. It does what was measured with hdfs-native 0.14.7 and
Hadoop 3.4.2 (docs/hdfs.md): a sync waits for a frozen DataNode of its pipeline until that is thawed, and for a killed
one for ever; an open file shows readers nothing; after recover_lease a sync fails; errors are FileNotFoundError and
FileExistsError, else RuntimeErrors with the Java class in the text; reading past the end is a panic.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, NoReturn, TypeVar, final

from hbtable.fs.hdfs_native_twin_nodes import FROZEN, KILLED, UP, TwinCluster, TwinFile, TwinNode
from hbtable.runtime.interface import Runtime

T = TypeVar("T")

_NAMENODE: Final = "org.apache.hadoop.hdfs.server.namenode"
_PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol"
_TRACE: Final = "\n\tat x.y.Z(Z.java:1)"
_COMPLETION_SECONDS: Final = 0.5
_AWAY_SECONDS: Final = 2.9


class PanicException(BaseException):
    """What pyo3 raises for a panic."""


class TwinStatus(NamedTuple):
    """hdfs-native's FileStatus."""

    path: str
    length: int
    isdir: bool
    modification_time: int


@final
class TwinClient:
    """Implements hdfs_native_client.NativeClient for one process."""

    def __init__(self, cluster: TwinCluster, runtime: Runtime, name: str = "client") -> None:
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
        return look()

    def _changed(self, change: Callable[[], T]) -> T:
        """A change of names."""
        self._reach()
        quirks = self.cluster.quirks
        if self.cluster.safe_mode:
            raise RuntimeError(f'RPCError("{_NAMENODE}.SafeModeException", "Name node is in safe mode.")')
        if self._by_chance(quirks.vanished):
            if self._by_chance(0.5):
                change()
            self.hang()
        done = change()
        if self._by_chance(quirks.repeated):
            self._reach()
            return change()
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

    def _file(self, path: str) -> TwinFile:
        file = self.cluster.files.get(path)
        if file is None:
            what = "Path is not a file" if path in self.cluster.folders else "File does not exist"
            raise FileNotFoundError(f"{what}: {path}\n\tat {_NAMENODE}.INodeFile.valueOf(INodeFile.java:87)")
        return file

    def get_file_info(self, path: str) -> TwinStatus:
        def look() -> TwinStatus:
            if path in self.cluster.folders:
                return TwinStatus(path, 0, True, 0)
            if path not in self.cluster.files:
                raise FileNotFoundError(path)
            return self._status(path)

        return self._asked(look)

    def _status(self, path: str) -> TwinStatus:
        file = self.cluster.files[path]
        return TwinStatus(path, file.synced_bytes, False, file.modified_millis)

    def list_status(self, path: str, recursive: bool) -> Iterable[TwinStatus]:
        """Recursive only."""

        def look() -> list[TwinStatus]:
            if path in self.cluster.files:
                return [self._status(path)]
            if path not in self.cluster.folders:
                raise FileNotFoundError(path)
            return [self._status(name) for name in self.cluster.files if name.startswith(f"{path}/")]

        yield from self._asked(look)

    def read(self, path: str) -> "TwinReader":
        return self._asked(lambda: TwinReader(self, path, self._file(path)))

    def recover_lease(self, path: str) -> bool:
        return self._asked(lambda: self.cluster.recover(self._file(path)))

    def mkdirs(self, path: str) -> None:
        self._changed(lambda: self._make_folders(path))

    def _make_folders(self, path: str) -> None:
        if path in self.cluster.files:
            raise RuntimeError(
                f'RPCError("org.apache.hadoop.fs.ParentNotDirectoryException", "{path} (is not a directory)")'
            )
        if path not in self.cluster.folders:
            self._make_folders(path.rpartition("/")[0])
            self.cluster.folders.add(path)

    def rename(self, source: str, target: str, overwrite: bool) -> None:
        def change() -> None:
            files = self.cluster.files
            if source not in files:
                raise FileNotFoundError(f"rename source {source} is not found.")
            if target in self.cluster.folders:
                raise RuntimeError(
                    'RPCError("java.io.IOException", '
                    f'"Source {source} and destination {target} must both be directories")'
                )
            if target in files and not overwrite:
                raise FileExistsError(f"rename destination {target} already exists")
            parent = target.rpartition("/")[0]
            if parent in files:
                self._make_folders(parent)
            if parent not in self.cluster.folders:
                raise FileNotFoundError(f"rename destination parent {target} not found.")
            self._drop(target)
            files[target] = files.pop(source)

        self._changed(change)

    def delete(self, path: str, recursive: bool) -> bool:
        def change() -> bool:
            below = [name for name in self.cluster.files if name.startswith(f"{path}/")]
            if below and not recursive:
                raise RuntimeError(
                    'RPCError("org.apache.hadoop.fs.PathIsNotEmptyDirectoryException", '
                    f'"`{path} is non empty\': Directory is not empty")'
                )
            there = path in self.cluster.files or path in self.cluster.folders
            for name in [*below, path]:
                self._drop(name)
            self.cluster.folders -= {
                name for name in self.cluster.folders if name == path or name.startswith(f"{path}/")
            }
            return there

        return self._changed(change)

    def _drop(self, path: str) -> None:
        file = self.cluster.files.pop(path, None)
        if file is not None:
            file.deleted_at_seconds = self.runtime.clock_seconds()

    # ------------------------------------------------------------ writing

    def create(self, path: str, replication: int) -> "TwinWriter":
        def change() -> TwinFile:
            file = self.cluster.files.get(path)
            if file is not None and file.holder is not None:
                own = f"{self.name} is already the current lease holder."
                other = f"this file lease is currently owned by {file.holder}"
                why = own if file.holder == self.name else other
                raise FileExistsError(
                    f"Failed to CREATE_FILE {path} for {self.name} because {why}\n\tat x.y.Z(Z.java:1)"
                )
            if file is not None or path in self.cluster.folders:
                raise FileExistsError(f"{path} for client 127.0.0.1 already exists{_TRACE}")
            self._make_folders(path.rpartition("/")[0])
            made = self.cluster.files[path] = TwinFile(self.name, replication, self.runtime.wall_millis())
            return made

        return TwinWriter(self, self._changed(change))

    def check_lease(self, file: TwinFile) -> None:
        """The part of every sync that asks the NameNode."""
        self._reach()
        if file.deleted_at_seconds is not None:
            raise FileNotFoundError(f"File does not exist: Holder {self.name} does not have any open files.")
        if file.holder != self.name:
            raise RuntimeError(
                f'RPCError("{_NAMENODE}.LeaseExpiredException", "File is not open for writing: '
                f'Holder {self.name} does not have any open files.\\n\\tat x.y.Z(Z.java:1)")'
            )

    def await_node(self, node: TwinNode) -> None:
        """Until it answers: for ever when it was killed."""
        while node.state != UP:
            if node.state == KILLED:
                self.hang()
            node.changed.wait()


@final
class TwinWriter:
    """hdfs-native's RawFileWriter."""

    def __init__(self, client: TwinClient, file: TwinFile) -> None:
        self._client = client
        self._file = file
        self._pipeline: list[TwinNode] | None = None

    def write(self, data: bytes) -> int:
        client, file = self._client, self._file
        cluster = client.cluster
        wanted = cluster.used_bytes() + len(data) * file.replication
        if cluster.quota_bytes is not None and wanted > cluster.quota_bytes:
            raise RuntimeError(f'RPCError("{_PROTOCOL}.DSQuotaExceededException", "The DiskSpace quota is exceeded")')
        if self._pipeline is None:
            client.check_lease(file)
            self._pipeline = self._set_up()
        if file.holder == client.name:
            file.content += data
        return len(data)

    def _set_up(self) -> list[TwinNode]:
        client = self._client
        nodes = client.cluster.pipeline(self._file.replication)
        if not nodes:
            raise RuntimeError(
                'RPCError("java.io.IOException", "File could only be written to 0 of the 1 minReplication nodes.")'
            )
        if nodes[0].state == KILLED:
            raise OSError("Connection refused (os error 111)")
        if nodes[0].state == FROZEN:
            client.runtime.sleep(client.cluster.quirks.socket_timeout_seconds)
            raise OSError("No data received for 2000ms")
        for node in nodes[1:]:
            client.await_node(node)
        self._file.replicas = dict.fromkeys(nodes, 0)
        return nodes

    def hsync(self) -> None:
        client, file = self._client, self._file
        length = self._deliver()
        client.check_lease(file)
        file.synced_bytes = max(file.synced_bytes, length)

    def _deliver(self) -> int:
        """All that was written is on the disks of all nodes on return."""
        client, file = self._client, self._file
        length = len(file.content)
        for node in self._pipeline or ():
            client.pass_time()
            client.await_node(node)
            if file.holder != client.name:
                raise RuntimeError('DataTransferError("Block writer is closed")')
            file.replicas[node] = max(file.replicas[node], length)
        return length

    def close(self) -> None:
        client, file = self._client, self._file
        quirks = client.cluster.quirks
        length = self._deliver()
        if client.cluster.chance.random() < quirks.slow_completion:
            client.runtime.sleep(_COMPLETION_SECONDS)
        client.check_lease(file)
        file.synced_bytes = length
        file.modified_millis = client.runtime.wall_millis()
        file.holder = None


@final
class TwinReader:
    """hdfs-native's RawFileReader: the copies in an order of its own, which it never changes."""

    def __init__(self, client: TwinClient, path: str, file: TwinFile) -> None:
        self._client = client
        self._path = path
        self._file = file
        self._length = len(file.content) if file.complete else 0
        self._copies = client.cluster.chance.sample(
            sorted(file.replicas, key=lambda node: node.name), len(file.replicas)
        )

    def file_length(self) -> int:
        return self._length

    def read_range(self, offset: int, size: int) -> bytes:
        if offset + size > self._length:
            raise PanicException("Cannot read past end of the file")
        client, file = self._client, self._file
        client.pass_time()
        deleted = file.deleted_at_seconds
        quirks = client.cluster.quirks
        if deleted is None or client.runtime.clock_seconds() - deleted < quirks.lingering_seconds:
            for node in self._copies:
                if node.state == FROZEN:
                    client.runtime.sleep(quirks.socket_timeout_seconds)
                if node.state == UP:
                    return bytes(file.content[offset : offset + size])
        raise RuntimeError('DataTransferError("All DataNodes failed: [...]")')
