"""Options of the native adapter: how long it waits for HDFS, and how many copies it asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from hbtable.errors import InvalidConfiguration

CLIENT_SETTINGS: Final = MappingProxyType(
    {
        # Ends the setting up of a pipeline and the read of a silent DataNode; without it both hang for ever. It does
        # not end a hanging hsync: nothing does.
        "dfs.client.socket-timeout": "2000",
        # A NameNode that is away answers within 3 s; by default calls are repeated for minutes.
        "dfs.client.failover.max.attempts": "4",
        "dfs.client.failover.sleep.base.millis": "100",
        "dfs.client.failover.sleep.max.millis": "1000",
        # A DataNode that died is replaced in the pipelines through it, where HDFS has another one. By default a file of
        # two copies goes on with one, and nobody hears of it.
        "dfs.client.block.write.replace-datanode-on-failure.policy": "ALWAYS",
        # Without another one the file goes on with the copies that are left, instead of not at all.
        "dfs.client.block.write.replace-datanode-on-failure.best-effort": "true",
        # DataNodes announce a name; the address they are bound to may be one of another network.
        "dfs.client.use.datanode.hostname": "true",
    }
)

_SIGN_IN: Final = ("simple", "kerberos")


@dataclass(frozen=True)
class HdfsNativeOptions:
    """Seconds are virtual under simulation. Deadlines grow by a second for every 20 MB that are moved."""

    replication: int = 3
    """Copies of every file but logs. More: safer, dearer, and on a small cluster every file has a copy on the DataNode
    that is frozen."""

    log_replication: int = 2
    """Copies of log files (below logs/). More: a commit waits for more DataNodes; with as many copies as DataNodes one
    that is frozen stops every log until the NameNode leaves it out. 3 on clusters of more than 3 DataNodes."""

    log_sync_seconds: float = 1.0
    """After which a commit's sync is given up, and the file with it. More: longer stalls when a DataNode dies. Less:
    files are given up because of a garbage collection."""

    file_sync_seconds: float = 10.0
    """The same for every other file."""

    put_seconds: float = 2.0
    """For a whole small file; completing one takes half a second in 5 of 100 cases. More: longer stalls, as above."""

    put_give_up_seconds: float = 30.0
    """write_file tries other DataNodes for so long. More: sits out longer failures, in which its caller waits."""

    names_seconds: float = 10.0
    """For what the NameNode answers alone. More: a NameNode that is away is noticed later."""

    read_seconds: float = 1.0
    """For one read; the second try has twice this, and so on. More: longer stalls when a DataNode freezes."""

    read_tries: int = 4
    """Each asks the NameNode anew where the blocks are, so it may come to another copy."""

    seal_seconds: float = 60.0
    """Until a file that cannot be taken from its writer is Unavailable. About 11 s are needed when a DataNode of its
    pipeline is dead."""

    buffer_bytes: int = 4 << 20
    """Appends beyond this are sent on before the sync. More: more memory for each file being written."""

    web_addresses: str = ""
    """HOST:PORT of the NameNodes' HTTP service, several joined by commas: there hbtable asks how many copies a log has,
    which hdfs-native cannot tell. Empty: port 9870 of the hosts in the address."""

    sign_in: str = "simple"
    """simple: by name alone, which protects nothing. kerberos: the process's ticket, of kinit or of the keytab in
    $KRB5_CLIENT_KTNAME (pip install 'hbtable[kerberos]'); block tokens with SASL for the DataNodes. Whether what passes
    has checksums or is encrypted is what the servers demand (hadoop.rpc.protection, dfs.data.transfer.protection)."""

    client_settings: Mapping[str, str] = field(default_factory=lambda: CLIENT_SETTINGS)
    """Hadoop's client settings by name."""

    def __post_init__(self) -> None:
        if min(self.replication, self.log_replication, self.read_tries) < 1:
            raise InvalidConfiguration("replication, log_replication and read_tries are at least 1")
        if self.sign_in not in _SIGN_IN:
            raise InvalidConfiguration(f"hdfs.sign_in is {self.sign_in!r}; it must be {' or '.join(_SIGN_IN)}")

    def settings(self) -> dict[str, str]:
        """Hadoop's client settings by name."""
        if self.sign_in == "simple":
            return dict(self.client_settings)
        return {
            **self.client_settings,
            "hadoop.security.authentication": "kerberos",
            # Any value: hdfs-native then speaks SASL to DataNodes, and takes the layer that they demand.
            "dfs.data.transfer.protection": "authentication",
        }
