"""The configuration of a cluster's roles: one file for all of them, conf/cluster.toml, and what it fills.

Ports differ between processes of one machine, so the command line overrides them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hbtable.commitlog.options import LogOptions
from hbtable.errors import InvalidConfiguration
from hbtable.fs.hdfs_native_options import HdfsNativeOptions
from hbtable.fs.webhdfs_options import WebHdfsOptions
from hbtable.hbase.server import FrontDoorOptions
from hbtable.launch.configuration import Configuration, load
from hbtable.launch.sections import CacheOptions
from hbtable.lockservice.zookeeper import ZooKeeperOptions
from hbtable.master.collector import CollectorOptions
from hbtable.master.master import MasterOptions
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.thrift_server import ThriftServerOptions
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.role import TabletServerOptions

HEAD: Final = """\
# The configuration of a cluster's roles, `hbtable master` and `hbtable tabletserver`: every key with its default.
# One file serves all of them. `hbtable config --cluster --config FILE` prints what is in effect, and where from.
#
# A key is overridden by the environment (HBTABLE_CLUSTER__FILES=...), by -D cluster.files=..., and ports by --port,
# --rpc-port and --http-port, in that order. Sizes may be written "64 MiB", times "250 ms", "5s", "2h"; a bare number is
# in the unit its key ends in. An unknown key is an error, not ignored.
"""

_ANYWHERE: Final = ("0.0.0.0", "::", "")  # noqa: S104  refused as a name, not listened on


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which cluster: all its roles must be given the same three."""

    zookeeper: str = "127.0.0.1:2181"
    """ZooKeeper servers, HOST:PORT,HOST:PORT,..."""
    root: str = "/hbtable"
    """The node of ZooKeeper below which all of this cluster lives. Another one is another cluster."""
    files: str = "hdfs://127.0.0.1:8020/hbtable"
    """The folder of HDFS below which all of this cluster lives: hdfs://HOST:PORT/FOLDER with the NameNode's RPC port
    (hdfs-native is needed: pip install 'hbtable[native]'), 15 to 30 times faster, or webhdfs://HOST:PORT/FOLDER with
    its web port, wherever only HTTP reaches. Which of the two decides how logs are written, so it cannot be changed
    once the cluster was started."""


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Where a role listens."""

    host: str = "127.0.0.1"
    """Address to listen on. There is no access control: anything but loopback lets everybody who can connect in."""
    announce: str = ""
    """Name or address by which other roles and HBase clients reach this one. Empty: host."""
    thrift_port: int = 9090
    """A tablet server's port for clients, HBase's own. 0: any free one."""
    tabletserver_port: int = 9095
    """A tablet server's port for the other roles. 0: any free one."""
    master_port: int = 9096
    """A master's port for the other roles. 0: any free one."""
    http_port: int = 0
    """Port of /metrics, /livez, /readyz and /slow. 0: none."""

    def announced(self) -> str:
        """InvalidConfiguration when others could not reach this role by it."""
        name = self.announce or self.host
        if name in _ANYWHERE:
            raise InvalidConfiguration(
                f"listen.host = {self.host!r} says where to listen, not where others find this role: set "
                "listen.announce to this machine's name"
            )
        return name


CLUSTER_SECTIONS: Final[dict[str, type]] = {
    "cluster": ClusterOptions,
    "listen": ListenOptions,
    "session": ZooKeeperOptions,
    "hdfs": HdfsNativeOptions,
    "webhdfs": WebHdfsOptions,
    "rpc": RpcOptions,
    "rpc_server": ThriftServerOptions,
    "thrift": FrontDoorOptions,
    "log": LogOptions,
    "tablet": TabletOptions,
    "maintenance": MaintenanceOptions,
    "cache": CacheOptions,
    "master": MasterOptions,
    "garbage": CollectorOptions,
}


def read_cluster_configuration(
    path: str | None, environment: Mapping[str, str], overrides: Sequence[str] = ()
) -> Configuration:
    """InvalidConfiguration with a sentence."""
    return load(CLUSTER_SECTIONS, path, environment, overrides)


def tabletserver_options(configuration: Configuration) -> TabletServerOptions:
    """Options of the tablet server's own parts."""
    return TabletServerOptions(
        block_cache_bytes=configuration.options("cache", CacheOptions).block_cache_bytes,
        log=configuration.options("log", LogOptions),
        tablet=configuration.options("tablet", TabletOptions),
        maintenance=configuration.options("maintenance", MaintenanceOptions),
    )
