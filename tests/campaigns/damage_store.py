"""What a damaged folder belongs to: a single server, or a cluster whose roles are down. On the simulated runtime.

A cluster's lock service lies beside its folder on the same disk, below zookeeper/, so that it is damaged with the rest.
"""

from typing import Any

from hbtable.errors import InvalidRequest
from hbtable.fs.interface import LOCAL
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryContent, MemoryDisk
from hbtable.launch.cli.cluster_check import checked
from hbtable.launch.cli.cluster_reach import refuse_mismatch
from hbtable.launch.cli.cluster_repair import mended
from hbtable.lockservice.files import path_of_stored, stored_path
from hbtable.lockservice.interface import Session, VersionedFile
from hbtable.lockservice.local import LocalLockService
from hbtable.repair.checking import Check
from hbtable.repair.mending import Repair
from hbtable.repair.report import Report
from hbtable.rpc.local import LocalTransport
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

ZOOKEEPER = "zookeeper"
NUMBERS = "numbers-of-locks"
"""ZooKeeper's own, which is not damaged here."""


class FilesOnDisk:
    """Implements lockservice.files.FileStore: a file's version is its time."""

    def __init__(self, disk: MemoryDisk) -> None:
        self._disk = disk

    def load(self, path: str) -> VersionedFile | None:
        found = self._disk.files.get(_place(path))
        return VersionedFile(bytes(found.content), max(1, found.modified_millis)) if found is not None else None

    def put(self, path: str, file: VersionedFile) -> None:
        self._disk.files[_place(path)] = MemoryContent(file.data, len(file.data), file.version)

    def remove(self, path: str) -> None:
        del self._disk.files[_place(path)]

    def paths(self) -> list[str]:
        return sorted(path_of_stored(name) for name in self._disk.files if name.startswith(f"{ZOOKEEPER}/"))

    def reserve_numbers(self, count: int) -> int:
        found = self._disk.files.get(NUMBERS)
        first = int(bytes(found.content)) if found is not None else 1
        stored = b"%d" % (first + count)
        self._disk.files[NUMBERS] = MemoryContent(stored, len(stored), 0)
        return first


def _place(path: str) -> str:
    return f"{ZOOKEEPER}/{stored_path(path).rpartition('/')[2]}"


def file_system(runtime: SimulatedRuntime, disk: MemoryDisk, kind: str) -> MemoryFileSystem:
    fs = MemoryFileSystem(runtime, disk)
    fs.log_kind = kind
    return fs


def lock_service(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> Any:
    return LocalLockService(fs, runtime) if fs.log_kind == LOCAL else MemoryLockService(runtime, FilesOnDisk(fs.disk))


def check_store(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> Check:
    """*Switches.* As `hbtable check` does."""
    if fs.log_kind == LOCAL:
        check = Check(runtime, fs)
        check.run()
        return check
    session = _session(runtime, fs)
    refuse_mismatch(session, fs)
    return checked(runtime, fs, session, LocalTransport())[0]


def repair_store(runtime: SimulatedRuntime, fs: MemoryFileSystem, dry_run: bool = False) -> Report:
    """*Switches.* As `hbtable repair` does, and whoever reads what it says."""
    if fs.log_kind == LOCAL:
        return Repair(runtime, fs, fs, "repair-backup-1").run()
    session = _session(runtime, fs)
    refuse_mismatch(session, fs)
    try:
        return mended(runtime, fs, session, dry_run).report
    except InvalidRequest as error:
        if "--lock-service-lost" not in str(error):
            raise
        return mended(runtime, fs, session, dry_run, lock_service_lost=True).report
    finally:
        session.close()


def _session(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> Session:
    return lock_service(runtime, fs).open_session("test")
