"""The highest numbers that are in use somewhere, which the counters of metadata.id_allocator must be above.

A counter in the lock service may be lost, or come back from an old copy. What it then gives out again would be shared:
two tables with one id have the same METADATA rows, two tablets with one id the same log records. So each number that
stands in METADATA, or in the name of a file, is evidence of how far a counter had got.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hbtable.commitlog.segments.segment import LOGS
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.paths import INCARNATIONS
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.id_allocator import SCANNER_IDS, TABLE_IDS, TABLET_IDS
from hbtable.model.table import TableRecord
from hbtable.model.tablet import FIRST_FREE_TABLET_ID, FIRST_USER_TABLE_ID, GoneTablet, TabletRecord
from hbtable.switches import switches
from hbtable.tablet.shared import SSTABLE_FOLDER, table_of_path


class NumbersInUse(NamedTuple):
    """The highest of each kind; below the first number of a kind: none is in use."""

    table: int = FIRST_USER_TABLE_ID - 1
    tablet: int = FIRST_FREE_TABLET_ID - 1
    started: int = 0
    """Of tablet servers: the number that the name of the latest one begins with."""
    scanner: int = -1

    def or_above(self, other: "NumbersInUse") -> "NumbersInUse":
        """The higher number of both, for each kind."""
        return NumbersInUse(*map(max, self, other))

    def needed(self) -> dict[str, int]:
        """Counter -> the least that it may say. Those of which nothing is in use are left out: a new cluster has
        none."""
        said = {
            TABLE_IDS: self.table + 1 if self.table >= FIRST_USER_TABLE_ID else 0,
            TABLET_IDS: self.tablet + 1 if self.tablet >= FIRST_FREE_TABLET_ID else 0,
            INCARNATIONS: self.started,  # how many were started, and not the number of the next one
            SCANNER_IDS: self.scanner + 1,
        }
        return {path: least for path, least in said.items() if least}


@switches
def in_records(
    tables: Iterable[TableRecord], tablets: Iterable[TabletRecord], gone: Iterable[GoneTablet] = ()
) -> NumbersInUse:
    """The highest numbers in METADATA, those of dropped tables left out."""
    highest = NumbersInUse()
    table, tablet, server = highest.table, highest.tablet, ""
    for named in tables:
        table = max(table, named.table_id)
    for row in tablets:
        table, tablet, server = max(table, row.table_id), max(tablet, row.tablet_id), max(server, row.owner)
        if row.left is not None:
            tablet = max(tablet, row.left.tablet_id)
        if row.merges_into is not None:
            tablet = max(tablet, row.merges_into.tablet_id)
        for log in row.logs:
            server = max(server, log.incarnation)  # names begin with eight digits, so they ascend with the number
    for one in gone:
        table, tablet = max(table, one.table_id), max(tablet, one.tablet_id)
    return NumbersInUse(table, tablet, start_number(server))


@switches
def in_metadata(catalog: Catalog) -> NumbersInUse:
    """*Switches*; reads all of METADATA."""
    gone: list[GoneTablet] = []
    rows = in_records((), catalog.all_tablet_rows(gone))
    return rows.or_above(in_records(catalog.tables(), (), gone))


@switches
def in_file_names(fs: FileSystem) -> NumbersInUse:
    """The highest numbers in names of SSTables and logs, those of dropped tables included. *Switches*; lists both
    folders."""
    tables = [_table_of(status.path) for status in fs.list_files(SSTABLE_FOLDER)]
    return NumbersInUse(table=max([NumbersInUse().table, *tables]), started=latest_log(fs))


@switches
def latest_log(fs: FileSystem) -> int:
    """The highest number of a tablet server that has a log. *Switches*; lists the folder."""
    return max((start_number(status.path.split("/")[1]) for status in fs.list_files(LOGS)), default=0)


def start_number(incarnation: str) -> int:
    """The number that begins a tablet server's name; 0 when it is no such name."""
    number = incarnation.partition("-")[0]
    return int(number) if number.isdigit() else 0


def _table_of(path: str) -> int:
    try:
        return table_of_path(path)
    except ValueError:
        return 0  # not ours: a file that somebody put there
