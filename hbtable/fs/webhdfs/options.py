"""Options of the WebHDFS adapter: how long it waits, how many copies it asks for, and its user's name."""

from dataclasses import dataclass, field

from hbtable.errors import InvalidConfiguration

SIMPLE = "simple"
KERBEROS = "kerberos"
TOKEN = "token"  # noqa: S105  a kind of signing in, not a secret


@dataclass(frozen=True)
class WebHdfsOptions:
    """Seconds are virtual under simulation."""

    user: str = "root"
    """The name requests are made under, with `sign_in` "simple"."""

    sign_in: str = SIMPLE
    """simple: by name alone, which protects nothing. token: a delegation token. kerberos: the process's ticket, of
    kinit or of the keytab in $KRB5_CLIENT_KTNAME, for each request to a NameNode (pip install 'hbtable[kerberos]')."""

    delegation_token: str = field(default="", repr=False, metadata={"secret": True})
    """For `sign_in` "token". Ends up in request lines, hence in the servers' logs."""

    ca: str = ""
    """For addresses swebhdfs://: PEM file with the certificate of the CA that signed those of NameNodes and DataNodes.
    Empty: the CAs of this machine."""

    replication: int = 3
    """Copies of every file but logs. More: safer and dearer."""

    log_replication: int = 0
    """Copies of log files (below logs/). 0: 2 where there are at most 3 DataNodes, else `replication`. With as many
    copies as DataNodes, one that is frozen stops every log until the NameNode leaves it out."""

    synced_blocks: bool = True
    """DataNodes bring blocks to their disks before they answer. False: acknowledged means in their memory."""

    names_seconds: float = 5.0
    """For one request that the NameNode answers alone. More: a NameNode that hangs is noticed later."""

    failover_seconds: float = 20.0
    """The time for which NameNodes are tried in turn while none answers or none is active. More: errors come later."""

    put_seconds: float = 10.0
    """For the content of a small file; one second more for every 4 MB. HDFS itself would wait 75 s and longer for a
    frozen DataNode. More: such a put occupies its thread longer."""

    read_seconds: float = 5.0
    """For one ranged read; one second more for every 4 MB."""

    read_tries: int = 4
    """Each leaves out the DataNode of the last."""

    buffer_bytes: int = 4 << 20
    """The part of an open file that stays in memory; beyond it the file moves to a nameless one in the local folder for
    temporary files. A file of any size needs that much room there until its sync."""

    def __post_init__(self) -> None:
        if self.sign_in not in (SIMPLE, KERBEROS, TOKEN):
            raise InvalidConfiguration(f"sign_in is {self.sign_in!r}; it must be simple, token or kerberos")
        if self.replication < 1 or self.read_tries < 1:
            raise InvalidConfiguration("replication and read_tries are at least 1")
