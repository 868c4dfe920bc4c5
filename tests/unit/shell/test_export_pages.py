"""What an export asks of the server: rows too large for one answer come in pieces, where the format allows it."""

import contextlib
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from hbtable.hbase.admin.structs import AdminCell, AdminPage, AdminPosition, AdminRow, AdminScan
from hbtable.shell.errors import ServerError
from hbtable.shell.transfer import parquet
from hbtable.shell.transfer.exporting import ExportOptions, _Export
from hbtable.shell.transfer.parts import ExportPart, restored
from hbtable.shell.transfer.progress import Progress
from hbtable.shell.transfer.servers import HbtableTransfer


class Connection:
    """Nothing to close."""

    def close(self) -> None:
        """Nothing."""


class Server(Connection):
    """Answers with two empty pages, and remembers what it was asked."""

    def __init__(self) -> None:
        self.scans: list[AdminScan] = []

    def admin(self, method: str, table: bytes, scan: AdminScan) -> AdminPage:
        assert (method, table) == ("adminScan", b"t")
        self.scans.append(scan)
        return AdminPage([], AdminPosition(b"r", 7, b"", b"f:q", 5, 1) if len(self.scans) == 1 else None)


@pytest.mark.parametrize(("format_name", "pieces"), [("jsonl", 100_000), ("parquet", 100_000), ("csv", 0), ("tsv", 0)])
def test_long_rows_come_in_pieces_where_a_record_may_be_a_part_of_a_row(
    tmp_path: Path, format_name: str, pieces: int
) -> None:
    options = ExportOptions(b"t", tmp_path / "out", format_name, ["f:q"])
    server: Any = Server()
    export = _Export(options, Progress(tmp_path / "progress", lambda: 0.0), lambda: 0.0)
    list(export._pages(HbtableTransfer(server), ExportPart(0, b"a", b"b")))
    assert [scan.cells_per_row for scan in server.scans] == [pieces, pieces]
    assert server.scans[1].position == AdminPosition(b"r", 7, b"", b"f:q", 5, 1)


def _at(cells_done: int, row: bytes, column: bytes = b"") -> AdminPosition:
    return AdminPosition(row, cells_done, b"", column, 5, 1 if column else 0)


PAGES: dict[bytes, tuple[list[bytes], AdminPosition | None]] = {
    b"": ([b"r1", b"r2"], _at(0, b"r3")),
    b"r3": ([b"r3", b"r4"], _at(1, b"r4", b"f:q")),
    b"r4": ([b"r4"], _at(-1, b"sealed")),
    b"sealed": ([b"r4"], _at(-1, b"again")),
    b"again": ([b"r4", b"r5"], _at(-1, b"behind")),
    b"behind": ([b"r6"], None),
}
"""By the row where the page begins: it ends before a row, within one, and where the position does not say it."""


@pytest.mark.parametrize("format_name", ["jsonl", "csv", "parquet"])
def test_each_row_is_counted_once_wherever_pages_end_and_runs_break_off(tmp_path: Path, format_name: str) -> None:
    class PagesServer(Connection):
        def __init__(self, most: int) -> None:
            self.left = most

        def admin(self, method: str, table: bytes, scan: AdminScan) -> AdminPage:
            if not self.left:
                raise Killed
            self.left -= 1
            rows, position = PAGES[scan.position.row if scan.position else b""]
            return AdminPage([AdminRow(row, [AdminCell(b"f:q", 7, b"v")]) for row in rows], position)

    options = ExportOptions(b"t", tmp_path / "out", format_name, ["f:q"])
    progress = Progress(tmp_path / "progress", lambda: 0.0)
    for most in [1] * len(PAGES) + [len(PAGES)]:
        export = _Export(options, progress, lambda: 0.0)
        export.parts = restored(progress.load(), options.path) or [ExportPart(0, b"", b"")]
        server: Any = PagesServer(most)
        with contextlib.suppress(Killed):
            export.write_part(HbtableTransfer(server), export.parts[0])
    assert (export.parts[0].done, export.parts[0].rows) == (True, 6)


