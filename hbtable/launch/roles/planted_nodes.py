"""Refuses nodes of ZooKeeper that a cluster did not make, by name, before any of them is believed.

Whoever reaches ZooKeeper may make nodes at the place of a cluster that is still to start: a list of users, a lock that
nobody gives up. What such a node says is worth nothing, and its ACL tells that it is no node of the cluster's: one with
exactly the cluster's own ACL was made by somebody who knows the digest, and below a root of that ACL nobody else makes
any. So:

    no /cluster yet           every node has to be ours, before the first start and again once /cluster is there, for
                              a stranger may put another root into the place of an empty one
    /cluster is ours          so the root has to be, too: it is protected before anything below it
    /cluster is everybody's   a cluster that ran without a digest, if the folder of files has the same id, and does not
                              remember that nodes were protected (lockservice.protection_mark): its nodes are taken
                              over as they are (node_protection.py). By nothing can those be told from a stranger's
                              that were planted meanwhile. If the folder remembers it, as if there were no /cluster
    everywhere                no node is others' alone, and none is a file where a lock is due, or the other way round
"""

import contextlib
from collections.abc import Sequence
from typing import Final, Protocol

from hbtable.access.store import USERS_PATH
from hbtable.errors import Corruption, FileNotFound, InvalidConfiguration, UnsupportedFormat
from hbtable.fs.interface import FileSystem
from hbtable.launch.roles.cluster_identity import join_cluster
from hbtable.lockservice.features import read_cluster
from hbtable.lockservice.identity import sound_folder_id
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import CLUSTER, INCARNATIONS, LOCK_SUFFIX, MASTER, MASTERS, SERVERS, UNREACHABLE
from hbtable.lockservice.protection_mark import PROTECTION_MARK, were_protected
from hbtable.lockservice.state_number import STATE_NUMBER
from hbtable.lockservice.zookeeper.access import FoundNode, Owner
from hbtable.lockservice.zookeeper.connection import SAME_DIGEST, NodeRefused
from hbtable.metadata.layout import ROOT_PATH
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_MOST_NAMED: Final = 20
_MOST_LETTERS: Final = 200
"""Of a name, which a stranger chose."""
_ROOT: Final = ""
_LOCKS: Final = (f"{MASTERS}+/", f"{UNREACHABLE}+/")
"""Folders of nothing else."""
_FILES: Final = (CLUSTER, INCARNATIONS, ROOT_PATH, STATE_NUMBER, USERS_PATH)
_ON_PURPOSE: Final = (
    f"If the digest was taken away on purpose, delete the file {PROTECTION_MARK} in cluster.files first: then nodes "
    "that are everybody's are believed"
)
_WHY: Final = {Owner.SHARED: "others may change it", Owner.OTHERS: "only others may change it"}


class Surveyed(Session, Protocol):
    """As ZooKeeperSession."""

    @property
    def root(self) -> str: ...

    @property
    def protects(self) -> bool: ...

    @switches
    def find_nodes(self) -> Sequence[FoundNode]: ...


@switches
def enter_cluster(runtime: Runtime, session: Surveyed, fs: FileSystem, address: str) -> str:
    """As join_cluster(), for a role with a session of ZooKeeper; InvalidConfiguration also for nodes that the cluster
    did not make."""
    first = refuse_planted(session, fs)
    named = join_cluster(runtime, session, fs, address)
    if first:
        _refuse(session, _not_ours(session, session.find_nodes(), started=False), started=False, fs=fs)
    return named


@switches
def refuse_planted(session: Surveyed, fs: FileSystem) -> bool:
    """Whether the cluster never started in this ZooKeeper, which it protects. To be called before a role, or a command
    that changes something, believes any node. InvalidConfiguration when somebody else made one."""
    found = session.find_nodes()
    _refuse_unprotected(session, fs, found)
    started = _has_started(session, fs, found)
    _refuse(session, _not_ours(session, found, started), started, fs)
    return not started


@switches
def _refuse_unprotected(session: Surveyed, fs: FileSystem, found: Sequence[FoundNode]) -> None:
    """InvalidConfiguration for who would believe everybody's nodes, and make such, in a cluster that protects them."""
    if session.protects or _owner(found, CLUSTER) in (Owner.OURS, Owner.OTHERS) or not were_protected(fs):
        return
    raise InvalidConfiguration(
        "this cluster's nodes of ZooKeeper were protected, and this process would believe nodes that are everybody's: "
        f"{SAME_DIGEST}, without zookeeper_protected = false where ZooKeeper lost them. {_ON_PURPOSE}"
    )


