"""Typed reads of METADATA and compare-and-set writes to it (paper, sections 5.1 and 5.2).

Every record changes as a whole: the stored bytes are compared with the record that the caller read, then replaced.
The root tablet's record is a lock service file, compared by version; before each change a copy goes to the file
system, from which an operator can bring it back. On return a write is durable. Conflict: nothing was changed.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Final, TypeVar

from hbtable.encoding import namespace_row, table_record, tablet_record
from hbtable.errors import (
    AlreadyExists,
    Conflict,
    Corruption,
    DataDamaged,
    FileNotFound,
    HbtableError,
    LockLost,
    NamespaceNotFound,
    OutcomeUnknown,
    OutOfSpace,
    TableExists,
    Unavailable,
)
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.interface import Session
from hbtable.metadata import layout, readable
from hbtable.metadata.locator import Locator, tablets_of
from hbtable.metadata.metadata_calls import MetadataCalls, stored
from hbtable.metadata.root_copy import with_flushes_of
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, PUT, RowMutation
from hbtable.model.names import DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, shown
from hbtable.model.table import TableRecord
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID, GoneTablet, TabletRecord
from hbtable.rpc.services import TabletService
from hbtable.switches import switches

ROOT_COPY_PATH = "metadata/root-tablet"
"""In the file system: the root's record as of its last change, or the change that was about to be made."""

log = logging.getLogger(__name__)

_ALWAYS = (DEFAULT_NAMESPACE, SYSTEM_NAMESPACE)

_tablet: Final = tablet_record.decode_row

T = TypeVar("T")


