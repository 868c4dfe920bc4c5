"""The file system port over WebHDFS (GFS's place in the paper, section 4): works wherever HTTP reaches.

Files appear whole, by one request each (webhdfs_put.py), so an open file here is one that is being collected
(webhdfs_files.py). Of the port's promises this kind changes:

    create      looks whether the file is there, and leaves nothing; who syncs first has the name, the others'
                sync fails
    append      seen by nobody before sync(); none after it
    open        after a delete or a replacement the reader gets FileNotFound
    seal        nobody of ours writes to a file that is there; one still being written is Unavailable

write_file puts a file of a unique name below unfinished/ and renames it with OVERWRITE. Whoever lists that folder by
name sees what was cut off; nobody else does.

Renames are told from each other by inode number: an answer that was lost, or "there is no source" after it, is settled
by looking which inode stands under the target's name.
"""

from collections.abc import Callable, Collection
from typing import BinaryIO, Final, final

from hbtable.errors import AlreadyExists, FileNotFound, Stalled, StorageFailed, Unavailable
from hbtable.fs.calls import Calls, ThreadCalls
from hbtable.fs.interface import NO_HINTS, WEBHDFS, AppendFile, FileStatus, PutHints, RandomReadFile
from hbtable.fs.paths import UNFINISHED, check_path
from hbtable.fs.webhdfs_datanodes import LIST_TARGET, DataNodes
from hbtable.fs.webhdfs_errors import exists_already, is_absent, refused, unread
from hbtable.fs.webhdfs_files import Reads, WebHdfsAppendFile, WebHdfsReadFile
from hbtable.fs.webhdfs_listing import Listing
from hbtable.fs.webhdfs_namenodes import Answer, NameNodes
from hbtable.fs.webhdfs_options import SIMPLE, TOKEN, WebHdfsOptions
from hbtable.fs.webhdfs_put import NodeStatus, Puts, parse_status
from hbtable.fs.webhdfs_requests import OK, HoldHttp, Http, boolean_of
from hbtable.fs.webhdfs_silent_nodes import SilentNodes
from hbtable.fs.webhdfs_watched import WatchedPuts
from hbtable.runtime.interface import Runtime

_LOGS: Final = "logs/"
_SMALL_CLUSTER: Final = 3
_SMALL_LOG_COPIES: Final = 2
_SUSPECTS: Final = 2
_FEW_SUSPECTS: Final = 1
"""Or all tries of a group would wait for the same frozen node, with nobody left to look for it."""
_TURN_SECONDS: Final = 0.1


