"""Grants as bytes: the file `/grants` of the lock service.

Sealed (encoding.sealed) with kind "G", version 1. Numbers are varints; text is length-prefixed UTF-8.

    body    := scopes (n, then each, ascending: wider ones first)
    scope   := level, then as many names as the level says, then holders (n, then each, ascending)
    level   := 0 everything | 1 namespace | 2 table | 3 family | 4 column
    names   := namespace at level 1; table at level 2; table and family at 3; table, family and qualifier at 4
    holder  := name ("@" before a group's), actions
    actions := 1 read | 2 write | 4 execute | 8 create | 16 administer

A level or an action that this hbtable does not know is a later one's: read without it, somebody might be let in whom
that one keeps out.
"""

from collections.abc import Iterable
from typing import Final

from hbtable.access.actions import EVERY_ACTION
from hbtable.access.grants import Grants
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.encoding.sealed import seal, unseal
from hbtable.encoding.varint import decode as number
from hbtable.encoding.varint import decode_bytes, decode_text, encode_bytes, encode_text
from hbtable.encoding.varint import encode as varint
from hbtable.errors import Corruption, UnsupportedFormat

KIND: Final = b"G"
VERSION: Final = 1
_GLOBAL, _NAMESPACE, _TABLE, _FAMILY, _COLUMN = range(5)
_LEVELS: Final = (_GLOBAL, _NAMESPACE, _TABLE, _FAMILY, _COLUMN)


def size_bytes(grants: Grants, scopes: Iterable[Scope]) -> int:
    """The bytes that the grants at exactly these scopes take."""
    return sum(
        len(_scope(scope)) + sum(len(encode_text(holder)) + 1 for holder in grants.at(scope)) for scope in scopes
    )


def encode(grants: Grants) -> bytes:
    by_scope: dict[Scope, list[bytes]] = {}
    for holder, scope, actions in grants:
        by_scope.setdefault(scope, []).append(encode_text(holder) + varint(actions))
    out = [varint(len(by_scope))]
    for scope, holders in by_scope.items():
        out += [_scope(scope), varint(len(holders)), *holders]
    return seal(KIND, VERSION, b"".join(out))


def decode(data: bytes, path: str = "a record of grants") -> Grants:
    """`path` says in the error where the bytes lie. Corruption, UnsupportedFormat."""
    _, body = unseal(data, KIND, VERSION, path)
    by_scope: dict[Scope, dict[str, int]] = {}
    try:
        count, offset = number(body, 0)
        for _ in range(count):
            scope, offset = _read_scope(body, offset, path)
            by_scope[scope], offset = _read_holders(body, offset, path)
    except (IndexError, ValueError) as error:
        raise Corruption(path, 0, f"not a record of grants: {error}") from error
    if offset != len(body):
        raise Corruption(path, offset, "bytes are left over after the last grant")
    return Grants(by_scope)


def _scope(scope: Scope) -> bytes:
    if scope.qualifier is not None:
        names = (scope.table, scope.family, scope.qualifier)
        return varint(_COLUMN) + b"".join(map(encode_bytes, names))
    if scope.family:
        return varint(_FAMILY) + encode_bytes(scope.table) + encode_bytes(scope.family)
    if scope.table:
        return varint(_TABLE) + encode_bytes(scope.table)
    return varint(_NAMESPACE) + encode_bytes(scope.namespace) if scope.namespace else varint(_GLOBAL)


def _read_scope(body: bytes, offset: int, path: str) -> tuple[Scope, int]:
    level, offset = number(body, offset)
    if level not in _LEVELS:
        raise UnsupportedFormat.unknown(path, "level", level, _LEVELS)
    if level == _GLOBAL:
        return GLOBAL, offset
    first, offset = decode_bytes(body, offset)
    if level == _NAMESPACE:
        return Scope(first), offset
    if level == _TABLE:
        return of_table(first), offset
    family, offset = decode_bytes(body, offset)
    if level == _FAMILY:
        return of_table(first, family), offset
    qualifier, offset = decode_bytes(body, offset)
    return of_table(first, family, qualifier), offset


def _read_holders(body: bytes, offset: int, path: str) -> tuple[dict[str, int], int]:
    found: dict[str, int] = {}
    count, offset = number(body, offset)
    for _ in range(count):
        holder, offset = decode_text(body, offset)
        actions, offset = number(body, offset)
        if actions & ~EVERY_ACTION:
            raise UnsupportedFormat.unknown(path, "set of actions", actions, f"those up to {EVERY_ACTION}")
        found[holder] = actions
    return found, offset
