"""Finds the files that nobody can need any more (paper, section 6: mark and sweep). Pure.

The order of looking makes it safe (bug class 17): list the files, *then* ask the living servers what they have in
flight, *then* scan METADATA completely, twice. A file written after the listing is no candidate. A listed file was
committed before its server was asked (the scans see it), was in flight (the server named it), or never will be
committed. Paths are never used again, so garbage stays garbage: even a master that slept after planning does no harm.

Why twice: a scan is not a snapshot. A split moves files from one row to another. A scan may read the one row after the
split and the other before it, and so miss a file. Every such change brings new tablet ids: a table whose ids differ
between the scans is left alone until the next time. So is a table with a tablet of an owner that was not asked: a
server that only seems dead may still commit a file there until a new owner stands in the row.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from hbtable.model.tablet import TabletRecord


class MetadataScan(NamedTuple):
    """One complete scan: the root tablet's record and every METADATA row."""

    tablets: tuple[TabletRecord, ...]

    def everyone(self) -> Iterable[TabletRecord]:
        """Every record, the embedded left children of unfinished splits included."""
        for record in self.tablets:
            yield record
            if record.left is not None:
                yield record.left

    def ids_by_table(self) -> dict[int, frozenset[int]]:
        found: dict[int, set[int]] = {}
        for record in self.everyone():
            found.setdefault(record.table_id, set()).add(record.tablet_id)
        return {table: frozenset(ids) for table, ids in found.items()}


class ListedFile(NamedTuple):
    """An SSTable found in the file system; its path names the table it belongs to."""

    table_id: int
    path: str


def garbage_files(
    listed: Sequence[ListedFile], in_flight: Mapping[str, Set[str]], first: MetadataScan, second: MetadataScan
) -> list[str]:
    """The paths to delete, in the order listed. `in_flight`: living server -> paths that METADATA may not name yet."""
    needed: set[str] = set()
    for scan in (first, second):
        for record in scan.everyone():
            needed.update(ref.path for _group, refs in record.files for ref in refs)
    for paths in in_flight.values():
        needed |= paths
    spared = moving_tables(first, second) | unsettled_tables((first, second), in_flight.keys())
    return [file.path for file in listed if file.path not in needed and file.table_id not in spared]


def dropped_tables(
    listed: Sequence[ListedFile], garbage: Sequence[str], first: MetadataScan, second: MetadataScan
) -> list[int]:
    """The ids, ascending, of tables whose files are all garbage and of which neither scan has a row. Ids of tables are
    never used again, so nothing that counts will ever be written to their folders."""
    gone = set(garbage)
    kept = first.ids_by_table().keys() | second.ids_by_table().keys()
    kept |= {file.table_id for file in listed if file.path not in gone}
    return sorted({file.table_id for file in listed}.difference(kept))


def moving_tables(first: MetadataScan, second: MetadataScan) -> set[int]:
    """Tables whose set of tablets changed between the scans."""
    before, after = first.ids_by_table(), second.ids_by_table()
    return {table for table in before.keys() | after.keys() if before.get(table) != after.get(table)}


def unsettled_tables(scans: Iterable[MetadataScan], asked: Set[str]) -> set[int]:
    """Tables with a tablet whose owner was not asked what it has in flight."""
    return {
        record.table_id for scan in scans for record in scan.everyone() if record.owner and record.owner not in asked
    }


def garbage_logs(listed: Iterable[str], alive: Set[str], first: MetadataScan, second: MetadataScan) -> list[str]:
    """The incarnations among those `listed` whose logs can be deleted.

    What is needed follows from METADATA alone (bug class 2): a reference goes away only with the mutation that names
    the SSTables which replace it. `alive` must have been read after the listing, so that a server that just
    started is in it.
    """
    needed = {ref.incarnation for scan in (first, second) for record in scan.everyone() for ref in record.logs}
    return [name for name in listed if name not in needed and name not in alive]


def garbage_markers(
    markers: Iterable[tuple[str, int]], logs: Set[str], alive: Set[str], oldest_millis: int
) -> list[str]:
    """The fencing markers, of `markers` (incarnation, modified millis), that can be deleted: those of logs that are
    gone, `logs` being all that are there.

    The age is for a zombie that writes into its deleted log: it must find its marker as long as its lease could
    possibly seem valid to it. `logs` is read after the markers, but a log may be fenced before its first file is there.
    """
    return [name for name, modified in markers if name not in logs | alive and modified <= oldest_millis]
