"""Everything that is stored of a row, markers included: for people who look why a cell is (not) there (HBase's RAW
scans). Nothing is masked and nothing has expired; of each column the newest `max_versions` puts and every marker.

A cell's value begins with one byte, the kind of operation (model.mutation) that it is; a marker has no more than that.
"""

from collections.abc import Iterable, Iterator

from hbtable.encoding.cell_key import FLAG_TTL, Pair, check_known, family_name, parse
from hbtable.merge.visibility import TakePart
from hbtable.model.cell import MAX_TIMESTAMP, Cell, Row
from hbtable.model.mutation import PUT
from hbtable.model.read import Columns
from hbtable.switches import switches


@switches
def raw_rows(  # noqa: C901 -- one pass, as merge.visibility.rows
    lists: Iterable[Iterable[Pair]],
    families: Iterable[bytes],
    columns: Columns | None,
    min_ts: int,
    max_ts: int,
    versions: int,
    take_part: TakePart | None = None,
) -> Iterator[Row]:
    """As merge.visibility.rows, slower. `families`: as they stand in cell keys; others, which the schema lost, are left
    out."""
    known = frozenset(families)
    stop_ts = max_ts if max_ts < MAX_TIMESTAMP else MAX_TIMESTAMP + 1
    current: bytes | None = None
    cells: list[Cell] = []
    in_parts = False
    last, puts = b"", 0
    for pairs in lists:
        before = current
        for key, value in pairs:
            row, stored, qualifier, timestamp, kind, _, flags = parse(key)
            if row != current:
                if current is not None:
                    if in_parts:
                        in_parts = False
                        if take_part is not None and take_part(current, cells, True):
                            return
                    elif cells:
                        yield current, cells
                current, cells, last = row, [], b""
            family = family_name(stored)
            if stored not in known or not min_ts <= timestamp < stop_ts or not _wanted(columns, family, qualifier):
                continue
            name = family + b":" + qualifier
            if name != last:
                last, puts = name, 0
            check_known(key)
            if kind == PUT:
                puts += 1
                if puts > versions:
                    continue
                if flags & FLAG_TTL:
                    value = value[8:]
            cells.append((name, timestamp, bytes((kind,)) + value))
        if current is not None and current is before and cells and take_part is not None:
            if take_part(current, cells, False):
                return
            cells = []
            in_parts = True
    if current is not None:
        if in_parts and take_part is not None:
            take_part(current, cells, True)
        elif cells:
            yield current, cells


def _wanted(columns: Columns | None, family: bytes, qualifier: bytes) -> bool:
    if columns is None:
        return True
    if family not in columns:
        return False
    qualifiers = columns[family]
    return qualifiers is None or qualifier in qualifiers
