"""New SSTables for a stopped folder, METADATA's among them."""

from collections.abc import Callable, Iterable
from typing import final

from hbtable.encoding import tablet_record
from hbtable.encoding.cell_key import Pair, cell_key
from hbtable.fs.interface import FileSystem
from hbtable.metadata import layout
from hbtable.model.mutation import PUT
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import (
    FIRST_METADATA_TABLET_ID,
    METADATA_TABLE_ID,
    NO_LOG,
    ROOT_TABLET_ID,
    LogRef,
    SSTableRef,
    TabletRecord,
)
from hbtable.repair.evidence import SSTableFound
from hbtable.sstable.builder import SSTableBuilder, SSTableOptions
from hbtable.sstable.properties import Origin, SSTableIdentity
from hbtable.switches import switches
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.shared import table_folder

_STACK = layout.FAMILY.decode()


@final
class RepairWriter:
    """Writes the SSTables of a repair. `new_incarnation`: a name that no server ever had, when the first file is
    written; all are named after it."""

    def __init__(self, fs: FileSystem, new_incarnation: Callable[[], str]) -> None:
        self._fs = fs
        self._new_incarnation = new_incarnation
        self._incarnation = ""
        self._count = 0

    @switches
    def sstable(self, pairs: Iterable[Pair], options: SSTableOptions, identity: SSTableIdentity) -> SSTableFound:
        """Durable on return. `pairs` ascend."""
        builder = SSTableBuilder(options, identity)
        for key, value in pairs:
            builder.add(key, value)
        content = builder.finish()
        self._incarnation = self._incarnation or self._new_incarnation()
        self._count += 1
        path = f"{table_folder(identity.table_id)}/{self._incarnation}-{self._count:06d}.sst"
        self._fs.put_new(path, content)
        return SSTableFound(path, path, len(content), builder.footer_checksum, builder.properties)

    @switches
    def metadata(
        self, rows: dict[bytes, bytes], generation: int, sequence: int, timestamp: int, now_millis: int
    ) -> TabletRecord:
        """All of METADATA anew, of the rows of user tables, tablets and namespaces; the root record is returned, and is
        not yet written anywhere."""
        made = TabletRecord(
            METADATA_TABLE_ID,
            FIRST_METADATA_TABLET_ID,
            RowRange(layout.ROOT_STOP, b""),
            now_millis,
            generation=generation,
            files=self._metadata_files(FIRST_METADATA_TABLET_ID, rows, generation, sequence, timestamp),
            logs=(LogRef(NO_LOG, sequence + 1),),
        )
        above = {layout.key_of(made): tablet_record.encode(made)}
        return TabletRecord(
            METADATA_TABLE_ID,
            ROOT_TABLET_ID,
            layout.ROOT_RANGE,
            now_millis,
            generation=generation,
            files=self._metadata_files(ROOT_TABLET_ID, above, generation, sequence, timestamp),
            logs=(LogRef(NO_LOG, sequence + 1),),
        )

    @switches
    def _metadata_files(
        self, tablet_id: int, rows: dict[bytes, bytes], generation: int, sequence: int, timestamp: int
    ) -> tuple[tuple[str, tuple[SSTableRef, ...]], ...]:
        if not rows:
            return ()
        where = layout.ROOT_RANGE if tablet_id == ROOT_TABLET_ID else RowRange(layout.ROOT_STOP, b"")
        origin = Origin(where.start, where.stop, sequence, b"")
        identity = SSTableIdentity(METADATA_TABLE_ID, tablet_id, _STACK, generation, (), timestamp, origin)
        pairs = [
            (cell_key(row, layout.FAMILY, layout.QUALIFIER, timestamp, PUT, sequence), rows[row])
            for row in sorted(rows)
        ]
        options = LocalityGroupLayout(layout.SCHEMA).sstable_options(_STACK)
        return ((_STACK, (self.sstable(sorted(pairs), options, identity).ref(),)),)
