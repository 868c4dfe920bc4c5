"""HDFS's namespace in memory: what the fakes of both HDFS adapters stand on. For tests and simulation.

A NameNode's view without its protocol: folders, files with an inode number, who is writing a file, quotas. Calls are
instantaneous and atomic, as under the NameNode's one lock; delays, lost answers and frozen nodes belong to the fakes
above. Errors are FakeHadoopError with the class and the words of Hadoop 3.4.2, and 2.7.3 where `hadoop_2` is set.

As measured on the real one (docs/hdfs.md):
    a writer holds the inode, not the path: its file follows a rename, also of a folder above it
    create makes the folders above, so it resurrects one that was renamed away (unless create_parent is false)
    a file that is being written has the length that was last synced (0 for a new one), or, closed by recovery, all
    that reached the DataNodes: synced or not
    completing a deleted file, or one whose lease was taken, fails with FileNotFound or LeaseExpired
"""

from collections.abc import Callable, Iterator
from typing import Final, final

_NN: Final = "org.apache.hadoop.hdfs.server.namenode."
_PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol."
_FS: Final = "org.apache.hadoop.fs."
ROOT_ID: Final = 16_385


class FakeHadoopError(Exception):
    """An error that the server answers: `java_class` in full, `message` its first line."""

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(f"{java_class}: {message}")
        self.java_class = java_class
        self.message = message

    @property
    def short_class(self) -> str:
        return self.java_class.rpartition(".")[2]


@final
class FakeFile:
    """One file's inode. `holder` is "" once it is closed; `received` is what DataNodes have, `synced_bytes` of it seen
    by readers while it is open."""

    __slots__ = ("deleted", "holder", "inode", "modified_millis", "received", "replication", "synced_bytes")

    def __init__(self, inode: int, holder: str, replication: int, modified_millis: int) -> None:
        self.inode = inode
        self.holder = holder
        self.replication = replication
        self.modified_millis = modified_millis
        self.received = bytearray()
        self.synced_bytes = 0
        self.deleted = False

    @property
    def length_bytes(self) -> int:
        return self.synced_bytes if self.holder else len(self.received)

    @property
    def readable(self) -> bytes:
        return bytes(self.received[: self.length_bytes])


@final
class FakeFolder:
    """One folder's inode."""

    __slots__ = ("children", "inode", "modified_millis")

    def __init__(self, inode: int, modified_millis: int) -> None:
        self.inode = inode
        self.modified_millis = modified_millis
        self.children: dict[str, FakeFile | FakeFolder] = {}


