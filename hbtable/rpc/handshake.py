"""The first call on a connection between roles: which protocol each side speaks.

    hello (1: i64 major, 2: i64 minor, 3: string build, 4: binary challenge)   answered by the same of the server, or
                                                                               by an RpcError

Peers of the same major version work together: of two minor versions the lower one counts. Another major version is
refused by both sides, in a message that names both. `hello` itself never changes, and fields may be added to it.

    1.0   no hello: it is answered as a call that is not known, and everything goes on as without it
    1.1   after the hello every frame ends with a checksum (thrift/frames.py)
    1.2   the hello and its answer have a checksum, too; who has the cluster's key gives a challenge (proof.py)

The checksum of a hello is the last field of its message, 100: i64, the CRC-32 (zlib's) of all bytes of the message
before that field. One without a checksum is of 1.1, and then not a byte of it may differ from what 1.1 writes: no bits
that changed on the way turn off what both sides could do. A server ends a connection whose first call is not known, and
a caller takes a server for 1.0 only when it names `hello` as what it does not know (codec/calls.py, read_reply). A
refusal for the version is believed when it comes twice (connections.py).

So an hbtable from before there was a hello works beside later ones, on either side of a connection, and a cluster can
be upgraded a role at a time. What is added within a major version: a field that an older peer may pass over without
harm, or a call, which it refuses, in a message that names both versions (peer.py). tests/golden/test_releases.py
compares with each release that is kept.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from hbtable import __version__
from hbtable.crc32 import crc32
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.rpc.codec.calls import Failure, Role, RpcMethod, read_head
from hbtable.rpc.codec.errors import RpcError
from hbtable.rpc.declaration import CallTimeout
from hbtable.switches import switches
from hbtable.thrift.message import MessageReader
from hbtable.thrift.shapes import BINARY, INTEGER, TEXT, Field, Struct
from hbtable.thrift.wire import UNKNOWN_METHOD


class PeerVersion(NamedTuple):
    """The version of the calls that one side speaks. `build`: the version of its hbtable, for people. `challenge`:
    random bytes of a side that has the cluster's key."""

    major: int
    minor: int
    build: str
    challenge: bytes = b""

    def __str__(self) -> str:
        return f"protocol {self.major}.{self.minor} (hbtable {self.build[:_SHOWN] or 'of an unknown version'})"

    @property
    def checks_frames(self) -> bool:
        return self.minor >= 1

    @property
    def checks_hello(self) -> bool:
        return self.minor >= _FIRST_CHECKED


_FIRST_CHECKED: Final = 2
_SHOWN: Final = 40
"""Letters of a build: it is whatever somebody said who has not proved himself."""
STRANGERS_BYTES: Final = 1 << 16
"""The largest message between two sides that have not greeted each other: more than a proof needs."""
OURS: Final = PeerVersion(1, 2, __version__)
BEFORE: Final = PeerVersion(1, 0, "")
"""Of a peer that does not know the call."""

_FIELDS: Final = (
    Field(1, "major", INTEGER),
    Field(2, "minor", INTEGER),
    Field(3, "build", TEXT, ""),
    Field(4, "challenge", BINARY, b""),
)
HELLO: Final = RpcMethod(
    Role.PEER, "hello", _FIELDS, Struct(_FIELDS, PeerVersion), CallTimeout.REPORTS, repeatable=True
)


def _no_pause() -> None:
    """A hello is short."""


_TITLE: Final = HELLO.request(0, OURS, _no_pause)[4 : 12 + len(HELLO.name)]
_CHECKSUM: Final = b"\x0a\x00\x64"
"""The head of the field: an i64, number 100."""
_CHECKSUM_BYTES: Final = len(_CHECKSUM) + 8
_STOP: Final = b"\0"


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


# ---------------------------------------------------------------- as messages


@switches
def hello_request(ours: PeerVersion) -> bytes:
    """The frame of a hello."""
    return _checked(HELLO.request(0, ours, _no_pause))


@switches
def hello_reply(sequence: int, ours: PeerVersion | None, error: RpcError | None, to: PeerVersion) -> bytes:
    """The frame of its answer."""
    frame = HELLO.reply(sequence, ours, error, _no_pause)
    return _checked(frame) if to.checks_hello else frame


@switches
def read_hello(message: bytes) -> tuple[int, PeerVersion]:
    """(sequence number, version of the caller). Corruption."""
    _, _, sequence, position = read_head(message)
    theirs = PeerVersion(*HELLO.read_arguments(MessageReader(message), position))
    _check(message, theirs, lambda plain: HELLO.request(sequence, plain, _no_pause))
    return sequence, theirs


@switches
def read_hello_reply(message: bytes) -> PeerVersion | RpcError | Failure:
    """Corruption."""
    answer: PeerVersion | RpcError | Failure = HELLO.read_reply(message, 0, _no_pause)
    if isinstance(answer, PeerVersion):
        _check(message, answer, lambda plain: HELLO.reply(0, plain, None, _no_pause))
    return answer


def _checked(frame: bytes) -> bytes:
    message = frame[4:-1]
    checked = b"".join((message, _CHECKSUM, crc32(message).to_bytes(8, "big"), _STOP))
    return len(checked).to_bytes(4, "big") + checked


def _check(message: bytes, said: PeerVersion, written: Callable[[PeerVersion], bytes]) -> None:
    """Corruption. `written`: the frame in which 1.1 says the same."""
    end = len(message) - _CHECKSUM_BYTES - 1
    if message[end : end + len(_CHECKSUM)] == _CHECKSUM and message.endswith(_STOP):
        if crc32(message[:end]) != int.from_bytes(message[end + len(_CHECKSUM) : -1], "big"):
            raise Corruption("a message", end, "the checksum of a hello does not match")
    elif said.checks_hello or message != written(said._replace(challenge=b""))[4:]:
        raise Corruption("a message", end, "a hello without the checksum that its version has")
