"""A server that tables are copied from or to, whatever it speaks: hbtable's own service, HBase's Thrift2 or Thrift1."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from hbtable.model.cell import Row
from hbtable.model.schema import TableSchema
from hbtable.shell.address import parse_address
from hbtable.shell.connection import ShellConnection
from hbtable.shell.copying.columns import EVERYTHING, Wanted
from hbtable.shell.copying.hbtable_peer import HbtablePeer
from hbtable.shell.copying.thrift1_peer import Thrift1Peer
from hbtable.shell.copying.thrift2_peer import Thrift2Peer
from hbtable.shell.errors import ArgumentError, ServerError


class CopyPeer(Protocol):
    """One connection to it. Every call raises ShellError."""

    untold: str
    """The settings of a table that this kind of server does not tell, for people."""
    why_left: str
    """The reason for which delete() leaves cells, and what helps, for people."""

    def identity(self) -> frozenset[str]:
        """cluster_identity's."""

    def tables(self) -> list[bytes]:
        """The names of all namespaces, without hbase, where the system's tables are."""

    def schema(self, table: bytes) -> TableSchema | None:
        """The table's schema, as far as this kind of server tells it. None: there is no such table."""

    def namespace(self, name: bytes) -> dict[str, str] | None:
        """Its properties. None: there is no such namespace, or this kind of server tells of none."""

    def create_namespace(self, name: bytes, properties: Mapping[str, str]) -> bool:
        """False: this kind of server makes none."""

    def create(self, schema: TableSchema, split_rows: Sequence[bytes]) -> None:
        """Creates the table, whose namespace is there."""

    def regions(self, table: bytes) -> list[tuple[bytes, bytes]]:
        """First row, and the row behind the last one, of each; ascending, and each row is in one of them."""

    def pages(
        self, schema: TableSchema, start: bytes, stop: bytes, since: int, wanted: Wanted = EVERYTHING
    ) -> Iterator[list[Row]]:
        """All versions not older than `since`, rows ascending, cells by column and newest first. A wide row may come in
        several pieces, one after the other."""

    def tells_lifetimes(self, table: bytes) -> bool:
        """Whether pages() has MortalValues where they are wanted."""

    def write(self, table: bytes, rows: Sequence[Row]) -> None:
        """Each cell with its time, and the time to live of a MortalValue; columns.NOW: the server chooses the time.
        Durable on return."""

    def delete(self, table: bytes, rows: Sequence[Row]) -> int:
        """Exactly these cells, as far as the server can: how many were left."""

    def close(self) -> None: ...


_KINDS: Final[dict[str, Callable[[ShellConnection], CopyPeer]]] = {"thrift1": Thrift1Peer, "thrift2": Thrift2Peer}


BEST: Final = "thrift"


class PeerAddress(NamedTuple):
    """`kind`: thrift1, thrift2, or thrift for the best that an hbtable server or HBase's Thrift1 server offers."""

    kind: str
    address: str
    """As shell.address has it."""


def parse_peer(text: str) -> PeerAddress:
    """thrift://HOST:PORT; thrift1:// and thrift2:// choose the service; +tls as with --url. ArgumentError."""
    scheme, separator, rest = text.partition("://")
    kind, plus, security = scheme.partition("+") if separator else ("thrift", "", "")
    if kind not in (BEST, *_KINDS) or plus + security not in ("", "+tls"):
        # Not the whole text: there may be a password in it.
        raise ArgumentError(
            f"a server's address begins with thrift://, thrift1:// or thrift2://, or with thrift+tls:// and so on, and "
            f"not with {scheme}://"
        )
    address = f"{BEST}{plus}{security}://{rest}" if kind in _KINDS else text
    try:
        parse_address(address)
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    return PeerAddress(kind, address)


def connect_peer(peer: PeerAddress, call_seconds: float) -> CopyPeer:
    """CannotConnect. `call_seconds`: for each wait within a call."""
    connection = ShellConnection(peer.address, call_seconds=call_seconds)
    kind = kind_of(connection) if peer.kind == BEST else peer.kind
    return _KINDS[kind](connection) if kind in _KINDS else HbtablePeer(connection)


def kind_of(connection: ShellConnection) -> str:
    """The service that it speaks: thrift for hbtable's own, thrift1 or thrift2 for HBase's. CannotConnect."""
    try:
        connection.admin("adminWhoAmI")
    except ServerError:  # HBase's answers that it knows no such method
        try:
            connection.hbase("getTableNames")
        except ServerError as error:
            return "thrift1" if error.java_class else "thrift2"
        return "thrift1"
    return BEST
