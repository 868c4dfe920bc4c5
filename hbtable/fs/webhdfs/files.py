"""Files of the WebHDFS adapter: one that is collected here and appears whole, and ranged reads.

Reading goes by inode number (/.reserved/.inodes/N) where the server tells it: a rename does not disturb the reader, and
one whose file was replaced gets FileNotFound rather than another file's bytes.
"""

import io
import tempfile
from collections.abc import Callable
from typing import IO, BinaryIO, Final, cast, final

from hbtable.errors import AlreadyExists, Corruption, HbtableError, Stalled, StorageFailed, Unavailable
from hbtable.fs.blocking_calls import BlockingCalls
from hbtable.fs.paths import write_error
from hbtable.fs.webhdfs.datanodes import DataNodes
from hbtable.fs.webhdfs.errors import unread
from hbtable.fs.webhdfs.namenodes import GRACE_SECONDS, NameNodes
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.put import BYTES_PER_SECOND, UploadThreads
from hbtable.fs.webhdfs.requests import HadoopError, Http, NoAnswer, NotSent, WebHdfsRequest, location_of, remote_error
from hbtable.switches import switches

_OUT_OF_RANGE: Final = "out of the range"


@final
class WebHdfsAppendFile:
    """Collects appends; sync() puts them as one file, once. Nobody sees anything of it before. `put` gets the content
    and its length."""

    __slots__ = ("_buffer_bytes", "_closed", "_content", "_done", "_length_bytes", "_put", "path")

    def __init__(self, path: str, put: Callable[[bytes | BinaryIO, int], object], buffer_bytes: int) -> None:
        self.path = path
        self._put = put
        self._buffer_bytes = buffer_bytes
        self._content: IO[bytes] = io.BytesIO()
        self._length_bytes = 0
        self._done = False
        self._closed = False

    def append(self, data: bytes) -> None:
        """Never switches. StorageFailed after a sync: a file of this kind takes no more then."""
        self._check_open()
        if self._done:
            raise StorageFailed(f"{self.path} was synced, and takes no more: WebHDFS files appear whole")
        try:
            if self._length_bytes <= self._buffer_bytes < self._length_bytes + len(data):
                collected = self._content
                self._content = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
                collected.seek(0)
                self._content.write(collected.read())
            self._content.write(data)
        except OSError as error:
            raise write_error(error, self.path, "collecting the content of") from error
        self._length_bytes += len(data)

    @switches
    def sync(self) -> None:
        """*Switches.* The file is there, complete and durable, on return; a second sync does nothing."""
        self._check_open()
        if self._done:
            return
        self._done = True  # also for other tasks, while this one waits
        try:
            self._content.seek(0)
            small = self._length_bytes <= self._buffer_bytes
            self._put(self._content.read() if small else cast(BinaryIO, self._content), self._length_bytes)
            self._content.close()
        except Exception as error:
            self.close()
            if isinstance(error, AlreadyExists):
                raise StorageFailed(f"{self.path} was made by somebody else meanwhile") from error
            raise

    def close(self) -> None:
        """Gives up the bytes that were not synced. Idempotent. Not to be called while a sync is under way."""
        self._closed = True
        self._content.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageFailed(f"{self.path} is closed: nothing more can be written to it")


@final
class RangeReads:
    """Reads ranges of files by absolute path."""

    def __init__(
        self, calls: BlockingCalls, http: Http, namenodes: NameNodes, datanodes: DataNodes, options: WebHdfsOptions
    ) -> None:
        self._calls = calls
        self._http = http
        self._namenodes = namenodes
        self._datanodes = datanodes
        self._options = options
        self._threads = UploadThreads("webhdfs-read")

    @switches
    def read(self, shown: str, path: str, offset: int, size: int | None) -> bytes:
        """*Switches.* Exactly `size` bytes, or all from `offset` on. FileNotFound; Corruption when the file ends
        earlier; Unavailable when no DataNode gave them all. `shown` is the path that errors name."""
        avoided: list[str] = []
        error: HbtableError = Unavailable(f"reading {shown} failed")
        for _ in range(self._options.read_tries):
            parameters = {"offset": str(offset)} | ({} if size is None else {"length": str(size)})
            if avoided:
                parameters["excludedatanodes"] = ",".join(self._datanodes.block_addresses(avoided))
            try:
                answer = self._namenodes.ask("GET", path, "OPEN", parameters=parameters)
            except Stalled as stalled:
                raise Unavailable(f"reading {shown}: {stalled}") from stalled
            if answer.error is not None:
                refusal = _unread(answer.error, shown, offset)
                if avoided and isinstance(refusal, Unavailable):
                    avoided.clear()  # every node that has it was left out
                    continue
                raise refusal
            location = location_of(answer.response)
            if location is None:
                raise Unavailable(f"reading {shown}: the NameNode named no DataNode")
            try:
                return self._fetched(shown, location, offset, size)
            except Unavailable as next_time:
                error = next_time
                avoided.append(location[0])
        raise error

    @switches
    def _fetched(self, shown: str, location: tuple[str, str], offset: int, size: int | None) -> bytes:
        node, target = location
        seconds = self._options.read_seconds + (size or 0) / BYTES_PER_SECOND
        with self._threads.kind() as kind:
            try:
                request = WebHdfsRequest("GET", node, target, seconds=seconds)
                response = self._calls.call(kind, seconds + GRACE_SECONDS, self._http, request)
            except (NotSent, NoAnswer, Stalled) as error:
                raise Unavailable(f"reading {shown} from {node}: {error}") from error
        refusal = remote_error(response)
        if refusal is not None:
            raise _unread(refusal, shown, offset)
        body = response.body
        if not response.complete:
            # A DataNode that died, or whose copies are all damaged, ends the body early behind a 200.
            raise Unavailable(f"reading {shown} from {node}: cut off after {len(body)} bytes")
        if size is not None and len(body) != size:
            reason = f"{size} bytes are wanted from byte {offset} on, and only {len(body)} are there"
            raise Corruption(shown, offset + len(body), reason)
        return body


def _unread(error: HadoopError, shown: str, offset: int) -> HbtableError:
    if _OUT_OF_RANGE in error.message:
        return Corruption(shown, offset, "the file ends before that")
    return unread(error, shown)


@final
class WebHdfsReadFile:
    """An open immutable file: two requests for each read. Holds nothing open."""

    __slots__ = ("_absolute", "_reads", "length_bytes", "path")

    def __init__(self, reads: RangeReads, path: str, absolute: str, length_bytes: int) -> None:
        self.path = path
        self.length_bytes = length_bytes
        self._reads = reads
        self._absolute = absolute

    @switches
    def read_at(self, offset: int, size: int) -> bytes:
        """*Switches.* FileNotFound once the file was deleted or replaced."""
        if size == 0:
            return b""
        if offset + size > self.length_bytes:
            there = max(0, self.length_bytes - offset)
            reason = f"{size} bytes are wanted from byte {offset} on, and only {there} are there"
            raise Corruption(self.path, offset + there, reason)
        return self._reads.read(self.path, self._absolute, offset, size)

    def close(self) -> None:
        """Nothing is held."""
