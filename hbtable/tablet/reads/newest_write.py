"""The newest cell of a column, where the memtables can tell: a counter that is incremented again and again, or a cell
that is checked and put, was written a moment ago, into the active one.

It can where nothing hides the newest put that it has, and nothing elsewhere is as new: sequences do not decide between
sources, times do. Everything else is told by a read (tablet.reads.reading).
"""

from hbtable.encoding.cell_key import INVERT, TERMINATOR, column_prefix, row_prefix
from hbtable.model.cell import Cell
from hbtable.model.mutation import PUT
from hbtable.tablet.damage import UnreadableFile
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, Stack


def newest_write(state: TabletState, row: bytes, family: bytes, qualifier: bytes) -> Cell | None:
    """Without a time to live of its own. None: a read has to tell. Hot: read-modify-writes begin with it."""
    version = state.version
    stored = version.layout.stored.get(family)
    if stored is None or not qualifier:
        return None  # at the empty qualifier family markers sit
    rule = version.layout.rules[stored]
    if rule.ttl_millis or rule.new_version_behavior:
        return None
    stack = _only_stack(version.stacks, stored)
    if stack is None or stack.active is None:
        return None
    prefix = row_prefix(row)
    column = column_prefix(prefix, stored, qualifier)
    found = stack.active.first(column, column[:-1] + b"\x02")
    if found is None:
        return None
    key, value = found
    if key[-10] != PUT or key[-1] or INVERT - int.from_bytes(key[-9:-1], "big") > state.applied:
        return None
    timestamp = INVERT - int.from_bytes(key[-18:-10], "big")
    for file in stack.files:
        if not _is_older(file, timestamp):
            return None
    for frozen in stack.frozen:
        other = frozen.first(column, column[:-1] + b"\x02")
        if other is not None and INVERT - int.from_bytes(other[0][-18:-10], "big") >= timestamp:
            return None
    markers = prefix + stored + b"\x00" + TERMINATOR
    if any(memtable.holds_any(markers, markers[:-1] + b"\x02") for memtable in stack.memtables()):
        return None
    return family + b":" + qualifier, timestamp, value


def _is_older(file: LoadedFile, timestamp: int) -> bool:
    """Whether all cells and markers in the file are older. Then it has no newer cell, and no marker that masks one of
    this time."""
    reader = file.reader
    return not isinstance(reader, UnreadableFile) and reader.properties.max_timestamp < timestamp


def _only_stack(stacks: tuple[Stack, ...], family: bytes) -> Stack | None:
    """The stack of the family, if there is but one."""
    found: Stack | None = None
    for stack in stacks:
        if family in stack.families:
            if found is not None:
                return None
            found = stack
    return found
