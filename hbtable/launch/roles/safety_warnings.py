"""Sentences about surroundings in which a cluster would run, and be less safe than its operator may believe. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

STANDALONE: Final = "standalone"
_STALE: Final = "dfs.namenode.avoid.write.stale.datanode"
_TIMEOUT: Final = "dfs.client.socket-timeout"


@dataclass(frozen=True)
class ClusterSurroundings:
    """A role's configuration, and what the servers themselves answered at its start. None: they did not say."""

    zookeeper: Sequence[str] = ()
    """HOST:PORT of each server that is configured."""
    zookeeper_modes: Sequence[str] = ()
    """Of those that answered: standalone, leader, follower, observer."""
    section: str = ""
    """Of the configuration that the file system goes by: hdfs or webhdfs. "": a folder of this machine."""
    replication: int = 3
    log_replication: int = 2
    """0: the file system chooses."""
    datanodes: int | None = None
    """Those that live."""
    avoids_stale: bool | None = None
    """The NameNode leaves DataNodes out of writes that it has not heard of for a while."""
    pipeline_seconds: float | None = None
    """The shortest time after which a DataNode gives an idle pipeline up."""
    rest_check_seconds: float = 0.0
    """The log's; 0: never."""


def warnings(here: ClusterSurroundings) -> Iterator[str]:
    """A sentence for each danger: the danger, the setting, the way out."""
    yield from _of_zookeeper(here.zookeeper, here.zookeeper_modes)
    if here.section:
        yield from _of_copies(here)
        if here.section == "hdfs":
            yield from _of_pipelines(here)


def _of_zookeeper(hosts: Sequence[str], modes: Sequence[str]) -> Iterator[str]:
    if STANDALONE in modes:
        yield (
            "ZooKeeper is one server by itself (its answer to srvr: standalone): when it is away for longer than a "
            "session nothing is served, and with its disk the cluster's locks are gone; run an ensemble of three"
        )
    elif len(hosts) == 1 and modes:
        yield (
            f"cluster.zookeeper names one server, {hosts[0]}, of an ensemble: while that one is away no role finds the "
            "others; name all of them, joined by commas"
        )


def _of_copies(here: ClusterSurroundings) -> Iterator[str]:
    section, log = here.section, here.log_replication
    if log == 1:
        yield (
            f"{section}.log_replication = 1: what was acknowledged is in the log of one DataNode alone, and lost with "
            "it; set 2 or more"
        )
    if here.replication == 1:
        yield f"{section}.replication = 1: tables have one copy, and are lost with one DataNode; set 3"
    wanted = max(log or 2, 2)
    if here.datanodes is not None and here.datanodes < wanted:
        yield (
            f"HDFS has {here.datanodes} DataNodes that live, and a log is to have {wanted} copies: what is "
            "acknowledged now has fewer; start more DataNodes"
        )


def _of_pipelines(here: ClusterSurroundings) -> Iterator[str]:
    if here.avoids_stale is False:
        yield (
            f"the NameNode's {_STALE} is false: beside a frozen DataNode new log files wait for it for minutes, and "
            "with them all writes; set it to true, with the settings that docs/hdfs.md names beside it"
        )
    limit, rest = here.pipeline_seconds, here.rest_check_seconds
    if limit is not None and (not rest or limit <= rest):
        checked = f"log.rest_check_seconds = {rest:g}" if rest else "log.rest_check_seconds = 0"
        yield (
            f"DataNodes give up an idle pipeline after {_TIMEOUT} of their own, {limit:g} s, and {checked} syncs it no "
            "sooner: logs at rest break again and again; set the first to 60000 on DataNodes, or the second to less"
        )
