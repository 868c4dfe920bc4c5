"""The ACLs of a cluster's nodes: only who knows its digest, a name and a password, reads and changes them.

ZooKeeper's ACLs are each node's own, and a child does not inherit its parent's: every node is made with one, and those
that were made without are found by a walk (protect). Above the root nodes stay as they are: other clusters may live
there. What no ACL keeps from a stranger: which nodes there are by name if he guesses it, and how large each is.
"""

from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple

from kazoo.exceptions import NoNodeError
from kazoo.security import ACL, ANYONE_ID_UNSAFE, Permissions, make_digest_acl

from hbtable.errors import InvalidConfiguration
from hbtable.lockservice.zookeeper.connection import NodeRefused, ZooKeeperConnection

SCHEME: Final = "digest"


class Digest(NamedTuple):
    """A name and a password, as ZooKeeper's scheme of this name has them."""

    name: str
    password: str


class Owner(Enum):
    """The side that decides over a node, by its ACL."""

    OURS = "ours"
    """Those alone who know a digest of this cluster."""
    SHARED = "shared"
    """Others than this cluster may change it, and so may this cluster."""
    OTHERS = "others"
    """Others alone: this cluster cannot make it its own."""


class NodeAccess:
    """The digests by which this process is known to ZooKeeper. New nodes are for the first alone, so that a digest can
    be replaced process by process; without `protects` they are for everybody."""

    def __init__(self, digests: Sequence[Digest] = (), protects: bool = True) -> None:
        self.credentials = [(SCHEME, f"{one.name}:{one.password}") for one in digests]
        self.acl: list[ACL] | None = None
        """Of a new node; None: it is everybody's."""
        self._ours = [make_digest_acl(one.name, one.password, all=True) for one in digests]
        if digests and protects:
            self.acl = self._ours[:1]

    def owner(self, acl: Sequence[ACL]) -> Owner:
        """The side that decides over a node with this ACL. What cannot be told counts as others'."""
        if len(acl) == 1 and acl[0] in self._ours:
            return Owner.OURS
        enough = [ANYONE_ID_UNSAFE, *(one.id for one in self._ours)]
        return Owner.SHARED if any(one.perms & Permissions.ADMIN and one.id in enough for one in acl) else Owner.OTHERS

    def check_root(self, root: str) -> None:
        """InvalidConfiguration for ZooKeeper's own root, of which all others would be shut out."""
        if self.acl and not root:
            raise InvalidConfiguration("nodes can be protected only below a cluster.root of their own, other than /")


class FoundNode(NamedTuple):
    """A node that is there."""

    below: str
    """Its name behind the cluster's root: "", "/cluster", "/servers+/..."."""
    owner: Owner
    ends_with_session: bool = False
    """As a lock does; a file stays. Not known of others' nodes."""


class Protected(NamedTuple):
    """Nodes that were not for those alone who know the digest."""

    changed: list[str]
    """They are now."""
    refused: list[str]
    """They are others', and stay so."""


def look_at(
    connection: ZooKeeperConnection, by: float, access: NodeAccess, root: str, below: str
) -> tuple[FoundNode | None, list[str]]:
    """The node, and its children that can be listed. Blocks. Doubtful, Unavailable, LockLost."""
    node = f"{root}{below}"
    children: list[str] = []
    try:
        acl, stat = connection.call(by, lambda client: client.get_acls_async(node), node)
        if stat.numChildren:
            with suppress(NodeRefused):
                children = connection.call(by, lambda client: client.get_children_async(node), node)
    except NoNodeError:
        return None, []
    except NodeRefused:  # from ZooKeeper 3.5.5 on who may neither read nor change it does not see its ACL
        return FoundNode(below, Owner.OTHERS), []
    return FoundNode(below, access.owner(acl), stat.ephemeralOwner != 0), [f"{below}/{child}" for child in children]


def protect(connection: ZooKeeperConnection, by: float, node: str, acl: list[ACL]) -> tuple[Protected, list[str]]:
    """Gives the node this ACL, if it had another; and its children's nodes. Blocks. Doubtful, Unavailable, LockLost."""
    changed: list[str] = []
    try:
        try:
            found, _ = connection.call(by, lambda client: client.get_acls_async(node), node)
            if found != acl:
                connection.call(by, lambda client: client.set_acls_async(node, acl), node)
                changed.append(node)
            children: list[str] = connection.call(by, lambda client: client.get_children_async(node), node)
        except NodeRefused:
            return Protected([], [node]), []
    except NoNodeError:
        return Protected([], []), []
    return Protected(changed, []), [f"{node}/{child}" for child in children]
