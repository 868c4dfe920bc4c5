"""The key by which a role proves itself to others, as the section [cluster] of the configuration says."""

import logging
from typing import Final

from hbtable.access.cluster_key_file import read_cluster_keys
from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration, UnsupportedFormat
from hbtable.launch.config.cluster_configuration import ClusterOptions
from hbtable.rpc.connections import RpcConnectionPool, RpcOptions, Unproved, Unsent
from hbtable.rpc.proof import ClusterKey
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network import sockets
from hbtable.switches import switches

log: Final = logging.getLogger(__name__)


def cluster_key(options: ClusterOptions, cluster_id: str) -> ClusterKey | None:
    """None when there is none. InvalidConfiguration."""
    if not options.key:
        return None
    return ClusterKey(read_cluster_keys(options.key), cluster_id, options.key_required)


def warn_of_key(options: ClusterOptions, auth: AuthOptions) -> None:
    """Logs that whoever reaches the port between roles can claim to be any user, if users are asked who they are."""
    if auth.enabled and not (options.key and options.key_required):
        missing = "cluster.key_required is false" if options.key else "cluster.key is not set"
        log.warning(
            "auth.enabled is set, and %s: whoever reaches the port for the other roles can call for any user", missing
        )


@switches
def check_key(runtime: Runtime, master_address: str | None, options: RpcOptions, key: ClusterKey | None) -> None:
    """*Switches.* InvalidConfiguration when the master and this role do not believe each other: this one would
    be a role that nobody calls. Where there is no master, or it does not answer, nothing can be said."""
    if not master_address:
        return
    pool = RpcConnectionPool(runtime, master_address, options, sockets.connect, key)
    try:
        connection, _ = pool.take(runtime.clock_seconds() + options.census_seconds, lambda: True)
        pool.drop(connection)
    except Unproved as error:
        raise InvalidConfiguration(f"the master at {master_address} and this role do not come together: {error}") from (
            error
        )
    except (Unsent, UnsupportedFormat):
        pass
    finally:
        pool.close()
