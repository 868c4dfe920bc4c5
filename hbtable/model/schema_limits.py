"""The most families and attributes that a schema may have.

They are counted before anything else is made of what a client sent: a description of a million families would keep all
others waiting for seconds, to be refused in the end.
"""

from collections.abc import Iterable
from typing import Final

from hbtable.errors import InvalidRequest, LimitExceeded

MAX_FAMILIES: Final = 300
"""The paper: "hundreds at most". Each family may be a locality group with memtable and files of its own."""
MANY_FAMILIES: Final = 100
"""More than these are warned of."""
MAX_ATTRIBUTES: Final = 1000
"""Of a table and its families together, or of a namespace. Those that HBase knows are some dozens."""


def check_counts(table: str, families: int, attributes: Iterable[int]) -> None:
    """InvalidRequest, LimitExceeded. `attributes`: the numbers of them that the table and each of its families have."""
    if families > MAX_FAMILIES:
        raise InvalidRequest(f"table {table} has {families} column families, at most {MAX_FAMILIES} can be")
    _check_attributes(f"table {table} and its families have", sum(attributes))


def many_families(table: str, families: int, before: int = 0) -> str:
    """A warning about a table that has more than MANY_FAMILIES now, or "". `before`: so many it had."""
    if families <= max(MANY_FAMILIES, before):
        return ""
    return (
        f"table {table} has {families} column families: each is a locality group with a memtable and files of its own, "
        "unless LOCALITY_GROUP puts several into one, and each flush writes a file for each that was written to"
    )


def check_namespace_counts(namespace: str, properties: int) -> None:
    """LimitExceeded."""
    _check_attributes(f"namespace {namespace} has", properties)


def _check_attributes(whose: str, attributes: int) -> None:
    if attributes > MAX_ATTRIBUTES:
        raise LimitExceeded(f"{whose} {attributes} attributes, at most {MAX_ATTRIBUTES} can be")
