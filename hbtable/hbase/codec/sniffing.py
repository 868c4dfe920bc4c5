"""Tells from a client's first bytes which protocol it speaks. Pure.

80 01                     unframed, binary             4-byte length, 80    framed, binary
82 21                     unframed, compact            4-byte length, 82    framed, compact
00 00 00 nn, letter       unframed, binary without versions (nn: length of the method's name)
4-byte length, 00         framed, binary without versions
GET, POST, ...            HTTP        16 03  TLS        01 00 00 00 nn, letter  SASL
4-byte length, 0f         Thrift's header format
[1, or 4-byte length, [ { JSON        HBas   HBase's own RPC        *3 PING     Redis        other letters  text
4-byte length, 00 03 00 00 or 04 d2 16 2f    PostgreSQL

A frame is believed once it can hold a call: others also begin with a length, and wait for an answer before the bytes
come that would make a whole frame of it.
"""

from enum import Enum
from typing import Final, NamedTuple

from hbtable.thrift.wire import LONGEST_NAME_BYTES

NEEDED_BYTES: Final = 8
"""With so many bytes sniff() always knows."""
_METHODS: Final = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"TRAC", b"DELE", b"PATC", b"CONN", b"PRI ")
_REDIS: Final = (b"PING", b"ECHO", b"AUTH", b"INFO")
_LONGEST_NAME: Final = 64
_U32_BYTES: Final = 4
_POSTGRESQL: Final = (b"\0\3\0", b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30")
"""The version behind the length of a StartupMessage, and the requests for TLS and for GSSAPI."""


class Protocol(Enum):
    """The protocols that clients of this port were seen to speak. Calls come in the first three; the next three may
    carry them, and the others are told what to do instead."""

    STRICT = "binary"
    LOOSE = "binary without versions"
    COMPACT = "compact"
    HTTP = "HTTP"
    TLS = "TLS"
    SASL = "SASL"
    JSON = "Thrift's JSON"
    HEADER = "Thrift's header format"
    HBASE_RPC = "HBase's own RPC"
    REDIS = "Redis"
    POSTGRESQL = "PostgreSQL"
    TEXT = "text"
    UNKNOWN = "nothing known"


class DetectedProtocol(NamedTuple):
    """A protocol, and whether messages come in frames."""

    protocol: Protocol
    framed: bool = False


def sniff(first: bytes) -> DetectedProtocol | None:
    """None: more bytes are needed, NEEDED_BYTES at most."""
    if not first:
        return None
    byte = first[0]
    if byte in (0x80, 0x82, 0x16):
        return _by_two(first) if len(first) >= 2 else None
    if any(method.startswith(first[:4]) for method in _METHODS):
        return DetectedProtocol(Protocol.HTTP) if len(first) >= 4 else None
    if byte >= 0x80:
        return DetectedProtocol(Protocol.UNKNOWN)
    if b"\n" in first[:4] and _is_text(first[:4]):
        return DetectedProtocol(_by_letters(first))  # a person may have typed two letters
    return _by_five(first) if len(first) >= 5 else None


def sniff_frame(first: bytes) -> DetectedProtocol | None:
    """As sniff(), of what comes in frames whatever it is: text where it is no Thrift."""
    if len(first) < 5:
        return None
    fifth = first[4:5]
    if fifth in (b"\x80", b"\x82"):
        return DetectedProtocol(Protocol.STRICT if fifth == b"\x80" else Protocol.COMPACT, framed=True)
    if fifth == b"\0":
        return DetectedProtocol(Protocol.LOOSE, framed=True)
    return DetectedProtocol(Protocol.JSON if fifth in (b"[", b"{") else Protocol.TEXT, framed=True)


def sniff_silent(first: bytes) -> DetectedProtocol:
    """As sniff(), of a client that waits for an answer already."""
    return DetectedProtocol(Protocol.TEXT if _is_text(first) else Protocol.UNKNOWN)


def _by_two(first: bytes) -> DetectedProtocol:
    if first[:2] == b"\x80\x01":
        return DetectedProtocol(Protocol.STRICT)
    if first[0] == 0x82 and first[1] & 0x1F == 1:
        return DetectedProtocol(Protocol.COMPACT)
    if first[:2] == b"\x16\x03":
        return DetectedProtocol(Protocol.TLS)
    return DetectedProtocol(Protocol.UNKNOWN)


def _by_five(first: bytes) -> DetectedProtocol | None:
    fifth = first[4]
    if _is_text(first[:4]):
        return DetectedProtocol(_by_letters(first))
    if fifth in (0x80, 0x82):
        return _by_head_in_frame(first)
    if first[:4] == b"\x01\x00\x00\x00" and 0 < fifth <= 32:
        return DetectedProtocol(Protocol.SASL)
    if fifth == 0 or first[:5] == b"\0\0\0\x08\x04":
        return _by_number_in_frame(first)
    if first[:3] == b"\x00\x00\x00" and 0 < first[3] <= _LONGEST_NAME and chr(fifth).isalpha() and fifth < 0x80:
        return DetectedProtocol(Protocol.LOOSE)
    if fifth == 0x0F and first[:1] < b"\x20":
        return DetectedProtocol(Protocol.HEADER, framed=True)
    if chr(fifth) in "[{" and first[:1] < b"\x20":
        return DetectedProtocol(Protocol.JSON, framed=True)
    return DetectedProtocol(Protocol.UNKNOWN)


def _by_head_in_frame(first: bytes) -> DetectedProtocol | None:
    if len(first) < 6:
        return None
    inside = _by_two(first[4:6])
    return inside if inside.protocol is Protocol.UNKNOWN else inside._replace(framed=True)


def _by_number_in_frame(first: bytes) -> DetectedProtocol | None:
    """Behind the length of the frame stands that of a method's name, or PostgreSQL's number."""
    size, number = int.from_bytes(first[:4], "big"), first[4:8]
    if size < _U32_BYTES:
        return DetectedProtocol(Protocol.LOOSE, framed=True)  # whose reader says what is missing
    if len(number) < _U32_BYTES:
        return None
    if number.startswith(_POSTGRESQL):
        return DetectedProtocol(Protocol.POSTGRESQL)
    length = int.from_bytes(number, "big")
    could_be = 0 < length <= LONGEST_NAME_BYTES and _U32_BYTES + length <= size
    return DetectedProtocol(Protocol.LOOSE if could_be else Protocol.UNKNOWN, framed=True)


def _by_letters(first: bytes) -> Protocol:
    if first[:3] == b"[1,":
        return Protocol.JSON
    if first[:4] == b"HBas":
        return Protocol.HBASE_RPC
    if first[:4].upper() in _REDIS or (first[:1] == b"*" and first[1:2].isdigit()):
        return Protocol.REDIS
    return Protocol.TEXT


def _is_text(some: bytes) -> bool:
    return all(0x20 <= byte < 0x7F or byte in b"\t\r\n" for byte in some)
