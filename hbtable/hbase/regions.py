"""Tablets as HBase shows them: regions, with names made of table, start row, creation time and a digest."""

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from hbtable.hbase.backend import Address
from hbtable.model.tablet import TabletRecord

_DIGEST_CHARACTERS: Final = 32


class Region(NamedTuple):
    """A tablet with the name and address that HBase clients expect."""

    start_row: bytes
    stop_row: bytes
    created_millis: int
    name: bytes
    host: bytes | None
    port: int | None
    """Host and port are None while no server has the tablet."""


def region(table: bytes, record: TabletRecord, address: Address, always_somewhere: bool = False) -> Region:
    """`always_somewhere`: a tablet without an owner (its table is disabled) gets this gateway's address."""
    host, port = address(record.owner) if record.owner or always_somewhere else (None, None)
    name = region_name(table, record.range.start, record.created_millis)
    return Region(record.range.start, record.range.stop, record.created_millis, name, host, port)


def region_name(table: bytes, start_row: bytes, created_millis: int) -> bytes:
    """`<table>,<start row>,<creation millis>.<32 hexadecimal digits>.`"""
    readable = b"%b,%b,%d" % (table, start_row, created_millis)
    digest = hashlib.md5(readable, usedforsecurity=False).hexdigest()
    return b"%b.%b." % (readable, digest.encode("ascii"))


def table_of_region(name: bytes) -> bytes | None:
    """The table in a region's name; None when it is not shaped like one."""
    if len(name) < _DIGEST_CHARACTERS + 2 or name[-1:] != b"." or name[-_DIGEST_CHARACTERS - 2 : -33] != b".":
        return None
    table, comma, rest = name.partition(b",")
    return table if comma and b"," in rest else None


def at_or_before(key: bytes, regions: Sequence[tuple[bytes, Region]]) -> Region | None:
    """The region with the greatest `table,start row,id` at or before `key`; an empty key asks for the last one.

    `regions` are (table, region). Tables are compared first, then start rows, then ids, as HBase compares its META
    rows; a key with fewer than two commas lies before every region of its table.
    """
    wanted = _parts(key)
    best: tuple[tuple[bytes, bytes, bytes], Region] | None = None
    for table, candidate in regions:
        parts = (table, candidate.start_row, b"%d" % candidate.created_millis)
        if (not key or parts <= wanted) and (best is None or parts > best[0]):
            best = (parts, candidate)
    return best[1] if best is not None else None


def _parts(key: bytes) -> tuple[bytes, bytes, bytes]:
    table, _, rest = key.partition(b",")
    start_row, _, identity = rest.rpartition(b",")
    return table, start_row, identity
