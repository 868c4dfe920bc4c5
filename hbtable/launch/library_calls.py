"""Carries the calls of hbtable.open() into the hub, and ends them once the embedded cluster is lost.

An embedded cluster is lost when its data folder was moved or replaced, or when its lock went otherwise. A server's
process ends then; a library's cannot. So every call is refused from then on, with LockLost that says why, and those
under way end with it. Otherwise a call of administration would look for a master that never comes, and a read would be
answered from files that another process may have changed.
"""

from collections.abc import Callable
from typing import TypeVar, final

from hbtable.errors import HbtableError, LockLost
from hbtable.launch.folder_watch import FolderWatch, HeldFolder
from hbtable.lockservice.local import LocalLockService
from hbtable.runtime.interface import Event, Task
from hbtable.runtime.supervision import supervise
from hbtable.runtime.threads.portal import Portal
from hbtable.switches import switches

T = TypeVar("T")


@final
class LibraryCalls:
    """Carries calls from any thread into the hub. call() and check_not_lost() from any thread; the others in the hub.
    end() comes before the cluster stops: its sessions end then, which would look like a loss."""

    def __init__(self, portal: Portal, folder: HeldFolder) -> None:
        self._portal = portal
        self._folder = folder
        self._why = ""
        self._watch: FolderWatch
        self._lock_watch: Task

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Portal.call. LockLost once the cluster is lost."""
        answer: T = self._portal.call(self._run, function, arguments)
        return answer

    def check_not_lost(self) -> None:
        """LockLost once the cluster is lost, and when its folder is found moved or replaced. Any thread."""
        if self._why:
            raise self._refusal()
        self._folder.check_held()

    def _run(self, function: Callable[..., T], arguments: tuple[object, ...]) -> T:
        try:
            return function(*arguments)
        except HbtableError as error:
            self._watch.look()
            if self._why:
                raise self._unknown() from error
            raise

    def watch(self, lock_service: LocalLockService, lost: Event) -> None:
        """`lost`: of the cluster."""
        runtime = self._portal.runtime

        def folder_lost(error: LockLost) -> None:
            self._lose(str(error))
            lost.set()

        def lock_watch() -> None:
            lost.wait()
            self._watch.look()  # the more telling cause
            self._lose(
                f"the database {self._folder.root} lost its lock and does nothing any more; the log says why: close "
                "this database, and open the folder again"
            )

        self._watch = FolderWatch(runtime, self._folder, lock_service, folder_lost)
        self._lock_watch = supervise(runtime, lock_watch, name="lock watch")

    @switches
    def end(self) -> None:
        """*Switches.*"""
        self._watch.end()
        self._lock_watch.kill()

    def _lose(self, why: str) -> None:
        """The first cause stays."""
        if not self._why:
            self._why = why
            self._portal.refuse(self._refusal, self._unknown)

    def _refusal(self) -> LockLost:
        return LockLost(self._why)

    def _unknown(self) -> LockLost:
        """The error of a call that was under way."""
        return LockLost(f"{self._why}. If this call was to change something, it may have done so")
