"""A whole file in one upload: CREATE to the NameNode, the bytes to the DataNode it names, then a look at the result.

The look is needed. Hadoop 2's 201 may stand for a file that was deleted meanwhile, and a DataNode whose client goes
away closes the file as if it were complete. The file is there, replicated and (with synced blocks) on the disks of the
DataNodes only when a GETFILESTATUS after the 201 shows every byte.

A file is uploaded once. When a DataNode did not get the bytes, or refuses them for now, another DataNode gets them. In
every other case nobody may send them again under this name, because the first upload may still arrive.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final, final

from hbtable.errors import AlreadyExists, Stalled, Unavailable
from hbtable.fs.blocking_calls import BlockingCalls
from hbtable.fs.webhdfs.datanodes import DataNodes
from hbtable.fs.webhdfs.errors import is_absent, put_refused, refused
from hbtable.fs.webhdfs.namenodes import GRACE_SECONDS, NameNodes, not_now
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.requests import (
    Http,
    NoAnswer,
    NotSent,
    WebHdfsRequest,
    WebHdfsResponse,
    location_of,
    remote_error,
)
from hbtable.fs.webhdfs.status import NodeStatus, parse_status
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

BYTES_PER_SECOND: Final = 4 << 20
"""The slowest transfer that is not taken for a hanging one."""

_NO_NODE: Final = "Failed to find datanode"
_BLOCK_TOO_SMALL: Final = "min-block-size"
_BLOCK_STEP_BYTES: Final = 1 << 20
"""The smallest block HDFS takes by default."""
_LARGEST_OWN_BLOCK: Final = 32 << 20
_TRIES: Final = 4
_PAUSE_SECONDS: Final = 0.1
_THREADS_PER_KIND: Final = 4
_LARGEST_KIND: Final = 7

_logger = logging.getLogger(__name__)


@final
class UploadThreads:
    """Names kinds of threads, up to four calls for each, so that up to 32 uploads run at once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._taken: set[int] = set()

    @contextmanager
    def kind(self) -> Iterator[str]:
        slot = next(number for number in range(len(self._taken) + 1) if number not in self._taken)
        self._taken.add(slot)
        try:
            yield f"{self._name}-{min(slot // _THREADS_PER_KIND, _LARGEST_KIND)}"
        finally:
            self._taken.discard(slot)


