"""One group's way to durable where a log is written in whole files (WebHDFS; docs/faults.md: two ways for a log).

The group is put as a file. Not confirmed in time, it is put again under another name, away from the storage nodes that
keep it waiting (hedging.py, slow_nodes.py). A file is complete once one try is confirmed; the group is durable when the
fence marker is seen absent *after* that: a fencer that comes later lists the file.
"""

from typing import final

from hbtable.commitlog.fence_check import FenceCheck
from hbtable.commitlog.group_files.group_file import GroupName, group_path
from hbtable.commitlog.group_files.retention import GroupRetention
from hbtable.commitlog.group_files.slow_nodes import SlowNodes
from hbtable.commitlog.hedging import Hedge
from hbtable.commitlog.options import LogOptions
from hbtable.errors import OutOfSpace, Unavailable
from hbtable.fs.interface import FileSystem, PutHints
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@final
class GroupSender:
    """Makes groups durable, each as a file. For all groups of one log: what one learns about slow nodes serves the
    next."""

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        folder: str,
        options: LogOptions,
        fence_check: FenceCheck,
        retention: GroupRetention,
    ) -> None:
        self._runtime = runtime
        self._fs = fs
        self._folder = folder
        self._options = options
        self._fence_check = fence_check
        self._retention = retention
        self._slow_nodes = SlowNodes(runtime.clock_seconds)
        self.newest_file = ""
        """The one that was confirmed last."""

    @switches
    def send(self, lsn: int, turn: int, content: bytes) -> None:
        """The group of this LSN and round is durable on return.

        OutOfSpace: refused, and a file of it may appear all the same. LockLost: the log was fenced. LogBroken: nothing
        was confirmed for too long."""
        nodes: list[str] = []
        """The storage nodes that the tries of this group were sent to."""

        def attempt(number: int) -> None:
            self._put(GroupName(lsn, turn, number), content, nodes)

        Hedge(self._runtime, self._options, attempt).run()
        self._fence_check.pass_at_last()

    @switches
    def _put(self, name: GroupName, content: bytes, nodes: list[str]) -> None:
        """One try."""
        chosen: list[str] = []

        def choose(node: str) -> None:
            chosen.append(node)
            nodes.append(node)

        self._slow_nodes.kept_waiting(nodes)
        avoid = self._slow_nodes.to_avoid(name.attempt, nodes)
        path = group_path(self._folder, name)
        self._retention.tried(name.lsn, path)
        try:
            self._fs.put_new(path, content, PutHints(avoid, choose))
        except OutOfSpace as error:
            if avoid:  # there may be room on the nodes that were left out
                raise Unavailable(str(error)) from error
            raise
        self.newest_file = path
        for node in chosen[-1:]:
            self._slow_nodes.answered(node)
