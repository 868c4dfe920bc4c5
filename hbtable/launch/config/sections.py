"""The sections of the single server's configuration: the Options dataclass that each fills, and what they make up.

The roles of a cluster have most of the same sections (cluster_configuration.py).
"""

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hbtable.access.options import AuthOptions
from hbtable.commitlog.options import LogOptions
from hbtable.fs.ballast import BallastOptions
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.launch.config.configuration import Configuration, home_of, load
from hbtable.launch.config.memory import MemoryOptions, check_fits, of_machine, shrunk
from hbtable.launch.embedded_cluster import EmbeddedOptions
from hbtable.master.files.collector import CollectorOptions
from hbtable.master.master import MasterOptions
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.runtime.network.tls import TlsOptions
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.role import TabletServerOptions


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The process: where it keeps things and where it listens."""

    data: str = ""
    """Folder of everything durable. Empty: $XDG_DATA_HOME/hbtable, or ~/.local/share/hbtable."""
    host: str = "127.0.0.1"
    """Address to listen on. Anything but loopback needs auth.enabled and tls.certificate, or --insecure on the command
    line."""
    port: int = 9090
    """Thrift port, HBase's own. 0: any free one."""
    http_port: int = 0
    """Port of /metrics, /livez, /readyz and /slow, on the same address. 0: none. With auth.enabled /metrics and
    /slow are for users."""

    def overridden(self, data: str | None, host: str | None, port: int | None) -> "ServerOptions":
        """The options with what the command line said; None: it said nothing."""
        return ServerOptions(data or self.data, host or self.host, self.port if port is None else port, self.http_port)

    def folder(self, environment: Mapping[str, str]) -> str:
        if self.data:
            return os.path.abspath(os.path.expanduser(self.data))
        folder = environment.get("XDG_DATA_HOME") or os.path.join(home_of(environment), ".local", "share")
        return os.path.join(folder, "hbtable")


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """Memory for what was read."""

    block_cache_bytes: int = 1 << 30
    """Blocks of SSTables. The default is 15 % of memory.limit_bytes, and at most this. Larger: fewer reads from the
    file system, more memory."""


ROLE_SECTIONS: Final[dict[str, type]] = {
    "thrift": ThriftGatewayOptions,
    "tls": TlsOptions,
    "auth": AuthOptions,
    "log": LogOptions,
    "tablet": TabletOptions,
    "maintenance": MaintenanceOptions,
    "cache": CacheOptions,
    "memory": MemoryOptions,
    "master": MasterOptions,
    "garbage": CollectorOptions,
    "normalizer": NormalizerOptions,
}
"""Those of a master and of a tablet server, in one process or in many."""

SECTIONS: Final[dict[str, type]] = {"server": ServerOptions, "disk": BallastOptions, **ROLE_SECTIONS}
"""Those of the single server."""

CLUSTER_ALONE: Final = (
    "cluster",
    "listen",
    "session",
    "hdfs",
    "webhdfs",
    "rpc",
    "rpc_server",
    "reachability",
    "gateway",
)
"""Sections that only a cluster's roles have."""
SERVER_ALONE: Final = ("server", "disk")
"""Sections that only the single server has."""


def read_configuration(
    path: str | None, environment: Mapping[str, str], overrides: Sequence[str] = ()
) -> Configuration:
    """InvalidConfiguration with a message, also for values that contradict each other."""
    configuration = within_memory(load(SECTIONS, path, environment, overrides, elsewhere=CLUSTER_ALONE), SECTIONS)
    configuration.check()
    return configuration


def within_memory(configuration: Configuration, sections: Collection[str]) -> Configuration:
    """The configuration with defaults that fit into the memory there is. InvalidConfiguration when a limit was set, and
    what was set beside it does not fit."""
    memory = configuration.options("memory", MemoryOptions)
    limit_bytes = memory.limit(of_machine())
    fitting = configuration.with_defaults(shrunk(limit_bytes, configuration.value, sections))
    if memory.limit_bytes:
        check_fits(limit_bytes, fitting.value, sections)
    return fitting


def tabletserver_options(configuration: Configuration) -> TabletServerOptions:
    """Options of a tablet server's parts, in a process of its own or in the single server."""
    return TabletServerOptions(
        block_cache_bytes=configuration.options("cache", CacheOptions).block_cache_bytes,
        log=configuration.options("log", LogOptions),
        tablet=configuration.options("tablet", TabletOptions),
        maintenance=configuration.options("maintenance", MaintenanceOptions),
    )


def servers_options(configuration: Configuration) -> TabletServerOptions:
    """Options of one of several tablet servers of the same data folder."""
    return replace(tabletserver_options(configuration), shares_folder=True)


def normalizer_options(configuration: Configuration) -> NormalizerOptions:
    """Options of the master's normalizer: a merge must not make a tablet that is split at once."""
    maintenance = configuration.options("maintenance", MaintenanceOptions)
    busy = maintenance.hot_split_requests if maintenance.hot_split_share else math.inf
    options = configuration.options("normalizer", NormalizerOptions)
    return replace(options, split_bytes=maintenance.split_bytes or None, busy_requests=busy)


def embedded_options(configuration: Configuration) -> EmbeddedOptions:
    """Options of the single server's roles."""
    return EmbeddedOptions(
        server=tabletserver_options(configuration),
        master=configuration.options("master", MasterOptions),
        disk=configuration.options("disk", BallastOptions),
        collector=configuration.options("garbage", CollectorOptions),
        normalizer=normalizer_options(configuration),
    )
