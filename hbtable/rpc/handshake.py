"""The first call on a connection between roles: which protocol each side speaks.

    hello (1: i64 major, 2: i64 minor, 3: string build)   answered by the same of the server, or by an RpcError

Peers of the same major version work together: of two minor versions the lower one counts. Another major version is
refused by both sides, in a message that names both. `hello` itself never changes, and fields may be added to it.

    1.0   no hello: it is answered as a call that is not known, and everything goes on as without it
    1.1   after the hello every frame ends with a checksum (frames.py)

The hello itself has no checksum. A bit of it that changed on the way must not look like 1.0, or the connection would go
on without checksums: a server ends a connection whose first call is not known, and a caller takes a server for 1.0
only when it names `hello` as what it does not know (codec/calls.py, read_reply). A refusal for the version is believed
when it comes twice (connections.py).

So an hbtable from before there was a hello works beside later ones, on either side of a connection, and a cluster can
be upgraded a role at a time. What is added within a major version: a field that an older peer may pass over without
harm, or a call, which it refuses, in a message that names both versions (peer.py). tests/golden/test_releases.py
compares with each release that is kept.
"""

from typing import Final, NamedTuple

from hbtable import __version__
from hbtable.errors import UnsupportedFormat
from hbtable.rpc.codec.calls import Failure, Role, RpcMethod
from hbtable.rpc.codec.errors import RpcError
from hbtable.rpc.declaration import CallTimeout
from hbtable.thrift.shapes import INTEGER, TEXT, Field, Struct
from hbtable.thrift.wire import UNKNOWN_METHOD


class PeerVersion(NamedTuple):
    """The version of the calls that one side speaks. `build`: the version of its hbtable, for people."""

    major: int
    minor: int
    build: str

    def __str__(self) -> str:
        return f"protocol {self.major}.{self.minor} (hbtable {self.build or 'of an unknown version'})"

    @property
    def checks_frames(self) -> bool:
        return self.minor >= 1


OURS: Final = PeerVersion(1, 1, __version__)
BEFORE: Final = PeerVersion(1, 0, "")
"""Of a peer that does not know the call."""

_FIELDS: Final = (Field(1, "major", INTEGER), Field(2, "minor", INTEGER), Field(3, "build", TEXT, ""))
HELLO: Final = RpcMethod(
    Role.PEER, "hello", _FIELDS, Struct(_FIELDS, PeerVersion), CallTimeout.REPORTS, repeatable=True
)


_TITLE: Final = HELLO.request(0, OURS, lambda: None)[4 : 12 + len(HELLO.name)]


def is_hello(message: bytes) -> bool:
    """Whether a call, as it arrived, is a hello."""
    return message.startswith(_TITLE)


def agreed(theirs: PeerVersion) -> PeerVersion:
    """The version that both speak. UnsupportedFormat."""
    if theirs.major != OURS.major:
        raise UnsupportedFormat(
            f"the other side speaks {theirs}, and this one {OURS}: roles of one cluster need the same major version of "
            "the protocol; upgrade the older one"
        )
    return min(theirs, OURS)


def answered(answer: object) -> PeerVersion:
    """The version that the server speaks, by its answer. UnsupportedFormat: not what this side does; the server's own
    error."""
    if isinstance(answer, RpcError):
        raise answer.raised()
    if isinstance(answer, Failure):
        if answer.number == UNKNOWN_METHOD:
            return BEFORE
        raise UnsupportedFormat(f"the other side does not understand a hello: {answer.message}")
    assert isinstance(answer, PeerVersion)
    agreed(answer)
    return answer
