"""The frames in which clients send after SASL's handshake."""

from typing import cast

import pytest

from hbtable.hbase.transports.sasl_frames import SaslStream
from hbtable.thrift.message_input import Stream

READS = 5
READ_BYTES = 64 << 10


class Carrier:
    """A socket whose client is always faster: nobody waits at it."""

    def __init__(self, sent: bytes, most: int = READ_BYTES) -> None:
        self._sent = sent
        self._most = most

    def recv(self, size: int) -> bytes:
        size = min(size, self._most)
        piece, self._sent = self._sent[:size], self._sent[size:]
        return piece

    def settimeout(self, seconds: float | None) -> None: ...
    def close(self) -> None: ...


def frame(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


@pytest.mark.parametrize("most", [1, 3, 7, READ_BYTES])
def test_what_is_inside_of_frames_is_a_stream(most: int) -> None:
    carrier = Carrier(frame(b"one") + frame(b"") + frame(b"second") + frame(b"3"), most)
    stream, inside = SaslStream(cast(Stream, carrier), b"", lambda: None), b""
    while piece := stream.recv(9):
        inside += piece
    assert inside == b"onesecond3"


def test_others_run_between_empty_frames() -> None:
    """A client that sends nothing else, faster than we read, would keep everybody from being served for ever."""
    pauses = 0

    def pause() -> None:
        nonlocal pauses
        pauses += 1

    carrier = Carrier(frame(b"") * (READS * READ_BYTES // 4) + frame(b"call"))
    assert SaslStream(cast(Stream, carrier), b"", pause).recv(9) == b"call"
    assert pauses >= 16 * (READS - 1)
