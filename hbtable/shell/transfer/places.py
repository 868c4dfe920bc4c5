"""The places of bad records in a file, for people: lines of text files, records of Parquet."""

from pathlib import Path
from typing import Final, final

from hbtable.shell.transfer.records import BadRecord

_PIECE: Final = 1 << 20


@final
class Places:
    """Names the places of records, which are asked for in the file's order: what was counted is not read again."""

    def __init__(self, path: Path, form: str) -> None:
        self._path = path
        self._has_lines = form != "parquet"
        self._offset = 0
        self._lines = 0

    def of(self, behind: int, record: BadRecord) -> str:
        """`behind`: the offset behind the record. Of a record with line breaks in quotes, its first line."""
        if record.place:
            return record.place
        if not self._has_lines:
            return f"{self._path}, record {behind}"
        return f"{self._path}, line {self._lines_before(behind - len(record.raw)) + 1}"

    def _lines_before(self, offset: int) -> int:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            while piece := file.read(min(offset - self._offset, _PIECE)):
                self._lines += piece.count(b"\n")
                self._offset += len(piece)
        return self._lines
