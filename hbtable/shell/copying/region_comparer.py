"""Regions of both sides are compared: what the target lacks is written, what it alone has deleted, if it shall be.

A region is read whole while nobody writes. Or it is read while programs write (*early*), and when they stand, only what
is newer than the beginning of that, and whole the rows that differed then. This sees each cell that was written
meanwhile with a time of then, and every version that another one took the place of, as both sides keep as many. It does
not see a delete of older cells, nor a cell that was written with an older time of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final, NamedTuple, final

from hbtable.model.cell import Row
from hbtable.model.schema import TableSchema
from hbtable.shell.copying.columns import WITH_LIFETIMES
from hbtable.shell.copying.comparing import PartComparison, compare
from hbtable.shell.copying.copy_parts import CopyPart
from hbtable.shell.copying.copy_progress import CopyProgress
from hbtable.shell.copying.mended_rows import MendedRows, joined
from hbtable.shell.copying.page_size import batches
from hbtable.shell.copying.peers import CopyPeer
from hbtable.shell.copying.read_ahead import read_ahead

_LOOKS: Final = 100
"""Comparisons of a region that something is deleted from each time."""
_EARLY_LOOKS: Final = 3
"""Comparisons of what differs while programs write: most of it was on its way."""
_AT_ONCE: Final = 500
"""Rows that are mended by one call."""
_NEVER: Final = 1 << 63
Ranges = list[tuple[bytes, bytes]]
Job = Callable[[CopyPart, CopyPeer, CopyPeer], None]


class _Look(NamedTuple):
    """The range of times, in milliseconds, that a comparison reads, and whether it mends."""

    writes: bool = False
    """The target gets the cells that it lacks."""
    deletes: bool = False
    """Cells that the target alone has are deleted there."""
    since: int = 0
    """Older cells are not read."""
    before: int = _NEVER
    """A row counts as one that differs if it does in an older cell."""


@final
@dataclass(slots=True)
class EarlyComparison:
    """The rest that is compared when nobody writes: all that is newer than `since`, in milliseconds, and some rows."""

    parts: Sequence[CopyPart]
    since: int
    doubtful: dict[tuple[bytes, bytes], Ranges] = field(default_factory=dict)
    """By a part's table and start, the rows that differed, ascending."""