class RowsServer(Connection):
    """Three pages of a row each."""

    def __init__(self) -> None:
        self.pages = 0

    def admin(self, method: str, table: bytes, scan: AdminScan) -> AdminPage:
        self.pages += 1
        number = int(scan.position.row[1:-1]) + 1 if scan.position else 1
        row = b"r%d" % number
        return AdminPage(
            [AdminRow(row, [AdminCell(b"f:q", 7, b"v")])], AdminPosition(row + b"\0") if number < 3 else None
        )


@pytest.mark.parametrize("format_name", ["jsonl", "csv"])
def test_what_another_parts_worker_saves_meanwhile_is_what_the_file_holds(
    tmp_path: Path, format_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All parts are saved whenever one came further: also in the middle of this one's page."""
    options = ExportOptions(b"t", tmp_path / "out", format_name, ["f:q"])
    progress = Progress(tmp_path / "progress", lambda: 0.0)
    export = _Export(options, progress, lambda: 0.0)
    export.parts = [ExportPart(0, b"", b"")]
    saved = 0
    fsync = os.fsync

    def saving(descriptor: int) -> None:
        nonlocal saved
        fsync(descriptor)
        if not export._saving.locked():  # of the part's file, not of the progress
            export._save()
            assert restored(progress.load(), options.path)  # or: the part was changed since
            saved += 1

    monkeypatch.setattr(os, "fsync", saving)
    server: Any = RowsServer()
    export.write_part(HbtableTransfer(server), export.parts[0])
    assert saved
    assert restored(progress.load(), options.path)[0].rows == 3


def test_rows_are_typed_here_where_the_server_has_no_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older server, too, knows no such call. Pages are gathered into row groups."""
    monkeypatch.setattr(parquet, "_GROUP_RECORDS", 2)

    class Plain(RowsServer):
        def admin(self, method: str, table: bytes, scan: AdminScan, *types: object) -> AdminPage:
            if types:
                raise ServerError("", "no pyarrow", classes=("NotSupported", "InvalidRequest"))
            return super().admin(method, table, scan)

    options = ExportOptions(b"t", tmp_path / "out", "parquet", types={b"f:q": "text", b"f:none": "int64"})
    export = _Export(options, Progress(tmp_path / "progress", lambda: 0.0), lambda: 0.0)
    export.parts = [ExportPart(0, b"", b"")]
    server: Any = Plain()
    export.write_part(HbtableTransfer(server), export.parts[0])
    export.join()
    expected = [{"row": b"r%d" % number, "f:q": "v", "f:none": None} for number in (1, 2, 3)]
    assert pyarrow.parquet.read_table(options.path).to_pylist() == expected
    groups = pyarrow.parquet.read_metadata(options.path)
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [2, 1]


class Killed(BaseException):
    """Here and now."""


@pytest.mark.parametrize("format_name", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("pages", [0, 1, 2, 3])
def test_an_export_that_was_killed_again_and_again_goes_on(
    tmp_path: Path, format_name: str, pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time when so many pages were written, and once right before the part's end was saved."""
    options = ExportOptions(b"t", tmp_path / "out", format_name, ["f:q"])
    progress = Progress(tmp_path / "progress", lambda: 0.0)

    def begin() -> tuple[_Export, ExportPart]:
        export = _Export(options, progress, lambda: 0.0)
        export.parts = restored(progress.load(), options.path) or [ExportPart(0, b"", b"")]
        return export, export.parts[0]

    class KilledServer(RowsServer):
        def admin(self, method: str, table: bytes, scan: AdminScan) -> AdminPage:
            if self.pages == pages:
                raise Killed
            return super().admin(method, table, scan)

    def not_saved(self: ExportPart, name: str, value: object) -> None:
        if name == "done" and value:
            export._save()  # of another part's worker
            raise Killed
        object.__setattr__(self, name, value)

    export, part = begin()
    whole: Any = RowsServer()
    with monkeypatch.context() as patched:
        patched.setattr(ExportPart, "__setattr__", not_saved)
        with pytest.raises(Killed):
            export.write_part(HbtableTransfer(whole), part)
    for _ in range(2):
        export, part = begin()
        killed: Any = KilledServer()
        with contextlib.suppress(Killed):
            export.write_part(HbtableTransfer(killed), part)
    export, part = begin()
    last: Any = RowsServer()
    export.write_part(HbtableTransfer(last), part)
    assert restored(progress.load(), options.path)[0].rows == 3
