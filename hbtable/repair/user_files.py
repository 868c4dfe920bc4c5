"""A damaged SSTable of a user table: its sound blocks are written anew, or the files it was made from come back."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import final

from hbtable.encoding.cell_key import TERMINATOR, Pair, parse_suffix
from hbtable.fs.interface import FileSystem
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import SSTableRef, TabletRecord
from hbtable.repair.backup import Backup
from hbtable.repair.evidence import Evidence, SSTableFound
from hbtable.repair.rebuilding import replaces
from hbtable.repair.regroupings import EVERY_FAMILY, families_of, families_of_schema, take_the_place
from hbtable.repair.report import Report, shown_rows, shown_table
from hbtable.repair.writing import RepairWriter
from hbtable.sstable.builder import SSTableOptions
from hbtable.sstable.properties import SSTableIdentity
from hbtable.sstable.salvaging import salvage
from hbtable.switches import switches
from hbtable.tablet.compactions.regroup import of_families
from hbtable.tablet.layout import LocalityGroupLayout, families_of_key, shown_key, stack_key
from hbtable.tablet.shared import table_of_path

Named = tuple[TabletRecord, str, SSTableRef]
"""(a tablet, its stack, the file)."""


@final
class UserFiles:
    """Replaces damaged SSTables of user tables. Each damaged file is dealt with once, however many tablets name it."""

    def __init__(
        self, fs: FileSystem, evidence: Evidence, writer: RepairWriter, backup: Backup, report: Report,
        schemas: dict[int, TableSchema], needed: Collection[str] = (),
    ) -> None:  # fmt: skip
        """`needed`: paths of files that somebody goes on naming, who may share them: they stay, sound or not."""
        self._fs = fs
        self._evidence = evidence
        self._writer = writer
        self._backup = backup
        self._report = report
        self._schemas = schemas
        self._needed = needed
        self._instead: dict[str, tuple[SSTableFound, ...]] = {}
        self.successors = 0
        """The number of files that were gone because a later one had replaced them."""

    @switches
    def instead_of(self, path: str, named: Named | None) -> tuple[SSTableFound, ...]:
        """The files that take the place of one that is damaged, missing or not the one that was named; they hold all
        that can be had of it. Durable on return."""
        if named is not None and path not in self._evidence.sstables and path not in self._evidence.trash:
            successors = self._successors(path, named)
            if successors:
                self.successors += 1
                return successors
        if path not in self._instead:
            self._instead[path] = self._replace(path, named)
        return self._instead[path]

    def have_all(self, files: Iterable[SSTableFound], path: str, stack: str, table_id: int) -> bool:
        """Whether these have all of a file of that stack, because they were made from it."""
        made = [one for one in files if one.properties is not None and path in one.properties.identity.replaced]
        return bool(made) and take_the_place(made, frozenset(families_of_key(stack)), self._families(table_id))

    def _families(self, table_id: int) -> frozenset[bytes] | None:
        schema = self._schemas.get(table_id)
        return families_of_schema(schema) if schema is not None else EVERY_FAMILY

    @switches
    def _replace(self, path: str, named: Named | None) -> tuple[SSTableFound, ...]:
        file = self._evidence.sstables.get(path)
        old = self._evidence.trash.get(path)
        if old is not None and not old.damage and (named is None or old.is_whole(named[2])):
            if file is not None:
                self._take_out(file.place)
            return (self._back(old),)
        if file is None:
            self._lost_whole(path, named, "is not there")
            return ()
        if not file.damage or not file.is_of(table_of_path(path)):
            # Whole, and another file: what it holds belongs elsewhere, or was compacted away.
            self._take_out(path)
            del self._evidence.sstables[path]
            self._lost_whole(path, named, "another file is in its place")
            return ()
        inputs = self._inputs(file)
        if inputs:
            self._report.done.append(f"{path} is damaged; the files it was made from take its place: {file.damage}")
            assert file.properties is not None
            ranges = file.properties.identity.replaced_ranges or ((),) * len(inputs)
            found = tuple(
                replace(back, deleted=gone)
                for one, gone in zip(inputs, ranges, strict=True)
                if (back := self._part_of(one, file)) is not None
            )
            self._take_out(path)  # last: it alone says what it was made from, to the next repair, too
            return found
        return self._salvaged(file, named)

    @switches
    def _part_of(self, input_: SSTableFound, file: SSTableFound) -> SSTableFound | None:
        """The part of an input that `file`, which is damaged, was made of: of one that a regrouping read, its families
        alone. Else cells of the others that were deleted since would be back. None: it had none of these."""
        mine = families_of(file)
        if families_of(input_) <= mine:
            return self._back(input_)
        assert input_.properties is not None
        assert file.properties is not None
        pairs = list(of_families(salvage(input_.place, self._fs.read_file(input_.place)).pairs, mine))
        if not pairs:
            return None
        identity = replace(
            input_.properties.identity,
            group=file.properties.identity.group,
            replaced=(input_.path,),
            replaced_ranges=(),
        )
        made = self._writer.sstable(pairs, self._options(identity), identity)
        self._evidence.sstables[made.path] = made
        self._report.done.append(
            f"{input_.path}: its {len(pairs)} cells of families {shown_key(identity.group)} went into {made.path}"
        )
        return made

    @switches
    def _take_out(self, path: str) -> None:
        """It is in the backup on return, and nowhere else unless it is needed."""
        if path in self._needed:
            self._backup.keep(path)
        else:
            self._backup.remove(path)

    @switches
    def _back(self, file: SSTableFound) -> SSTableFound:
        if not file.in_trash:
            return file
        self._backup.held()
        self._fs.rename(file.place, file.path)
        self._report.done.append(f"{file.path} was brought back from {file.place}")
        found = SSTableFound(file.path, file.path, file.length_bytes, file.footer_checksum, file.properties)
        self._evidence.sstables[file.path] = found
        del self._evidence.trash[file.path]
        return found

    def _inputs(self, file: SSTableFound) -> list[SSTableFound]:
        """All files it was made from, if they are all there and sound: together they hold the same, or more. None where
        their times were set back (tablet.set_back_clocks): what was written since would hide below them."""
        if file.properties is None:
            return []
        identity = file.properties.identity
        found = [self._evidence.somewhere(path) for path in identity.replaced]
        whole = [one for one in found if one is not None and not one.damage]
        if any(one.properties is None or one.properties.identity.clock_millis > identity.clock_millis for one in whole):
            return []
        return whole if len(whole) == len(identity.replaced) else []

    def _successors(self, path: str, named: Named) -> tuple[SSTableFound, ...]:
        """The files that were made from one that is gone: one for each group of families into which it was divided."""
        record, key, _ = named
        found = {
            families_of(file): file
            for file in sorted(self._evidence.sstables.values(), key=lambda file: file.path)
            if replaces(file, path, record)
        }
        apart = [families for families in found if not any(families < other for other in found)]
        for families in apart:
            self._report.done.append(f"{path} is gone; {found[families].path}, which was made from it, takes its place")
        if apart and not self.have_all(found.values(), path, key, record.table_id):
            self._lost_whole(path, named, "is not there; some of its families, if they had cells, are in no other file")
        return tuple(found[families] for families in apart)

    @switches
    def _salvaged(self, file: SSTableFound, named: Named | None) -> tuple[SSTableFound, ...]:
        found = salvage(file.place, self._fs.read_file(file.place))
        identity = self._identity(file, named, found.pairs)
        table = self._table(table_of_path(file.path))
        if found.pairs:
            options = self._options(identity)
            made = self._writer.sstable(found.pairs, options, identity)
            self._evidence.sstables[made.path] = made
            self._report.done.append(f"{file.path}: {len(found.pairs)} cells of {table} were saved into {made.path}")
        for start, stop in found.lost:
            self._report.lost.append(
                f"{table}, {shown_rows(start, stop)}: what {file.path} held of them ({file.damage})"
            )
        if not found.pairs and not found.lost:
            self._lost_whole(file.path, named, file.damage)
        self._take_out(file.place)
        return (made,) if found.pairs else ()

    def _identity(self, file: SSTableFound, named: Named | None, pairs: list[Pair]) -> SSTableIdentity:
        if file.properties is not None:
            return file.properties.identity
        table_id = table_of_path(file.path)
        clock_millis = _latest(pairs, self._evidence.clock_millis())
        if named is not None:
            record, key, _ = named
            return SSTableIdentity(table_id, record.tablet_id, key, record.generation, clock_millis=clock_millis)
        return SSTableIdentity(table_id, 0, self._key_of(table_id, pairs), 0, clock_millis=clock_millis)

    def _key_of(self, table_id: int, pairs: list[Pair]) -> str:
        """The stack that holds the first cell's family, and no other family."""
        if not pairs:
            return ""
        key = pairs[0][0]
        start = key.index(TERMINATOR) + 2
        family = key[start : key.index(b"\x00", start)]
        schema = self._schemas.get(table_id)
        keys = LocalityGroupLayout(schema).keys if schema is not None else ()
        return next((one for one in keys if family in families_of_key(one)), stack_key((family,)))

    def _options(self, identity: SSTableIdentity) -> SSTableOptions:
        schema = self._schemas.get(identity.table_id)
        return LocalityGroupLayout(schema).sstable_options(identity.group) if schema is not None else SSTableOptions()

    def _lost_whole(self, path: str, named: Named | None, what: str) -> None:
        if named is None:
            self._report.lost.append(f"{self._table(table_of_path(path))}: all of {path} ({what})")
            return
        record, key, ref = named
        families = f"families {shown_key(key)}"
        self._report.lost.append(
            f"{self._table(record.table_id)}, {_rows(record)}, {families}: {ref.cells} cells of {path} ({what})"
        )

    def _table(self, table_id: int) -> str:
        schema = self._schemas.get(table_id)
        return shown_table(schema.name if schema is not None else None, table_id)


def _latest(pairs: Iterable[Pair], clock_millis: int) -> int:
    """The latest time of these cells that a server may have assigned, where the file's own word is lost. Its tablet
    goes on behind it; else puts would hide below these cells when the clock was ahead once. Clients choose times, too:
    one that is later than anything a server is known to have assigned is theirs, and moves no clock."""
    return max((time for time, *_ in (parse_suffix(key) for key, _ in pairs) if time <= clock_millis), default=0)


def _rows(record: TabletRecord) -> str:
    start, stop = record.range
    return f"rows from {start!r} to {stop!r}" if stop else f"rows from {start!r} on"