class Catalog:
    """Reads METADATA and changes it by compare-and-set. `file_system`: where the root's copy goes; None for roles that
    never write the root's record. `may_change` raises when this process may change nothing, and is asked right before
    each change of a row; the root's record goes by `session` and `file_system`."""

    def __init__(
        self,
        session: Session,
        locator: Locator,
        file_system: FileSystem | None = None,
        may_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._session = session
        self._locator = locator
        self._calls = locator.calls
        self._file_system = file_system
        self._may_change = may_change

    @property
    def calls(self) -> MetadataCalls:
        """METADATA itself, for the history of tablets."""
        return self._calls

    # ---------------------------------------------------------------- tablets

    @switches
    def create_root(self, record: TabletRecord) -> None:
        """Begins a cluster. AlreadyExists when it has a root tablet."""
        data = readable.tablet(record)
        if self._file_system is not None and not self._root_exists():
            self._file_system.write_file(ROOT_COPY_PATH, data)
        self._session.create(layout.ROOT_PATH, data)

    @switches
    def read_root(self) -> TabletRecord:
        """StaleLocation when the cluster was never started."""
        return self._locator.read_root()

    @switches
    def read_unserved_root(self) -> TabletRecord:
        """The same, once no server has the root tablet: flushes that its copy alone tells of are put into the record
        first (root_copy), for the log records in their place may be gone. Conflict."""
        root = self.read_root()
        if self._file_system is None:
            return root
        try:
            copy = tablet_record.decode(self._file_system.read_file(ROOT_COPY_PATH), ROOT_COPY_PATH)
        except (FileNotFound, Corruption):
            return root  # the next change writes it anew
        newer = with_flushes_of(copy, root)
        if newer is not root:
            # A kill between the copy and the record leaves this behind, so it is no reason for a warning.
            log.info("%s lacks flushes that its copy %s names: they are taken over", layout.ROOT_PATH, ROOT_COPY_PATH)
            self._replace_root(root, newer)
        return newer

    @switches
    def read_tablet(self, table_id: int, end_row: bytes) -> TabletRecord | None:
        """The row of the tablet that ends at `end_row`, with a left child still embedded. None without a row, or when
        the tablet is gone."""
        if table_id == METADATA_TABLE_ID and end_row == layout.ROOT_STOP:
            return self.read_root()
        found = self._read(layout.tablet_key(table_id, end_row), _tablet)
        return found if isinstance(found, TabletRecord) else None

    @switches
    def put_tablet_if_absent(self, record: TabletRecord) -> bool:
        """False: a tablet with this end is there, whichever it is, or one was merged away after this record was made:
        then it must not come back. Not for the root."""
        new = readable.tablet(record)
        key = layout.key_of(record)
        try:
            while not self._change(key, None, new, _tablet):
                data = self._calls.record_at(key)
                if data is None:
                    continue  # what was there has just been forgotten
                found = _tablet(data, f"METADATA row {key!r}")
                if not isinstance(found, GoneTablet) or record.generation < found.generation:
                    return False
                if self._change(key, data, new, _tablet):
                    return True
            return True
        except OutcomeUnknown:
            # Its server may have changed it by now, which says as much as if it had been there before.
            if isinstance(self._read(key, _tablet), TabletRecord):
                return False
            raise

    @switches
    def replace_tablet(self, expected: TabletRecord, record: TabletRecord) -> None:
        """Compare-and-set of one row (the table and end of both are the same), or of the root's file. Conflict."""
        key = layout.key_of(expected)
        if layout.key_of(record) != key:
            raise ValueError(f"tablet {expected.tablet_id} cannot move from METADATA row {key!r} to another one")
        if expected.tablet_id == ROOT_TABLET_ID:
            self._replace_root(expected, record)
        elif not self._change(key, tablet_record.encode(expected), readable.tablet(record), _tablet):
            raise Conflict(
                f"tablet {expected.tablet_id} was changed by someone else; METADATA row {key!r} was left as it is"
            )
        self._locator.forget(expected.table_id, expected.range.start)

    @switches
    def delete_tablet(self, expected: TabletRecord) -> None:
        """Conflict when the row holds another record; fine when it is gone."""
        key = layout.key_of(expected)
        if not self._change(key, tablet_record.encode(expected), None, _tablet):
            raise Conflict(f"tablet {expected.tablet_id} was changed by someone else; METADATA row {key!r} was kept")
        self._locator.forget(expected.table_id, expected.range.start)

    @switches
    def retire_tablet(self, expected: TabletRecord, gone: GoneTablet) -> None:
        """Replaces the record of a merged tablet's left half: only that it is gone is kept. Conflict when the row holds
        another record."""
        key = layout.key_of(expected)
        if not self._change(key, tablet_record.encode(expected), tablet_record.encode_gone(gone), _tablet):
            raise Conflict(f"tablet {expected.tablet_id} was changed by someone else; METADATA row {key!r} was kept")
        self._locator.forget(expected.table_id, expected.range.start)

    @switches
    def forget_gone(self, gone: GoneTablet) -> None:
        """Removes the row of a tablet that is gone, if it is still the same."""
        key = layout.tablet_key(gone.table_id, gone.range.stop)
        self._change(key, tablet_record.encode_gone(gone), None, _tablet)

    @switches
    def tablet_rows(self, table_id: int, damage: list[DataDamaged] | None = None) -> list[TabletRecord]:
        """The rows of one table as they stand, ascending, left children still embedded. For tiles: standing().
        `damage` as in MetadataCalls.rows."""
        found = [self.read_root()] if table_id == METADATA_TABLE_ID else []
        found += tablets_of(self._calls.rows(layout.tablet_rows(table_id), damage=damage))
        return found

    @switches
    def all_tablet_rows(
        self, gone: list[GoneTablet] | None = None, damage: list[DataDamaged] | None = None
    ) -> Iterator[TabletRecord]:
        """The rows of all tables, the root's record first, ascending by table id and row; tablets that are gone are
        added to `gone`. `damage` as in MetadataCalls.rows. *Switches* between pages: not a snapshot."""
        rows = chain(
            self._calls.rows(layout.tablet_rows(METADATA_TABLE_ID), damage=damage),
            self._calls.rows(layout.EVERY_USER_TABLET, damage=damage),
        )
        return chain((self.read_root(),), tablets_of(rows, gone))

    # ---------------------------------------------------------------- tables

    @switches
    def read_table(self, name: bytes) -> TableRecord | None:
        """`name` is canonical (model.names)."""
        return self._read(layout.table_key(name), table_record.decode)

    @switches
    def create_table(self, record: TableRecord) -> None:
        """Puts the name row. TableExists when there is one, in whatever state."""
        name = record.schema.name
        if not self._change(layout.table_key(name), None, readable.table(record), table_record.decode):
            raise TableExists(f"table {shown(name)} exists already")

    @switches
    def replace_table(self, expected: TableRecord, record: TableRecord) -> None:
        """Compare-and-set of state and schema. Conflict."""
        name = expected.schema.name
        new = readable.table(record)
        if not self._change(layout.table_key(name), table_record.encode(expected), new, table_record.decode):
            raise Conflict(f"table {shown(name)} was changed by someone else at this moment")

    @switches
    def delete_table(self, expected: TableRecord) -> None:
        """Conflict when the row holds another record; fine when it is gone."""
        name = expected.schema.name
        if not self._change(layout.table_key(name), table_record.encode(expected), None, table_record.decode):
            raise Conflict(f"table {shown(name)} was changed by someone else at this moment")

    @switches
    def tables(self, damage: list[DataDamaged] | None = None) -> list[TableRecord]:
        """Every table in every state, ascending by name. `damage` as in MetadataCalls.rows."""
        return [
            table_record.decode(stored(cells) or b"", f"METADATA row {row!r}")
            for row, cells in self._calls.rows(layout.TABLE_ROWS, damage=damage)
        ]

    # ---------------------------------------------------------------- namespaces

    @switches
    def create_namespace(self, name: bytes, properties: Mapping[str, str] | None = None) -> None:
        """AlreadyExists. `default` and `hbase` always exist without a row (see has_namespace)."""
        if not self._change(layout.namespace_key(name), None, readable.namespace(name, properties or {}), _plain):
            raise AlreadyExists(f"namespace {shown(name)} exists already")

    @switches
    def has_namespace(self, name: bytes) -> bool:
        return name in _ALWAYS or self._calls.record_at(layout.namespace_key(name)) is not None

    @switches
    def delete_namespace(self, name: bytes) -> None:
        """NamespaceNotFound, Conflict. The caller has made sure that it holds no tables."""
        if not self._change(layout.namespace_key(name), self._namespace_row(name), None, _plain):
            raise Conflict(f"namespace {shown(name)} was changed by someone else")

    @switches
    def namespace_properties(self, name: bytes) -> dict[str, str]:
        """NamespaceNotFound."""
        if name in _ALWAYS:
            return {}
        return namespace_row.decode(self._namespace_row(name))

    @switches
    def replace_namespace(self, name: bytes, properties: Mapping[str, str]) -> None:
        """NamespaceNotFound, Conflict."""
        current = self._namespace_row(name)
        if not self._change(layout.namespace_key(name), current, readable.namespace(name, properties), _plain):
            raise Conflict(f"namespace {shown(name)} was changed by someone else")

    @switches
    def _namespace_row(self, name: bytes) -> bytes:
        data = self._calls.record_at(layout.namespace_key(name))
        if data is None:
            raise NamespaceNotFound(f"namespace {shown(name)} does not exist")
        return data

    @switches
    def namespaces(self) -> list[bytes]:
        """Ascending, the two that always exist included."""
        prefix = len(layout.NAMESPACE_PREFIX)
        return sorted({*_ALWAYS, *(row[prefix:] for row, _ in self._calls.rows(layout.NAMESPACE_ROWS))})

    # ---------------------------------------------------------------- compare-and-set

    @switches
    def _read(self, key: bytes, decode: Callable[[bytes, str], T]) -> T | None:
        data = self._calls.record_at(key)
        return None if data is None else decode(data, f"METADATA row {key!r}")

    @switches
    def _change(self, key: bytes, expected: bytes | None, new: bytes | None, decode: Callable[[bytes, str], T]) -> bool:
        """From `expected` (None: absent) to `new` (None: removed). False: the row holds something else, and this change
        was not made.

        An unknown outcome is settled by reading: repeating the same compare-and-set cannot apply it twice, because the
        records that go in are new ones each time (generation, file list, or state and schema version differ). Those of
        namespaces are not: a change may come once more after it was taken back.
        """
        unsure = False
        while True:
            try:
                try:
                    if self._compare_and_set(key, expected, new):
                        return True
                    current = self._calls.record_at(key)
                except OutcomeUnknown:
                    unsure = True
                    current = self._calls.record_at(key)
                    if current not in (new, expected):
                        raise
                    if current == expected:
                        continue  # it may still be under way; only one of the two can find what it expects
                if current == new and (unsure or new is None):
                    return True
                if _is_other(current, expected, lambda data: decode(data, f"METADATA row {key!r}")):
                    if unsure:  # it may have been made, and somebody else have changed what it made
                        raise OutcomeUnknown(f"METADATA row {key!r} has changed since a change of it had no answer")
                    return False
            except (OutcomeUnknown, LockLost):
                raise
            except HbtableError as error:
                if not unsure:
                    raise
                # It would tell the caller that nothing was changed.
                raise OutcomeUnknown(f"METADATA row {key!r} does not tell what became of a change: {error}") from error
            expected = current  # the same record, in the bytes of an older format

    @switches
    def _compare_and_set(self, key: bytes, expected: bytes | None, new: bytes | None) -> bool:
        if new is None:
            operation = (DELETE_COLUMN, layout.FAMILY, layout.QUALIFIER, SERVER_TIME, b"")
        else:
            operation = (PUT, layout.FAMILY, layout.QUALIFIER, SERVER_TIME, new)
        mutation = RowMutation(key, [operation])

        def change(service: TabletService, record: TabletRecord) -> bool:
            return service.check_and_mutate(record.tablet_id, key, layout.FAMILY, layout.QUALIFIER, expected, mutation)

        return self._calls.call(key, change, repeatable=False, before=self._may_change)

    # ---------------------------------------------------------------- the root's file

    @switches
    def _root_exists(self) -> bool:
        try:
            self._session.read(layout.ROOT_PATH)
        except FileNotFound:
            return False
        return True

    @switches
    def _replace_root(self, expected: TabletRecord, record: TabletRecord) -> None:
        file = self._session.read(layout.ROOT_PATH)
        if tablet_record.decode(file.data, layout.ROOT_PATH) != expected:
            raise Conflict("the root tablet's record was changed by someone else")
        data = readable.tablet(record)
        try:
            if self._file_system is not None:
                # Copy first: should the lock service lose its state after the change, no older record may be what is
                # left, since files that only the newer one names would then be swept as garbage.
                self._file_system.write_file(ROOT_COPY_PATH, data)
            self._write_root(data, file.version)
        except OutOfSpace:
            raise
        except Unavailable as error:
            # The copy may say it by now, and be taken over (read_unserved_root): what it names may not be deleted. So
            # it may when the file system was away: a rename whose answer was lost may have been made.
            raise OutcomeUnknown(f"the root tablet's record may or may not come to be changed: {error}") from error

    @switches
    def _write_root(self, data: bytes, version: int) -> None:
        try:
            self._session.write(layout.ROOT_PATH, data, version)
        except Conflict:
            if self._file_system is not None:
                self._file_system.write_file(ROOT_COPY_PATH, self._session.read(layout.ROOT_PATH).data)
            raise Conflict("the root tablet's record was changed by someone else at this moment") from None


def _is_other(current: bytes | None, expected: bytes | None, decode: Callable[[bytes], object]) -> bool:
    """Whether a row that did not match holds more than the expected record in the bytes of an older format."""
    return current is None or expected is None or current == expected or decode(current) != decode(expected)


def _plain(data: bytes, path: str) -> bytes:
    """Namespace rows are compared as they are (encoding.namespace_row)."""
    return data
