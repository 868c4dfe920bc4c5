"""`hbtable repair DIR`: mends a stopped data folder, or says what it would do."""

import logging
import os
import sys
from typing import Final

from hbtable.errors import AlreadyExists, InvalidRequest
from hbtable.fs.data_folder import (
    DataFolder,
    check_readable,
    looked_at,
    why_no_store,
)
from hbtable.fs.entry_kinds import of_wrong_kind, put_aside
from hbtable.fs.folder_format import format_damage, restore_format
from hbtable.fs.local import LocalFileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.overlay import OverlayFileSystem
from hbtable.launch.cli.refused_address import refuse_address
from hbtable.launch.cli.saved_scanner import saved_scanner
from hbtable.repair.backup import UNFINISHED_REPAIR
from hbtable.repair.lock_store import FolderLockStore
from hbtable.repair.mending import Repair
from hbtable.repair.report import Report
from hbtable.repair.taking_back import take_back
from hbtable.repair.withholding import NO_ORDERS, WithholdingOrders
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.switches import switches

NOTHING_LOST: Final = 0
LOST: Final = 1
"""The folder is whole again, and what it says was lost is not in it."""


@switches
def repair_folder(path: str, dry_run: bool, backup: str | None, orders: WithholdingOrders = NO_ORDERS) -> int:
    """Prints what was done, and what was lost. The exit code is one of the two above."""
    refuse_address(path)
    check_readable(path)
    runtime = GeventRuntime()
    local = LocalFileSystem(path, runtime)
    interrupted = _interrupted(path, backup)
    if dry_run and interrupted:
        raise InvalidRequest(
            f"an earlier repair was interrupted: without --dry-run it is taken back first, from {interrupted[0]}"
        )
    damage = format_damage(path)
    if not damage and not local.exists("FORMAT"):
        raise InvalidRequest(why_no_store(path))
    logging.getLogger("hbtable").addHandler(logging.NullHandler())  # the report says it in its own words
    name = f"repair-backup-{runtime.wall_millis()}"
    if dry_run:
        with looked_at(path):
            overlay = OverlayFileSystem(local, MemoryFileSystem(runtime))
            report = Repair(runtime, overlay, overlay, name, saved_scanner(local), orders=orders).run()
        report.done[:0] = put_aside(path, dry_run=True)
        return told(report, damage, "would be done: ")
    put: list[str] = []
    if damage or of_wrong_kind(path):
        with looked_at(path, alone=True):
            put = put_aside(path)
            if damage:
                restore_format(path)
    folder = DataFolder.open(path, "hbtable repair, no port")
    try:
        target = local if backup is None else _outside(path, backup, runtime)
        taken_back = [_taken_back(local, one, runtime) for one in interrupted]
        repair = Repair(runtime, local, target, name, saved_scanner(local), orders=orders)
        report = repair.run()
        report.done[:0] = put + taken_back
    finally:
        folder.close()
    code = told(report, damage, "")
    if repair.backup.kept:
        where = os.path.join(os.path.abspath(backup or path), name)
        print(f"what was changed or taken out is in {where}")  # noqa: T201 -- the report is what was asked for
    return code


def told(report: Report, format_damaged: str, would: str) -> int:
    """Prints it; the exit code."""
    if format_damaged:
        report.done.insert(0, f"FORMAT was written anew: {format_damaged}")
    for message in report.done:
        print(f"{would}{message}")  # noqa: T201
    for message in report.lost:
        print(f"LOST: {message}", file=sys.stderr)  # noqa: T201
    for message in report.notes:
        print(f"NOTE: {message}", file=sys.stderr)  # noqa: T201
    if report.is_empty:
        print("nothing is to be repaired")  # noqa: T201
    return LOST if report.lost else NOTHING_LOST


def _interrupted(path: str, backup: str | None) -> list[str]:
    """The backups of earlier repairs that did not end, the latest first, which is the order to take them back in."""
    found = []
    for parent in filter(os.path.isdir, (path, backup or "")):
        for name in os.listdir(parent):
            if os.path.exists(os.path.join(parent, name, UNFINISHED_REPAIR)):
                found.append(os.path.join(os.path.abspath(parent), name))
    return sorted(found, key=os.path.basename, reverse=True)


@switches
def _taken_back(local: LocalFileSystem, folder: str, runtime: GeventRuntime) -> str:
    parent, name = os.path.split(folder)
    count = len(take_back(local, FolderLockStore(local), name, LocalFileSystem(parent, runtime)))
    return f"an earlier repair was interrupted and was taken back first: {count} files from {folder}"


def _outside(path: str, backup: str, runtime: GeventRuntime) -> LocalFileSystem:
    inside = os.path.realpath(backup)
    if os.path.commonpath([inside, os.path.realpath(path)]) == os.path.realpath(path):
        raise AlreadyExists(f"the backup's folder {backup} is inside {path}; choose another one, or leave --backup out")
    os.makedirs(backup, 0o700, exist_ok=True)
    return LocalFileSystem(backup, runtime, private=True)
