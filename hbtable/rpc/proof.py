"""The proof of two roles to each other that both have the cluster's key, which never crosses the network.

    caller   hello, with a challenge of 32 random bytes        server   its version, with a challenge of its own
    caller   prove (1: binary proof)                           server   binary proof

A proof is HMAC-SHA256 by the key over the side that it proves, the cluster's id, and both hellos: versions, builds and
challenges. So no proof serves on another connection, for the other side, or in another cluster, and nobody in between
made two newer peers speak an older version. The server shows a proof only to a caller that gave a right one.

From the answer on every frame has a tag (thrift/frame_tags.py) by a key of its direction, made in the same way.
Somebody in between who passes the proofs on can read calls, but cannot change, add, repeat or reorder them.
"""

import os
from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest, digest
from typing import Final, NamedTuple, final

from hbtable.rpc.codec.calls import Role, RpcMethod
from hbtable.rpc.declaration import CallTimeout
from hbtable.rpc.handshake import PeerVersion
from hbtable.thrift.frame_tags import FrameTags, TagPair
from hbtable.thrift.shapes import BINARY, Field

CHALLENGE_BYTES: Final = 32
PROVE: Final = RpcMethod(Role.PEER, "prove", (Field(1, "proof", BINARY),), BINARY, CallTimeout.REPORTS)

_CALLER: Final = "the caller's proof"
_SERVER: Final = "the server's proof"
_CALLS: Final = "tags of calls"
_ANSWERS: Final = "tags of answers"


class Hellos(NamedTuple):
    """Both hellos of one connection, of which each proof speaks."""

    cluster_id: str
    caller: PeerVersion
    server: PeerVersion

    def callers_proof(self, key: bytes) -> bytes:
        return self._of(_CALLER, key)

    def servers_proof(self, key: bytes) -> bytes:
        return self._of(_SERVER, key)

    def callers_tags(self, key: bytes) -> TagPair:
        return TagPair(FrameTags(self._of(_CALLS, key)), FrameTags(self._of(_ANSWERS, key)))

    def servers_tags(self, key: bytes) -> TagPair:
        return TagPair(FrameTags(self._of(_ANSWERS, key)), FrameTags(self._of(_CALLS, key)))

    def _of(self, what: str, key: bytes) -> bytes:
        parts = [what.encode(), self.cluster_id.encode("utf-8", "surrogatepass")]
        for side in (self.caller, self.server):
            parts += [b"%d.%d" % (side.major, side.minor), side.build.encode("utf-8", "surrogatepass"), side.challenge]
        return digest(key, b"".join(len(part).to_bytes(4, "big") + part for part in parts), sha256)


@final
class ClusterKey:
    """The keys of one cluster, as a role has them. It proves itself by the first and believes each of them, so that a
    key can be replaced role by role. `required`: peers that do not prove themselves are refused."""

    def __init__(self, keys: Sequence[bytes], cluster_id: str, required: bool = True) -> None:
        self.own = keys[0]
        self._keys = tuple(keys)
        self.cluster_id = cluster_id
        self.required = required

    def challenged(self, ours: PeerVersion) -> PeerVersion:
        """The hello with a challenge that was never given before."""
        return ours._replace(challenge=os.urandom(CHALLENGE_BYTES))

    def hellos(self, caller: PeerVersion, server: PeerVersion) -> Hellos:
        return Hellos(self.cluster_id, caller, server)

    def proved(self, hellos: Hellos, proof: bytes) -> bytes | None:
        """The key by which a caller made this proof; None when it is none of ours."""
        found = [key for key in self._keys if compare_digest(hellos.callers_proof(key), proof)]
        return found[0] if found else None
