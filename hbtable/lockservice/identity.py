"""Tells to which cluster files belong: its id stands in the lock service and in the folder of files.

    /cluster  in the lock service    the cluster's id, among others (lockservice.features)
    cluster   in the folder          the same 32 hexadecimal digits

Invariant: an id stands in the folder before the lock service names it, so a folder without the lock service's id is
another cluster's, or none's. Folders of one machine that were made before there was such a file get it at their next
start: their lock service lies in the same folder.
"""

import json
import logging
import re
from typing import Final

from hbtable.errors import AlreadyExists, Corruption, FileNotFound, InvalidConfiguration, StorageFailed, Unavailable
from hbtable.fs.interface import LOCAL, FileSystem
from hbtable.fs.probing import PROBES
from hbtable.lockservice.files import StoredFiles
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import CLUSTER
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)

ID_FILE: Final = "cluster"

_ID: Final = re.compile(r"[0-9a-f]{32}")
_FLIPPED: Final = 2
"""Ids that differ in so few digits are one id and a damaged copy of it: another cluster's differs in 30."""


@switches
def folder_id(fs: FileSystem) -> str:
    """Empty when there is none."""
    try:
        return fs.read_file(ID_FILE).decode("ascii", "replace")
    except FileNotFound:
        return ""


@switches
def sound_folder_id(fs: FileSystem) -> str:
    """Empty when there is none, or no id in the file."""
    found = folder_id(fs)
    return found if _ID.fullmatch(found) else ""


@switches
def put_folder_id(runtime: Runtime, fs: FileSystem, new_id: str = "") -> str:
    """The id that stands there on return, from whoever was first: `new_id`, or one that is drawn."""
    draft = f"{PROBES}/{runtime.random.getrandbits(64):016x}"  # what is left there is collected
    fs.put_new(draft, (new_id or f"{runtime.random.getrandbits(128):032x}").encode())
    problem: AlreadyExists | StorageFailed | None = None
    try:
        fs.rename(draft, ID_FILE)
    except (AlreadyExists, StorageFailed) as error:
        problem = error
    found = folder_id(fs)
    if not found:
        raise Unavailable(f"the cluster's id could not be written: {problem}") from problem
    return found


@switches
def settle_folder_id(runtime: Runtime, fs: FileSystem, cluster_id: str) -> None:
    """Gives one machine's folder this id, at the cluster's start. InvalidConfiguration when it has another one: then
    the lock service is another folder's."""
    if fs.log_kind != LOCAL:
        return  # who joined the cluster has compared them (launch.cluster_identity)
    found = folder_id(fs)
    if found == cluster_id:
        return
    if not found and not fs.exists(ID_FILE):
        put_folder_id(runtime, fs, cluster_id)
        return
    if not _is_damaged(found, cluster_id):
        raise InvalidConfiguration(
            f"the file {ID_FILE} says that these files are the cluster {found}'s, and the lock service is the cluster "
            f"{cluster_id}'s: one of the two is from another folder; bring back the one that belongs here"
        )
    log.error("the file %s was damaged: it said %r, and the lock service has %s", ID_FILE, found, cluster_id)
    fs.write_file(ID_FILE, cluster_id.encode())


@switches
def check_same(session: Session, fs: FileSystem) -> None:
    """Raises InvalidConfiguration unless both places have the same id. To be called before files are deleted."""
    named, found = str(json.loads(session.read(CLUSTER).data)["id"]), folder_id(fs)
    if named != found:
        raise InvalidConfiguration(
            f"no file is collected: the file {ID_FILE} says {found or 'nothing'}, and the lock service {named}. These "
            "files may be another cluster's"
        )


@switches
def identity_damage(files: StoredFiles, fs: FileSystem) -> list[str]:
    """Messages about the two ids, one for each thing that is wrong. One machine's folder without the file `cluster` was
    written by an older hbtable, and is sound; its next start writes what is damaged, and a cluster's roles refuse
    it."""
    found = folder_id(fs)
    try:
        file = files.load(CLUSTER)
        named = str(json.loads(file.data)["id"]) if file is not None else ""
    except (Corruption, ValueError, KeyError, TypeError):
        return []  # who reads every file says so
    then = "the next start writes it" if fs.log_kind == LOCAL else "no role starts with it"
    if found == named:
        return []
    if not fs.exists(ID_FILE):
        return [] if fs.log_kind == LOCAL or not named else [f"the file {ID_FILE} is not there: {then}"]
    if not named:
        return [f"the lock service has no {CLUSTER}, and the file {ID_FILE} says {found}: {then}"]
    if _is_damaged(found, named):
        return [f"the file {ID_FILE} is damaged: it says {found!r}, and {CLUSTER} {named}; {then}"]
    return [f"the file {ID_FILE} says {found}, and {CLUSTER} in the lock service {named}: one is from another folder"]


@switches
def refuse_another_cluster(files: StoredFiles, fs: FileSystem) -> None:
    """InvalidConfiguration when both places have a sound id, and not the same."""
    found = sound_folder_id(fs)
    try:
        file = files.load(CLUSTER)
        named = str(json.loads(file.data)["id"]) if file is not None else ""
    except (Corruption, ValueError, KeyError, TypeError):
        return
    if found and named and found != named and not _is_damaged(found, named):
        raise InvalidConfiguration(
            f"these files are the cluster {found}'s, and the lock service is the cluster {named}'s: give "
            "cluster.files, cluster.zookeeper and cluster.root as the cluster's roles have them"
        )


def _is_damaged(found: str, cluster_id: str) -> bool:
    if _ID.fullmatch(found) is None:
        return True
    return sum(one != other for one, other in zip(found, cluster_id, strict=False)) <= _FLIPPED
