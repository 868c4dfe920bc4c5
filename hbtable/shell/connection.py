"""One blocking Thrift connection to a server, with HBase's service and our own on it.

Opened at the first call. Structs of thrift/admin.thrift go in and come out as hbtable.hbase.admin.structs. A server's
exception becomes a ServerError; a connection that cannot be made or breaks becomes CannotConnect, and the next call
makes a new one. A call is never repeated by itself: it may have been carried out. It does not begin on a connection
that the server has closed, or closes after its answer, but on a new one.
"""

import os
import socket
from typing import Any, Final

from hbtable.errors import NotSupported, Unavailable, class_names
from hbtable.fs.folder_socket import connect_to
from hbtable.hbase.admin import structs as admin_structs
from hbtable.hbase.codec.interface_files import load_interface
from hbtable.shell.address import ServerAddress, parse_address
from hbtable.shell.credentials import FramedSocket, authenticated
from hbtable.shell.encryption import encrypted, refused
from hbtable.shell.errors import BrokenOff, CannotConnect, OutOfRange, ServerError
from hbtable.thrift.wire import PROTOCOL_ERROR, UNKNOWN_METHOD

_OTHER_ANSWER: Final = "the answer is not one to this call"
_CLOSING: Final = ("thrift.message_bytes", "bytes of large requests and answers")
"""Parts of the refusals of requests that the server does not read to their end: it closes the connection then."""
_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)
"""Linux has it; macOS, where clients run as well, has not."""
_ESTABLISHED: Final = 1
"""The state of TCP in which neither side has closed the connection."""
_IDL: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "idl")