@switches
def refuse_strangers_users(session: Surveyed, written: bool = False) -> None:
    """The same for who changes the list of users, and has no folder of files to compare: a cluster whose nodes are
    everybody's still has to be protected by its master first. `written`: he has changed it since he looked."""
    try:
        _refuse_strangers_users(session)
    except InvalidConfiguration as error:
        if not written:
            raise
        raise InvalidConfiguration(
            f"while the list of users was written somebody else made nodes beside it: he may have read it, so choose "
            f"another password, and begin again. {error}"
        ) from error


@switches
def _refuse_strangers_users(session: Surveyed) -> None:
    found = session.find_nodes()
    started = not session.protects or _owner(found, CLUSTER) is not None
    _refuse(session, _not_ours(session, found, started), started)
    shared = [one for one in found if one.owner is Owner.SHARED and one.below in (_ROOT, CLUSTER, USERS_PATH)]
    if shared and session.protects:
        raise InvalidConfiguration(
            f"nodes of ZooKeeper are not protected yet: {_named(session, shared)}. If the cluster ran without "
            "cluster.zookeeper_digest until now, start its master with it first, which protects them; if it never "
            "ran, a stranger made them: delete them (deleteall in zkCli.sh)"
        )


@switches
def _has_started(session: Surveyed, fs: FileSystem, found: Sequence[FoundNode]) -> bool:
    owner = _owner(found, CLUSTER)
    if not session.protects:
        return True  # what it makes is everybody's: nothing is told apart
    if owner is not Owner.SHARED:
        return owner is not None
    if were_protected(fs):
        return False
    in_folder = sound_folder_id(fs)
    with contextlib.suppress(Corruption, FileNotFound, UnsupportedFormat, NodeRefused):
        return bool(in_folder) and read_cluster(session.read(CLUSTER).data)["id"] == in_folder
    return False


def _owner(found: Sequence[FoundNode], below: str) -> Owner | None:
    """None: it is not there."""
    return next((one.owner for one in found if one.below == below), None)


def _not_ours(session: Surveyed, found: Sequence[FoundNode], started: bool) -> list[FoundNode]:
    """Those that refuse the start."""
    protected = _owner(found, CLUSTER) is Owner.OURS

    def refused(one: FoundNode) -> bool:
        if _is_wrong_kind(one) or one.owner is Owner.OTHERS:
            return True
        shared = one.owner is Owner.SHARED and session.protects
        return shared and (not started or (protected and one.below == _ROOT))

    return [one for one in found if refused(one)]


def _is_wrong_kind(one: FoundNode) -> bool:
    """Names that are not known here may be a newer release's."""
    below = one.below
    if below == MASTER or below.startswith(_LOCKS) or (below.startswith(SERVERS) and below.endswith(LOCK_SUFFIX)):
        return not one.ends_with_session
    return one.ends_with_session and (below in _FILES or below.endswith("+"))


@switches
def _refuse(session: Surveyed, found: list[FoundNode], started: bool, fs: FileSystem | None = None) -> None:
    """`fs`: None where the folder of files is not known."""
    if not found:
        return
    named = _named(session, found)
    if any(one.below in (_ROOT, CLUSTER) and one.owner is Owner.OTHERS for one in found):
        started = True  # perhaps: who does not know the digest cannot see it
    if started:
        raise InvalidConfiguration(
            f"nodes of ZooKeeper are not this cluster's: {named}. First of all, {SAME_DIGEST}. If it is, a stranger "
            "made them: look at them, delete them (deleteall in zkCli.sh), and start again. What ZooKeeper refuses to "
            "delete its superuser may, or choose another cluster.root for a cluster that never ran"
        )
    if fs is not None and were_protected(fs):
        raise InvalidConfiguration(
            f"this cluster's nodes of ZooKeeper were protected, and these are not: {named}. ZooKeeper lost the "
            "cluster's, or another one is configured, and somebody made these in their place: he would say who the "
            f"users are. Look at them, delete them (deleteall in zkCli.sh), and begin again. {_ON_PURPOSE}"
        )
    raise InvalidConfiguration(
        f"this cluster has not started yet, and ZooKeeper has nodes in its place that it did not make: {named}. "
        "Whoever made them would say who its users are. If another cluster lives there, mend cluster.root and "
        "cluster.files. If not, delete them (deleteall in zkCli.sh), also those that a role or command made without "
        "cluster.zookeeper_digest, and start again"
    )


def _named(session: Surveyed, found: Sequence[FoundNode]) -> str:
    ordered = sorted(found, key=lambda one: one.below)
    named = ", ".join(f"{session.root}{one.below[:_MOST_LETTERS]} ({_why(one)})" for one in ordered[:_MOST_NAMED])
    return named + (f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else "")


def _why(one: FoundNode) -> str:
    if one.owner is not Owner.OTHERS and _is_wrong_kind(one):
        return "a lock, where a file is due" if one.ends_with_session else "a file, where a lock is due"
    return _WHY[one.owner]
