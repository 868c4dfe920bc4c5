"""Quotas as bytes: the file `/access/quotas` of the lock service.

Sealed (encoding.sealed) with kind "Q", version 1; version 2 where there are limits of space. Numbers are varints; text
and names are length-prefixed, text UTF-8.

    body     := state, exempt, throttles
    state    := 1 calls are throttled | 0 they are not
    exempt   := n, then each user's name, ascending
    throttles:= n, then each, in the order in which they are listed
    throttle := user, namespace, table (each empty where none is named), type, limit, seconds, scope
    type     := 1 request number | 2 request size | 3 write number | 4 write size | 5 read number | 6 read size
              | 7 request, 8 read, 9 write capacity unit
    scope    := 0 each tablet server | 1 all together

Version 2 has more behind that:

    space    := n, then each limit, ascending: namespace, table (one of them empty), bytes, policy, violated (0 | 1)
    policy   := 1 no inserts | 2 no writes | 3 no writes and no compactions | 4 the table is disabled
    disabled := n, then the name of each table that is disabled because of its limit, ascending

A state, a type, a scope or a policy that this hbtable does not know is a later one's.
"""

from typing import Final

from hbtable.encoding.sealed import seal, unseal
from hbtable.encoding.varint import decode as number
from hbtable.encoding.varint import decode_bytes, decode_text, encode_bytes, encode_text
from hbtable.encoding.varint import encode as varint
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.quotas.settings import Quotas, SpaceLimit, SpacePolicy, Subject, ThrottleSetting, ThrottleType

KIND: Final = b"Q"
VERSION: Final = 2
_WITHOUT_SPACE: Final = 1
_TYPES: Final = {int(one): one for one in ThrottleType}
_POLICIES: Final = {int(one): one for one in SpacePolicy}


def encode(quotas: Quotas) -> bytes:
    out = [varint(quotas.throttling), varint(len(quotas.exempt)), *map(encode_text, sorted(quotas.exempt))]
    out += [varint(len(quotas.throttles)), *map(_throttle, quotas.throttles)]
    if not quotas.space and not quotas.disabled:
        return seal(KIND, _WITHOUT_SPACE, b"".join(out))
    out += [varint(len(quotas.space)), *map(_space, quotas.space)]
    out += [varint(len(quotas.disabled)), *map(encode_bytes, sorted(quotas.disabled))]
    return seal(KIND, VERSION, b"".join(out))


def decode(data: bytes, path: str = "a record of quotas") -> Quotas:
    """`path` says in the error where the bytes lie. Corruption, UnsupportedFormat."""
    version, body = unseal(data, KIND, VERSION, path)
    try:
        state, offset = number(body, 0)
        exempt, offset = _read_exempt(body, offset)
        throttles, offset = _read_throttles(body, offset, path)
        space: list[SpaceLimit] = []
        disabled: list[bytes] = []
        if version > _WITHOUT_SPACE:
            space, offset = _read_space(body, offset, path)
            disabled, offset = _read_disabled(body, offset)
    except (IndexError, ValueError) as error:
        raise Corruption(path, 0, f"not a record of quotas: {error}") from error
    if offset != len(body):
        raise Corruption(path, offset, "bytes are left over after the last quota")
    return Quotas(throttles, exempt, _flag(state, "state", path), space, disabled)


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


def _space(one: SpaceLimit) -> bytes:
    named = encode_bytes(one.namespace) + encode_bytes(one.table)
    return named + b"".join(map(varint, (one.limit, one.policy, one.violated)))


def _read_space(body: bytes, offset: int, path: str) -> tuple[list[SpaceLimit], int]:
    found: list[SpaceLimit] = []
    count, offset = number(body, offset)
    for _ in range(count):
        namespace, offset = decode_bytes(body, offset)
        table, offset = decode_bytes(body, offset)
        limit, offset = number(body, offset)
        policy, offset = number(body, offset)
        violated, offset = number(body, offset)
        if policy not in _POLICIES:
            raise UnsupportedFormat.unknown(path, "policy of a limit of space", policy, sorted(_POLICIES))
        flag = _flag(violated, "state of a limit of space", path)
        found.append(SpaceLimit(namespace, table, limit, _POLICIES[policy], flag))
    return found, offset


def _read_disabled(body: bytes, offset: int) -> tuple[list[bytes], int]:
    found: list[bytes] = []
    count, offset = number(body, offset)
    for _ in range(count):
        table, offset = decode_bytes(body, offset)
        found.append(table)
    return found, offset


def _flag(found: int, what: str, path: str) -> bool:
    if found > 1:
        raise UnsupportedFormat.unknown(path, what, found, "0 and 1")
    return bool(found)
