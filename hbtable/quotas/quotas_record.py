"""Quotas as bytes: the file `/access/quotas` of the lock service.

Sealed (encoding.sealed) with kind "Q", version 1. Numbers are varints; text and names are length-prefixed, text UTF-8.

    body     := state, exempt, throttles
    state    := 1 calls are throttled | 0 they are not
    exempt   := n, then each user's name, ascending
    throttles:= n, then each, in the order in which they are listed
    throttle := user, namespace, table (each empty where none is named), type, limit, seconds, scope
    type     := 1 request number | 2 request size | 3 write number | 4 write size | 5 read number | 6 read size
              | 7 request, 8 read, 9 write capacity unit
    scope    := 0 each tablet server | 1 all together

A state, a type or a scope that this hbtable does not know is a later one's.
"""

from typing import Final

from hbtable.encoding.sealed import seal, unseal
from hbtable.encoding.varint import decode as number
from hbtable.encoding.varint import decode_bytes, decode_text, encode_bytes, encode_text
from hbtable.encoding.varint import encode as varint
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.quotas.settings import Quotas, Subject, ThrottleSetting, ThrottleType

KIND: Final = b"Q"
VERSION: Final = 1
_TYPES: Final = {int(one): one for one in ThrottleType}


def encode(quotas: Quotas) -> bytes:
    out = [varint(quotas.throttling), varint(len(quotas.exempt)), *map(encode_text, sorted(quotas.exempt))]
    out += [varint(len(quotas.throttles)), *map(_throttle, quotas.throttles)]
    return seal(KIND, VERSION, b"".join(out))


def decode(data: bytes, path: str = "a record of quotas") -> Quotas:
    """`path` says in the error where the bytes lie. Corruption, UnsupportedFormat."""
    _, body = unseal(data, KIND, VERSION, path)
    try:
        state, offset = number(body, 0)
        exempt, offset = _read_exempt(body, offset)
        throttles, offset = _read_throttles(body, offset, path)
    except (IndexError, ValueError) as error:
        raise Corruption(path, 0, f"not a record of quotas: {error}") from error
    if offset != len(body):
        raise Corruption(path, offset, "bytes are left over after the last quota")
    return Quotas(throttles, exempt, _flag(state, "state", path))


def _throttle(one: ThrottleSetting) -> bytes:
    user, namespace, table = one.subject
    names = encode_text(user) + encode_bytes(namespace) + encode_bytes(table)
    return names + b"".join(map(varint, (one.type, one.limit, one.seconds, one.cluster)))


def _read_exempt(body: bytes, offset: int) -> tuple[list[str], int]:
    found: list[str] = []
    count, offset = number(body, offset)
    for _ in range(count):
        user, offset = decode_text(body, offset)
        found.append(user)
    return found, offset


def _read_throttles(body: bytes, offset: int, path: str) -> tuple[list[ThrottleSetting], int]:
    found: list[ThrottleSetting] = []
    count, offset = number(body, offset)
    for _ in range(count):
        user, offset = decode_text(body, offset)
        namespace, offset = decode_bytes(body, offset)
        table, offset = decode_bytes(body, offset)
        kind, offset = number(body, offset)
        limit, offset = number(body, offset)
        seconds, offset = number(body, offset)
        scope, offset = number(body, offset)
        if kind not in _TYPES:
            raise UnsupportedFormat.unknown(path, "type of quota", kind, sorted(_TYPES))
        subject, cluster = Subject(user, namespace, table), _flag(scope, "scope of a quota", path)
        if not limit or not seconds:
            raise Corruption(path, offset, f"a quota of {limit} in {seconds} seconds")
        found.append(ThrottleSetting(subject, _TYPES[kind], limit, seconds, cluster))
    return found, offset


def _flag(found: int, what: str, path: str) -> bool:
    if found > 1:
        raise UnsupportedFormat.unknown(path, what, found, "0 and 1")
    return bool(found)
