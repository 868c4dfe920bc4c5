"""The lock service's small files, each read for itself, and numbers that must be above all seen."""

from dataclasses import dataclass, field
from typing import Final

from hbtable.encoding import tablet_record
from hbtable.errors import FileNotFound, HbtableError, LockLost, Unavailable, UnsupportedFormat
from hbtable.fs.interface import LOCAL, FileSystem
from hbtable.lockservice.features import read_cluster
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.paths import CLUSTER, INCARNATIONS, SERVERS, ServerFile
from hbtable.lockservice.state_number import STATE_NUMBER, StateNumber
from hbtable.metadata.catalog import ROOT_COPY_PATH
from hbtable.metadata.id_allocator import SCANNER_IDS, TABLE_IDS, TABLET_IDS
from hbtable.metadata.layout import ROOT_PATH
from hbtable.model.tablet import TabletRecord
from hbtable.repair.lock_store import LockStore
from hbtable.switches import switches

NUMBERS: Final = (INCARNATIONS, TABLET_IDS, TABLE_IDS, SCANNER_IDS)
NEEDED: Final = (CLUSTER, ROOT_PATH)
"""A folder with data has these."""


@dataclass(slots=True)
class LockFiles:
    """The files of the lock service, by path."""

    sound: dict[str, VersionedFile] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    """Also what checks and makes no sense."""
    root: TabletRecord | None = None
    copy: TabletRecord | None = None
    copy_damage: str = ""
    epochs_damage: str = ""

    def number(self, path: str) -> int:
        """0 when it is not known."""
        file = self.sound.get(path)
        return int(file.data) if file is not None else 0


@switches
def read_lock_files(fs: FileSystem, store: LockStore) -> LockFiles:
    """May switch. UnsupportedFormat; Unavailable where the lock service is another process."""
    found = LockFiles()
    for path in store.paths():
        try:
            file = store.load(path)
            if file is not None:
                _check_sense(path, file.data, found, store.kept_numbers)
                found.sound[path] = file
        except (UnsupportedFormat, LockLost):
            raise
        except Unavailable as error:
            if not store.kept_numbers:
                raise
            found.damaged[path] = str(error)  # a bad sector
        except (HbtableError, ValueError) as error:
            found.damaged[path] = str(error)
    found.epochs_damage = store.numbers_damage()
    try:
        found.copy = tablet_record.decode(fs.read_file(ROOT_COPY_PATH), ROOT_COPY_PATH)
    except FileNotFound:
        found.copy_damage = f"{ROOT_COPY_PATH} is not there: the root tablet's record has no copy"
    except UnsupportedFormat:
        raise
    except HbtableError as error:
        if isinstance(error, Unavailable) and not store.kept_numbers:
            raise
        found.copy_damage = str(error)
    return found


def _check_sense(path: str, data: bytes, found: LockFiles, alone: bool) -> None:
    name = f"lock service file {path}"
    if path == ROOT_PATH:
        found.root = tablet_record.decode(data, name)
    elif path in NUMBERS:
        if not data.isdigit():
            raise ValueError(f"{name} holds {data[:40]!r}, which is no number")
    elif path == CLUSTER:
        if read_cluster(data).get("log_kind", LOCAL) == LOCAL and not alone:
            raise ValueError(f"{name} says that the cluster's logs are on one machine's disk")
    elif path == STATE_NUMBER:
        StateNumber.decode(data, name)
    elif path.startswith(SERVERS + "/"):
        ServerFile.decode(name, data)
