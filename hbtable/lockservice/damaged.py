"""Damaged files of a single machine's lock service that need not keep the store closed: set aside at the start.

Each of these is made anew from what else is known (metadata.id_allocator, files.py), or belongs to a server that is
dead, or says what an operator may say again. What could not be read is kept below lockservice/damaged/. The others, the
cluster's id and the root tablet's record, cannot be made from here: reading them is Corruption, and `hbtable repair`
mends them.
"""

import logging
from collections.abc import Callable
from typing import Final

from hbtable.errors import Corruption
from hbtable.lockservice.files import DurableFiles
from hbtable.lockservice.paths import (
    BALANCER,
    GRANTS,
    INCARNATIONS,
    MERGES,
    NORMALIZER,
    POSITIONS,
    QUOTAS,
    SERVERS,
    SPLITS,
    SUSPECT_REQUESTS,
)
from hbtable.switches import switches

log = logging.getLogger(__name__)

_IDENTIFIERS: Final = "/identifiers/"
_TOGGLES: Final = (BALANCER, NORMALIZER, SPLITS, MERGES)


@switches
def set_aside_damaged(files: DurableFiles) -> None:
    """Sets damaged files of the lock service aside. No session may be open."""
    for path in files.paths():
        consequence = _consequence(path)
        if consequence:
            error = _damage(lambda path=path: files.load(path))  # type: ignore[misc]
            if error is not None:
                log.error("%s; it was moved to %s, and %s", error, files.set_aside(path), consequence)
    error = _damage(files.next_number)
    if error is not None:
        log.error("%s; it was moved to %s, and numbers of locks go on above all others", error, files.set_aside(""))


@switches
def _damage(read: Callable[[], object]) -> Corruption | None:
    try:
        read()
    except Corruption as error:
        return error
    return None


def _consequence(path: str) -> str:
    """The consequence of setting this file aside; "": it must stay."""
    if path == INCARNATIONS or path.startswith(_IDENTIFIERS):
        return "its numbers go on above all that are in use"
    if path.startswith(f"{SERVERS}/"):
        return "the server was dead in any case"
    if path == GRANTS:
        return "nobody but superusers may do anything until permissions are granted again"
    if path == POSITIONS:
        return "scans of users who may not read a whole table begin anew"
    if path == SUSPECT_REQUESTS:
        return "requests that servers died of are counted anew"
    if path == QUOTAS:
        return "there are no quotas until they are set again"
    return "the switch is as in a new cluster: set it again" if path in _TOGGLES else ""
