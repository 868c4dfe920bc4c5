"""Counters that would give numbers out again: found, and put right, in the files of a lock service that is not in use.

For `hbtable check` and `hbtable repair` of one machine's folder. A running cluster does the same through its sessions
(id_allocator.py, raise_to), at each start and with each scan of METADATA.
"""

from typing import Final

from hbtable.errors import Corruption
from hbtable.lockservice.files import StoredFiles
from hbtable.lockservice.interface import VersionedFile
from hbtable.metadata.numbers_in_use import NumbersInUse
from hbtable.switches import switches

_CURE: Final = (
    "it was lost, or is an old copy, and numbers that are in use would be given out again; the next start puts it right"
)


@switches
def counter_damage(files: StoredFiles, in_use: NumbersInUse) -> list[str]:
    """A message about each counter that is missing or says too little. One that cannot be read is left out: who reads
    every file finds that."""
    found: list[str] = []
    for path, least in in_use.needed().items():
        try:
            said = _said(files.load(path))
        except Corruption:
            continue
        if said is None or said < least:
            says = "is not there" if said is None else f"says {said}"
            found.append(f"the counter {path} {says} and must say {least} at least: {_CURE}")
    return found


@switches
def put_counters_right(files: StoredFiles, in_use: NumbersInUse) -> list[str]:
    """Each counter that is missing, cannot be read or says too little says enough on return; a message about each that
    was changed. No session may be open on these files."""
    done: list[str] = []
    for path, least in in_use.needed().items():
        version = 0
        try:
            file = files.load(path)
            said = _said(file)
            version = file.version if file is not None else 0
        except Corruption:
            said, version = None, 0
        if said is None or said < least:
            files.put(path, VersionedFile(b"%d" % least, version + 1))
            was = "could not be read or was not there" if said is None else f"said {said}"
            done.append(f"the counter {path} {was}; it says {least} now, above every number in use")
    return done


def _said(file: VersionedFile | None) -> int | None:
    """None when there is none. Corruption."""
    if file is None:
        return None
    if not file.data.isdigit():
        raise Corruption("a counter", 0, f"{file.data[:40]!r} is not a number")
    return int(file.data)
