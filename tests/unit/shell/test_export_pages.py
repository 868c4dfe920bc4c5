"""What an export asks of the server: rows too large for one answer come in pieces, where the format allows it."""

from pathlib import Path
from typing import Any

import pytest

from hbtable.hbase.admin.structs import AdminPage, AdminPosition, AdminScan
from hbtable.shell.transfer.exporting import ExportOptions, _Export
from hbtable.shell.transfer.parts import ExportPart
from hbtable.shell.transfer.progress import Progress


class Server:
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
    export = _Export(options, Progress(tmp_path / "progress", lambda: 0.0))
    list(export._pages(server, ExportPart(0, b"a", b"b")))
    assert [scan.cells_per_row for scan in server.scans] == [pieces, pieces]
    assert server.scans[1].position == AdminPosition(b"r", 7, b"", b"f:q", 5, 1)
