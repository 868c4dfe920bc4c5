"""A file system by its address:

    webhdfs://host:9870[,host:9870...]/some/folder    over HTTP, wherever that reaches; several NameNodes, one active
    swebhdfs://host:9871[,host:9871...]/some/folder   the same over HTTPS
    hdfs://host:8020[,host:8020...]/some/folder       over Hadoop's own protocol, where DataNodes can be reached
    /some/folder                                      this machine; the folder's lock is data_folder.py's business

A folder is /hbtable unless the address names one.
"""

import getpass
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from hbtable.errors import InvalidConfiguration
from hbtable.fs.blocking_calls import ThreadCalls
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.interface import ClosableFileSystem, FileSystem
from hbtable.fs.local import LocalFileSystem
from hbtable.fs.webhdfs.copies import count_copies
from hbtable.fs.webhdfs.encryption import client_tls
from hbtable.fs.webhdfs.file_system import WebHdfsFileSystem
from hbtable.fs.webhdfs.http import HttpConnections
from hbtable.fs.webhdfs.namenodes import NameNodes
from hbtable.fs.webhdfs.options import KERBEROS, WebHdfsOptions
from hbtable.fs.webhdfs.requests import Http
from hbtable.runtime.interface import Runtime

if TYPE_CHECKING:
    from hbtable.fs.webhdfs.package import PackageSession

_DEFAULT_FOLDER: Final = "/hbtable"
_LARGEST_PORT: Final = 65535
_WEB_PORT: Final = 9870
"""Of a NameNode's HTTP service, unless its configuration names another."""
_WEB_SECONDS: Final = 2.0
_SCHEMES: Final = ("webhdfs", "swebhdfs", "hdfs")
ENCRYPTED: Final = "swebhdfs"
_ADDRESS: Final = re.compile(r"([a-z]+)://([A-Za-z0-9.:,_\[\]-]+)((?:/[A-Za-z0-9._-]+)*)/?")


class FileSystemAddress(NamedTuple):
    """The parts of an address. `scheme` is "" for a folder of this machine, which is then `folder`."""

    scheme: str
    hosts: tuple[str, ...]
    folder: str


@dataclass(frozen=True)
class FileSystemOptions:
    """Options for each kind of file system; only those of the address' kind are used."""

    webhdfs: WebHdfsOptions = field(default_factory=WebHdfsOptions)
    hdfs: HdfsNativeOptions = field(default_factory=HdfsNativeOptions)


def parse_address(address: str) -> FileSystemAddress:
    """InvalidConfiguration with what is wrong."""
    if "://" not in address:
        if not address:
            raise InvalidConfiguration(
                "the file system's address is empty; name a folder, or webhdfs://HOST:PORT/FOLDER"
            )
        return FileSystemAddress("", (), address)
    found = _ADDRESS.fullmatch(address)
    if found is None or found[1] not in _SCHEMES:
        raise InvalidConfiguration(
            f"{address!r} is no file system: webhdfs://HOST:PORT/FOLDER, swebhdfs://HOST:PORT/FOLDER, "
            "hdfs://HOST:PORT/FOLDER"
        )
    return FileSystemAddress(found[1], _hosts(found[2], address), found[3] or _DEFAULT_FOLDER)


def _hosts(listed: str, given: str) -> tuple[str, ...]:
    hosts = tuple(listed.split(","))
    for host in hosts:
        found = re.fullmatch(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):([0-9]{1,5})", host)
        if found is None or not 0 < int(found[1]) <= _LARGEST_PORT:
            raise InvalidConfiguration(f"{host!r} in {given!r} is no HOST:PORT")
    return hosts


def open_file_system(
    address: str, runtime: Runtime, options: FileSystemOptions | None = None, looks_only: bool = False
) -> FileSystem:
    """The adapter for `address`; nothing is sent yet. `looks_only`: nothing is changed through it, not even to find out
    which of several NameNodes is active. InvalidConfiguration for an address that cannot be one, or one whose optional
    package is not installed."""
    options = options or FileSystemOptions()
    parts = parse_address(address)
    if not parts.scheme:
        return LocalFileSystem(parts.folder, runtime)
    if parts.scheme in ("webhdfs", ENCRYPTED):
        encrypted = parts.scheme == ENCRYPTED
        http = _carrier(runtime, "webhdfs.sign_in", options.webhdfs.sign_in, encrypted, options.webhdfs.ca)
        return WebHdfsFileSystem(
            runtime, parts.hosts, parts.folder, http, options.webhdfs,
            on_close=http.close, encrypted=encrypted, looks_only=looks_only,
        )  # fmt: skip
    # Late, because its package is optional.
    from hbtable.fs.hdfs.file_system import HdfsNativeFileSystem

    http = _carrier(runtime, "hdfs.sign_in", options.hdfs.sign_in)
    by_name = options.hdfs.sign_in != KERBEROS
    web = _web_namenodes(runtime, http, parts.hosts, options.hdfs.web_addresses, by_name)
    hosts = ",".join(parts.hosts)
    return HdfsNativeFileSystem(
        runtime, hosts, parts.folder, options.hdfs,
        count_copies=lambda path: count_copies(web, path), on_close=http.close, looks_only=looks_only,
    )  # fmt: skip


def close_file_system(fs: FileSystem) -> None:
    """Closes idle connections; to be called after the last call."""
    if isinstance(fs, ClosableFileSystem):
        fs.close()


def web_hosts(address: str, addresses: str) -> tuple[str, ...]:
    """The HTTP services of the NameNodes at the address of a file system. `addresses`: hdfs.web_addresses.
    InvalidConfiguration."""
    scheme, hosts, _ = parse_address(address)
    return hosts if scheme != "hdfs" else _web_hosts(hosts, addresses)


def _web_hosts(hosts: tuple[str, ...], addresses: str) -> tuple[str, ...]:
    if addresses:
        return _hosts(addresses, f"hdfs.web_addresses = {addresses}")
    return tuple(f"{host.rpartition(':')[0]}:{_WEB_PORT}" for host in hosts)


def _web_namenodes(
    runtime: Runtime, http: Http, hosts: tuple[str, ...], addresses: str, by_name: bool = True
) -> NameNodes:
    """The same NameNodes by HTTP. `by_name`: they believe the user's name."""
    web = _web_hosts(hosts, addresses)
    options = WebHdfsOptions(names_seconds=_WEB_SECONDS, failover_seconds=_WEB_SECONDS)
    identity = {"user.name": _hadoop_user()} if by_name else {}
    return NameNodes(runtime, ThreadCalls(runtime), http, web, options, identity)


def _hadoop_user() -> str:
    try:
        return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    except (KeyError, OSError):  # in a container the user may have no name
        return WebHdfsOptions.user


def _carrier(
    runtime: Runtime, option: str, sign_in: str, encrypted: bool = False, ca: str = ""
) -> "HttpConnections | PackageSession":
    """`option`: the one that says `sign_in`, for people."""
    tls = client_tls(ca) if encrypted else None
    if sign_in != KERBEROS:
        return HttpConnections(runtime.clock_seconds, tls)
    from hbtable.fs.webhdfs.package import kerberos_session

    return kerberos_session(option, encrypted, ca)
