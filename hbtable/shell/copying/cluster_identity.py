"""The cluster that a server belongs to, as the server tells it."""

from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ServerError


def cluster_identity(server: ShellConnection) -> frozenset[str]:
    """Texts by which a running cluster is known: servers of the same one have one of them in common. Empty when the
    server tells nothing.

    A copied data folder has the cluster id of the first one, so the servers of an hbtable cluster are told with it. Of
    HBase there is the id alone; both of its services have the call, in the same form."""
    try:
        cluster = str(server.hbase("getClusterId"))
    except ServerError:  # HBase 1 has no such call
        return frozenset()
    try:
        servers = server.admin("adminServers", [])
    except ServerError as error:
        # A class: an hbtable server that does not let this user ask. None: another server, which knows no such call.
        return frozenset() if error.java_class else frozenset((cluster,))
    return frozenset(f"{cluster} {one.host},{one.port},{one.started_millis}" for one in servers)
