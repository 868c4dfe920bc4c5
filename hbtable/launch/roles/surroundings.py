"""A starting role asks the servers of ZooKeeper and HDFS how they are set up, for safety_warnings.py.

Nothing here keeps a role from starting: who does not answer within five seconds, refuses, or says what cannot be read
is passed over.
"""

import contextlib
import json
import logging
import socket
import ssl
from collections.abc import Sequence
from typing import Any, Final

from hbtable.commitlog.options import LogOptions
from hbtable.fs.opened import ENCRYPTED, FileSystemOptions, parse_address, web_hosts
from hbtable.fs.webhdfs.encryption import client_tls
from hbtable.launch.roles.safety_warnings import ClusterSurroundings, warnings
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)

_ZOOKEEPER_PORT: Final = 2181
_SECONDS: Final = 5.0
_MOST_BYTES: Final = 4 << 20
_MOST_ASKED: Final = 16
"""DataNodes; of thousands some are asked."""
_JMX: Final = "/jmx?qry=Hadoop:service=NameNode,name="


@switches
def warn_of_surroundings(
    runtime: Runtime, zookeeper: str, files: str, options: FileSystemOptions, log_options: LogOptions
) -> None:
    """Logs a warning for each danger. *Switches.*"""
    found = runtime.offload("start", surroundings, zookeeper, files, options, log_options)
    for warning in warnings(found):
        log.warning("%s", warning)


def surroundings(
    zookeeper: str, files: str, options: FileSystemOptions, log_options: LogOptions
) -> ClusterSurroundings:
    """Blocks for some seconds at most where nobody answers."""
    hosts = tuple(zookeeper.split(","))
    modes = tuple(mode for mode in map(_mode, hosts) if mode)
    scheme, _, _ = parse_address(files)
    if not scheme:
        return ClusterSurroundings(hosts, modes)
    asked = options.hdfs if scheme == "hdfs" else options.webhdfs
    web = web_hosts(files, options.hdfs.web_addresses)
    tls = client_tls(options.webhdfs.ca) if scheme == ENCRYPTED else None
    name_nodes = [one for one in web if _bean(one, "FSNamesystemState", tls) is not None]
    datanodes = avoids = pipeline_seconds = None
    for one in name_nodes:
        state = _bean(one, "NameNodeInfo", tls) or {}
        living = _living(state, "infoAddr" if tls is None else "infoSecureAddr")
        if living is None:
            continue
        datanodes = len(living)
        avoids = _flag(_setting(one, "dfs.namenode.avoid.write.stale.datanode", tls))
        limits = [_millis(_setting(each, "dfs.client.socket-timeout", tls)) for each in living[:_MOST_ASKED]]
        pipeline_seconds = min((limit / 1000 for limit in limits if limit), default=None)
        if datanodes:
            break  # of two NameNodes a standby may know as much
    return ClusterSurroundings(
        hosts,
        modes,
        "hdfs" if scheme == "hdfs" else "webhdfs",
        asked.replication,
        asked.log_replication,
        datanodes,
        avoids,
        pipeline_seconds,
        log_options.rest_check_seconds,
    )


def _mode(host: str) -> str:
    """Nothing where it does not say."""
    answer = _exchange(host if ":" in host else f"{host}:{_ZOOKEEPER_PORT}", b"srvr")
    for line in answer.decode("utf-8", "replace").splitlines():
        if line.startswith("Mode: "):
            return line.removeprefix("Mode: ").strip()
    return ""


def _bean(host: str, name: str, tls: ssl.SSLContext | None) -> dict[str, Any] | None:
    """Of a NameNode, by its HTTP service."""
    found = _json(host, _JMX + name, tls)
    beans = found.get("beans") if found is not None else None
    return beans[0] if isinstance(beans, list) and beans and isinstance(beans[0], dict) else None


def _living(info: dict[str, Any], field: str) -> list[str] | None:
    """HOST:PORT of the HTTP services of the DataNodes that live."""
    try:
        nodes = json.loads(info["LiveNodes"])
        return [str(node[field]) for node in nodes.values()]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _setting(host: str, name: str, tls: ssl.SSLContext | None) -> str:
    """Of a server's own configuration; "": it does not say."""
    found = _json(host, f"/conf?format=json&name={name}", tls)
    prop = found.get("property") if found is not None else None
    value = prop.get("value") if isinstance(prop, dict) else None
    return value if isinstance(value, str) else ""


def _flag(value: str) -> bool | None:
    return {"true": True, "false": False}.get(value.lower())


def _millis(value: str) -> int:
    return int(value) if value.isdigit() else 0


def _json(host: str, path: str, tls: ssl.SSLContext | None) -> dict[str, Any] | None:
    question = f"GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n".encode()
    head, _, body = _exchange(host, question, tls).partition(b"\r\n\r\n")
    status: Sequence[bytes] = head.split(b" ", 2)
    if len(status) < 2 or status[1] != b"200":
        return None
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _exchange(address: str, question: bytes, tls: ssl.SSLContext | None = None) -> bytes:
    """All that comes back until the other side closes; b"": nothing did. Blocks."""
    host, _, port = address.rpartition(":")
    host, answer = host.strip("[]"), b""
    try:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection((host, int(port)), _SECONDS))
            if tls is not None:
                connection = stack.enter_context(tls.wrap_socket(connection, server_hostname=host))
            connection.sendall(question)
            while len(answer) < _MOST_BYTES and (piece := connection.recv(65536)):
                answer += piece
    except (OSError, ValueError) as error:
        log.debug("%s did not say how it is set up: %s", address, error)
    return answer
