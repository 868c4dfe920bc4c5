"""Reads a record back before it is written to METADATA. A row that cannot be read would keep the whole cluster closed.

The master checks long before what a record may be (master.tables.schema_check). This finds what that check missed. A
record is written a few times a minute, so reading it back costs nothing.
"""

import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from hbtable.encoding import namespace_row, table_record, tablet_record
from hbtable.errors import Corruption, HbtableError, InvalidRequest, UnsupportedFormat
from hbtable.model.names import shown
from hbtable.model.table import TableRecord
from hbtable.model.tablet import TabletRecord

T = TypeVar("T")


def tablet(record: TabletRecord) -> bytes:
    """InvalidRequest."""
    return _read_back(f"tablet {record.tablet_id}", record, tablet_record.encode, tablet_record.decode)


def table(record: TableRecord) -> bytes:
    """InvalidRequest."""
    return _read_back(f"table {record.schema.name!r}", record, table_record.encode, table_record.decode)


def namespace(name: bytes, properties: Mapping[str, str]) -> bytes:
    """InvalidRequest."""
    encode = partial(namespace_row.encode, name)
    return _read_back(f"namespace {shown(name)}", dict(properties), encode, namespace_row.decode)


def _read_back(what: str, record: T, encode: Callable[[T], bytes], decode: Callable[[bytes], object]) -> bytes:
    try:
        data = encode(record)
        found = decode(data)
    except (Corruption, UnsupportedFormat) as error:
        reason = error.reason if isinstance(error, Corruption) else error
        raise InvalidRequest(f"the record of {what} could not be read back, so it is not written: {reason}") from error
    except HbtableError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError, struct.error) as error:
        raise InvalidRequest(f"the record of {what} cannot be written: {error}") from error
    if found != record:
        raise InvalidRequest(f"the record of {what} would be read back as another one, so it is not written")
    return data
