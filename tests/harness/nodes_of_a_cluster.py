"""The nodes that a cluster makes in ZooKeeper, by their names behind its root."""

import re
from typing import Final

LOCKS: Final = ("/master", "/masters+/0x1", "/servers+/00000001-a.lock", "/unreachable+/00000001-a_master")
"""They end with their session."""
_FOLDERS: Final = ("", "/access+", "/identifiers+", "/masters+", "/servers+", "/suspects+", "/unreachable+")
_FILES: Final = (
    *("/cluster", "/incarnations", "/root-tablet", "/state-number", "/users", "/withdrawals"),
    *("/balancer", "/normalizer", "/splits", "/merges"),
    *("/access+/grants", "/access+/positions", "/access+/quotas"),
    *("/identifiers+/scanner", "/identifiers+/table", "/identifiers+/tablet"),
    *("/servers+/00000001-a", "/suspects+/requests"),
)
NODES: Final = (*_FOLDERS, *_FILES, *LOCKS)


def kind_of(below: str) -> str:
    """The one of NODES that this node is like."""
    for folder, like in (("/masters+/", LOCKS[1]), ("/unreachable+/", LOCKS[3])):
        if below.startswith(folder):
            return like
    return re.sub(r"^/servers\+/[^.]+(?=$|\.lock$)", "/servers+/00000001-a", below)