@final
class RegionComparer:
    """Jobs of several threads. `go_on` raises what ends them; `differs` says in the end whether a region did, and
    `surplus` whether by cells that the target alone has."""

    def __init__(
        self,
        schemas: Mapping[bytes, TableSchema],
        delete: bool,
        allow_fewer: bool,
        shown: CopyProgress,
        go_on: Callable[[], None],
    ) -> None:
        """`schemas`: the source's."""
        self.differs = False
        self.surplus = False
        self.early: EarlyComparison | None = None
        self._schemas = schemas
        self._delete = delete
        self._allow_fewer = allow_fewer
        self._shown = shown
        self._go_on = go_on

    # ---------------------------------------------------------------- while programs write

    def begin_early(self, parts: Sequence[CopyPart], since: int) -> Job:
        """The job for each of the parts, while programs write. `since`: a time before it begins, by the source's
        clock."""
        early = self.early = EarlyComparison(parts, since)

        def job(part: CopyPart, source: CopyPeer, target: CopyPeer) -> None:
            whole = [(part.start, part.stop)]
            keeps_alike = _keeps(target.schema(part.table)) == _keeps(self._schemas[part.table])
            found = self._differing(part, since, source, target) if keeps_alike else whole
            early.doubtful[part.table, part.start] = found
            self._shown.ended()

        return job

    def _differing(self, part: CopyPart, since: int, source: CopyPeer, target: CopyPeer) -> Ranges:
        """The rows that differ in something older than `since`: the rest is read again. What the target lacks is
        written, so that versions which another one took the place of go there, too. Nothing is deleted: the source may
        have it again."""
        ranges = [(part.start, part.stop)]
        for _ in range(_EARLY_LOOKS):
            mended = MendedRows(near=0)
            found = self._compared(part.table, ranges, source, target, mended, _Look(writes=True, before=since))
            if found.repeated:  # no cell says which row it was
                return ranges
            ranges = mended.taken()
            if not ranges:
                break
        return ranges

    # ---------------------------------------------------------------- while nobody writes

    def compare(self, part: CopyPart, source: CopyPeer, target: CopyPeer) -> None:
        """A region, whole."""
        self._settle(part, part.shown(), [(part.start, part.stop)], source, target)
        self._shown.ended()

    def compare_newer(self, part: CopyPart, source: CopyPeer, target: CopyPeer) -> None:
        """A part of the early comparison."""
        assert self.early is not None
        place = part.table, part.start
        whole = [(part.start, part.stop)]
        mended = MendedRows(near=0)  # between two of these are rows that it does not count
        try:
            look = _Look(writes=True, since=self.early.since)
            newer = self._compared(part.table, whole, source, target, mended, look)
        finally:  # the next try would find them alike, if the connection breaks here
            doubtful = joined([*self.early.doubtful[place], *mended.taken()])
            self.early.doubtful[place] = doubtful
        written = f", missing and written: {newer.missing:,}" if newer.missing else ""
        self._shown.say(f"{part.shown()}: {newer.source.cells:,} newer cells, digest {newer.source}{written}")
        if newer.repeated or doubtful:
            ranges = whole if newer.repeated else doubtful
            self._settle(part, f"{part.shown()}, the rows that differed", ranges, source, target)
        self._shown.ended()

    def _settle(self, part: CopyPart, name: str, ranges: Ranges, source: CopyPeer, target: CopyPeer) -> None:
        """Mends the ranges until both sides are alike, and says so, or that they are not."""
        mended = MendedRows()
        first = last = self._compared(part.table, ranges, source, target, mended, _Look(True, self._delete))
        deleted, left, repeated = 0, 0, first.repeated
        for _ in range(_LOOKS):
            if last.alike:
                break
            # A version that was deleted may show the one behind it, which was one too many.
            deletes = self._delete and last.surplus > last.left
            deleted += last.surplus - last.left if deletes else 0
            left = last.left
            # All other rows were alike, or had a cell twice. Those that it mends now take their place.
            last = self._compared(part.table, mended.taken(), source, target, mended, _Look(deletes, deletes))
            repeated += last.repeated
            if not deletes:
                break
        whole = first
        if repeated or not last.alike:
            # What is said is of it.
            whole = last = self._compared(part.table, ranges, source, target, MendedRows(), _Look())
        notes = "".join(
            f", {what}: {number:,}"
            for number, what in (
                (first.missing, "missing and written"),
                (deleted, "only at the target and deleted"),
            )
            if number
        )
        if last.alike:
            self._shown.say(f"{name}: {whole.source.cells:,} cells, digest {whole.source}, alike{notes}")
            return
        self.differs = True
        if last.surplus:
            self.surplus = True
        self._shown.say(
            f"{name}: {last.source.cells:,} cells, digest {last.source}; the target has {last.target.cells:,}, "
            f"digest {last.target}; missing: {last.missing:,}, only at the target: {last.surplus:,}{notes}"
        )
        if first.missing and last.missing:
            self._shown.say(part.hidden_cells(self._allow_fewer))
        if left and last.surplus:
            self._shown.say(f"{part.shown()}: cells that only the target has are left there: {target.why_left}")

    # ---------------------------------------------------------------- both sides

    def _compared(
        self,
        table: bytes,
        ranges: Ranges,
        source: CopyPeer,
        target: CopyPeer,
        mended: MendedRows,
        look: _Look,
    ) -> PartComparison:
        """`mended` gets the rows that differ."""
        found = PartComparison()
        for start, stop in ranges:
            part = CopyPart(table, start, stop)
            found.add(self._compared_range(part, source, target, mended, look))
        return found

    def _compared_range(
        self, part: CopyPart, source: CopyPeer, target: CopyPeer, mended: MendedRows, look: _Look
    ) -> PartComparison:
        schema = self._schemas[part.table]
        found = PartComparison()
        mended.begin()
        missing: list[Row] = []
        surplus: list[Row] = []

        def flush(at_least: int) -> None:
            if len(missing) >= at_least:
                for rows in batches(missing) if look.writes else ():
                    target.write(part.table, rows)
                missing.clear()
            if len(surplus) >= at_least:
                if look.deletes:
                    found.left += target.delete(part.table, surplus)
                surplus.clear()

        def gather(rows: list[Row]) -> Callable[[Row], None]:
            def take(row: Row) -> None:
                self._go_on()
                if any(at < look.before for _, at, _ in row[1]):
                    mended.add(row[0], found.source.rows + found.target.rows)
                rows.append(row)
                flush(_AT_ONCE)

            return take

        lifetimes = source.tells_lifetimes(part.table) and target.tells_lifetimes(part.table)
        pages = source.pages(schema, part.start, part.stop, look.since, WITH_LIFETIMES)
        theirs = target.pages(schema, part.start, part.stop, look.since, WITH_LIFETIMES)
        with closing(read_ahead(pages)) as ours:
            compare(self._counted(ours), theirs, found, gather(missing), gather(surplus), lifetimes)
        flush(1)
        return found

    def _counted(self, pages: Iterator[list[Row]]) -> Iterator[list[Row]]:
        for page in pages:
            self._shown.came(page, len(page))
            yield page


def _keeps(schema: TableSchema | None) -> list[tuple[bytes, int, int, int]]:
    """The settings that decide which versions are there to be seen."""
    families = {} if schema is None else schema.families
    return sorted((one.name, one.max_versions, one.min_versions, one.ttl_seconds) for one in families.values())
