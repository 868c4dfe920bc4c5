"""The way of a starting role to its lock service, its file system and its ports, with a message for each obstacle.

Everything is tried before anything is recovered, so that a mistake shows within seconds and harms nothing.
"""

import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hbtable.errors import HbtableError, InvalidConfiguration, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.fs.opened import ENCRYPTED, parse_address
from hbtable.fs.probing import probe
from hbtable.fs.webhdfs.encryption import client_tls, untrusted
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.sockets import listen
from hbtable.switches import switches

if TYPE_CHECKING:  # its client takes 4 MB of a server's memory that has no ZooKeeper
    from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService, ZooKeeperSession

_CONNECT_SECONDS: Final = 10.0
"""A NameNode that has just started takes seconds for its first web page."""
_ROUNDING_SECONDS: Final = 0.001
_QUESTION: Final = b"GET /webhdfs/v1/?op=GETHOMEDIRECTORY HTTP/1.0\r\n\r\n"
_RPC_PORT_SAYS: Final = b"Hadoop IPC port"


@switches
def check_ports(host: str, ports: list[int]) -> None:
    """Unavailable or InvalidConfiguration when one cannot be listened on now. 0 stands for any."""
    for port in ports:
        if port and ports.count(port) > 1:
            raise InvalidConfiguration(f"port {port} is given to two things at once: each needs one of its own")
    taken = []
    try:
        for port in ports:
            if port:
                taken.append(listen(host, port, 1))
    finally:
        for one in taken:
            one.close()


@switches
def check_namenode(runtime: Runtime, address: str, ca: str = "") -> None:
    """Whether a server of the right kind answers at the address of a file system; a local one needs none. `ca`: as
    webhdfs.ca.
    Unavailable when nobody does, InvalidConfiguration when it is the other kind."""
    scheme, hosts, _ = parse_address(address)
    if not scheme:
        return
    problems = []
    for one in hosts:
        host, _, port = one.rpartition(":")
        tls = client_tls(ca) if scheme == ENCRYPTED else None
        answer = runtime.offload("start", _ask, host.strip("[]"), int(port), tls)
        if isinstance(answer, bytes):
            _check_kind(scheme, one, address, answer)
            if _is_namenode(scheme, answer):
                return
            answer = "it answers, but not as a NameNode does" if answer else "it takes connections and says nothing"
        problems.append(f"{one} ({answer})")
    raise Unavailable(
        f"no NameNode can be reached at {', '.join(problems)}: is HDFS running, and is "
        f"cluster.files = {address!r} right?"
    )


def _check_kind(scheme: str, one: str, address: str, answer: bytes) -> None:
    if scheme != "hdfs" and _RPC_PORT_SAYS in answer:
        raise InvalidConfiguration(
            f"cluster.files = {address!r}: {one} is the NameNode's RPC port; give its web port (by default 9870), or "
            "write hdfs:// to use the RPC port"
        )
    if scheme == "hdfs" and answer.startswith(b"HTTP/") and _RPC_PORT_SAYS not in answer:
        raise InvalidConfiguration(
            f"cluster.files = {address!r}: {one} is a web port; give the NameNode's RPC port (by default 8020), or "
            "write webhdfs:// to use the web port"
        )


def _is_namenode(scheme: str, answer: bytes) -> bool:
    """A NameNode says so at its RPC port when it is asked for a web page; at its web port there is any answer."""
    return _RPC_PORT_SAYS in answer if scheme == "hdfs" else answer.startswith(b"HTTP/")


def _ask(host: str, port: int, tls: ssl.SSLContext | None) -> bytes | str:
    """The beginning of the answer to an HTTP request, b"" when there is none in time; text: why there is no
    connection. Blocks."""
    try:
        with _connected(host, port, tls) as connection:
            answer = b""
            try:
                connection.sendall(_QUESTION)
                while len(answer) < 4096 and (piece := connection.recv(4096)):
                    answer += piece
            except OSError:
                pass  # whoever it is does not speak HTTP
            return answer
    except OSError as error:
        return untrusted(error) or error.strerror or str(error)


def _connected(host: str, port: int, tls: ssl.SSLContext | None) -> socket.socket:
    made = socket.create_connection((host, port), _CONNECT_SECONDS)
    if tls is None:
        return made
    try:
        return tls.wrap_socket(made, server_hostname=host)
    except BaseException:
        made.close()
        raise


@switches
def check_writable(runtime: Runtime, fs: FileSystem, address: str) -> None:
    """Checks that files can be written, read and deleted there. Unavailable with the file system's reason."""
    try:
        probe(runtime, fs)
    except HbtableError as error:
        raise Unavailable(
            f"the folder of cluster.files = {address!r} cannot be written: {error}. It must belong to the user that "
            "hbtable runs as, and HDFS must be out of safe mode and have living DataNodes with room"
        ) from error


@switches
def open_session(
    service: "ZooKeeperLockService", name: str, hosts: str, check: Callable[[float], object] = lambda seconds: None
) -> "ZooKeeperSession":
    """*Switches.* `check` may refuse the length of the session that was granted, with InvalidConfiguration."""
    try:
        return service.open_session(name, check)
    except InvalidConfiguration:
        raise
    except HbtableError as error:
        raise Unavailable(
            f"no ZooKeeper can be reached: {error}. Is it running, and is cluster.zookeeper = {hosts!r} right?"
        ) from error


def check_granted(asked_seconds: float, granted_seconds: float, hosts: str) -> None:
    """InvalidConfiguration when the lock service made the session another length than was asked for: deaths would be
    noticed at another time than the operator believes."""
    if abs(asked_seconds - granted_seconds) > _ROUNDING_SECONDS:
        raise InvalidConfiguration(
            f"session.session_seconds = {asked_seconds:g}: the ZooKeeper at {hosts} allows only {granted_seconds:g}; "
            "choose a length within its limits (2 to 20 of its ticks, unless its minSessionTimeout and "
            "maxSessionTimeout say otherwise)"
        )
