"""The ACLs of a cluster's nodes: only who knows its digest, a name and a password, reads and changes them.

ZooKeeper's ACLs are each node's own, and a child does not inherit its parent's: every node is made with one, and those
that were made without are found by a walk (protect). Above the root nodes stay as they are: other clusters may live
there. What no ACL keeps from a stranger: which nodes there are by name if he guesses it, and how large each is.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kazoo.exceptions import NoNodeError
from kazoo.security import ACL, make_digest_acl

from hbtable.errors import InvalidConfiguration
from hbtable.lockservice.zookeeper.connection import ZooKeeperConnection

SCHEME: Final = "digest"


class Digest(NamedTuple):
    """A name and a password, as ZooKeeper's scheme of this name has them."""

    name: str
    password: str


class NodeAccess:
    """The digests by which this process is known to ZooKeeper. New nodes are for the first alone, so that a digest can
    be replaced process by process; without `protects` they are for everybody."""

    def __init__(self, digests: Sequence[Digest] = (), protects: bool = True) -> None:
        self.credentials = [(SCHEME, f"{one.name}:{one.password}") for one in digests]
        self.acl: list[ACL] | None = None
        """Of a new node; None: it is everybody's."""
        if digests and protects:
            self.acl = [make_digest_acl(digests[0].name, digests[0].password, all=True)]

    def check_root(self, root: str) -> None:
        """InvalidConfiguration for ZooKeeper's own root, of which all others would be shut out."""
        if self.acl and not root:
            raise InvalidConfiguration("nodes can be protected only below a cluster.root of their own, other than /")


def protect(connection: ZooKeeperConnection, by: float, node: str, acl: list[ACL]) -> tuple[bool, list[str]]:
    """Gives the node this ACL: whether it had another, and its children's nodes. Blocks. Doubtful, Unavailable,
    LockLost."""
    try:
        found, _ = connection.call(by, lambda client: client.get_acls_async(node))
        if found != acl:
            connection.call(by, lambda client: client.set_acls_async(node, acl))
        children: list[str] = connection.call(by, lambda client: client.get_children_async(node))
    except NoNodeError:
        return False, []
    return found != acl, [f"{node}/{child}" for child in children]
