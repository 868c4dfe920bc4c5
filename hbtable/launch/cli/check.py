"""`hbtable check DIR`: what is damaged, what hangs on it, and whether the folder would be served.

Nothing in the folder changes: whether it would be served is found out by starting on it, over an overlay that keeps in
memory what is written.
"""

import json
import logging
import sys
from typing import Final

from hbtable.errors import DataDamaged, HbtableError, InvalidRequest
from hbtable.fs.data_folder import check_readable, looked_at, why_no_store
from hbtable.fs.entry_kinds import of_wrong_kind
from hbtable.fs.folder_format import format_damage
from hbtable.fs.interface import FileSystem
from hbtable.fs.local import LocalFileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.overlay import OverlayFileSystem
from hbtable.launch.cli.refused_address import refuse_address
from hbtable.launch.cli.saved_scanner import saved_scanner
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.local import LocalLockService
from hbtable.repair.checking import REPAIR, Check, Finding
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

SOUND: Final = 0
DAMAGED: Final = 1
"""Something is damaged; everything else is served all the same."""
UNSERVICEABLE: Final = 2
NOT_CHECKED: Final = 3
"""No data folder, in use, of a newer hbtable; or the command was misused."""


@switches
def check_folder(path: str, as_json: bool = False) -> int:
    """Prints what was read and every message about damage. The exit code is one of the four above."""
    refuse_address(path)
    check_readable(path)
    runtime = GeventRuntime()
    fs = LocalFileSystem(path, runtime)
    damage = format_damage(path)
    if not damage and not fs.exists("FORMAT"):
        raise InvalidRequest(why_no_store(path))
    logging.getLogger("hbtable").addHandler(logging.NullHandler())  # the report says it in its own words
    with looked_at(path):
        check = Check(runtime, fs, saved_scanner(fs))
        check.run()
        wrong = [Finding(name, f"it {what}", "no server starts", REPAIR) for name, what in of_wrong_kind(path).items()]
        if damage:
            wrong.insert(0, Finding("FORMAT", damage, "no server takes the folder for its own", REPAIR))
        check.findings[:0] = wrong
        code = SOUND
        if check.findings:
            code = DAMAGED if not wrong and can_be_served(runtime, fs) else UNSERVICEABLE
    print_check(check, code, as_json)
    return code


@switches
def can_be_served(runtime: Runtime, fs: FileSystem) -> bool:
    """`fs` is only read. Whether METADATA is served on it, which everything else needs, or some of it at least."""
    overlay = OverlayFileSystem(fs, MemoryFileSystem(runtime))
    cluster = EmbeddedCluster(runtime, overlay, LocalLockService(overlay, runtime))
    try:
        cluster.start()
    except HbtableError:
        return False
    try:
        damage: list[DataDamaged] = []
        cluster.client.catalog.tables(damage)
        tablets = list(cluster.client.catalog.all_tablet_rows(damage=damage))
        return bool(tablets) or not damage
    except HbtableError:
        return False
    finally:
        cluster.stop(clean=False)


def print_check(check: Check, code: int, as_json: bool) -> None:
    """The report, and the verdict that the code stands for."""
    if as_json:
        findings = [
            {**finding._asdict(), "rows": [row.decode("latin-1") for row in finding.rows]} for finding in check.findings
        ]
        verdict = ("sound", "damaged", "unserviceable")[code]
        found = {"verdict": verdict, "counts": check.counts, "notes": check.notes(), "findings": findings}
        print(json.dumps(found, indent=2))  # noqa: T201
        return
    for line in check.report():
        print(line)  # noqa: T201 -- the report is what was asked for
    for note in check.notes():
        print(f"NOTE: {note}", file=sys.stderr)  # noqa: T201
    for finding in check.findings:
        print(f"DAMAGED: {finding.message()}", file=sys.stderr)  # noqa: T201
    if code == UNSERVICEABLE:
        print("As it is, no server can serve this folder.", file=sys.stderr)  # noqa: T201
