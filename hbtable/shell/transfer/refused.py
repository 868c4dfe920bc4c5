"""Records that only the server can refuse, as one with a value above its limit: found among those of a call, and made
bad records with the place where they stand in the file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hbtable.errors import LimitExceeded, NoSuchFamily
from hbtable.hbase.admin.structs import AdminMutation
from hbtable.hbase.errors import ILLEGAL, BadArgument
from hbtable.shell.errors import ServerError
from hbtable.shell.transfer.pieces import in_pieces
from hbtable.shell.transfer.reading import HAVE_OFFSETS, bytes_of_record, json_line
from hbtable.shell.transfer.records import BadRecord
from hbtable.shell.transfer.servers import TransferServer

_OF_A_RECORD: Final = frozenset([BadArgument.__name__, LimitExceeded.__name__, NoSuchFamily.__name__])
"""Other records may be written. What else is refused concerns the table, as that it is disabled or read only, or the
user."""


class Sent(NamedTuple):
    """A row as the file has it: between which offsets, and whether it counts as a row in what is said to people."""

    row: AdminMutation
    before: int
    behind: int
    counts: bool


class RefusedRow(NamedTuple):
    """A row that the server did not take, and why."""

    sent: Sent
    error: ServerError


def write(server: TransferServer, table: bytes, rows: Sequence[Sent], most: int) -> list[RefusedRow]:
    """Writes the rows but those that the server refuses for what they are, of which the first ones are returned, in
    their order. Where there are more than `most`, what follows may be left out. ShellError.

    What is refused may have been written in part. So behind a refusal each row is sent once more, by itself, and not
    several times in smaller and smaller calls: a cell without a time gets a new version each time."""
    try:
        server.write(table, [one.row for one in rows])
        return []
    except ServerError as error:
        if not _is_of_a_record(error):
            raise
        if len(rows) == 1:
            return [RefusedRow(rows[0], error)]
    refused: list[RefusedRow] = []
    for one in rows:
        refused += write(server, table, [one], 0)
        if len(refused) > most:
            break
    return refused


def _is_of_a_record(error: ServerError) -> bool:
    if error.classes:
        return not _OF_A_RECORD.isdisjoint(error.classes)
    return error.java_class == ILLEGAL


def bad_record(path: Path, form: str, refusal: RefusedRow) -> BadRecord:
    sent = refusal.sent
    several = len(list(in_pieces(sent.row.operations or ()))) > 1
    record = BadRecord(f"{refusal.error}{'; others of this long row may have been written' if several else ''}")
    if form in HAVE_OFFSETS:
        record.raw = bytes_of_record(path, form, sent.before, sent.behind)
        return record
    first, last = sent.before + 1, max(sent.before + 1, sent.behind)
    record.raw = json_line(sent.row)
    record.place = f"{path}, record {first}" if first == last else f"{path}, records {first} to {last}"
    return record
