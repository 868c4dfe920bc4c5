"""The file system port over WebHDFS (GFS's place in the paper, section 4): works wherever HTTP reaches.

Files appear whole, by one request each (put.py), so an open file here is one that is being collected
(files.py). Of the port's promises this kind changes:

    create      looks whether the file is there, and leaves nothing; who syncs first has the name, the others'
                sync fails
    append      seen by nobody before sync(); none after it
    open        after a delete or a replacement the reader gets FileNotFound
    seal        nobody of ours writes to a file that is there; one still being written is Unavailable

write_file puts a file of a unique name below unfinished/ and renames it with OVERWRITE. Whoever lists that folder by
name sees what was cut off; nobody else does.
"""

from collections.abc import Callable, Collection
from typing import BinaryIO, Final, final

from hbtable.errors import AlreadyExists, FileNotFound, Stalled, Unavailable
from hbtable.fs.blocking_calls import BlockingCalls, ThreadCalls
from hbtable.fs.interface import NO_HINTS, WEBHDFS, AppendFile, Copies, FileStatus, PutHints, RandomReadFile
from hbtable.fs.paths import UNFINISHED, check_path
from hbtable.fs.webhdfs.copies import count_copies
from hbtable.fs.webhdfs.datanodes import LIST_TARGET, DataNodes
from hbtable.fs.webhdfs.errors import is_absent, refused
from hbtable.fs.webhdfs.files import RangeReads, WebHdfsAppendFile, WebHdfsReadFile
from hbtable.fs.webhdfs.listing import Listing
from hbtable.fs.webhdfs.namenodes import NameNodes
from hbtable.fs.webhdfs.options import SIMPLE, TOKEN, WebHdfsOptions
from hbtable.fs.webhdfs.put import WholeFilePuts
from hbtable.fs.webhdfs.renames import Renames
from hbtable.fs.webhdfs.requests import Http, boolean_of
from hbtable.fs.webhdfs.status import NodeStatus, look
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_LOGS: Final = "logs/"
_SMALL_CLUSTER: Final = 3
_SMALL_LOG_COPIES: Final = 2


