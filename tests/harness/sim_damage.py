"""What can be damaged of a simulated cluster that is stopped: a file of the file system or of the lock service, all of
either, put back from a backup, or every clock.

Each kind is a method of Damager: it damages something, and says what (Damage), or returns None where there is nothing
of that kind. A Backup is the whole state at one instant, as a snapshot of all disks would have it.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hbtable.commitlog.group_files.group_file import SUFFIX as GROUP_SUFFIX
from hbtable.commitlog.group_files.group_file import group_name
from hbtable.commitlog.groups import group_at
from hbtable.commitlog.segments.high_water import decode_high_water, high_water_path
from hbtable.commitlog.segments.segment import SUFFIX as SEGMENT_SUFFIX
from hbtable.commitlog.segments.segment import header_bytes, incarnation_of, log_folder, seed, segment_number
from hbtable.fs.memory_disk import MemoryContent, MemoryDisk
from hbtable.lockservice.files import MemoryFiles
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.state_number import STATE_NUMBER
from hbtable.metadata.layout import ROOT_PATH
from hbtable.model.tablet import TabletRecord
from tests.harness.disks import change_one, cut, disk_copy, put, zero
from tests.harness.sim_cluster import SimCluster
from tests.harness.sim_withheld import WITHHELD

KINDS = (
    "sstable flipped", "sstable cut", "sstable lost", "sstable swapped", "metadata flipped", "metadata lost",
    "log flipped", "log cut", "log zeroed", "log lost", "log swapped", "node lost", "node older", "root older",
    "locks older", "files older", "all older", "clocks ahead", "clocks behind", WITHHELD,
    "log end lost",
)  # fmt: skip
METADATA_FOLDER = "sstables/00000000/"
COUNTERS = "/identifiers/"
CLOSING_NODES = (ROOT_PATH, "/cluster")
"""Without them nothing can be served: which tablets there are, and whose they are, is known to them alone."""
_GROUPS_AT_THE_END = 12
_CLOCKS_MILLIS = (10_000, 200_000, 3_600_000, 365 * 86_400_000)
MAX_SKEW_MILLIS = 300_000
"""A clock that is further from the file system's is refused at a start, by what names it: CLOCK."""
CLOCK = "this machine's clock is"


@dataclass
class Damage:
    """`what`: for a message. `path`: of the file or lock service file that a refusal must name; "": nothing may be
    refused."""

    what: str
    path: str = ""
    at: int = 0
    """The first byte that is not as it was."""
    unsaid: bool = False
    """It looks like an end that was never longer: nothing need be said."""
    restored: bool = False
    """All of the state is as it was in the backup."""
    withheld: TabletRecord | None = None
    """The tablet whose rows must be refused, whatever its files hold."""
    undo: Callable[[], None] | None = None
    """Puts the right file back; None where that brings nothing back."""


@dataclass(frozen=True)
class Backup:
    """`promised`: what each row could hold at that instant."""

    disk: MemoryDisk
    nodes: dict[str, VersionedFile]
    promised: dict[bytes, frozenset[bytes]] = field(default_factory=dict)


def take_backup(cluster: SimCluster, promised: dict[bytes, set[bytes]]) -> Backup:
    """Does not switch."""
    nodes = _nodes(cluster.lock_files)
    return Backup(disk_copy(cluster.disk), nodes, {row: frozenset(values) for row, values in promised.items()})


def _ends_of_logs(paths: Iterable[str]) -> set[str]:
    """The last files of each log, behind which no file says how far it went."""
    logs: dict[str, list[str]] = {}
    for path in paths:
        if path.startswith("logs/") and path.endswith((SEGMENT_SUFFIX, GROUP_SUFFIX)):
            logs.setdefault(path.rpartition("/")[0], []).append(path)
    found: set[str] = set()
    for files in logs.values():
        groups = sorted(path for path in files if path.endswith(GROUP_SUFFIX))
        # So many groups are under way at a time, and no watermark covers them; some in several tries.
        found.update(groups[-_GROUPS_AT_THE_END:], sorted(files)[-1:])
    return found


def _nodes(files: MemoryFiles) -> dict[str, VersionedFile]:
    found = {path: files.load(path) for path in files.paths()}
    return {path: file for path, file in found.items() if file is not None}