@final
class WholeFilePuts:
    """Writes whole files by absolute path."""

    def __init__(
        self,
        runtime: Runtime,
        calls: BlockingCalls,
        http: Http,
        namenodes: NameNodes,
        datanodes: DataNodes,
        options: WebHdfsOptions,
    ) -> None:
        self._runtime = runtime
        self._calls = calls
        self._http = http
        self._namenodes = namenodes
        self._datanodes = datanodes
        self._options = options
        self._threads = UploadThreads("webhdfs-put")
        self._warned = False
        self._own_blocks = True

    @switches
    def put(
        self,
        path: str,
        body: bytes | BinaryIO,
        length_bytes: int,
        replication: int,
        avoid: Collection[str] = (),
        on_node: Callable[[str], None] | None = None,
    ) -> NodeStatus:
        """*Switches.* The new file's status. AlreadyExists. Unavailable: no DataNode takes it now. OutOfSpace, Stalled:
        there may be a file, whole or not, now or later."""
        avoided = list(avoid)
        why = ""
        begun = False
        for attempt in range(_TRIES):
            if attempt:
                self._runtime.sleep(_PAUSE_SECONDS * attempt)
            node, target = self._place(path, replication, avoided, length_bytes)
            if on_node is not None:
                on_node(node)
            try:
                why = self._send(path, node, target, body, length_bytes)
            except NotSent as error:
                why = str(error)
            except AlreadyExists as error:
                if begun:
                    raise Stalled(f"{path}: an earlier try of this call made it, how much of it is unknown") from error
                raise
            else:
                if not why:
                    return self._look(path, length_bytes)
                begun = True
            avoided.append(node)
        raise Unavailable(f"{path} cannot be written: {why}")

    @switches
    def _place(self, path: str, replication: int, avoid: Collection[str], length_bytes: int) -> tuple[str, str]:
        """*Switches.* The DataNode that is to receive a new file's content, and what it is to be asked. Unavailable."""
        parameters = {"overwrite": "false", "replication": str(replication)}
        if self._own_blocks and length_bytes <= _LARGEST_OWN_BLOCK:
            # HDFS keeps room for a whole block while a file is written, and ten minutes longer when its upload broke
            # off. Of 128 MiB, a few hundred such uploads fill the disks, as the NameNode counts.
            steps = max(1, -(-length_bytes // _BLOCK_STEP_BYTES))
            parameters["blocksize"] = str(steps * _BLOCK_STEP_BYTES)
        if self._options.synced_blocks:
            # Without CREATE beside it Hadoop looks for a file to overwrite.
            parameters["createflag"] = "CREATE,SYNC_BLOCK"
        if avoid:
            parameters["excludedatanodes"] = ",".join(self._datanodes.block_addresses(avoid))
        answer = self._namenodes.ask("PUT", path, "CREATE", parameters=parameters)
        if answer.error is not None and _NO_NODE in answer.error.message:
            if avoid:  # a slow node is better than none
                return self._place(path, replication, (), length_bytes)
            raise Unavailable(f"{path} cannot be written: no DataNode is left ({answer.error.message})")
        if answer.error is not None:
            raise refused(answer.error, path, "creating")
        location = location_of(answer.response)
        if location is None:
            raise Unavailable(f"creating {path}: the NameNode answered {answer.response.status} and named no DataNode")
        if self._options.synced_blocks and "SYNC_BLOCK" not in location[1] and not self._warned:
            self._warned = True
            _logger.warning(
                "this WebHDFS server does not know synced blocks: what is acknowledged is in the memory of %d "
                "DataNodes, and on their disks later (dfs.datanode.synconclose=true there changes that)",
                replication,
            )
        return location

    @switches
    def _send(self, path: str, node: str, target: str, body: bytes | BinaryIO, length_bytes: int) -> str:
        """As `_taken`. NotSent: it certainly wrote nothing."""
        seconds = self._options.put_seconds + length_bytes / BYTES_PER_SECOND
        request = WebHdfsRequest("PUT", node, target, body, length_bytes, seconds)
        with self._threads.kind() as kind:
            try:
                response = self._calls.call(kind, seconds + GRACE_SECONDS, self._http, request)
            except (NoAnswer, Stalled) as error:
                raise Stalled(f"writing {path} by {node}: {error}; whether it took effect is unknown") from error
        return self._taken(response, path, node)

    def _taken(self, response: WebHdfsResponse, path: str, node: str) -> str:
        """Empty when the DataNode said 201; else the reason why it takes nothing just now, where it may have begun.
        OutOfSpace, StorageFailed, Stalled, AlreadyExists."""
        refusal = remote_error(response)
        if refusal is None:
            return ""
        if not_now(refusal):
            return f"{node} says {refusal.java_class}"
        if self._own_blocks and _BLOCK_TOO_SMALL in refusal.message:
            self._own_blocks = False
            return f"{node} says {refusal.message}"
        raise put_refused(refusal, path)

    @switches
    def _look(self, path: str, length_bytes: int) -> NodeStatus:
        """*Switches.* After a 201. Stalled unless the file is there with every byte."""
        try:
            answer = self._namenodes.ask("GET", path, "GETFILESTATUS")
        except Unavailable as error:
            raise Stalled(f"{path} was written, and nobody says whether it is there: {error}") from error
        if answer.error is not None:
            absent = "is not there" if is_absent(answer.error) else f"cannot be looked at ({answer.error.message})"
            raise Stalled(f"{path} was written and {absent}")
        status = parse_status(answer.response.body)
        if not status.is_file or status.length_bytes != length_bytes:
            raise Stalled(f"{path} was written and has {status.length_bytes} bytes instead of {length_bytes}")
        return status