@final
class WebHdfsFileSystem:
    """Implements fs.interface.FileSystem below `root`, a folder that is made with the first file. Sends nothing when
    it is made. `http` carries the requests; `encrypted`: over TLS; `looks_only`: NameNodes'."""

    log_kind = WEBHDFS

    def __init__(
        self,
        runtime: Runtime,
        hosts: Collection[str],
        root: str,
        http: Http,
        options: WebHdfsOptions | None = None,
        calls: BlockingCalls | None = None,
        on_close: Callable[[], None] = lambda: None,
        encrypted: bool = False,
        looks_only: bool = False,
    ) -> None:
        self.options = options or WebHdfsOptions()
        self._on_close = on_close
        self._runtime = runtime
        self._root = f"/{root.strip('/')}".rstrip("/")
        calls = calls or ThreadCalls(runtime)
        identity = _identity(self.options)
        root = self._root or "/"
        self._namenodes = NameNodes(runtime, calls, http, tuple(hosts), self.options, identity, root, looks_only)
        self._datanodes = DataNodes(runtime.clock_seconds, self._live_nodes_page, encrypted)
        self._puts = WholeFilePuts(runtime, calls, http, self._namenodes, self._datanodes, self.options)
        self._reads = RangeReads(calls, http, self._namenodes, self._datanodes, self.options)
        self._listing = Listing(self._namenodes)
        self._renames = Renames(self._namenodes)

    def close(self) -> None:
        """Closes connections. To be called after the last call."""
        self._on_close()

    # ------------------------------------------------------------ writing

    @switches
    def create(self, path: str) -> AppendFile:
        """*Switches.*"""
        if self.exists(path):
            raise AlreadyExists(f"{path} exists already")

        def put(body: bytes | BinaryIO, length_bytes: int) -> NodeStatus:
            return self._puts.put(self._absolute(path), body, length_bytes, self._replication(path))

        return WebHdfsAppendFile(path, put, self.options.buffer_bytes)

    @switches
    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        """*Switches.* `hints.avoid` steers who takes the content, not where its further copies go. Nodes are named
        host:port, of their HTTP port. Besides AlreadyExists: Unavailable when nobody takes it."""
        self._puts.put(self._absolute(path), data, len(data), self._replication(path), hints.avoid, hints.on_node)

    @switches
    def write_file(self, path: str, data: bytes) -> None:
        absolute = self._absolute(path)
        temporary = f"{self._root}/{UNFINISHED}/{self._runtime.random.getrandbits(64):016x}"
        self._puts.put(temporary, data, len(data), self._replication(path))
        self._renames.replace(temporary, absolute, path)

    @switches
    def rename(self, source: str, target: str) -> None:
        self._renames.rename(self._absolute(source), self._absolute(target), self._file_status(source))

    @switches
    def delete(self, path: str) -> None:
        answer = self._namenodes.ask("DELETE", self._absolute(path), "DELETE", parameters={"recursive": "false"})
        if answer.error is not None:
            raise refused(answer.error, path, "deleting")
        deleted = boolean_of(answer.response)
        if deleted is None:
            raise Stalled(f"deleting {path}: the answer is none of Hadoop's")
        if not deleted and not answer.repeated:
            raise FileNotFound(f"there is no file {path} to delete")

    @switches
    def delete_folder(self, folder: str) -> None:
        absolute = self._absolute(folder)
        status = look(self._namenodes, absolute)
        if status is None or status.is_file:
            return
        answer = self._namenodes.ask("DELETE", absolute, "DELETE", parameters={"recursive": "true"})
        if answer.error is not None and not is_absent(answer.error):
            raise refused(answer.error, folder, "deleting")

    @switches
    def seal(self, path: str) -> int:
        """*Switches.*"""
        length = self._file_status(path).length_bytes
        answer = self._namenodes.ask("GET", self._absolute(path), "GET_BLOCK_LOCATIONS")
        if answer.error is not None and is_absent(answer.error):
            raise FileNotFound(f"there is no file {path}")
        if answer.error is None and b'"isUnderConstruction":true' in answer.response.body.replace(b" ", b""):
            raise Unavailable(f"{path} is being written; nobody was told that it is there")
        return length

    # ------------------------------------------------------------ reading

    @switches
    def open(self, path: str) -> RandomReadFile:
        """*Switches.*"""
        status = self._file_status(path)
        by_inode = f"/.reserved/.inodes/{status.inode}" if status.inode > 0 else self._absolute(path)
        return WebHdfsReadFile(self._reads, path, by_inode, status.length_bytes)

    @switches
    def read_file(self, path: str) -> bytes:
        """*Switches.*"""
        return self._reads.read(path, self._absolute(path), 0, None)

    @switches
    def exists(self, path: str) -> bool:
        """*Switches.*"""
        status = look(self._namenodes, self._absolute(path))
        return status is not None and status.is_file

    @switches
    def status(self, path: str) -> FileStatus:
        """*Switches.*"""
        status = self._file_status(path)
        return FileStatus(path, status.length_bytes, status.modified_millis)

    @switches
    def copies(self, path: str) -> Copies | None:
        """As CountsCopies.copies. *Switches.*"""
        found = count_copies(self._namenodes, self._absolute(path))
        return None if found is None else Copies(found, self._replication(path))

    @switches
    def list_files(self, folder: str) -> list[FileStatus]:
        """An empty `folder` lists everything that is finished."""
        absolute = self._absolute(folder) if folder else self._root
        cut = len(self._root) + 1
        try:
            found = {path[cut:]: status for path, status in self._listing.files_below(absolute)}
        except Stalled as error:
            raise Unavailable(f"listing {folder or 'everything'}: {error}") from error
        if not folder:
            found = {path: status for path, status in found.items() if not path.startswith(f"{UNFINISHED}/")}
        return [FileStatus(path, found[path].length_bytes, found[path].modified_millis) for path in sorted(found)]

    # ------------------------------------------------------------ inside

    def _absolute(self, path: str) -> str:
        check_path(path)
        return f"{self._root}/{path}"

    @switches
    def _replication(self, path: str) -> int:
        options = self.options
        if not path.startswith(_LOGS):
            return options.replication
        if options.log_replication:
            return options.log_replication
        small = (self._datanodes.count() or 0) <= _SMALL_CLUSTER
        return min(_SMALL_LOG_COPIES, options.replication) if small else options.replication

    @switches
    def _live_nodes_page(self) -> bytes:
        try:
            answer = self._namenodes.ask_target("GET", LIST_TARGET, repeat=True)
        except (Unavailable, Stalled) as error:
            raise ValueError(str(error)) from error
        return answer.response.body

    @switches
    def _file_status(self, path: str) -> NodeStatus:
        status = look(self._namenodes, self._absolute(path))
        if status is None or not status.is_file:
            raise FileNotFound(f"there is no file {path}")
        return status


def _identity(options: WebHdfsOptions) -> dict[str, str]:
    if options.sign_in == SIMPLE:
        return {"user.name": options.user}
    return {"delegation": options.delegation_token} if options.sign_in == TOKEN else {}
