"""hbtable.connect(): a database behind a server, over Thrift, with the interface of hbtable.open()."""

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, final

from hbtable.client.given import bytes_of, flag, whole_number
from hbtable.client.table_calls import DescribedTableCalls
from hbtable.errors import WrongType, WrongValue
from hbtable.library.database import AdminCalls, Database
from hbtable.library.routed_calls import RoutedCalls
from hbtable.library.routes import Address
from hbtable.library.server_admin import ServerAdmin
from hbtable.library.server_calls import Calls, ServerCalls
from hbtable.library.server_table import ServerTable
from hbtable.library.table import RegionDescription
from hbtable.model.values import LARGEST_I64, shown
from hbtable.runtime.threads.forkable_lock import ForkableLock
from hbtable.shell.address import ServerAddress
from hbtable.shell.connection import ShellConnection

T = TypeVar("T")

_DEFAULT_HOST: Final = "localhost"
_DEFAULT_PORT: Final = 9090
_CONNECT_SECONDS: Final = 10.0
_CHOICES: Final = {
    "compat": ("0.90", "0.92", "0.94", "0.96", "0.98"),
    "transport": ("buffered", "framed"),
    "protocol": ("binary", "compact"),
}
"""Happybase's. They change no answer, so each is checked and none is used."""


@final
class ConnectedDatabase(Database):
    """A database behind a server (hbtable.connect()). One connection, which all threads share: a call waits for the one
    before. With `route` one to each server that has rows of its tables. After an error of the connection the next call
    makes a new one. A call that may have been carried out is never repeated by itself."""

    def __init__(
        self,
        host: str | None,
        port: int | None,
        timeout: int | None,
        prefix: str | bytes | None,
        separator: str | bytes,
        compat: str,
        security: Mapping[str, Any],
        route: bool,
        folder: str = "",
    ) -> None:
        """`timeout`: milliseconds. `security`: fields of ServerAddress. `folder`: shared by who has it open; "": a
        server is connected to."""
        self.compat = compat
        self.host = host or _DEFAULT_HOST
        self.port = whole_number("the port", port or _DEFAULT_PORT, 1, 65535)
        self.timeout = None if timeout is None else whole_number("the timeout", timeout, 1, LARGEST_I64)
        self.table_prefix = None if prefix is None else bytes_of("'table_prefix'", prefix)
        self.table_prefix_separator = bytes_of("'table_prefix_separator'", separator)
        self.security = dict(security)
        """As connect() was given them."""
        self.folder = folder
        self.route = route
        address = str(_address(ServerAddress(self.host, self.port), security))
        seconds = None if self.timeout is None else self.timeout / 1000
        connection = ShellConnection(address, min(seconds or _CONNECT_SECONDS, _CONNECT_SECONDS), seconds, folder)
        self._place = folder or f"at {self.host}:{self.port}"
        home = ServerCalls(connection, ForkableLock(threading.Lock))
        self.calls: Calls = home
        if flag("'route'", route):

            def beside(owner: Address) -> ServerCalls:
                return ServerCalls(connection.beside(*owner), ForkableLock(threading.Lock))

            self.calls = RoutedCalls(home, (self.host, self.port), beside, ForkableLock(threading.Lock))
        self._admin = ServerAdmin(self.calls)

    def open(self) -> None:
        """Connects, unless it is. Unavailable."""
        self.calls.open()

    def close(self) -> None:
        """The connection ends. A later call makes a new one."""
        self.calls.close()

    def __repr__(self) -> str:
        return f"<hbtable database {self._place}>"

    def regions_of(self, name: bytes) -> list[RegionDescription]:
        return self._admin.regions_of(bytes_of("the name", name))

    def _ask(self, call: Callable[[AdminCalls], T]) -> T:
        return call(self._admin)

    def _calls_of(self, name: bytes) -> DescribedTableCalls:
        return ServerTable(self.calls, name)


def _address(plain: ServerAddress, security: Mapping[str, Any]) -> ServerAddress:
    """With TLS and a user, as they are given."""
    for name in ("ca", "certificate", "user", "secret"):
        if not isinstance(security[name], str):
            raise WrongType(f"{name} {shown(security[name])} has to be text")
    for name in ("tls", "plain_text"):
        flag(name, security[name])
    address = plain._replace(**security)
    address = address._replace(tls=address.tls or bool(address.ca or address.certificate))  # as --ca and --certificate
    if bool(address.user) is not bool(address.secret):
        raise WrongValue("user= and secret= belong together: the name, and the file with the password or token")
    return address


def _path(folder: object) -> str:
    """Absolute; empty for None."""
    if folder is None:
        return ""
    if not isinstance(folder, (str, bytes, os.PathLike)):
        raise WrongType(f"the folder {shown(folder)} is {type(folder).__name__}, and has to be text")
    path = os.fsdecode(folder)
    if not path or "\0" in path:
        raise WrongValue(f"the folder {shown(path)} cannot be a folder's name: '.' is the current folder")
    return os.path.abspath(path)


def _check_host(host: object) -> None:
    """Commands take HOST:PORT and thrift:// in one, so a program may try it here."""
    if not isinstance(host, str):
        raise WrongType(f"the host {shown(host)} has to be text")
    if "/" in host or host.count(":") == 1:
        raise WrongValue(
            f"the host {shown(host)} has to be a name or an address alone: the port is the next argument, and tls=True "
            "asks for TLS"
        )


def connect_database(
    host: str | None,
    port: int | None,
    timeout: int | None,
    autoconnect: bool,
    table_prefix: str | bytes | None,
    table_prefix_separator: str | bytes,
    choices: Mapping[str, str],
    security: Mapping[str, Any],
    route: bool = False,
    folder: object = None,
) -> ConnectedDatabase:
    """hbtable.connect()."""
    for name, given in choices.items():
        if given not in _CHOICES[name]:
            raise WrongValue(f"{name!r} must be one of {', '.join(_CHOICES[name])}, not {shown(given)}")
    flag("'autoconnect'", autoconnect)
    if host is not None:
        _check_host(host)
    if folder is not None and ((host, port) != (_DEFAULT_HOST, _DEFAULT_PORT) or route or any(security.values())):
        others = "host, port, tls, ca, certificate, user, secret, plain_text and route"
        raise WrongValue(f"folder= stands alone: without {others}")
    database = ConnectedDatabase(
        host, port, timeout, table_prefix, table_prefix_separator, choices["compat"], security, route, _path(folder)
    )
    if autoconnect:
        database.open()
    return database
