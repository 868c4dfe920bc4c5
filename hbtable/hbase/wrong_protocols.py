"""Answers a client that speaks something else than this port: with the reason, in a form that its library shows.

A closed socket says nothing, and is what users of Thrift clients report most. Pure: bytes in, bytes out.
"""

import json
import re
import struct
from collections.abc import Callable
from typing import Final

from hbtable.hbase.codec.sniffing import DetectedProtocol, Protocol
from hbtable.thrift.failures import encode_failure

_U32: Final = struct.Struct(">I").pack
_HANDSHAKE_FAILURE: Final = b"\x15\x03\x01\x00\x02\x02\x28"
"""TLS's alert of that name: fatal, and the one that clients do not take for a damaged connection."""
_SASL_ERROR: Final = b"\x04"
NO_ENCRYPTION: Final = b"N"
"""Of PostgreSQL, to whoever asks for TLS or GSSAPI; the rest of the answer is for what it sends then."""
_EXCEPTION: Final = 3
_PROTOCOL_ERROR: Final = 7
_HEAD: Final = re.compile(rb'\s*\[\s*1\s*,\s*"([^"\\]{0,200})"\s*,\s*\d\s*,\s*(-?\d{1,10})')
_NAMED: Final = re.compile(rb'"(name|seqid)":\s*(?:"([^"\\]{0,200})"|(-?\d{1,10}))')

_HEADER_NAME: Final = re.compile(
    rb"\x80\x01\x00[\x01\x04]\x00\x00\x00([\x01-\x7f])|\x82[\x21\x81][\x80-\xff]{0,4}[\x00-\x7f]([\x01-\x7f])",
    re.DOTALL,
)
"""A call's head in the binary or the compact protocol, up to the length of its name."""

_TEXT: Final = (
    "this is hbtable, a database with HBase's Thrift interfaces: use a Thrift client, as happybase in Python, or "
    "hbtable shell"
)
FELL_SILENT: Final = (
    "the request was not carried out: it begins as a call of Thrift, and its rest did not come; use the transport and "
    "the protocol of a Thrift client"
)
_REASONS: Final = {
    Protocol.TLS: "this port has no TLS: connect without it, or set tls.certificate and tls.key for the server",
    Protocol.SASL: "this server asks for no SASL (Kerberos or a password): connect with the plain transport",
    Protocol.JSON: "this server speaks Thrift's binary and compact protocols, not JSON: choose one of these",
    Protocol.HEADER: (
        "this server speaks Thrift's binary and compact protocols, framed or not, and not THeader: choose one of these"
    ),
    Protocol.HBASE_RPC: (
        "this is no HBase region server but hbtable, which speaks HBase's Thrift interfaces: use a Thrift client, as "
        "happybase in Python or ThriftConnection in Java"
    ),
    Protocol.REDIS: "this is no Redis but hbtable, a database with HBase's Thrift interfaces: use a Thrift client",
    Protocol.POSTGRESQL: (
        "this is no PostgreSQL but hbtable, a database with HBase's Thrift interfaces: use a Thrift client"
    ),
    Protocol.TEXT: _TEXT,
}


def reason(protocol: Protocol, first: bytes) -> str:
    """The message: what the client did wrong, and what to do instead. The log has it as well: of the client's bytes
    there are few, for a password may follow, as in SASL's PLAIN."""
    return _REASONS.get(protocol, f"{_TEXT}; what came began with {first[:4]!r}, which is none of Thrift's protocols")


def unknown_method(name: bytes) -> str:
    """HBase's message, and more where a service stands in front of the name."""
    said = f"Invalid method name: '{_shown(name)}'"
    service, colon, _ = name.partition(b":")
    if not colon:
        return said
    return f"{said}: leave '{_shown(service)}:' away, which TMultiplexedProtocol puts there"


def explanation(spoken: DetectedProtocol, first: bytes) -> bytes:
    """An explanation in the client's own protocol; a line of text if that is not known. `first`: what it said."""
    make = _ANSWERS.get(spoken.protocol)
    return b"" if make is None else make(reason(spoken.protocol, first), first, spoken.framed)


def _tls(said: str, first: bytes, framed: bool) -> bytes:
    return _HANDSHAKE_FAILURE


def _sasl(said: str, first: bytes, framed: bool) -> bytes:
    return _SASL_ERROR + _U32(len(said)) + said.encode()


