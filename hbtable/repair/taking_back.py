"""Takes an interrupted repair back before the next one begins: the files that it changed are put back from its
backup."""

from itertools import pairwise
from typing import Final

from hbtable.errors import Corruption
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.files import path_of_stored
from hbtable.lockservice.interface import VersionedFile
from hbtable.metadata.layout import ROOT_PATH
from hbtable.repair.backup import FILES_OF, UNFINISHED_REPAIR, digest
from hbtable.repair.lock_store import IN_BACKUP, LockStore
from hbtable.switches import switches
from hbtable.tablet.shared import SSTABLE_FOLDER

BACKUPS: Final = "repair-backups"
"""The folder of all backups in a cluster's folder."""
_NEVER_AGAIN: Final = ("sstables/", "logs/")


@switches
def unfinished(fs: FileSystem) -> list[str]:
    """The backups of repairs that did not end, the latest first: the order in which they are to be taken back."""
    marked = [status.path for status in fs.list_files(BACKUPS) if status.path.endswith(f"/{UNFINISHED_REPAIR}")]
    return sorted((path.rpartition("/")[0] for path in marked), reverse=True)


@switches
def take_back(fs: FileSystem, store: LockStore, folder: str, target: FileSystem | None = None) -> list[str]:
    """Everything is as before that repair: also the SSTables that it added are gone, for the next one would take its
    METADATA for newer than the record, and not say again what was lost. May be done again after a crash at any point.
    The paths that were put back. `target`: where the backup lies; None: in `fs`.

    When the cluster was started since, the root tablet's record is another one, and the lock service's files and the
    record's copy stay as they are: those of that day would make all that was written since garbage. SSTables and logs
    come back all the same: their names are never used again."""
    done = []
    target = target or fs
    roots = target.read_file(f"{folder}/{UNFINISHED_REPAIR}").decode("ascii", "replace").split()
    served_since = not _root_digests(store) & {*roots}
    for status in target.list_files(folder):
        path = status.path[len(folder) + 1 :]
        if path == UNFINISHED_REPAIR:
            continue
        if served_since and (not path.startswith(_NEVER_AGAIN) or fs.exists(path)):
            continue
        store.held()
        data = target.read_file(status.path)
        if not path.startswith(f"{IN_BACKUP}/"):
            fs.write_file(path, data)
        elif data:  # else it was not hbtable's
            store.put(path_of_stored(path), VersionedFile(data, 1))
        done.append(path)
    if not served_since:
        _remove_added(fs, store, roots)
    store.held()
    target.delete(f"{folder}/{UNFINISHED_REPAIR}")
    return done


@switches
def _remove_added(fs: FileSystem, store: LockStore, noted: list[str]) -> None:
    """Nobody names them once the root tablet's record is the old one."""
    added = tuple(f"{name}-" for before, name in pairwise(noted) if before == FILES_OF)
    for status in fs.list_files(SSTABLE_FOLDER):
        if added and status.path.rpartition("/")[2].startswith(added):
            store.held()
            fs.delete(status.path)


@switches
def _root_digests(store: LockStore) -> set[str]:
    """The digests of the root tablet's record and of the file around it: of both a repair takes note."""
    found = {digest(store.stored(ROOT_PATH))}
    try:
        file = store.load(ROOT_PATH)
    except Corruption:
        return found
    return found | {digest(file.data if file is not None else None)}