class Damager:
    """One damage to a cluster of which no process runs. `needed`: the paths of files that METADATA names. `logs`: by
    incarnation, from which sequence on its tablets need a log."""

    def __init__(
        self,
        cluster: SimCluster,
        chance: random.Random,
        backup: Backup,
        needed: Iterable[str],
        logs: Mapping[str, Mapping[int, int]],
    ) -> None:
        self._cluster = cluster
        self._chance = chance
        self._backup = backup
        self._files = cluster.disk.files
        self._nodes = cluster.lock_files
        self._needed = sorted(needed)
        self._needed_logs = logs

    def do(self, kind: str) -> Damage | None:
        """One of KINDS, but WITHHELD; or "counter lost"."""
        ends = _ends_of_logs(self._files)
        done: Damage | None = getattr(self, "_" + kind.replace(" ", "_"))()
        if done is not None and done.path.startswith("logs/"):
            if kind != "log end lost":
                done.unsaid = done.path in ends and self._is_behind_the_mark(done.path, done.at)
            done.undo = None  # what recovery found at once counts for good
        return done

    # ------------------------------------------------------------ SSTables

    def _sstable_flipped(self) -> Damage | None:
        return self._flipped(self._sstables())

    def _sstable_cut(self) -> Damage | None:
        return self._cut(self._sstables())

    def _sstable_lost(self) -> Damage | None:
        return self._lost(self._sstables())

    def _sstable_swapped(self) -> Damage | None:
        """Another one's content: an older one of the same table, say."""
        paths = self._sstables()
        others = [path for path in self._files if path.startswith("sstables/")]
        return self._replaced(paths, lambda path: [bytes(self._files[other].content) for other in others])

    def _metadata_flipped(self) -> Damage | None:
        return self._flipped(self._metadata())

    def _metadata_lost(self) -> Damage | None:
        return self._lost(self._metadata())

    def _sstables(self) -> list[str]:
        return [path for path in self._needed if not path.startswith(METADATA_FOLDER)]

    def _metadata(self) -> list[str]:
        return [path for path in self._needed if path.startswith(METADATA_FOLDER)]

    # ------------------------------------------------------------ logs

    def _log_flipped(self) -> Damage | None:
        return self._flipped(self._logs())

    def _log_cut(self) -> Damage | None:
        return self._cut(self._logs())

    def _log_zeroed(self) -> Damage | None:
        return self._zeroed(self._logs())

    def _log_lost(self) -> Damage | None:
        return self._lost(self._logs())

    def _log_swapped(self) -> Damage | None:
        """Of the backup, or another one's of the same log."""
        kept, logs = self._backup.disk.files, self._logs()

        def contents(path: str) -> list[bytes]:
            folder = path.rpartition("/")[0]
            others = [other for other in logs if other.startswith(folder + "/")]
            found = [bytes(kept[path].content)] if path in kept else []
            return found + [bytes(self._files[other].content) for other in others]

        return self._replaced(logs, contents)

    def _log_end_lost(self) -> Damage | None:
        """A log from one of the groups on that its mark counts, of which a tablet needs something up to the mark. What
        is left looks like a log that was never longer: nothing but the mark tells of the rest."""
        groups = [group for incarnation in sorted(self._needed_logs) for group in self._marked_groups(incarnation)]
        if not groups:
            return None
        _, path, at = self._chance.choice(groups)
        folder = path.rpartition("/")[0]
        for other in sorted(self._files):
            if other.startswith(f"{folder}/") and other.endswith((SEGMENT_SUFFIX, GROUP_SUFFIX)) and other > path:
                del self._files[other]  # their names are in the order of what they hold
        if at:
            put(self._files, path, bytes(self._files[path].content)[:at])
        else:
            del self._files[path]
        return Damage(f"{folder} ends at byte {at} of {path}", path, at)

    def _marked_groups(self, incarnation: str) -> list[tuple[int, str, int]]:
        """Those up to the mark: number, file, first byte; none where no tablet needs anything of it up to the mark."""
        folder = log_folder(incarnation)
        synced = self._files.get(high_water_path(folder))
        if synced is None:
            return []
        mark = decode_high_water(bytes(synced.content), folder)
        needs = self._needed_logs[incarnation]
        if all(mark.tablets.get(tablet_id, 0) < first for tablet_id, first in needs.items()):
            return []
        found = [group for path in sorted(self._files) for group in self._groups(folder, path)]
        return [group for group in found if group[0] <= mark.lsn]

    def _groups(self, folder: str, path: str) -> Iterator[tuple[int, str, int]]:
        name, number = group_name(folder, path), segment_number(folder, path)
        if name is not None:
            yield name.lsn, path, 0
        elif number is not None:
            content, at = bytes(self._files[path].content), header_bytes(incarnation_of(folder))
            while (group := group_at(content, at, seed(incarnation_of(folder), number))) is not None:
                yield group.lsn, path, at
                at = group.end

    def _logs(self) -> list[str]:
        """Not the marks: they only ever show a loss."""
        marks = {high_water_path(path.rpartition("/")[0]) for path in self._files}
        return sorted(path for path in self._files if path.startswith("logs/") and path not in marks)

    def _is_behind_the_mark(self, path: str, at: int) -> bool:
        folder = path.rpartition("/")[0]
        synced = self._files.get(high_water_path(folder))
        if synced is None:
            return True
        mark = decode_high_water(bytes(synced.content), path)
        group = group_name(folder, path)
        if group is not None:
            return group.lsn > mark.lsn
        # A mark that was taken while the next group was on its way does not say a length.
        return (segment_number(folder, path) or 0, at) >= (mark.segment, mark.length_bytes)

    # ------------------------------------------------------------ the lock service

    def _node_lost(self) -> Damage | None:
        paths = self._nodes.paths()
        return self._node(self._chance.choice(paths), None)

    def _counter_lost(self) -> Damage:
        counters = [path for path in self._nodes.paths() if path.startswith(COUNTERS)]
        return self._node(self._chance.choice(counters), None)

    def _node_older(self) -> Damage | None:
        older = sorted(path for path, file in self._backup.nodes.items() if file != self._nodes.load(path))
        if not older:
            return None
        path = self._chance.choice(older)
        return self._node(path, self._backup.nodes[path])

    def _root_older(self) -> Damage | None:
        older = self._backup.nodes.get(ROOT_PATH)
        return self._node(ROOT_PATH, older) if older not in (None, self._nodes.load(ROOT_PATH)) else None

    def _node(self, path: str, older: VersionedFile | None) -> Damage:
        if self._nodes.load(path) is not None:
            self._nodes.remove(path)
        if older is not None:
            self._nodes.put(path, older)
        what = f"{path} is {'lost' if older is None else 'an older one'}"
        return Damage(what, path if path in CLOSING_NODES else "")

    # ------------------------------------------------------------ backups

    def _locks_older(self) -> Damage:
        """The lock service alone, while the file system went on."""
        self._put_nodes(self._backup.nodes)
        return Damage("the lock service is older", ROOT_PATH)

    def _files_older(self) -> Damage:
        """The file system alone. Unless the state was counted since, nothing tells that from all of it put back."""
        counted = self._backup.nodes.get(STATE_NUMBER) != self._nodes.load(STATE_NUMBER)
        self._put_files(disk_copy(self._backup.disk).files)
        what = f"the file system is older, and the state was {'' if counted else 'not '}counted since"
        return Damage(what, "/", restored=not counted)

    def _all_older(self) -> Damage:
        self._put_nodes(self._backup.nodes)
        self._put_files(disk_copy(self._backup.disk).files)
        return Damage("everything is older", restored=True)

    def _put_nodes(self, nodes: Mapping[str, VersionedFile]) -> None:
        for path in self._nodes.paths():
            self._nodes.remove(path)
        for path, file in nodes.items():
            self._nodes.put(path, file)

    def _put_files(self, files: Mapping[str, MemoryContent]) -> None:
        self._files.clear()
        self._files.update(files)

    # ------------------------------------------------------------ clocks

    def _clocks_ahead(self) -> Damage:
        return self._clocks(self._chance.choice(_CLOCKS_MILLIS))

    def _clocks_behind(self) -> Damage:
        return self._clocks(-self._chance.choice(_CLOCKS_MILLIS))

    def _clocks(self, millis: int) -> Damage:
        self._cluster.clock_millis = millis
        refused = CLOCK if abs(millis) > MAX_SKEW_MILLIS else ""
        return Damage(f"clocks are {millis} ms ahead", refused, undo=self._right_clocks)

    def _right_clocks(self) -> None:
        self._cluster.clock_millis = 0

    # ------------------------------------------------------------ files

    def _flipped(self, paths: list[str]) -> Damage | None:
        def flip(content: bytearray, at: int) -> None:
            content[at] ^= 1 << self._chance.randrange(8)

        return self._changed("flipped", paths, flip)

    def _cut(self, paths: list[str]) -> Damage | None:
        return self._changed("cut", paths, cut)

    def _zeroed(self, paths: list[str]) -> Damage | None:
        return self._changed("zeroed", paths, zero)

    def _changed(self, how: str, paths: list[str], change: Callable[[bytearray, int], None]) -> Damage | None:
        one = change_one(self._files, paths, self._chance, change)
        return one and Damage(one.told(how), one.path, one.at, undo=self._put_back(one.path, one.right))

    def _lost(self, paths: list[str]) -> Damage | None:
        if not paths:
            return None
        path = self._chance.choice(paths)
        right = self._files.pop(path)
        return Damage(f"{path} is lost", path, undo=self._put_back(path, right))

    def _replaced(self, paths: list[str], contents: Callable[[str], list[bytes]]) -> Damage | None:
        found = [(path, one) for path in paths for one in contents(path) if one != self._files[path].content]
        if not found:
            return None
        path, content = self._chance.choice(found)
        right = self._files[path]
        at = next((at for at, pair in enumerate(zip(content, right.content, strict=False)) if len({*pair}) > 1), 0)
        put(self._files, path, content)
        what = f"{path} is another one from byte {at} of {len(right.content)} on"
        return Damage(what, path, at, undo=self._put_back(path, right))

    def _put_back(self, path: str, right: MemoryContent) -> Callable[[], None]:
        def undo() -> None:
            self._files[path] = right

        return undo
