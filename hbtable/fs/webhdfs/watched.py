"""Uploads that are led past DataNodes that do not answer (docs/faults.md: two ways for a log).

A client of WebHDFS may say which node receives an upload. It may not say which nodes get the copies. A copy for a
frozen node stops the whole upload for 75 s and more, and the client cannot take the upload back: a thread of the
receiving node waits, and every connection that falls to this thread waits with it. After eight such uploads three
DataNodes take nothing any more.

So an upload is watched. Everything but its end is sent: enough that the receiving node asks the NameNode for a block,
and too little for it to wait for anything. Then the NameNode is asked where the copies go (GET_BLOCK_LOCATIONS). If
each of these nodes answers, the end follows. If one does not, the upload is left without an end, and another one begins
elsewhere, under another name below unfinished/.

The connection of an upload that was left stays open, because at its end the receiving thread would wait for the
pipeline. It is closed when the silent nodes answer again, or when the pipeline has failed by itself. An upload that the
receiving node has not even begun is left in the same way: the node's thread waits for another upload, and would begin
this one later.
"""

import json
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, final

from hbtable.errors import HbtableError, Stalled
from hbtable.fs.blocking_calls import BlockingCalls
from hbtable.fs.paths import UNFINISHED
from hbtable.fs.webhdfs.datanodes import DataNodes
from hbtable.fs.webhdfs.namenodes import NameNodes
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.put import UploadThreads, WholeFilePuts
from hbtable.fs.webhdfs.requests import HeldUpload, HoldHttp, NoAnswer, NotSent, WebHdfsRequest
from hbtable.fs.webhdfs.silent_nodes import SilentNodes
from hbtable.fs.webhdfs.status import NodeStatus
from hbtable.runtime.interface import Event, Runtime
from hbtable.switches import switches

WATCHED_BYTES: Final = 66 << 10
"""The least length of a watched upload: a packet of HDFS's (64,512 bytes) and what is held back."""

_BEGIN_SECONDS: Final = 0.4
_LOOK_AGAIN_SECONDS: Final = 0.004
_LEFT_OPEN_SECONDS: Final = 80.0
"""HDFS's default for a pipeline of two: 60 s and 5 for each node."""
_NOT_BEGUN_SECONDS: Final = 2 * _LEFT_OPEN_SECONDS
"""It may begin only when the pipeline that its thread waits for has failed."""
_TEND_SECONDS: Final = 0.5
_ENDS_AT_ONCE: Final = 40
"""Each costs a DataNode some 10 ms, and its threads have others to serve. Fewer might last until the next freeze."""
_MOST_LEFT_OPEN: Final = 400
_MANY_LEFT_OPEN: Final = 100
_AT_ONCE: Final = 4


class _Left(NamedTuple):
    """An upload without an end, because of nodes that did not answer."""

    held: HeldUpload
    silent: frozenset[str]
    until: float


