"""`hbtable repair DIR`: mends a stopped data folder, or says what it would do."""

import logging
import os
import sys
from typing import Final

from hbtable.errors import AlreadyExists, InvalidRequest
from hbtable.fs.data_folder import DataFolder, format_damage, restore_format, why_no_store
from hbtable.fs.interface import FileSystem
from hbtable.fs.local import LocalFileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.overlay import OverlayFileSystem
from hbtable.launch.cli.saved_scanner import saved_scanner
from hbtable.repair.backup import UNFINISHED_REPAIR
from hbtable.repair.mending import Repair
from hbtable.runtime.gevent_runtime import GeventRuntime

NOTHING_LOST: Final = 0
LOST: Final = 1
"""The folder is whole again, and what it says was lost is not in it."""


def repair_folder(path: str, dry_run: bool, backup: str | None) -> int:
    """Prints what was done, and what was lost. The exit code is one of the two above."""
    runtime = GeventRuntime()
    local = LocalFileSystem(path, runtime)
    _check_no_other(path)
    if damage := format_damage(path):
        if dry_run:
            raise InvalidRequest(f"{damage}; without --dry-run that is mended first")
        restore_format(path)
        print(f"FORMAT was written anew: {damage}")  # noqa: T201 -- the report is what was asked for
    elif not local.exists("FORMAT"):
        raise InvalidRequest(why_no_store(path))
    folder = DataFolder.open(path, "hbtable repair, no port")
    logging.getLogger("hbtable").addHandler(logging.NullHandler())  # the report says it in its own words
    try:
        name = f"repair-backup-{runtime.wall_millis()}"
        fs: FileSystem = OverlayFileSystem(local, MemoryFileSystem(runtime)) if dry_run else local
        target = fs if backup is None or dry_run else _outside(path, backup, runtime)
        repair = Repair(runtime, fs, target, name, saved_scanner(local))
        report = repair.run()
    finally:
        folder.close()
    would = "would be done: " if dry_run else ""
    for message in report.done:
        print(f"{would}{message}")  # noqa: T201
    for message in report.lost:
        print(f"LOST: {message}", file=sys.stderr)  # noqa: T201
    if report.is_empty:
        print("nothing is to be repaired")  # noqa: T201
    elif not dry_run and repair.backup.kept:
        where = os.path.join(os.path.abspath(backup or path), name)
        print(f"what was changed or taken out is in {where}")  # noqa: T201
    return LOST if report.lost else NOTHING_LOST


def _check_no_other(path: str) -> None:
    """InvalidRequest when an earlier repair in this folder was interrupted."""
    for name in sorted(os.listdir(path)) if os.path.isdir(path) else []:
        if os.path.exists(marker := os.path.join(path, name, UNFINISHED_REPAIR)):
            raise InvalidRequest(
                f"an earlier repair was interrupted: copy the files below {os.path.dirname(marker)} back over those in "
                f"{path}, remove {marker}, and repair again"
            )


def _outside(path: str, backup: str, runtime: GeventRuntime) -> LocalFileSystem:
    inside = os.path.realpath(backup)
    if os.path.commonpath([inside, os.path.realpath(path)]) == os.path.realpath(path):
        raise AlreadyExists(f"the backup's folder {backup} is inside {path}; choose another one, or leave --backup out")
    os.makedirs(backup, exist_ok=True)
    return LocalFileSystem(backup, runtime)
