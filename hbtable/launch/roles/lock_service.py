"""The lock service of a cluster, as its configuration names it: the servers, the root, and the digest for its nodes."""

import os
from typing import Final

from hbtable.errors import InvalidConfiguration
from hbtable.launch.config.cluster_configuration import ClusterOptions
from hbtable.launch.config.configuration import Configuration
from hbtable.lockservice.zookeeper.access import Digest, NodeAccess
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.runtime.interface import Runtime
from hbtable.runtime.private_files import check_private

_LARGEST_BYTES: Final = 1 << 16


def lock_service(runtime: Runtime, configuration: Configuration) -> ZooKeeperLockService:
    """InvalidConfiguration."""
    cluster = configuration.options("cluster", ClusterOptions)
    options = configuration.options("session", ZooKeeperOptions)
    digests = read_digests(cluster.zookeeper_digest) if cluster.zookeeper_digest else []
    access = NodeAccess(digests, cluster.zookeeper_protected)
    return ZooKeeperLockService(runtime, cluster.zookeeper, cluster.root, options, access)


def read_digests(path: str) -> list[Digest]:
    """One at least. InvalidConfiguration, which never shows a password."""
    where = f"cluster.zookeeper_digest = {path!r}"
    try:
        with open(path, "rb") as file:
            check_private(path, os.fstat(file.fileno()), f"{where}, a password")
            data = file.read(_LARGEST_BYTES)
    except OSError as error:
        raise InvalidConfiguration(f"{where} cannot be read: {error.strerror}") from error
    lines = [(number, line) for number, line in enumerate(data.decode("latin-1").splitlines(), 1) if line.strip()]
    if not lines:
        raise InvalidConfiguration(f"{where} is empty: a line NAME:PASSWORD is due")
    return [_digest(line.strip(), f"{where}, line {number}") for number, line in lines]


def _digest(line: str, where: str) -> Digest:
    name, _, password = line.partition(":")
    if not name or not password or not line.isascii() or not line.isprintable() or " " in line:
        raise InvalidConfiguration(f"{where}: NAME:PASSWORD is due, in ASCII and without spaces")
    return Digest(name, password)
