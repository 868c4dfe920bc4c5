"""Known bugs of the field (docs/bug-classes.md), put between production parts to see that they are found.

Each stands where the right part would stand (Seams); production code knows nothing of it. `run_with` also picks
the faults that its story needs, as the field's own incidents did.

Each is found within some seeds (test_cluster.py), and the same seeds without the bug are clean. Bugs that show in one
part alone are in planted_bugs.py.

    marker       1   a zombie acknowledges without looking for the fence
    released     2   a log is declared unneeded before METADATA names the SSTables
    redo         6   the redo point runs ahead of what was flushed
    hasty       10   a server is taken for dead because it does not answer
    retry       11   an increment with an unknown outcome is sent again
    sync        24   a failed sync is ignored
    lease       25   the lease is not looked at when a read is answered
    believing   16   whatever the wall clock says is believed, a year ahead, too
    reborn      26   a family that is added again is taken for the one that was dropped
    changed     28   frames between roles have no checksum
    trusted     34   what an increment, append or check is made of has no checksum behind its frame
    ungiven     29   a server that gives up frees its lock and goes on serving
    apart       35   counters of one call are added to one after the other
    beside       8   a split does not keep its children from being loaded before it heard that it is committed
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from hbtable.commitlog.recovery.fencing import FENCED
from hbtable.errors import FileNotFound, OutcomeUnknown
from hbtable.fs.interface import HDFS, WEBHDFS, FileStatus
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.paths import server_lock
from hbtable.master.tables.family_identities import first_families
from hbtable.metadata.catalog import Catalog
from hbtable.model.cell import Cell
from hbtable.model.mutation import RowMutation
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import LogRef, TabletRecord
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.sim_cluster import MasterProcess, Seams, ServerProcess, SimProcess
from tests.harness.sim_schedule import FAULT_SECONDS, SESSION_SECONDS, Outcome, run_seed
from tests.harness.sim_sessions import SimSession


class _Around(DelegatingFake):
    """Of a part of one process."""

    def __init__(self, process: SimProcess, inner: Any) -> None:
        super().__init__(inner)
        self._process = process


class NoMarker(_Around):
    """The fence is never seen by those who write."""

    def status(self, path: str) -> FileStatus:
        if path.startswith(f"{FENCED}/"):
            raise FileNotFound(f"there is no file {path}")
        return self.inner.status(path)

    def exists(self, path: str) -> bool:
        return not path.startswith(f"{FENCED}/") and self.inner.exists(path)


class IgnoredSync(_Around):
    """A failed sync of the log is passed over."""

    def create(self, path: str) -> Any:
        file = self.inner.create(path)
        return _Unsynced(self._process, file) if path.startswith("logs/") else file


class _Unsynced(_Around):
    def sync(self) -> None:
        """Every one fails, unnoticed."""


class EarlyRelease(_Around):
    """The log hears of a new redo point when the change of METADATA begins."""

    def replace_tablet(self, expected: TabletRecord, record: TabletRecord) -> None:
        role = getattr(self._process, "role", None)
        if role is not None:
            for ref in record.logs:
                if ref.incarnation == role.incarnation:
                    role.commit_log.needed(record.tablet_id, ref.first_needed)
        self.inner.replace_tablet(expected, record)


class RedoAhead(_Around):
    """The redo point is taken from the writes of a moment later."""

    def replace_tablet(self, expected: TabletRecord, record: TabletRecord) -> None:
        if record.files != expected.files and record.logs != expected.logs:
            ahead = tuple(LogRef(ref.incarnation, ref.first_needed + 3) for ref in record.logs)
            record = replace(record, logs=ahead)
        self.inner.replace_tablet(expected, record)


class Hasty(_Around):
    """A master takes a server for dead that it cannot reach, whoever holds its lock."""

    def holder(self, path: str) -> VersionedFile | None:
        return None if self._silent(path) else self.inner.holder(path)

    def lock(self, path: str, data: bytes = b"") -> int:
        return 0 if self._silent(path) else self.inner.lock(path, data)

    def unlock(self, path: str) -> None:
        if not self._silent(path):
            self.inner.unlock(path)

    def _silent(self, path: str) -> bool:
        network = self._process.cluster.network
        for incarnation, (machine, _, _) in network.servers.items():
            if path == server_lock(incarnation):
                return not network.passes(machine.name, self._process.name)
        return False


class SecondTry(_Around):
    """An answer that did not come is asked for again."""

    def tablet_service(self, incarnation: str) -> Any:
        return _Retrying(self._process, self.inner.tablet_service(incarnation))


class _Retrying(_Around):
    def increment(self, *arguments: Any) -> int:
        try:
            return self.inner.increment(*arguments)
        except OutcomeUnknown:
            return self.inner.increment(*arguments)


class Apart(_Around):
    """An addition to several columns is made of an increment for each."""

    def tablet_service(self, incarnation: str) -> Any:
        return _AddingApart(self._process, self.inner.tablet_service(incarnation))


class _AddingApart(_Around):
    def add_to_columns(self, tablet_id: int, mutation: RowMutation) -> list[Cell]:
        cells = []
        for operation in mutation.operations:
            cells += self.inner.add_to_columns(tablet_id, RowMutation(mutation.row, [operation]))
        return cells


class Reborn(DelegatingFake):
    """Of the online tablets. Families have no identity."""

    def load(self, record: TabletRecord, schema: TableSchema) -> None:
        self.inner.load(record, first_families(schema))

    def update_schema(self, table_id: int, schema: TableSchema) -> None:
        self.inner.update_schema(table_id, first_families(schema))


class ParentsLockOnly(DelegatingFake):
    """Of the online tablets. Of the tablets of a split only the one that is served is kept from those who load and
    unload."""

    def lock(self, tablet_id: int) -> AbstractContextManager[None]:
        return self.inner.lock(tablet_id) if tablet_id in self.inner.tablets else nullcontext()


class AlwaysValid(_Around):
    """The lease is never looked at: a server answers until it hears that its session is over."""

    def valid(self) -> bool:
        return True


def _of_servers(wrap: Callable[[SimProcess, Any], Any]) -> Callable[[SimProcess, Any], Any]:
    return lambda process, part: wrap(process, part) if isinstance(process, ServerProcess) else part


@dataclass(frozen=True, slots=True)
class Bug:
    """`kinds`: faults that the story needs."""

    seams: Seams
    kinds: tuple[str, ...]
    log_kind: str = ""
    lying_clocks: bool = False
    seconds: float = FAULT_SECONDS
    gap_seconds: float = 0.5
    chores: tuple[str, ...] = ()
    session_seconds: float = SESSION_SECONDS
    near: bool = False
    every_call: bool = False


def _session(process: SimProcess, session: SimSession) -> Any:
    return AlwaysValid(process, session) if isinstance(process, ServerProcess) else session


def _catalog(wrap: type[_Around]) -> Callable[[SimProcess, Catalog], Any]:
    return _of_servers(wrap)


def _beside(server: ServerProcess) -> Any:
    splitter: Any = server.role.admin._splitter
    splitter._online_tablets = ParentsLockOnly(splitter._online_tablets)
    return server.role.service


class _Believed:
    """The wall clock, jumps and all."""

    jumped_millis = 0

    def __init__(self, runtime: Any) -> None:
        self.millis = runtime.wall_millis

    def refused_jump(self) -> str:
        return ""


def _believing(server: ServerProcess) -> Any:
    wall: Any = _Believed(server.runtime)
    server.role.shared.wall = wall
    return server.role.service


def _unchecked(process: SimProcess, transport: Any) -> Any:
    process.cluster.network.changed.checked = False
    return transport


def _trusted(process: SimProcess, transport: Any) -> Any:
    process.cluster.network.changed.trusted = True
    return transport


def _ungiven(server: ServerProcess) -> Any:
    """Its lock is freed as if somebody had thought that enough, while its session goes on."""
    lease: Any = server.lease
    server._gave_up = lambda why: lease.unlock(server_lock(server.role.incarnation))  # type: ignore[method-assign]
    return server.role.service


def _hasty(process: SimProcess, session: SimSession) -> Any:
    return Hasty(process, session) if isinstance(process, MasterProcess) else session


def _reborn(server: ServerProcess) -> Any:
    admin: Any = server.role.admin
    admin._online_tablets = Reborn(admin._online_tablets)
    return server.role.service


BUGS: dict[str, Bug] = {
    "marker": Bug(Seams(storage=_of_servers(NoMarker)), ("pause", "expire"), WEBHDFS, lying_clocks=True),
    "sync": Bug(Seams(storage=_of_servers(IgnoredSync)), ("kill", "cut", "lossy"), HDFS),
    "released": Bug(Seams(catalog=_catalog(EarlyRelease)), ("kill", "cut", "pause")),
    "redo": Bug(Seams(catalog=_catalog(RedoAhead)), ("kill",)),
    "hasty": Bug(Seams(session=_hasty), ("island",), seconds=16.0, gap_seconds=6.0, session_seconds=4.0, near=True),
    "retry": Bug(Seams(transport=lambda process, transport: SecondTry(process, transport)), ("lossy", "cut")),
    "apart": Bug(Seams(transport=lambda process, transport: Apart(process, transport)), ("lossy",), every_call=True),
    "beside": Bug(Seams(service=_beside), ("late",), gap_seconds=2.0, chores=("split",)),
    "reborn": Bug(Seams(service=_reborn), ("kill",), gap_seconds=2.0, chores=("family",)),
    "believing": Bug(Seams(service=_believing), ("clock",)),
    "changed": Bug(Seams(transport=_unchecked), ("changed bytes",)),
    "trusted": Bug(Seams(transport=_trusted), ("changed memory",)),
    "ungiven": Bug(Seams(service=_ungiven), ("unreachable",), seconds=12.0, gap_seconds=4.0, near=True),
    "lease": Bug(Seams(session=_session), ("island",), seconds=16.0, gap_seconds=5.0, near=True),
}


def run_with(name: str, seed: int, on: bool = True) -> Outcome:
    """A seed with this bug switched on, or under the same faults without it."""
    bug = BUGS[name]
    return run_seed(
        seed,
        log_kind=bug.log_kind,
        seams=bug.seams if on else Seams(),
        lying_clocks=bug.lying_clocks,
        kinds=bug.kinds,
        seconds=bug.seconds,
        gap_seconds=bug.gap_seconds,
        chores=bug.chores,
        session_seconds=bug.session_seconds,
        near=bug.near,
        every_call=bug.every_call,
    )
