"""Tables and tablets from what files and logs say, where METADATA's rows may be missing or old."""

from dataclasses import replace
from typing import final

from hbtable.commitlog.records import LogRecord
from hbtable.encoding import table_record, tablet_record
from hbtable.encoding.cell_key import family_name, row_of
from hbtable.errors import HbtableError
from hbtable.metadata import layout
from hbtable.metadata.tiling import standing
from hbtable.model.names import shown
from hbtable.model.range_delete import RangeDelete, with_ranges
from hbtable.model.ranges import EVERY_ROW, RowRange
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import METADATA_TABLE_ID, GoneTablet, SSTableRef, TabletRecord
from hbtable.repair.evidence import Evidence, SSTableFound
from hbtable.repair.log_flush import Floors, ended, family_of, first_unflushed, floors, flush, no_log, unflushed
from hbtable.repair.metadata_reading import MetadataReader, MetadataView
from hbtable.repair.numbers import Seen
from hbtable.repair.orphans import Orphan, TableEvidence, orphans
from hbtable.repair.rebuilding import RebuiltTablet, Span, all_covered, left_in, rebuilt, replaces, span_of
from hbtable.repair.regroupings import families_of_schema, take_the_place
from hbtable.repair.report import Report
from hbtable.repair.table_schemas import newest_families, newest_record, of_unknown_families
from hbtable.repair.user_files import Named, UserFiles
from hbtable.repair.writing import RepairWriter
from hbtable.switches import switches
from hbtable.tablet.layout import families_of_key
from hbtable.tablet.shared import table_of_path

Deleted = dict[str, tuple[RangeDelete, ...]]
"""Ranges of rows that were deleted, by path of the SSTable that holds them."""


