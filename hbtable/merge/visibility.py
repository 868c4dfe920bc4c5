"""From sorted pairs to the rows a reader may see (paper, section 2; HBase's rules, docs/contract.md: data model).

Per column, newest first: of one timestamp only the newest sequence counts; then a put must not be masked by a marker,
must not be older than its own or its family's time to live, must lie in the asked time range, and be among the newest
versions. Only a cell that passes all the rest uses up a version. Markers mask whatever time range is asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from hbtable.encoding.cell_key import FLAG_TTL, INVERT, TERMINATOR, Pair, check_known, family_name
from hbtable.merge.markers import Markers
from hbtable.merge.rules import FamilyRules, Rules
from hbtable.merge.tally import UNREAD, Tally
from hbtable.model.cell import MAX_TIMESTAMP, Cell, Row
from hbtable.model.mutation import PUT
from hbtable.model.read import Columns
from hbtable.switches import switches

_COLUMNS_REMEMBERED = 4096

# What rows() remembers of a column: its family's rules (None when no marker of it matters), b"family:qualifier",
# versions wanted (0: not asked for), time to live of the family, whether it is the empty qualifier, where family
# markers sit.
_Known = tuple[FamilyRules | None, bytes, int, int, bool]


KnownColumns = dict[bytes, _Known]
"""Columns that rows() has met, by the part of keys that names the column: for reads with equal rules and columns."""

TakePart = Callable[[bytes, list[Cell], bool], bool]
"""(row, cells, whether these are its last, and perhaps none): a part of a long row. True: nothing more is wanted."""


@switches
def rows(  # noqa: C901 -- the hot path of every read: one pass, no calls per plain cell
    lists: Iterable[Iterable[Pair]], rules: Rules, spec_columns: Columns | None, min_ts: int, max_ts: int,
    max_versions: int, now_millis: int, tally: Tally = UNREAD, take_part: TakePart | None = None,
    known: KnownColumns | None = None,
) -> Iterator[Row]:  # fmt: skip
    """Rows that have cells, ascending, their cells in column order, newest first. The pairs of all `lists` ascend by
    key and begin with a row, or with a family when its markers can't matter. Families without rules are left out;
    min_ts <= timestamp < max_ts, MAX_TIMESTAMP being no bound; at most `max_versions` a column, and no more than its
    family keeps. Values come without their time-to-live prefix. UnsupportedFormat for a cell of a later version.
    With `take_part` a long row is not given out here: it gets what was found after each list that lies within one."""
    stop_ts = max_ts if max_ts < MAX_TIMESTAMP else MAX_TIMESTAMP + 1
    known = {} if known is None else known
    from_bytes = int.from_bytes
    row = column = name = marks_family = b""
    row_start = b"\x00\x00"  # no key begins so
    begin, left, ttl, last_ts, empty_qualifier, in_parts = 0, 0, 0, -1, False, False
    cells: list[Cell] = []
    marks: Markers | None = None
    rule: FamilyRules | None = None
    for pairs in lists:
        before = row
        for key, value in pairs:
            if not key.startswith(row_start):
                if in_parts:
                    in_parts = False
                    if take_part is not None and take_part(row, cells, True):
                        return
                    cells = []
                elif cells:
                    yield row, cells
                    cells = []
                begin = key.index(TERMINATOR) + 2
                row_start, row = key[:begin], key[: begin - 2]
                if b"\x00" in row:
                    row = row.replace(b"\x00\xff", b"\x00")
                column, marks = b"", None
            part = key[begin:-18]
            if part != column:
                column, last_ts, found = part, -1, known.get(part)
                if found is None:
                    if len(known) >= _COLUMNS_REMEMBERED:
                        known.clear()
                    found = known[part] = _column(part, rules, spec_columns, max_versions, known)
                rule, name, left, ttl, empty_qualifier = found
                if marks is not None and not (part.startswith(marks_family) and marks.end_column()):
                    marks = None
            elif not left and not empty_qualifier:
                continue
            if key[-10] != PUT:
                tally.dead += 1
                if rule is not None:
                    if marks is None:
                        marks = Markers(rule.new_version_behavior)
                        marks_family = part[: part.index(b"\x00") + 1]
                    marks.add(key[-10], INVERT - from_bytes(key[-18:-10]), INVERT - from_bytes(key[-9:-1]))
                continue
            if not left:
                continue
            timestamp = INVERT - from_bytes(key[-18:-10])
            if timestamp == last_ts:
                continue
            last_ts = timestamp
            if not min_ts <= timestamp < stop_ts:
                continue
            if marks is not None and marks.hides(timestamp, INVERT - from_bytes(key[-9:-1])):
                tally.dead += 1
                continue
            if key[-1]:
                if key[-1] != FLAG_TTL:
                    check_known(key)
                tally.expiring += 1
                if now_millis - timestamp > from_bytes(value[:8]):
                    tally.dead += 1
                    continue
                value = value[8:]
            if ttl and now_millis - timestamp > ttl and rule and _kept(rule, max_versions) - left >= rule.min_versions:
                left = 0  # every later cell of the column is older still; min_versions newest ones stayed all the same
                tally.dead += 1
                continue
            cells.append((name, timestamp, value))
            left -= 1
        if row is before and cells and take_part is not None:
            if take_part(row, cells, False):
                return
            cells = []
            in_parts = True
    if in_parts and take_part is not None:
        take_part(row, cells, True)
    elif cells:
        yield row, cells


def only_cell(lists: Iterable[Sequence[Pair]], row: bytes, known: KnownColumns) -> Cell | None:
    """The cell of a row of a single pair, in a tuple with one list, where nothing is to be decided: a put that does not
    expire, of a column that rows() has met. For reads without bounds of time. None: rows() has to tell. Hot."""
    if type(lists) is not tuple or len(lists[0]) != 1:
        return None
    key, value = lists[0][0]
    found = known.get(key[len(row) + 2 : -18])
    if found is None or key[-10] != PUT or key[-1] or b"\x00" in row:
        return None
    _, name, versions, ttl, _ = found
    if not versions or ttl:
        return None
    return name, INVERT - int.from_bytes(key[-18:-10], "big"), value


def _kept(rule: FamilyRules, max_versions: int) -> int:
    """The number of versions of a column that there are to see at most."""
    return min(rule.max_versions, max_versions)


def _column(part: bytes, rules: Rules, spec_columns: Columns | None, max_versions: int, known: KnownColumns) -> _Known:
    """The rules and name of the column whose keys hold `part` between the row and the suffix. `known` remembers its
    family as well, as that part of a key which ends before the qualifier: rows may have 100,000 columns of one."""
    end = part.index(b"\x00")
    family = part[:end]
    found = known.get(family)
    if found is None:
        found = known[family] = _family(family, rules, spec_columns, max_versions)
    rule, name, versions, ttl_millis, _ = found
    if rule is None:
        return found
    qualifier = part[end + 1 : -2]
    empty = not qualifier
    if b"\x00" in qualifier:
        qualifier = qualifier.replace(b"\x00\xff", b"\x00")
    if spec_columns is not None:
        wanted = spec_columns[name[:-1]]
        if wanted is not None and qualifier not in wanted:
            return rule, b"", 0, 0, empty
    return rule, name + qualifier, versions, ttl_millis, empty


def _family(family: bytes, rules: Rules, spec_columns: Columns | None, max_versions: int) -> _Known:
    """For all columns of the family; their names begin with the one here."""
    rule, name = rules.get(family), family_name(family)
    if rule is None or (spec_columns is not None and name not in spec_columns):
        return None, b"", 0, 0, False
    return rule, name + b":", _kept(rule, max_versions), rule.ttl_millis, False