@final
class WebHdfsFileSystem:
    """Implements fs.interface.FileSystem below `root`, a folder that is made with the first file. Sends nothing when
    it is made. `http` carries the requests."""

    log_kind = WEBHDFS

    def __init__(
        self,
        runtime: Runtime,
        hosts: Collection[str],
        root: str,
        http: Http,
        options: WebHdfsOptions | None = None,
        calls: Calls | None = None,
        hold: HoldHttp | None = None,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Without `hold`, contents cannot be led past a DataNode that does not answer."""
        self.options = options or WebHdfsOptions()
        self._on_close = on_close
        self._runtime = runtime
        self._root = f"/{root.strip('/')}".rstrip("/")
        calls = calls or ThreadCalls(runtime)
        self._namenodes = NameNodes(runtime, calls, http, tuple(hosts), self.options, _identity(self.options))
        self._datanodes = DataNodes(runtime.clock_seconds, self._live_nodes_page)
        self._puts = Puts(runtime, calls, http, self._namenodes, self._datanodes, self.options)
        self._reads = Reads(calls, http, self._namenodes, self._datanodes, self.options)
        self._listing = Listing(self._namenodes)
        self._silent = SilentNodes(runtime, calls, http, self._datanodes.living)
        self._suspects = 0
        self._watched: WatchedPuts | None = None
        if hold is not None:
            self._watched = WatchedPuts(
                runtime,
                calls,
                hold,
                self._namenodes,
                self._datanodes,
                self._puts,
                self._silent,
                self._root,
                self.options,
            )

    def close(self) -> None:
        """After the last call: closes connections."""
        if self._watched is not None:
            self._watched.close()
        self._on_close()

    # ------------------------------------------------------------ writing

    def create(self, path: str) -> AppendFile:
        """*Switches.*"""
        if self.exists(path):
            raise AlreadyExists(f"{path} exists already")

        def put(body: bytes | BinaryIO, length_bytes: int) -> NodeStatus:
            return self._puts.put(self._absolute(path), body, length_bytes, self._replication(path))

        return WebHdfsAppendFile(path, put, self.options.buffer_bytes)

    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        """*Switches.* `hints.avoid` steers who takes the content, not where its further copies go; what can be padded
        is watched while a node answers nothing. Nodes are named host:port, of their HTTP port. Besides AlreadyExists:
        Unavailable when nobody takes it."""
        suspicious = hints.avoid or hints.late or self._silent.known
        if self._watched is None or hints.padded is None or not suspicious:
            self._put(path, data, hints)
            return
        while not (silent := self._silent.look()):
            # A put that is under way while a node freezes uses up a thread of a sound one: not too many at a time.
            few = hints.late or self._silent.unsure
            if self._suspects < (_FEW_SUSPECTS if few else _SUSPECTS):
                self._suspects += 1
                try:
                    self._put(path, data, hints)
                    return
                finally:
                    self._suspects -= 1
            self._runtime.sleep(_TURN_SECONDS)
            hints.padded(0)  # is it still wanted?
        name, status = self._watched.put(hints.padded, self._replication(path), silent)
        self._rename(name, status, path)

    def write_file(self, path: str, data: bytes) -> None:
        absolute = self._absolute(path)
        temporary = f"{self._root}/{UNFINISHED}/{self._runtime.random.getrandbits(64):016x}"
        self._puts.put(temporary, data, len(data), self._replication(path))
        try:
            answer = self._renamed(temporary, absolute, "OVERWRITE")
        except Stalled:
            # It may yet be done, over a later content. Without its source it can do nothing any more.
            if self._taken_back(temporary):
                raise
            return
        if _renamed_it(answer):
            return
        # Denied: but a proxy may have repeated it, as this adapter does after a lost answer, and nobody else knows the
        # name. The target may hold a later writer's content already.
        if self._gone(temporary):
            return
        if answer.error is None:
            raise StorageFailed(f"writing {path} failed: this server renames over no file (HttpFS gateways do not)")
        error = refused(answer.error, path, "writing")
        raise error if isinstance(error, StorageFailed) else StorageFailed(f"writing {path} failed: {error}")

    def rename(self, source: str, target: str) -> None:
        check_path(target)
        self._rename(source, self._file_status(source), target)

    def _rename(self, source: str, status: NodeStatus, target: str) -> None:
        """`status`: of the source, just now."""
        absolute_source, absolute_target = self._absolute(source), self._absolute(target)
        answer = self._renamed(absolute_source, absolute_target, "NONE")
        if _renamed_it(answer):
            return
        if self._landed(absolute_source, absolute_target, status, answer.repeated):
            return
        if answer.error is None or exists_already(answer.error):
            # False comes from gateways that do not know the options: for each reason there is.
            if self._look(absolute_target) is not None:
                raise AlreadyExists(f"{target} exists already, so {source} keeps its name")
            if self._look(absolute_source) is None:
                raise FileNotFound(f"there is no file {source} to rename to {target}")
            raise StorageFailed(f"renaming {source} to {target} failed: HDFS would not, and does not say why")
        raise refused(answer.error, source, f"renaming to {target}")

    def delete(self, path: str) -> None:
        answer = self._namenodes.ask("DELETE", self._absolute(path), "DELETE", parameters={"recursive": "false"})
        if answer.error is not None:
            raise refused(answer.error, path, "deleting")
        deleted = boolean_of(answer.response)
        if deleted is None:
            raise Stalled(f"deleting {path}: the answer is none of Hadoop's")
        if not deleted and not answer.repeated:
            raise FileNotFound(f"there is no file {path} to delete")

    def delete_folder(self, folder: str) -> None:
        absolute = self._absolute(folder)
        status = self._look(absolute)
        if status is None or status.is_file:
            return
        answer = self._namenodes.ask("DELETE", absolute, "DELETE", parameters={"recursive": "true"})
        if answer.error is not None and not is_absent(answer.error):
            raise refused(answer.error, folder, "deleting")

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

    def open(self, path: str) -> RandomReadFile:
        """*Switches.*"""
        status = self._file_status(path)
        by_inode = f"/.reserved/.inodes/{status.inode}" if status.inode > 0 else self._absolute(path)
        return WebHdfsReadFile(self._reads, path, by_inode, status.length_bytes)

    def read_file(self, path: str) -> bytes:
        """*Switches.*"""
        return self._reads.read(path, self._absolute(path), 0, None)

    def exists(self, path: str) -> bool:
        """*Switches.*"""
        status = self._look(self._absolute(path))
        return status is not None and status.is_file

    def status(self, path: str) -> FileStatus:
        """*Switches.*"""
        status = self._file_status(path)
        return FileStatus(path, status.length_bytes, status.modified_millis)

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

    def _put(self, path: str, data: bytes, hints: PutHints) -> None:
        self._puts.put(self._absolute(path), data, len(data), self._replication(path), hints.avoid, hints.on_node)

    def _absolute(self, path: str) -> str:
        check_path(path)
        return f"{self._root}/{path}"

    def _replication(self, path: str) -> int:
        options = self.options
        if not path.startswith(_LOGS):
            return options.replication
        if options.log_replication:
            return options.log_replication
        small = (self._datanodes.count() or 0) <= _SMALL_CLUSTER
        return min(_SMALL_LOG_COPIES, options.replication) if small else options.replication

    def _live_nodes_page(self) -> bytes:
        try:
            answer = self._namenodes.ask_target("GET", LIST_TARGET, repeat=True)
        except (Unavailable, Stalled) as error:
            raise ValueError(str(error)) from error
        return answer.response.body

    def _look(self, absolute: str) -> NodeStatus | None:
        """None when there is neither file nor folder. Unavailable when that cannot be known."""
        try:
            answer = self._namenodes.ask("GET", absolute, "GETFILESTATUS")
        except Stalled as error:
            raise Unavailable(f"looking for {absolute}: {error}") from error
        if answer.error is None:
            return parse_status(answer.response.body)
        if is_absent(answer.error):
            return None
        raise unread(answer.error, absolute)

    def _file_status(self, path: str) -> NodeStatus:
        status = self._look(self._absolute(path))
        if status is None or not status.is_file:
            raise FileNotFound(f"there is no file {path}")
        return status

    def _renamed(self, source: str, target: str, options: str) -> Answer:
        """The answer to a rename whose target has a folder. Repeated when an answer is lost: the second of two finds no
        source, and no harm is done."""
        parameters = {"destination": target, "renameoptions": options}
        answer = self._namenodes.ask("PUT", source, "RENAME", parameters=parameters)
        no_folder = answer.error is not None and is_absent(answer.error)
        if no_folder or (answer.error is None and boolean_of(answer.response) is False):
            folder = target.rpartition("/")[0]
            # Asked again also where the folder is there: another process may have made it just now.
            if self._look(source) is not None:
                made = self._namenodes.ask("PUT", folder, "MKDIRS")
                if made.error is not None:
                    raise refused(made.error, folder, "making")
                again = self._namenodes.ask("PUT", source, "RENAME", parameters=parameters)
                return again._replace(repeated=again.repeated or answer.repeated)
        return answer

    def _gone(self, absolute: str) -> bool:
        try:
            return self._look(absolute) is None
        except Unavailable as error:
            raise Stalled(f"whether {absolute} was renamed is unknown: {error}") from error

    def _taken_back(self, temporary: str) -> bool:
        """After a rename without an answer: it was not done, or that is unknown. False: it was, for nobody else knows
        the name of its source. Stalled."""
        answer = self._namenodes.ask("DELETE", temporary, "DELETE")
        return answer.repeated or answer.error is not None or boolean_of(answer.response) is not False

    def _landed(self, source: str, target: str, status: NodeStatus, repeated: bool) -> bool:
        """After an answer that denies it: the file stands at `target` all the same, because this adapter or a proxy
        asked twice. Stalled when that cannot be known."""
        try:
            there = self._look(target)
            if there is not None and there.inode > 0:
                return there.inode == status.inode
            return repeated and there is not None and self._look(source) is None
        except Unavailable as error:
            raise Stalled(f"whether {source} was renamed to {target} is unknown: {error}") from error


def _renamed_it(answer: Answer) -> bool:
    """A page of some proxy is no yes. With options Hadoop's is empty."""
    said = boolean_of(answer.response)
    return answer.error is None and (
        bool(said) or (said is None and answer.response.status in OK and not answer.response.body)
    )


def _identity(options: WebHdfsOptions) -> dict[str, str]:
    if options.sign_in == SIMPLE:
        return {"user.name": options.user}
    return {"delegation": options.delegation_token} if options.sign_in == TOKEN else {}