@final
class TableRebuild:
    """Rebuilds the records of tables and tablets. `view` need not be complete."""

    @switches
    def __init__(
        self, evidence: Evidence, view: MetadataView, files: UserFiles, writer: RepairWriter, report: Report,
        seen: Seen, reader: MetadataReader,
    ) -> None:  # fmt: skip
        self._evidence = evidence
        self._view = view
        self._files = files
        self._writer = writer
        self._report = report
        self._seen = seen
        self._records: dict[int, list[LogRecord]] = {}
        """By tablet, of all logs."""
        for incarnation in evidence.logs:
            for record in reader.log(incarnation):
                self._records.setdefault(record.tablet_id, []).append(record)
        self._gaps = reader.gaps
        self._current: dict[int, list[TabletRecord]] = {}
        rows = [found for _, found in view.tablet_rows() if isinstance(found, TabletRecord)]
        for tablet in standing(rows):
            self._current.setdefault(tablet.table_id, []).append(replace(tablet, left=None))
        self._past: dict[int, list[Span]] = {}
        self._look_at_history()
        self._orphans: dict[int, list[Orphan]] = {}

    def _look_at_history(self) -> None:
        """Tablets that there were once."""
        for key, values in self._view.history.items():
            if not layout.EVERY_USER_TABLET.holds(key):
                continue
            for value in values:
                try:
                    record = tablet_record.decode_row(value, "")
                except HbtableError:
                    continue
                for one in (record, None if isinstance(record, GoneTablet) else record.left):
                    if one is not None:
                        self._past.setdefault(one.table_id, []).append(span_of(one))

    # ------------------------------------------------------------ tables

    def tables(self, known: dict[bytes, TableRecord]) -> dict[bytes, TableRecord]:
        """The tables by name: those of METADATA, and those that only files tell of. A dropped table does not come back,
        as far as METADATA still shows that it was dropped."""
        if self._view.complete:
            return dict(known)
        found = {name: self._with_newest_schema(record) for name, record in known.items()}
        ids = {record.table_id for record in known.values()}
        for table_id in sorted(self._ids_in_files() - ids - self.dropped(), reverse=True):
            record = self._from_files(table_id)
            name = record.schema.name
            if name in found:
                name = name + b"_recovered_%08x" % table_id
                record = replace(record, schema=replace(record.schema, name=name))
            found[name] = record
            self._report.done.append(
                f"table {shown(name)} was made anew from its SSTables; it may have been dropped lately"
            )
        self._orphans = orphans({record.table_id: self._all_of(record) for record in found.values()}, self._records)
        return found

    def _with_newest_schema(self, record: TableRecord) -> TableRecord:
        """METADATA's row may be an old one: without a family that was added since, its cells would go."""
        newest = newest_record(self._evidence, record.table_id)
        if newest is None or newest.schema.version <= record.schema.version:
            return record
        name = record.schema.name
        self._report.done.append(f"table {shown(name)} has the schema of its newest SSTable: METADATA's row was older")
        return replace(record, schema=replace(newest.schema, name=name))

    def _all_of(self, table: TableRecord) -> TableEvidence:
        return TableEvidence(self._spans(table.table_id), set(families_of_schema(table.schema)))

    def _files_of(self, table_id: int) -> list[SSTableFound]:
        every = [*self._evidence.sstables.values(), *self._evidence.trash.values()]
        return [file for file in every if file.is_of(table_id)]

    def _spans(self, table_id: int, sure: bool = False) -> list[Span]:
        """The rows of each tablet that anything tells of. A file of an older hbtable tells a tablet, and no rows: all
        rows, or, if `sure`, it is left out."""
        spans = [*self._past.get(table_id, []), *map(span_of, self._current.get(table_id, []))]
        for file in self._files_of(table_id):
            if file.properties is not None and (not sure or file.properties.identity.origin is not None):
                spans.append(Span(*_origin_of(file)))
        return spans

    def _ids_in_files(self) -> set[int]:
        sound = [file for file in self._evidence.sstables.values() if file.properties is not None]
        return {table_of_path(file.path) for file in sound} - {METADATA_TABLE_ID}

    def dropped(self) -> set[int]:
        """Ids of tables whose name row's newest cell says so, or that another table has the name of since."""
        gone = set()
        for key, values in self._view.history.items():
            if layout.TABLE_ROWS.holds(key):
                for value in values if key in self._view.deleted else values[1:]:
                    try:
                        gone.add(table_record.decode(value).table_id)
                    except HbtableError:
                        continue
        return gone

    def _from_files(self, table_id: int) -> TableRecord:
        best = newest_record(self._evidence, table_id)
        if best is not None:
            return best
        families: set[bytes] = set()
        for file in self._evidence.sstables.values():
            if file.is_of(table_id) and file.properties is not None:
                families |= set(families_of_key(file.properties.identity.group))
        schema = TableSchema(b"recovered_%08x" % table_id, newest_families(families))
        self._report.lost.append(
            f"the name and the families' options of table id {table_id}: it is called {shown(schema.name)} now"
        )
        return TableRecord(table_id, TableState.ENABLED, schema)

    # ------------------------------------------------------------ tablets

    @switches
    def tablets(self, table: TableRecord, now_millis: int) -> list[TabletRecord]:
        """They tile the table; no log is named."""
        table_id = table.table_id
        current = self._current.get(table_id, [])
        past = self._past.get(table_id, [])
        mine = self._files_of(table_id)
        old = self._compacted_away(mine, current)
        substitutes: set[str] = set()
        deleted = _deleted_ranges(current)
        families = families_of_schema(table.schema)
        usable = self._usable(table_id, current, old, substitutes, deleted, families)
        made = [file for file in usable if file.path in substitutes and file not in mine]
        replacers = [file for file in [*mine, *made] if not file.damage and file.path not in old]
        tiles = rebuilt(usable, replacers, current, past, substitutes, families)
        ids = {span.tablet_id for span in self._spans(table_id)} | self._adopted(table)
        records = [record for one in ids for record in self._records.pop(one, [])]
        gone = ended({record.tablet_id for record in records}, self._spans(table_id, sure=True))
        gone -= {one.tablet_id for one in current}
        known = {one.tablet_id: one for one in current}
        self._report_gaps(table, ids - gone, known, floors(mine))
        pairs, sequence, clock_millis = unflushed(records, known, floors(mine), gone)
        if not self._view.complete:
            self._report.lost += of_unknown_families(table, pairs, families)
        complete_to = max([sequence, *(_complete_to(file) for file in mine), *map(_sequence, current)])
        return [
            self._tablet(table, tile, deleted, pairs, clock_millis, complete_to, now_millis)
            for tile in self._with_ids(tiles)
        ]

    def _adopted(self, table: TableRecord) -> set[int]:
        for tablet_id, (start, stop) in self._orphans.get(table.table_id, []):
            where = f"rows from {start!r} to {stop!r}" if stop else f"rows from {start!r} on"
            self._report.done.append(
                f"METADATA has lost the row of tablet {tablet_id}; its log records were taken for those of table "
                f"{shown(table.schema.name)}, {where}, which no other tablet has"
            )
        return {orphan.tablet_id for orphan in self._orphans.get(table.table_id, [])}

    def _report_gaps(self, table: TableRecord, ids: set[int], known: dict[int, TabletRecord], held: Floors) -> None:
        """Reports the writes that no file has and the log has lost."""
        families = families_of_schema(table.schema)
        for tablet_id in sorted(ids):
            needed = first_unflushed(tablet_id, known.get(tablet_id), families, held)
            start, stop = known[tablet_id].range if tablet_id in known else EVERY_ROW
            where = f"rows from {start!r} to {stop!r}" if stop else f"rows from {start!r} on"
            for gap in (gap for gaps in self._gaps.values() for gap in gaps):
                # What came after a log's mark is told once, for all tablets (mending.py).
                if gap.may_have_lost(tablet_id, needed, behind_the_mark=False):
                    before, after = gap.around.get(tablet_id, (0, 0))
                    writes = f"writes from sequence {max(before + 1, needed)} {f'to {after - 1}' if after else 'on'}"
                    self._report.lost.append(
                        f"table {shown(table.schema.name)}, {where} (tablet {tablet_id}): perhaps {writes}; "
                        f"{gap.path}: {gap.reason()}"
                    )

    @switches
    def _usable(
        self, table_id: int, current: list[TabletRecord], old: set[str], substitutes: set[str], deleted: Deleted,
        families: frozenset[bytes],
    ) -> list[SSTableFound]:  # fmt: skip
        """Sound files, and what takes the place of the others, which is added to `substitutes`, and to `deleted` if
        ranges were deleted of those. `families`: those that the table has."""
        named: dict[str, list[Named]] = {}
        for record in current:
            for key, refs in record.files:
                for ref in refs:
                    named.setdefault(ref.path, []).append((record, key, ref))
        paths = {path for path in self._evidence.sstables if table_of_path(path) == table_id} | named.keys()
        found: dict[str, SSTableFound] = {}
        for path in sorted(paths):
            file = self._evidence.sstables.get(path)
            users = named.get(path, [])
            if file is not None and not file.damage and (not users or file.is_whole(users[0][2])):
                if users or (file.is_of(table_id) and path not in old):
                    found[path] = file
                continue
            for user in self._in_need(path, users, current, families):
                for one in self._files.instead_of(path, user):
                    found[one.path] = one
                    substitutes.add(one.path)
                    _add_ranges(deleted, one.path, one.deleted)
                    if user is not None:
                        _add_ranges(deleted, one.path, user[2].deleted)
        return list(found.values())

    def _in_need(
        self, path: str, users: list[Named], current: list[TabletRecord], families: frozenset[bytes]
    ) -> list[Named | None]:
        """The tablets that name a file which cannot be used, and have nothing which was made from it; None for one that
        METADATA does not tell."""
        made = [
            file
            for file in (*self._evidence.sstables.values(), *self._evidence.trash.values())
            if not file.damage and file.properties is not None and path in file.properties.identity.replaced
        ]
        if users:
            return [
                (record, key, ref) for record, key, ref in users
                if not take_the_place(
                    (file for file in made if replaces(file, path, record)), frozenset(families_of_key(key)), families
                )
            ]  # fmt: skip
        # Who has a record, and does not name it, needs it no more.
        settled = [*(one.range for one in current), *(_origin_of(file)[0] for file in made)]
        return [] if all_covered(settled) else [None]

    def _compacted_away(self, files: list[SSTableFound], current: list[TabletRecord]) -> set[str]:
        """Those that are older than their tablet's record, and that it does not name. A record may be older than the
        last compaction: what was made, in one step or several, from files that it names is no such file."""
        named = {ref.path for one in current for _, refs in one.files for ref in refs}
        made_from = set(named)
        before = 0
        while len(made_from) > before:
            before = len(made_from)
            for file in files:
                if file.properties is not None and not made_from.isdisjoint(file.properties.identity.replaced):
                    made_from.add(file.path)
        by_id = {one.tablet_id: one for one in current}
        return {file.path for file in files if file.path not in made_from and self._is_old(file, by_id)}

    def _is_old(self, file: SSTableFound, by_id: dict[int, TabletRecord]) -> bool:
        if file.properties is None:
            return False
        record = by_id.get(file.properties.identity.tablet_id)
        if record is None or _complete_to(file) > _sequence(record):
            return False
        files = [self._evidence.sstables.get(ref.path) for _, refs in record.files for ref in refs]
        return all(one is not None and not one.damage for one in files)

    def _with_ids(self, tiles: list[RebuiltTablet]) -> list[RebuiltTablet]:
        found = []
        for tile in tiles:
            tablet_id = tile.tablet_id
            if not tablet_id:
                self._seen.tablet_id += 1
                tablet_id = self._seen.tablet_id
            found.append(replace(tile, tablet_id=tablet_id))
        return found

    @switches
    def _tablet(
        self, table: TableRecord, tile: RebuiltTablet, deleted: Deleted, pairs: list[tuple[bytes, bytes]],
        clock_millis: int, complete_to: int, now_millis: int,
    ) -> TabletRecord:  # fmt: skip
        self._seen.generation += 1
        generation = self._seen.generation
        encoded = table_record.encode(replace(table, state=TableState.ENABLED))
        made = flush(
            self._writer, table.schema, encoded, tile, table.table_id, generation, pairs, clock_millis, complete_to
        )
        stacks: dict[str, list[SSTableRef]] = {}
        for file in (*tile.files, *made):
            assert file.properties is not None
            if file.properties.cells:
                ref = replace(file.ref(), deleted=left_in(file, deleted))
                stacks.setdefault(file.properties.identity.group, []).append(ref)
        files = tuple(
            (key, tuple(sorted(stacks[key], key=lambda ref: (ref.first_sequence, ref.path)))) for key in sorted(stacks)
        )
        withheld = [one for one in self._current.get(table.table_id, []) if one.withheld_millis]
        since = [one.withheld_millis for one in withheld if not one.range.intersect(tile.rows).is_empty()]
        return TabletRecord(
            table.table_id, tile.tablet_id, tile.rows, now_millis, "", generation, files, no_log(complete_to),
            withheld_millis=max(since, default=0),
        )  # fmt: skip

    def unknown_records(self) -> None:
        """Reports log records of tablets whose table neither METADATA nor a file tells."""
        known = self._view.tablet_ids
        for tablet_id, records in sorted(self._records.items()):
            if tablet_id not in known and not self._view.complete:
                rows = sorted({row_of(record.pairs[0][0]) for record in records if record.pairs})
                families = sorted({family_of(key) for record in records for key, _ in record.pairs})
                self._report.lost.append(
                    f"{len(records)} log records of tablet {tablet_id}, of an unknown table: rows from {rows[0]!r} to "
                    f"{rows[-1]!r}, families {', '.join(shown(family_name(one)) for one in families)}; they are in the "
                    "backup's logs"
                )


