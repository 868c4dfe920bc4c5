"""Which tablet servers live, and how the others are made to stay dead (paper, section 5.2).

A server lives while its server file exists and its lock is held. Once the lock is free the master takes it and
deletes the file; from then on the server can never serve again, and its log has come to its end.
"""

from typing import NamedTuple

from hbtable.errors import Conflict, FileNotFound
from hbtable.lockservice.interface import Session
from hbtable.lockservice.places import LOCK_SUFFIX, SERVERS, ServerFile, server_file, server_lock


class Servers(NamedTuple):
    """What one look at the servers folder found."""

    living: dict[str, ServerFile]
    buried: list[str]
    """Servers that this look found dead; their files are gone now."""


def look(session: Session) -> Servers:
    """Reads the servers folder and buries the dead. *Switches.*"""
    living: dict[str, ServerFile] = {}
    buried: list[str] = []
    for name in session.list(SERVERS):
        if name.endswith(LOCK_SUFFIX):
            continue
        if session.holder(server_lock(name)) is None and bury(session, name):
            buried.append(name)
            continue
        try:
            path = server_file(name)
            living[name] = ServerFile.decode(path, session.read(path).data)
        except FileNotFound:
            continue
    return Servers(living, buried)


def bury(session: Session, incarnation: str) -> bool:
    """Takes a dead server's lock and deletes its file. False when it lives after all."""
    lock = server_lock(incarnation)
    try:
        session.lock(lock)
    except Conflict:
        return False
    # The file is deleted while the lock is held: a paused server that wakes up finds either its lock taken or its file
    # gone, never both as it left them.
    try:
        session.delete(server_file(incarnation))
    except FileNotFound:
        pass
    session.unlock(lock)
    return True