class ShellConnection:
    """A connection to one server. `address`: as shell.address has it. `timeout_seconds`: for connecting;
    `call_seconds`: for each wait within a call, None: as long as it takes. `folder`: of the process that shares this
    data folder, whatever the address."""

    def __init__(
        self, address: str, timeout_seconds: float = 10.0, call_seconds: float | None = None, folder: str = ""
    ) -> None:
        try:
            self._address = ServerAddress("", 0) if folder else parse_address(address)
        except ValueError as error:
            raise CannotConnect(str(error)) from None
        self.host, self.port = self._address.host, self._address.port
        self._folder = folder
        self._process = os.getpid()
        self._timeout_seconds = timeout_seconds
        self._call_seconds = call_seconds
        self._socket: socket.socket | None = None
        self._clients: dict[str, Any] = {}
        self._admin_structs: Any = None
        self._hbase_structs: Any = None
        self._protocol: Any = None
        self._exceptions: tuple[type[BaseException], ...] = ()

    def beside(self, host: str, port: int) -> "ShellConnection":
        """A connection to another server of the same cluster, made in the same way."""
        return ShellConnection(
            str(self._address._replace(host=host, port=port)), self._timeout_seconds, self._call_seconds
        )

    def admin(self, method: str, *arguments: object) -> Any:
        """A call of our own service."""
        return _received(self._call("admin", method, [self._sent(one) for one in arguments]))

    def hbase(self, method: str, *arguments: object) -> Any:
        """A call of HBase's; structs are not translated."""
        return self._call("hbase", method, list(arguments))

    def hbase_struct(self, name: str, /, **fields: object) -> Any:
        """A struct of HBase's, for hbase()."""
        if not self._clients:
            self._open()
        return getattr(self._hbase_structs, name)(**fields)

    def thrift2(self, method: str, *arguments: object) -> Any:
        """A call of HBase's newer service; structs are not translated."""
        return self._call("thrift2", method, list(arguments))

    def thrift2_struct(self, name: str, /, **fields: object) -> Any:
        """A struct, or the value of an enum, of HBase's newer service."""
        found = getattr(interface("hbase2"), name)
        return found(**fields)

    def open(self) -> None:
        """Now, and not at the first call."""
        if not self._clients:
            self._open()

    def append(self, table: bytes, row: bytes, column: bytes, suffix: bytes) -> bytes | None:
        """The new value."""
        request = self.hbase_struct("TAppend", table=table, row=row, columns=[column], values=[suffix])
        cells = self._call("hbase", "append", [request])
        return cells[0].value if cells else None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._clients = {}

    def _call(self, service: str, method: str, arguments: list[object]) -> Any:
        self._begin()
        client = self._client(service)
        from thriftpy2.protocol.cybin.cybin import ProtocolError
        from thriftpy2.thrift import TApplicationException, TDecodeException
        from thriftpy2.transport import TTransportException

        try:
            return getattr(client, method)(*arguments)
        except self._exceptions as error:
            raise self._refused(server_error(error)) from None
        except TApplicationException as error:
            if service == "admin" and error.type == UNKNOWN_METHOD:
                raise ServerError("", self._no_hbtable(method), classes=class_names(NotSupported())) from None
            told = ServerError("", f"{method}: {error.message or _OTHER_ANSWER}")
            raise self._refused(told, unread=error.type == PROTOCOL_ERROR) from None
        except (TDecodeException, OverflowError, UnicodeError) as error:
            self.close()  # half of the request may be in the buffer
            raise OutOfRange(f"{method} cannot be told this: {error}") from None
        except (OSError, EOFError, TTransportException) as error:
            self.close()
            if denied := refused(error, self._address):
                raise denied from None
            timed_out = isinstance(error, TimeoutError)
            raise BrokenOff(f"{self._who()} broke off during {method}: {error}", timed_out) from None
        except (ProtocolError, MemoryError) as error:  # the latter of a length that nobody sent
            self.close()
            raise BrokenOff(
                f"{self._who()} answered {method} with something else than Thrift ({error}): give the address of a "
                "Thrift server; look what listens there with: ss -ltnp"
            ) from None
        except BaseException:  # Ctrl-C, a timeout of gevent's, whatever a signal handler raises
            self.close()  # an answer is under way: nothing else can be read from this connection
            raise

    def _begin(self) -> None:
        """Opens the connection, unless there is one that can be used."""
        if self._process != os.getpid():  # a forked child: the connection is the parent's, whose answers it would take
            self._process = os.getpid()
            self.close()
        if self._clients and self._was_closed():
            self.close()
        if not self._clients:
            self._open()

    def _refused(self, told: ServerError, unread: bool = False) -> ServerError:
        """The same error. Closes the connection where the server does so behind it. `unread`: it could not read the
        request."""
        if unread or any(part in str(told) for part in _CLOSING):
            self.close()
        return told

    def _was_closed(self) -> bool:
        """By the server, as far as it is known here: nothing that is sent now would be read. Never known of a socket in
        a folder, nor where the system does not tell."""
        if self._folder or self._socket is None or _TCP_INFO is None:
            return False
        return self._socket.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1)[0] != _ESTABLISHED

    def _who(self) -> str:
        return f"the owner of {self._folder}" if self._folder else f"{self.host}:{self.port}"

    def _no_hbtable(self, method: str) -> str:
        place = f"{self.host}:{self.port}"
        return (
            f"{place} has no {method}: it is an HBase, or an hbtable of an earlier version. Tables of an HBase come "
            f"here by `hbtable copy --from thrift://{place}`, and go there by `--to` (docs/manual/migration.md)"
        )

    def _open(self) -> None:
        from thriftpy2.protocol.cybin import TCyBinaryProtocol
        from thriftpy2.thrift import TClient
        from thriftpy2.transport import TCyBufferedTransport, TSocket

        from hbtable.shell.first_call import FirstCallWatch

        made = self._connected()
        if self._address.tls:
            made = encrypted(made, self._address)
        inside: socket.socket | FramedSocket = authenticated(made, self._address) if self._address.user else made
        made.settimeout(self._call_seconds)
        transport = TSocket()
        FirstCallWatch(transport, inside, made, self._folder or f"{self.host}:{self.port}")
        protocol = TCyBinaryProtocol(TCyBufferedTransport(transport))
        hbase: Any = interface("hbase")
        admin: Any = interface("admin")
        self._socket = made
        self._admin_structs, self._hbase_structs = admin, hbase
        self._exceptions = (
            hbase.IOError,
            hbase.IllegalArgument,
            hbase.AlreadyExists,
            admin.IOError,
            admin.IllegalArgument,
        )
        self._protocol = protocol
        self._clients = {
            "hbase": TClient(hbase.Hbase, protocol),
            "admin": TClient(admin.HbtableAdmin, protocol),
        }

    def _connected(self) -> socket.socket:
        if self._folder:
            try:
                return connect_to(self._folder, self._timeout_seconds)
            except Unavailable as error:
                raise CannotConnect(str(error)) from None
        try:
            made = socket.create_connection((self.host, self.port), self._timeout_seconds)
        except OSError as error:
            raise CannotConnect(
                f"no server answers at {self.host}:{self.port} ({error}); start one with: hbtable start"
            ) from None
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def _client(self, service: str) -> Any:
        """The newer service's file is read when it is first called for: few need it."""
        if service == "thrift2" and service not in self._clients:
            from thriftpy2.thrift import TClient

            newer = interface("hbase2")
            self._clients[service] = TClient(newer.THBaseService, self._protocol)
            self._exceptions += (newer.TIOError, newer.TIllegalArgument)
        return self._clients[service]

    def _sent(self, value: object) -> object:
        if isinstance(value, list):
            return [self._sent(one) for one in value]
        if not isinstance(value, tuple):
            return value
        if not self._clients:
            self._open()
        made = getattr(self._admin_structs, type(value).__name__)()
        spec = made.thrift_spec
        for place, field in enumerate(sorted(spec)):
            setattr(made, spec[field][1], self._sent(value[place]))
        return made


def interface(name: str) -> Any:
    """An interface file as the shell reads it, once in a process."""
    return load_interface(os.path.join(_IDL, f"{name}.thrift"), f"hbtable_shell_{name}_thrift")


def _received(value: Any) -> Any:
    if isinstance(value, list):
        return [_received(one) for one in value]
    spec = getattr(value, "thrift_spec", None)
    if spec is None:
        return value
    make = getattr(admin_structs, type(value).__name__)
    return make(*(_received(getattr(value, spec[field][1])) for field in sorted(spec)))


def server_error(error: Any) -> ServerError:
    """A declared exception: `java.class.Name: reason` in two parts, and hbtable's classes where they are told."""
    message: str = error.message or ""
    classes: list[str] = getattr(error, "classes", None) or []  # HBase's newer service has none
    java_class, colon, reason = message.partition(": ")
    if colon and "." in java_class and " " not in java_class:
        return ServerError(java_class, reason, classes=classes)
    return ServerError("", message, classes=classes)
