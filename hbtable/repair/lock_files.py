"""The lock service's small files on one machine, each read for itself, and numbers that must be above all seen."""

from dataclasses import dataclass, field
from typing import Final

from hbtable.encoding import tablet_record
from hbtable.errors import FileNotFound, HbtableError, UnsupportedFormat
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.features import read_cluster
from hbtable.lockservice.files import EPOCHS, DurableFiles
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.paths import CLUSTER, INCARNATIONS, SERVERS, ServerFile
from hbtable.metadata.catalog import ROOT_COPY_PATH
from hbtable.metadata.id_allocator import SCANNER_IDS, TABLE_IDS, TABLET_IDS
from hbtable.metadata.layout import ROOT_PATH
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches

NUMBERS: Final = (INCARNATIONS, TABLET_IDS, TABLE_IDS, SCANNER_IDS)
NEEDED: Final = (CLUSTER, ROOT_PATH)
"""A folder with data has these."""


@dataclass(slots=True)
class LockFiles:
    """By lock service path."""

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
def read_lock_files(fs: FileSystem) -> LockFiles:
    """May switch. UnsupportedFormat."""
    files = DurableFiles(fs)
    found = LockFiles()
    for path in files.paths():
        try:
            file = files.load(path)
            if file is not None:
                _check_sense(path, file.data, found)
                found.sound[path] = file
        except UnsupportedFormat:
            raise
        except (HbtableError, ValueError) as error:
            found.damaged[path] = str(error)
    try:
        if files.next_number() is None:
            found.epochs_damage = f"{EPOCHS} is not there: numbers that locks had would be given out again"
    except UnsupportedFormat:
        raise
    except HbtableError as error:
        found.epochs_damage = str(error)
    try:
        found.copy = tablet_record.decode(fs.read_file(ROOT_COPY_PATH), ROOT_COPY_PATH)
    except FileNotFound:
        found.copy_damage = f"{ROOT_COPY_PATH} is not there: the root tablet's record has no copy"
    except UnsupportedFormat:
        raise
    except HbtableError as error:
        found.copy_damage = str(error)
    return found


def _check_sense(path: str, data: bytes, found: LockFiles) -> None:
    name = f"lock service file {path}"
    if path == ROOT_PATH:
        found.root = tablet_record.decode(data, name)
    elif path in NUMBERS:
        if not data.isdigit():
            raise ValueError(f"{name} holds {data[:40]!r}, which is no number")
    elif path == CLUSTER:
        read_cluster(data)
    elif path.startswith(SERVERS + "/"):
        ServerFile.decode(name, data)