@final
class WatchedPuts:
    """Uploads files past DataNodes that do not answer. Owns the connections that were left open. `root`: absolute, of
    the folder that holds unfinished/."""

    def __init__(
        self,
        runtime: Runtime,
        calls: BlockingCalls,
        hold: HoldHttp,
        namenodes: NameNodes,
        datanodes: DataNodes,
        puts: WholeFilePuts,
        silent: SilentNodes,
        root: str,
        options: WebHdfsOptions,
    ) -> None:
        self._runtime = runtime
        self._calls = calls
        self._hold = hold
        self._namenodes = namenodes
        self._datanodes = datanodes
        self._puts = puts
        self._silent = silent
        self._root = root
        self._options = options
        self._threads = UploadThreads("webhdfs-watched")
        self._under_way = 0
        self._waiting: deque[Event] = deque()
        self._left: list[_Left] = []
        self._tending = False
        self._closed = False

    @switches
    def put(self, padded: Callable[[int], bytes], replication: int, silent: frozenset[str]) -> tuple[str, NodeStatus]:
        """*Switches.* The name below the root, and the status, of a new file with what `padded` (fs.interface.PutHints)
        gives, complete as after Puts.put. It has a copy on none of the `silent` nodes, as far as that is known.

        Stalled: there may be files below unfinished/ that nobody knows. OutOfSpace, StorageFailed, what `padded`
        raises."""
        self._enter()
        try:
            ends = self._runtime.clock_seconds() + self._options.put_seconds
            why = "it was not begun in time"
            while self._runtime.clock_seconds() < ends:
                self._go_slowly()
                content = padded(WATCHED_BYTES)
                name = f"{UNFINISHED}/{self._runtime.random.getrandbits(64):016x}"
                outcome = self._attempt(f"{self._root}/{name}", content, replication, silent)
                if isinstance(outcome, NodeStatus):
                    return name, outcome
                why = outcome
        finally:
            self._leave()
        raise Stalled(f"no way was found past {', '.join(sorted(silent))}: {why}")

    def close(self) -> None:
        """Ends the connections that were left open: there is no further put. Puts under way leave none behind."""
        self._closed = True
        while self._left:
            self._left.pop().held.close()

    # ------------------------------------------------------------ one attempt

    @switches
    def _attempt(self, path: str, content: bytes, replication: int, silent: frozenset[str]) -> NodeStatus | str:
        """The file's status when it stands; else why it does not."""
        node, target = self._puts.place(path, replication, silent, len(content))
        seconds = self._options.put_seconds
        with self._threads.kind() as kind:
            try:
                request = WebHdfsRequest("PUT", node, target, content, len(content), seconds)
                held = self._begun(kind, request)
            except (NotSent, NoAnswer, Stalled) as error:
                return str(error)
            try:
                copies = self._copies(path)
            except BaseException:
                self._leave_open(held, silent, _NOT_BEGUN_SECONDS)
                raise
            if copies is None:
                self._leave_open(held, silent, _NOT_BEGUN_SECONDS)
                return f"{node} began nothing"
            if copies & set(self._datanodes.block_addresses(silent)):
                self._leave_open(held, silent, _LEFT_OPEN_SECONDS)
                self._forget(path)
                return "a copy was to go to one of them"
            try:
                response = self._calls.call(kind, seconds, held.finish, seconds)
            except (NoAnswer, Stalled) as error:
                raise Stalled(f"writing {path} by {node}: {error}; whether it took effect is unknown") from error
            finally:
                held.close()
        return self._puts.taken(response, path, node) or self._puts.look(path, len(content))

    @switches
    def _begun(self, kind: str, request: WebHdfsRequest) -> HeldUpload:
        """What is begun only after its caller has given up is ended by the call itself: nobody else knows of it."""
        begun: list[HeldUpload] = []
        unwanted = False

        def hold() -> HeldUpload:
            begun.append(self._hold(request))
            if unwanted:
                begun[0].close()
            return begun[0]

        try:
            return self._calls.call(kind, request.seconds, hold)
        except BaseException:
            unwanted = True
            for held in begun:  # just then
                held.close()
            raise

    @switches
    def _copies(self, path: str) -> set[str] | None:
        """The addresses for blocks of the nodes that get the upload; none when that stays unknown. None: there is no
        file, so the receiving node has not even begun."""
        ends = self._runtime.clock_seconds() + _BEGIN_SECONDS
        begun = False
        while self._runtime.clock_seconds() < ends:
            answer = self._namenodes.ask("GET", path, "GET_BLOCK_LOCATIONS")
            if answer.error is None:
                begun = True
                copies = _addresses(answer.response.body)
                if copies:
                    return copies
            self._runtime.sleep(_LOOK_AGAIN_SECONDS)
        return set() if begun else None

    @switches
    def _forget(self, path: str) -> None:
        try:
            self._namenodes.ask("DELETE", path, "DELETE")
        except HbtableError:
            pass  # it lies below unfinished/

    # ------------------------------------------------------------ how many at a time

    @switches
    def _enter(self) -> None:
        if self._under_way >= _AT_ONCE:
            turn = self._runtime.event()
            self._waiting.append(turn)
            try:
                turn.wait()
            except BaseException:  # this task is killed
                if turn in self._waiting:
                    self._waiting.remove(turn)
                else:
                    self._leave()
                raise
        else:
            self._under_way += 1

    @switches
    def _go_slowly(self) -> None:
        """Each attempt may leave a connection open, here and at a DataNode: as many end as begin."""
        if len(self._left) >= _MANY_LEFT_OPEN:
            pause = _LEFT_OPEN_SECONDS / _MOST_LEFT_OPEN * _AT_ONCE
            self._runtime.sleep(pause * len(self._left) / _MOST_LEFT_OPEN)

    def _leave(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()  # who waits takes this one's place
        else:
            self._under_way -= 1

    def _leave_open(self, held: HeldUpload, silent: frozenset[str], seconds: float) -> None:
        if self._closed:
            held.close()
            return
        self._left.append(_Left(held, silent, self._runtime.clock_seconds() + seconds))
        if not self._tending:
            self._tending = True
            self._runtime.spawn(self._tend, name="webhdfs-left-open")

    @switches
    def _tend(self) -> None:
        """Closes what can be closed: soon after its nodes answer, since another one may fall silent next, which its
        pipeline, whole by then, would wait for."""
        try:
            while self._left:
                self._runtime.sleep(_TEND_SECONDS)
                all_answer = not self._silent.look()
                now = self._runtime.clock_seconds()
                left, self._left = self._left, []
                ends = 0
                for upload in left:
                    ready = all_answer and ends < _ENDS_AT_ONCE and self._silent.answered(upload.silent)
                    if ready or upload.until <= now:
                        upload.held.close()
                        ends += 1
                    else:
                        self._left.append(upload)
        finally:
            self._tending = False


def _addresses(body: bytes) -> set[str]:
    try:
        blocks = json.loads(body)["LocatedBlocks"]["locatedBlocks"]
        return {str(node["name"]) for block in blocks for node in block["locations"]}
    except (ValueError, KeyError, TypeError):
        return set()
