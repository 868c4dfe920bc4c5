"""The cluster's paths in the lock service, and the content of a server file (paper, sections 4 and 5.2).

    /cluster                       the cluster's id and format version, written once
    /incarnations                  how many tablet servers ever started, decimal; gives them unique names
    /servers/<incarnation>         server file: the server may serve as long as it exists; JSON, below
    /servers/<incarnation>.lock    held by that server; taken by the master before it deletes the file
    /master                        held by the master; its data is the master's address, its epoch goes into each call
    /masters/<session id>          held by each process that is the master or stands by, until it ends; JSON, below
    /balancer                      whether tablets move to even out servers: `on` or `off`; without it they do
    /normalizer                    whether small and emptied neighbours are merged: as /balancer
    /unreachable/<...>             who does not reach whom (reachability.reports)
    /withdrawals                   tablet servers that gave up lately because nobody reached them; JSON
    /users                         in a cluster, the list of users (access.store)
    /suspects/requests             requests that servers died of (client.suspects)
    /state-number                  how far the cluster has come, as the files say, too (lockservice.state_number)
    /splits, /merges               whether tablets may be split, by themselves too, and merged: as /balancer
    /access/grants                 who may do what (access.grants_record); without it nobody but superusers may anything
    /access/positions              the key by which positions of scans are sealed (access.position_key)
    /access/quotas                 how much users, tables and namespaces may ask for (quotas.quotas_record)

A server takes its lock *before* it creates its file, so a file whose lock is free belongs to a dead server.
The root tablet's record is metadata.catalog's.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from hbtable.errors import Conflict, Corruption, FileNotFound, UnsupportedFormat
from hbtable.lockservice.interface import Session
from hbtable.switches import switches

CLUSTER: Final = "/cluster"
INCARNATIONS: Final = "/incarnations"
SERVERS: Final = "/servers"
MASTER: Final = "/master"
MASTERS: Final = "/masters"
BALANCER: Final = "/balancer"
NORMALIZER: Final = "/normalizer"
UNREACHABLE: Final = "/unreachable"
WITHDRAWALS: Final = "/withdrawals"
SUSPECTS: Final = "/suspects"
SUSPECT_REQUESTS: Final = f"{SUSPECTS}/requests"
SPLITS: Final = "/splits"
MERGES: Final = "/merges"
ACCESS: Final = "/access"
GRANTS: Final = f"{ACCESS}/grants"
POSITIONS: Final = f"{ACCESS}/positions"
QUOTAS: Final = f"{ACCESS}/quotas"
LOCK_SUFFIX: Final = ".lock"
_FORMAT: Final = 1
"""Of what servers and masters say of themselves. It was not said before there was a second one to think of."""


def server_file(incarnation: str) -> str:
    return f"{SERVERS}/{incarnation}"


def server_lock(incarnation: str) -> str:
    return f"{SERVERS}/{incarnation}{LOCK_SUFFIX}"


def candidate_lock(session_id: str) -> str:
    return f"{MASTERS}/{session_id}"


def _json(fields: dict[str, Any]) -> bytes:
    return json.dumps({**fields, "format": _FORMAT}, sort_keys=True).encode()


def _fields(path: str, data: bytes) -> Any:
    """UnsupportedFormat. Unknown names are passed over: a later version may add some without a new format."""
    fields = json.loads(data)
    found = fields.get("format", _FORMAT) if isinstance(fields, dict) else _FORMAT
    if found != _FORMAT:
        raise UnsupportedFormat.unknown(path, "format", found, _FORMAT)
    return fields


@dataclass(frozen=True, slots=True)
class MasterCandidate:
    """A master process of a cluster, whether it is the master or stands by."""

    address: str
    """host:port of its internal service, which is also the data of the master's lock when it holds that."""
    started_millis: int

    def encode(self) -> bytes:
        return _json(asdict(self))

    @staticmethod
    @switches
    def living(session: Session) -> "list[MasterCandidate]":
        """All that there are now, ascending by address. Corruption."""
        held = [(path, session.holder(path)) for path in map(candidate_lock, session.list(MASTERS))]
        found = [MasterCandidate._decode(path, lock.data) for path, lock in held if lock is not None]
        return sorted(found, key=lambda one: (one.address, one.started_millis))

    @staticmethod
    def _decode(path: str, data: bytes) -> "MasterCandidate":
        try:
            fields = _fields(path, data)
            return MasterCandidate(str(fields["address"]), int(fields["started_millis"]))
        except (ValueError, KeyError, TypeError) as error:
            raise Corruption(path, 0, f"not what a master says of itself: {error}") from error


@dataclass(frozen=True, slots=True)
class ServerFile:
    """The address of a tablet server, and the kind of log that it writes (a fencer must be able to handle it)."""

    address: str
    """host:port of its internal service; "" when it lives in the master's process."""
    started_millis: int
    log_kind: str = "local"
    draining: bool = False
    """It is about to stop and takes no more tablets."""
    door: str = ""
    """host:port of its Thrift gateway, by which HBase clients know it; "" when there is one gateway for all."""
    decommissioned: bool = False
    """An operator wants no more tablets on it."""
    leaving: bool = False
    """Decommissioned, and the tablets it has are to go."""
    drained: int = 0
    """The number of levels of tablets that a draining server has given up: 1, those of users; 2, METADATA's others; 3,
    the root tablet."""

    def encode(self) -> bytes:
        return _json(asdict(self))

    @staticmethod
    @switches
    def read(session: Session, incarnation: str) -> "ServerFile":
        """The server file as the lock service has it, whether or not that server lives. FileNotFound, Corruption."""
        path = server_file(incarnation)
        return ServerFile.decode(path, session.read(path).data)

    @staticmethod
    @switches
    def living(session: Session) -> "dict[str, ServerFile]":
        """The server files, by incarnation, of the servers that hold their locks, and so may serve. Corruption."""
        names = session.list(SERVERS)
        found: dict[str, ServerFile] = {}
        for name in names:
            if name + LOCK_SUFFIX not in names:
                continue
            try:
                found[name] = ServerFile.read(session, name)
            except FileNotFound:
                continue  # it left just now
        return found

    @staticmethod
    @switches
    def change(session: Session, incarnation: str, edit: "Callable[[ServerFile], ServerFile]") -> None:
        """Durable on return; `edit` may be called again. FileNotFound, Corruption."""
        path = server_file(incarnation)
        while True:
            file = session.read(path)
            try:
                session.write(path, edit(ServerFile.decode(path, file.data)).encode(), file.version)
                return
            except Conflict:
                continue  # its server and the master may change it at the same moment

    @staticmethod
    def decode(path: str, data: bytes) -> "ServerFile":
        """Corruption, UnsupportedFormat."""
        try:
            fields = _fields(path, data)
            return ServerFile(
                str(fields["address"]),
                int(fields["started_millis"]),
                str(fields["log_kind"]),
                bool(fields["draining"]),
                str(fields.get("door", "")),
                bool(fields.get("decommissioned", False)),
                bool(fields.get("leaving", False)),
                int(fields.get("drained", 0)),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise Corruption(path, 0, f"not a server file: {error}") from error