def _deleted_ranges(records: list[TabletRecord]) -> Deleted:
    """The ranges deleted of the SSTables that these name, of which nothing but the records tells. A split's
    children have different ones of a file that they share, each for rows that the other does not have."""
    found: Deleted = {}
    for record in records:
        for _, refs in record.files:
            for ref in refs:
                _add_ranges(found, ref.path, ref.deleted)
    return found


def _add_ranges(deleted: Deleted, path: str, ranges: tuple[RangeDelete, ...]) -> None:
    if ranges:
        deleted[path] = with_ranges(deleted.get(path, ()), ranges)


def _origin_of(file: SSTableFound) -> tuple[RowRange, int, int]:
    assert file.properties is not None
    identity = file.properties.identity
    rows = RowRange(identity.origin.start, identity.origin.stop) if identity.origin is not None else EVERY_ROW
    return rows, identity.tablet_id, identity.generation


def _complete_to(file: SSTableFound) -> int:
    if file.properties is None:
        return 0
    origin = file.properties.identity.origin
    return max(file.properties.last_sequence, origin.complete_to if origin is not None else 0)


def _sequence(record: TabletRecord) -> int:
    held = [ref.last_sequence for _, refs in record.files for ref in refs]
    return max([*held, *(log.first_needed - 1 for log in record.logs)], default=0)
