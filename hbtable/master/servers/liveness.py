"""Finds the tablet servers that live, and makes the others stay dead (paper, section 5.2).

A server lives while its server file exists and its lock is held. Once the lock is free the master takes it and
deletes the file; from then on the server can never serve again. Only then is its log fenced, and only then sorted
(log_sorting.py): the other way round, a server that lives would lose its log.
"""

from contextlib import suppress
from typing import Final, NamedTuple

from hbtable.errors import Conflict, FileNotFound, HbtableError, LockLost
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import LOCK_SUFFIX, SERVERS, ServerFile, server_file, server_lock
from hbtable.switches import switches

_EXPIRED: Final = b"buried"
"""The data of a server's lock that a master took: its holder is no server. A master that lost an answer half-way holds
on to the lock; without this mark it would take its own lock for a sign of life for as long as it lives."""


class Servers(NamedTuple):
    """The result of one look at the servers folder."""

    living: dict[str, ServerFile]
    expired: list[str]
    """Servers that this look found dead; their files are gone now."""
    starting: frozenset[str]
    """Servers that have their lock, or had it just now, and no file: they may have a log."""


@switches
def list_servers(session: Session) -> Servers:
    """Reads the servers folder and expires the dead."""
    living: dict[str, ServerFile] = {}
    expired: list[str] = []
    names = session.list(SERVERS)
    locked = {name.removesuffix(LOCK_SUFFIX) for name in names if name.endswith(LOCK_SUFFIX)}
    starting = frozenset(locked.difference(names))
    for name in sorted(starting):
        holder = session.holder(server_lock(name))
        if holder is not None and holder.data == _EXPIRED and expire_server(session, name):
            starting -= {name}  # its file is gone: it was told as dead already, but the lock could not be given up
    for name in names:
        if name.endswith(LOCK_SUFFIX):
            continue
        holder = session.holder(server_lock(name))
        if holder is None and expire_server(session, name):
            expired.append(name)
            continue
        if holder is not None and holder.data == _EXPIRED:
            if expire_server(
                session, name
            ):  # Conflict: another master is at it, whose session ends if it cannot finish
                expired.append(name)
            continue
        try:
            living[name] = ServerFile.read(session, name)
        except FileNotFound:
            continue
    return Servers(living, expired, starting)


@switches
def holds_its_lock(session: Session, incarnation: str) -> bool:
    """Whether a server may live. *Switches.*"""
    holder = session.holder(server_lock(incarnation))
    return holder is not None and holder.data != _EXPIRED


@switches
def expire_server(session: Session, incarnation: str) -> bool:
    """Takes a dead server's lock and deletes its file, if it is still there. False when it lives after all.
    *Switches.*"""
    lock = server_lock(incarnation)
    holder = session.holder(lock)
    # Not only by the Conflict below: a session gets its own lock again, and may be a living server's, too.
    if holder is not None and holder.data != _EXPIRED:
        return False
    try:
        session.lock(lock, _EXPIRED)
    except Conflict:
        return False
    # The file is deleted while the lock is held: a paused server that wakes up finds either its lock taken or its file
    # gone, never both as it left them.
    try:
        session.delete(server_file(incarnation))
    except FileNotFound:
        pass
    except LockLost:
        # This master was deposed in between, and its session may outlive that for a while: the next one could neither
        # end the server nor recover its log. After any other error the next look goes on: another task of this master
        # may be between the same two steps, and needs the lock.
        with suppress(HbtableError):
            session.unlock(lock)
        raise
    session.unlock(lock)
    return True
