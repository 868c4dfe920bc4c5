r"""Names of tables, namespaces and column families (docs/contract.md: names).

A table's canonical name is b"t" in the default namespace and b"namespace:t" elsewhere; only canonical names are
stored or compared.

    namespace   [A-Za-z0-9_]+
    table       UTF-8 letters and digits, '_' '.' '-', not beginning with '.' or '-', not "zookeeper"
    family      bytes without control characters, ':' '/' '\', not beginning with '.', not "recovered.edits"
"""

from typing import Final

from hbtable.errors import InvalidRequest
from hbtable.model.values import check_bytes, own_bytes

MAX_NAME_BYTES: Final = 255
"""HBase hangs on longer table names (its folders cannot be made); we refuse them."""

DEFAULT_NAMESPACE: Final = b"default"
SYSTEM_NAMESPACE: Final = b"hbase"
_FORBIDDEN_NAME: Final = b"zookeeper"
_FORBIDDEN_FAMILY: Final = b"recovered.edits"
_NAMESPACE_BYTES: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_FAMILY_SEPARATORS: Final = frozenset(b":/\\")


def parse(name: bytes) -> bytes:
    """The canonical form of a table name. InvalidRequest names what is wrong with it."""
    name = own_bytes("the table name", name)
    if not name:
        raise InvalidRequest("a table name may not be empty")
    if len(name) > MAX_NAME_BYTES:
        raise InvalidRequest(f"a table name has at most {MAX_NAME_BYTES} bytes, this one has {len(name)}")
    namespace, colon, qualifier = name.partition(b":")
    if not colon:
        _check_qualifier(name, name)
        return name
    check_namespace(namespace)
    _check_qualifier(qualifier, name)
    return qualifier if namespace == DEFAULT_NAMESPACE else name


def split(canonical: bytes) -> tuple[bytes, bytes]:
    """(namespace, name within it) of a canonical table name."""
    namespace, colon, qualifier = canonical.partition(b":")
    return (namespace, qualifier) if colon else (DEFAULT_NAMESPACE, canonical)


def is_system(canonical: bytes) -> bool:
    """Tables of the system namespace can be used, and are not listed."""
    return canonical.startswith(SYSTEM_NAMESPACE + b":")


def check_namespace(namespace: bytes) -> None:
    check_bytes("the namespace", namespace)
    if not namespace:
        raise InvalidRequest("a namespace name may not be empty")
    if len(namespace) > MAX_NAME_BYTES:
        raise InvalidRequest(f"a namespace name has at most {MAX_NAME_BYTES} bytes, this one has {len(namespace)}")
    for position, byte in enumerate(namespace):
        if byte not in _NAMESPACE_BYTES:
            raise InvalidRequest(
                f"namespace {_quoted(namespace)} has {bytes((byte,))!r} at position {position}; "
                "a namespace is made of A-Z, a-z, 0-9 and _"
            )
    if namespace == _FORBIDDEN_NAME:
        raise InvalidRequest("a namespace may not be named 'zookeeper'")


def check_family(family: bytes) -> None:
    """`family` comes without the ':' that ends it in a column name."""
    check_bytes("the column family", family)
    if not family:
        raise InvalidRequest("a column family name may not be empty")
    if len(family) > MAX_NAME_BYTES:
        raise InvalidRequest(f"a column family name has at most {MAX_NAME_BYTES} bytes, this one has {len(family)}")
    if family[:1] == b".":
        raise InvalidRequest(f"column family {_quoted(family)} may not begin with '.'")
    for position, byte in enumerate(family):
        if byte < 0x20 or byte == 0x7F:
            raise InvalidRequest(
                f"column family {_quoted(family)} has the control character {bytes((byte,))!r} at position {position}"
            )
        if byte in _FAMILY_SEPARATORS:
            raise InvalidRequest(
                f"column family {_quoted(family)} has {chr(byte)!r} at position {position}; ':', '/' and '\\' are not "
                "allowed in a column family name"
            )
    if family == _FORBIDDEN_FAMILY:
        raise InvalidRequest("a column family may not be named 'recovered.edits'")


def _check_qualifier(qualifier: bytes, full_name: bytes) -> None:
    if not qualifier:
        raise InvalidRequest(f"table name {_quoted(full_name)} has nothing after the namespace")
    try:
        text = qualifier.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = qualifier[error.start]
        raise InvalidRequest(
            f"table name {_quoted(full_name)} is not UTF-8: byte {byte:#04x} at position {error.start}"
        ) from None
    if text[0] in ".-":
        raise InvalidRequest(f"table name {_quoted(full_name)} may not begin with {text[0]!r}")
    for position, character in enumerate(text):
        if not (character.isalpha() or character.isdecimal() or character in "_.-"):
            raise InvalidRequest(
                f"table name {_quoted(full_name)} has {character!r} at position {position}; "
                "a table name is made of letters, digits, '_', '.' and '-'"
            )
    if qualifier == _FORBIDDEN_NAME:
        raise InvalidRequest("a table may not be named 'zookeeper'")


def shown(name: bytes) -> str:
    """The name for a message: as text, with bytes that are no UTF-8 escaped. What is too long for a name is cut."""
    text = name[:MAX_NAME_BYTES].decode("utf-8", "backslashreplace")
    return text if len(name) <= MAX_NAME_BYTES else f"{text}... (of {len(name):,} bytes)"


def _quoted(name: bytes) -> str:
    """The name for a message about what is wrong with it: what cannot be printed is escaped, too."""
    return repr(name.decode("utf-8", "backslashreplace"))
