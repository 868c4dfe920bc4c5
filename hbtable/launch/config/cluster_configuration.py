"""The configuration of a cluster's roles: one file for all of them, conf/cluster.toml, and what it fills.

Ports differ between processes of one machine, so the command line overrides them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from hbtable.errors import InvalidConfiguration, InvalidRequest
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.opened import parse_address
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.launch.config.configuration import Configuration, Defaults, load
from hbtable.launch.config.example_configuration import example
from hbtable.launch.config.sections import ROLE_SECTIONS, SERVER_ALONE, within_memory
from hbtable.launch.roles.leaving import LeavingOptions
from hbtable.lockservice.zookeeper.nodes import check_root
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.lockservice.zookeeper.wire import parse_hosts
from hbtable.master.files.collector import CollectorOptions
from hbtable.master.master import MasterOptions
from hbtable.reachability.options import ReachabilityOptions
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.thrift_server import RpcServerOptions
from hbtable.tablet.options import TabletOptions

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
    """Options: the three addresses that make a cluster, and its key. All its roles must be given the same."""

    zookeeper: str = "127.0.0.1:2181"
    """ZooKeeper servers, HOST:PORT,HOST:PORT,..."""
    root: str = "/hbtable"
    """The node of ZooKeeper below which all of this cluster lives. Another one is another cluster."""
    files: str = "hdfs://127.0.0.1:8020/hbtable"
    """The folder of HDFS below which all of this cluster lives: hdfs://HOST:PORT/FOLDER with the NameNode's RPC port
    (hdfs-native is needed: pip install 'hbtable[native]'), 15 to 30 times faster, or webhdfs://HOST:PORT/FOLDER with
    its web port, wherever only HTTP reaches, and swebhdfs:// where that is HTTPS. Which of hdfs:// and the other two it
    is decides how logs are written, so it cannot be changed once the cluster was started."""
    key: str = ""
    """The file with the key by which roles prove to each other that they are of this cluster (`hbtable cluster-key`
    makes it), which other users of this machine may not read. Empty: whoever reaches the ports between roles may call,
    and say for which user."""
    key_required: bool = True
    """Roles without the key are refused. false lets them pass, for as long as some roles were not given it yet."""
    zookeeper_digest: str = ""
    """The file with a line NAME:PASSWORD, made up for this cluster, which other users of this machine may not read.
    Only who knows it reads and changes the cluster's nodes of ZooKeeper. Empty: everybody who reaches ZooKeeper."""
    zookeeper_protected: bool = True
    """New nodes are for those alone who know the digest, and so are all others after a master's start. false leaves
    them to everybody, for as long as some roles were not given the digest yet."""


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Options: the address at which a role listens."""

    host: str = "127.0.0.1"
    """Address to listen on. Anything but loopback needs auth.enabled, tls.certificate and cluster.key, or --insecure on
    the command line."""
    announce: str = ""
    """Name or address by which other roles and HBase clients reach this one. Empty: host."""
    thrift_port: int = 9090
    """A tablet server's port for clients, HBase's own. 0: any free one."""
    tabletserver_port: int = 9095
    """A tablet server's port for the other roles. 0: any free one."""
    master_port: int = 9096
    """A master's port for the other roles. 0: any free one."""
    http_port: int = 0
    """Port of /metrics, /livez, /readyz and /slow. 0: none. With auth.enabled /metrics and /slow are for users."""

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
    "rpc_server": RpcServerOptions,
    "reachability": ReachabilityOptions,
    "gateway": LeavingOptions,
    **ROLE_SECTIONS,
}


CLUSTER_DEFAULTS: Final[Defaults] = {
    # Segments are not divided when a dead server's log is sorted: 64 MiB of log in one would be sorted by one survivor.
    ("log", "segment_bytes"): 16 << 20,
    ("master", "suspended_seconds"): 0.0,
    # HDFS has room, and an operator there has use for what was deleted by mistake.
    ("garbage", "trash_bytes"): 0,
}
"""Defaults of a cluster's roles that differ from those of the single server."""


def read_cluster_configuration(
    path: str | None, environment: Mapping[str, str], overrides: Sequence[str] = ()
) -> Configuration:
    """InvalidConfiguration with a message, also for values that contradict each other."""
    loaded = load(CLUSTER_SECTIONS, path, environment, overrides, CLUSTER_DEFAULTS, SERVER_ALONE)
    configuration = within_memory(loaded, CLUSTER_SECTIONS)
    configuration.check()
    _check_addresses(configuration.options("cluster", ClusterOptions))
    _refuse_contradictions(configuration)
    return configuration


def example_file() -> str:
    """The text of conf/cluster.toml."""
    return example(CLUSTER_SECTIONS, HEAD, CLUSTER_DEFAULTS)


@contextmanager
def _named(key: str, value: str) -> Iterator[None]:
    """Errors say which key they are about."""
    try:
        yield
    except (InvalidRequest, InvalidConfiguration) as error:
        raise InvalidConfiguration(f"cluster.{key} = {value!r}: {error}") from error


def _check_addresses(cluster: ClusterOptions) -> None:
    """Before anything is connected to."""
    with _named("zookeeper", cluster.zookeeper):
        parse_hosts(cluster.zookeeper)
    with _named("root", cluster.root):
        check_root(cluster.root)
    with _named("files", cluster.files):
        address = parse_address(cluster.files)
    if not address.scheme:
        raise InvalidConfiguration(
            f"cluster.files = {cluster.files!r} is a folder of this machine, where nobody could bring a dead server's "
            "log to its end: give hdfs://HOST:PORT/FOLDER or webhdfs://HOST:PORT/FOLDER, or run `hbtable start`"
        )


def _refuse_contradictions(configuration: Configuration) -> None:
    """Refuses values of different sections that contradict each other."""
    session = configuration.options("session", ZooKeeperOptions)
    marker_seconds = configuration.options("garbage", CollectorOptions).marker_seconds
    if marker_seconds <= session.session_seconds:
        raise InvalidConfiguration(
            f"garbage.marker_seconds = {marker_seconds:g} is not above session.session_seconds = "
            f"{session.session_seconds:g}: a server that was held up must find the marker that says it is dead"
        )
    write_seconds = configuration.options("rpc", RpcOptions).write_seconds
    wait_seconds = configuration.options("tablet", TabletOptions).write_wait_seconds
    if write_seconds <= wait_seconds:
        raise InvalidConfiguration(
            f"rpc.write_seconds = {write_seconds:g} is not above tablet.write_wait_seconds = {wait_seconds:g}: callers "
            "would give up, with an unknown outcome, before a tablet server says that it is busy"
        )


def master_options(configuration: Configuration, session_seconds: float) -> MasterOptions:
    """Options of the master, whose session was granted for so long."""
    options = configuration.options("master", MasterOptions)
    if options.suspended_seconds:
        return options
    return replace(options, suspended_seconds=session_seconds / 2)
