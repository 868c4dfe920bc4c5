"""A tablet server's place in the cluster (paper, section 5.2; the server-file protocol).

It holds the lock of its own, uniquely named server file. The master ends a server for good by taking that lock once it
is free and deleting the file. Nothing brings an incarnation back: who finds its lock taken or its file gone stops.
"""

from collections.abc import Callable
from dataclasses import replace

from hbtable.errors import AlreadyExists, Conflict, FileNotFound, LockLost
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import INCARNATIONS, MASTER, SERVERS, ServerFile, server_file, server_lock
from hbtable.metadata.id_allocator import IdAllocator
from hbtable.metadata.numbers_in_use import start_number
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@switches
def new_incarnation(session: Session, runtime: Runtime, latest_log: Callable[[], int] = lambda: 0) -> str:
    """A name that no server ever had or will have: a counter, by which names sort by age, and 32 random bits. Without
    these a lock service that was restored from an old copy could give the same name, and with it the same log folder,
    to two servers. `latest_log`: the highest number that the logs are named after; the counter goes on above it, and
    above those of known servers."""

    def in_use() -> int:
        known = max((start_number(name) for name in session.list(SERVERS)), default=0)
        return max(known, latest_log()) - 1  # the counter says how many were started, and not who is the next

    started = IdAllocator(session, INCARNATIONS, range_size=1, in_use=in_use).take(1).stop
    return f"{started:08d}-{runtime.random.getrandbits(32):08x}"


class Membership:
    """One incarnation's lock and server file."""

    def __init__(self, session: Session, incarnation: str) -> None:
        self.incarnation = incarnation
        self._session = session

    @switches
    def claim(self) -> None:
        """Before the log is begun: whoever looks for logs that nobody needs sees that this one's server is starting.
        And before the server file stands: one whose lock is free means 'dead' to the master. LockLost when the name is
        taken."""
        try:
            self._session.lock(server_lock(self.incarnation))
        except Conflict as error:
            raise self._taken(error) from error

    @switches
    def join(self, description: ServerFile) -> None:
        """Puts the server file; durable on return. To be called after claim(). The master may assign tablets to this
        server from now on. LockLost when the session ended meanwhile."""
        try:
            self._session.create(server_file(self.incarnation), description.encode())
        except AlreadyExists as error:
            raise self._taken(error) from error

    @switches
    def drain(self) -> None:
        """The master gives this server no more tablets once it looks again. FileNotFound when it is declared dead."""
        ServerFile.change(self._session, self.incarnation, lambda file: replace(file, draining=True))

    @switches
    def say_drained(self, levels: int) -> None:
        """As ServerFile.drained, for the others that stop. FileNotFound when it is declared dead."""
        ServerFile.change(self._session, self.incarnation, lambda file: replace(file, drained=levels))

    @switches
    def others(self) -> dict[str, ServerFile]:
        """The other servers that hold their locks."""
        living = ServerFile.living(self._session)
        living.pop(self.incarnation, None)
        return living

    @switches
    def master_lives(self) -> bool:
        """*Switches.*"""
        return bool(self.master_epoch())

    @switches
    def master_epoch(self) -> int:
        """The epoch of the master's lock; 0: there is no master. *Switches.*"""
        held = self._session.holder(MASTER)
        return held.version if held is not None else 0

    @switches
    def leave(self) -> None:
        """Frees the lock at once, after the last tablet was unloaded and the log closed, so that the master need not
        wait for the session to end. Idempotent."""
        try:
            # The file goes first: without it nobody takes the free lock for a death that needs recovery.
            self._session.delete(server_file(self.incarnation))
        except FileNotFound:
            pass
        self._session.unlock(server_lock(self.incarnation))

    def _taken(self, error: AlreadyExists) -> LockLost:
        return LockLost(f"the name {self.incarnation} is taken: {error}; start again")
