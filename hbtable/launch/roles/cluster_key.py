"""The key by which a role proves itself to others, as the section [cluster] of the configuration says."""

from hbtable.access.cluster_key_file import read_cluster_keys
from hbtable.launch.config.cluster_configuration import ClusterOptions
from hbtable.rpc.proof import ClusterKey


def cluster_key(options: ClusterOptions, cluster_id: str) -> ClusterKey | None:
    """None when there is none. InvalidConfiguration."""
    if not options.key:
        return None
    return ClusterKey(read_cluster_keys(options.key), cluster_id, options.key_required)