def _json(said: str, first: bytes, framed: bool) -> bytes:
    """As Apache Thrift writes a TApplicationException, or as thriftpy2 does, whose JSON is another one."""
    if framed and first[4:5] == b"{":
        name, sequence = b"", b"0"
        for key, text, number in _NAMED.findall(first):
            name, sequence = (text, sequence) if key == b"name" else (name, number or b"0")
        metadata = {"version": 1, "name": _shown(name), "ttype": _EXCEPTION, "seqid": int(sequence)}
        payload = {"message": said, "type": _PROTOCOL_ERROR}
        text = json.dumps({"metadata": metadata, "payload": payload}).encode()
        return _U32(len(text)) + text
    head = _HEAD.match(first[4:] if framed else first)
    called, number = (head[1], int(head[2])) if head else (b"", 0)
    body = {"1": {"str": said}, "2": {"i32": _PROTOCOL_ERROR}}
    text = json.dumps([1, _shown(called), _EXCEPTION, number, body], separators=(",", ":")).encode()
    return _U32(len(text)) + text if framed else text


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _header(said: str, first: bytes, framed: bool) -> bytes:
    """A TApplicationException in the binary protocol (0), behind a header without transforms:

    length (4), 0f ff, flags (2), sequence number (4), words of header (2), protocol, number of transforms, padding
    """
    sequence, payload = first[8:12].ljust(4, b"\0"), first[14 + 4 * int.from_bytes(first[12:14], "big") :]
    head = _HEADER_NAME.match(payload)
    name = payload[head.end() :][: (head[1] or head[2])[0]] if head else b""
    call = b"\x80\x01\x00" + bytes([_EXCEPTION]) + _U32(len(name)) + name + sequence
    answer = call + encode_failure(said, _PROTOCOL_ERROR)
    header = b"\x0f\xff\0\0" + sequence + b"\0\x01" + b"\0\0\0\0"
    return _U32(len(header) + len(answer)) + header + answer


def _hbase_rpc(said: str, first: bytes, framed: bool) -> bytes:
    """A ResponseHeader for no call (id -1) with an ExceptionResponse: class, text, and that a retry is of no use."""
    exception = (
        _field(1, b"org.apache.hadoop.hbase.ipc.FatalConnectionException") + _field(2, said.encode()) + b"\x28\x01"
    )
    header = b"\x08\xff\xff\xff\xff\x0f" + _field(2, exception)
    message = _varint(len(header)) + header
    return _U32(len(message)) + message


def _redis(said: str, first: bytes, framed: bool) -> bytes:
    return f"-ERR {said}\r\n".encode()


def _postgresql(said: str, first: bytes, framed: bool) -> bytes:
    """An ErrorResponse. Who asked for TLS or GSSAPI is told first that there is none, and asks without it."""
    fields = b"".join(
        code + text.encode() + b"\0" for code, text in ((b"S", "FATAL"), (b"V", "FATAL"), (b"C", "08P01"), (b"M", said))
    )
    answer = b"E" + _U32(len(fields) + 5) + fields + b"\0"
    return answer if first[4:5] == b"\0" else NO_ENCRYPTION + answer


def _unknown(said: str, first: bytes, framed: bool) -> bytes:
    """In frames it may be Thrift after all: an exception in the binary protocol without versions."""
    if not framed:
        return _text(said, first, framed)
    answer = _U32(0) + bytes([_EXCEPTION]) + _U32(0) + encode_failure(said, _PROTOCOL_ERROR)
    return _U32(len(answer)) + answer


def _text(said: str, first: bytes, framed: bool) -> bytes:
    text = f"{said}\r\n".encode()
    return _U32(len(text)) + text if framed else text


def _field(number: int, value: bytes) -> bytes:
    """A field of Protocol Buffers, with its length."""
    return bytes([number << 3 | 2]) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_ANSWERS: Final[dict[Protocol, Callable[[str, bytes, bool], bytes]]] = {
    Protocol.TLS: _tls,
    Protocol.SASL: _sasl,
    Protocol.JSON: _json,
    Protocol.HEADER: _header,
    Protocol.HBASE_RPC: _hbase_rpc,
    Protocol.REDIS: _redis,
    Protocol.TEXT: _text,
    Protocol.POSTGRESQL: _postgresql,
    Protocol.UNKNOWN: _unknown,
}