@final
class FakeNamespace:
    """All files by absolute path. `capacity_bytes` is a quota on the whole: contents times replication."""

    def __init__(
        self, wall_millis: Callable[[], int], capacity_bytes: int | None = None, hadoop_2: bool = False
    ) -> None:
        self.capacity_bytes = capacity_bytes
        self.hadoop_2 = hadoop_2
        self._wall_millis = wall_millis
        self._last_inode = ROOT_ID
        self.root = FakeFolder(ROOT_ID, wall_millis())

    # ------------------------------------------------------------ looking

    def find(self, path: str) -> FakeFile | FakeFolder | None:
        """None when there is nothing; also below a file. Knows /.reserved/.inodes/<number>."""
        if path.startswith("/.reserved/.inodes/"):
            wanted = path.rpartition("/")[2]
            return next((node for _, node in self._walk("", self.root) if str(node.inode) == wanted), None)
        node: FakeFile | FakeFolder = self.root
        for name in _names(path):
            if isinstance(node, FakeFile) or name not in node.children:
                return None
            node = node.children[name]
        return node

    def file(self, path: str) -> FakeFile:
        """FileNotFoundException unless it is a file."""
        node = self.find(path)
        if node is None:
            raise _not_found(f"File does not exist: {path}")
        if isinstance(node, FakeFolder):
            raise _not_found(f"Path is not a file: {path}")
        return node

    def list(self, path: str) -> list[tuple[str, FakeFile | FakeFolder]]:
        """Name and node of each child, ascending; of a file itself, under the name ""."""
        node = self.find(path)
        if node is None:
            raise _not_found(f"File {path} does not exist.")
        return [("", node)] if isinstance(node, FakeFile) else sorted(node.children.items())

    def files(self) -> dict[str, FakeFile]:
        """Every file by path, for tests to look at."""
        return {path: node for path, node in self._walk("", self.root) if isinstance(node, FakeFile)}

    def used_bytes(self) -> int:
        return sum(len(file.received) * file.replication for file in self.files().values())

    # ------------------------------------------------------------ writing a file

    def create(
        self, path: str, holder: str, replication: int = 3, overwrite: bool = False, create_parent: bool = True
    ) -> FakeFile:
        """A new file, being written by `holder` (one name per writer, as a DFSClient's)."""
        existing = self.find(path)
        if isinstance(existing, FakeFolder):
            raise FakeHadoopError(_FS + "FileAlreadyExistsException", f"{path} already exists as a directory")
        if existing is not None and not overwrite:
            if existing.holder:
                raise FakeHadoopError(
                    _PROTOCOL + "AlreadyBeingCreatedException",
                    f"Failed to CREATE_FILE {path} for {holder} because this file lease is currently owned by "
                    f"{existing.holder}",
                )
            raise FakeHadoopError(_FS + "FileAlreadyExistsException", f"{path} for client {holder} already exists")
        folder = self._folder_for(path, create_parent or self.hadoop_2)
        if existing is not None:
            existing.deleted = True
        file = FakeFile(self._next_inode(), holder, replication, self._wall_millis())
        folder.children[_names(path)[-1]] = file
        return file

    def append(self, path: str, holder: str) -> FakeFile:
        """Opens a closed file again."""
        file = self.file(path)
        if file.holder:
            raise FakeHadoopError(
                _PROTOCOL + "AlreadyBeingCreatedException",
                f"Failed to APPEND_FILE {path} for {holder} because this file lease is currently owned by "
                f"{file.holder}",
            )
        file.holder, file.synced_bytes = holder, len(file.received)
        return file

    def write(self, file: FakeFile, holder: str, content: bytes) -> None:
        """Bytes reach the DataNodes; not yet seen by readers."""
        self.check_lease(file, holder)
        if self.capacity_bytes is not None:
            needed = self.used_bytes() + len(content) * file.replication
            if needed > self.capacity_bytes:
                raise FakeHadoopError(
                    _PROTOCOL + "DSQuotaExceededException",
                    f"The DiskSpace quota of / is exceeded: quota = {self.capacity_bytes} B but diskspace consumed = "
                    f"{needed} B",
                )
        file.received += content

    def sync(self, file: FakeFile, holder: str) -> None:
        """hsync: what was written is durable, and seen by readers."""
        self.check_lease(file, holder)
        file.synced_bytes = len(file.received)
        file.modified_millis = self._wall_millis()

    def complete(self, file: FakeFile, holder: str) -> None:
        """Closes the file for good."""
        self.check_lease(file, holder)
        self._close(file)

    def check_lease(self, file: FakeFile, holder: str) -> None:
        if file.deleted:
            raise _not_found(f"File does not exist: inode {file.inode}. Holder {holder} does not have any open files.")
        if file.holder != holder:
            raise FakeHadoopError(
                _NN + "LeaseExpiredException",
                f"INode {file.inode} is not open for writing (current holder {file.holder or 'none'}). "
                f"Holder {holder} does not have any open files.",
            )

    def recover_lease(self, path: str) -> bool:
        """Takes the file from its writer. True: it is closed, its length final. False: ask again; the fake that wants
        recovery to take time says so itself before it calls this."""
        file = self.file(path)
        if file.holder:
            self._close(file)
        return True

    # ------------------------------------------------------------ names

    def mkdirs(self, path: str) -> None:
        self._folder_for(f"{path}/x", True)

    def rename(self, source: str, target: str, overwrite: bool = False) -> None:
        """Hadoop's rename with options, which says why it does not. With `overwrite` an existing file is replaced."""
        node = self.find(source)
        if node is None:
            raise _not_found(f"rename source {source} is not found.")
        if source == target:
            raise FakeHadoopError(
                _FS + "FileAlreadyExistsException", f"The source {source} and destination {target} are the same"
            )
        there = self.find(target)
        if there is not None and not overwrite:
            raise FakeHadoopError(_FS + "FileAlreadyExistsException", f"rename destination {target} already exists")
        if isinstance(there, FakeFolder):
            raise FakeHadoopError("java.io.IOException", f"rename destination directory is not empty: {target}")
        parent = self.find(_parent(target))
        if parent is None:
            raise _not_found(f"rename destination parent {target} not found.")
        if isinstance(parent, FakeFile):
            raise FakeHadoopError(_FS + "ParentNotDirectoryException", f"rename destination parent {target} is a file.")
        if there is not None:
            there.deleted = True
        self._unlink(source)
        parent.children[_names(target)[-1]] = node

    def rename_or_false(self, source: str, target: str) -> bool:
        """The rename without options: false for each reason there is. A target that is a folder is moved into."""
        if isinstance(self.find(target), FakeFolder):
            target = f"{target}/{_names(source)[-1]}"
        try:
            self.rename(source, target)
        except FakeHadoopError:
            return False
        return True

    def delete(self, path: str, recursive: bool = False) -> bool:
        """False when there is nothing."""
        node = self.find(path)
        if node is None:
            return False
        if isinstance(node, FakeFolder):
            if node.children and not recursive:
                raise FakeHadoopError(
                    _FS + "PathIsNotEmptyDirectoryException", f"`{path} is non empty': Directory is not empty"
                )
            for _, below in self._walk("", node):
                if isinstance(below, FakeFile):
                    below.deleted = True
        else:
            node.deleted = True
        self._unlink(path)
        return True

    # ------------------------------------------------------------ inside

    def _next_inode(self) -> int:
        self._last_inode += 1
        return self._last_inode

    def _close(self, file: FakeFile) -> None:
        file.holder = ""
        file.synced_bytes = len(file.received)
        file.modified_millis = self._wall_millis()

    def _unlink(self, path: str) -> None:
        parent = self.find(_parent(path))
        assert isinstance(parent, FakeFolder)
        del parent.children[_names(path)[-1]]

    def _folder_for(self, path: str, make: bool) -> FakeFolder:
        """The folder that holds `path`."""
        folder, above = self.root, ""
        for name in _names(path)[:-1]:
            above += f"/{name}"
            child = folder.children.get(name)
            if isinstance(child, FakeFile):
                raise FakeHadoopError(_FS + "ParentNotDirectoryException", f"{above} (is not a directory)")
            if child is None:
                if not make:
                    raise _not_found(f"Parent directory doesn't exist: {_parent(path)}")
                child = folder.children[name] = FakeFolder(self._next_inode(), self._wall_millis())
            folder = child
        return folder

    def _walk(self, above: str, folder: FakeFolder) -> Iterator[tuple[str, FakeFile | FakeFolder]]:
        for name, node in sorted(folder.children.items()):
            yield f"{above}/{name}", node
            if isinstance(node, FakeFolder):
                yield from self._walk(f"{above}/{name}", node)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _parent(path: str) -> str:
    return path.rstrip("/").rpartition("/")[0] or "/"


def _not_found(message: str) -> FakeHadoopError:
    return FakeHadoopError("java.io.FileNotFoundException", message)
