"""A table that is made anew under way ends an export and an import: the file would hold rows of two tables, or the new
table would lack rows, and nobody would know. One that is split and merged goes on."""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hbtable.hbase.admin.structs import AdminCell, AdminMutation, AdminPage, AdminPosition, AdminRow
from hbtable.shell.errors import ArgumentError, ShellError
from hbtable.shell.transfer import importing, transfer_workers
from hbtable.shell.transfer.exporting import ExportOptions, run_export
from hbtable.shell.transfer.importing import ImportOptions, run_import
from hbtable.shell.transfer.servers import Reading, State

KINDS = ["table_id", "regions"]


class Server:
    """A transfer's, whose table is another one after the call that is number `anew_after`."""

    def __init__(self, kind: str, anew_after: int | None) -> None:
        self.calls = 0
        self._kind = kind
        self._anew_after = anew_after
        self._looks = count()

    def origin(self, table: bytes) -> State:
        generation = 2 if self._anew_after is not None and self.calls >= self._anew_after else 1
        if self._kind == "table_id":
            return {"cluster": "c", "table_id": generation}
        look = next(self._looks)  # a region is gone, and another one has come, whenever somebody looks
        return {"cluster": "c", "regions": [f"{generation}-{look}", f"{generation}-{look + 1}"]}

    def families(self, table: bytes) -> frozenset[bytes]:
        return frozenset([b"f"])

    def ranges(self, table: bytes) -> list[tuple[bytes, bytes]]:
        return [(b"", b"h"), (b"h", b"p"), (b"p", b"")]

    def pages(self, reading: Reading, start: bytes, stop: bytes, position: AdminPosition | None) -> Iterator[AdminPage]:
        self.calls += 1
        yield AdminPage([AdminRow(start or b"a", [AdminCell(b"f:x", 1, b"v")])])

    def write(self, table: bytes, rows: Sequence[AdminMutation]) -> None:
        self.calls += 1

    def told(self) -> str:
        return ""

    def close(self) -> None:
        """Nothing."""


class Run:
    """An export or import of table `t`, on a clock that goes on by `step` seconds whenever somebody looks at it."""

    def __init__(self, what: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = folder / "t.jsonl"
        self.what = what
        self._patch = monkeypatch
        monkeypatch.setattr(importing, "_ROUND_BYTES", 1)
        if what == "import":
            lines = [f'{{"row": "{row}", "cells": [{{"column": "f:x", "value": "v"}}]}}\n' for row in "ahp"]
            self.file.write_text("".join(lines))

    def run(self, server: Any, step: float) -> str:
        self._patch.setattr(transfer_workers, "connector", lambda address: lambda: server)
        seconds = count(0.0, step)
        if self.what == "export":
            return run_export("", ExportOptions(b"t", self.file, "jsonl", workers=1), lambda: next(seconds))
        return run_import("", ImportOptions(b"t", self.file, "jsonl", workers=1), lambda: next(seconds))

    def went(self, server: Server) -> int:
        """The rows that are in files now, or in the table."""
        if self.what == "import":
            return server.calls
        return sum(len(part.read_text().splitlines()) for part in self.file.parent.glob("*.part-*"))


@pytest.fixture(params=["export", "import"])
def run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(request.param, tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("step", "anew_after"), [(11.0, 1), (11.0, 2), (11.0, 3), (0.0, 1), (0.0, 3)])
def test_a_table_that_is_made_anew_ends_it(run: Run, kind: str, step: float, anew_after: int) -> None:
    """Between two looks, and behind the last one."""
    server = Server(kind, anew_after)
    with pytest.raises(ShellError, match=r"table t .*truncated.*; begin anew with --anew"):
        run.run(server, step)
    # Of an import the write that was under way is acknowledged; a page of an export is looked at before it is kept.
    assert run.went(server) == (3 if step == 0.0 else anew_after - (run.what == "export"))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_goes_on_with_what_it_left(run: Run, kind: str) -> None:
    with pytest.raises(ShellError):
        run.run(Server(kind, 2), 0.0)
    with pytest.raises(ArgumentError, match="--anew"):
        run.run(Server(kind, 0), 0.0)


def test_the_file_of_an_export_is_not_written_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("export", tmp_path, monkeypatch)
    with pytest.raises(ShellError):
        run.run(Server("regions", 1), 0.0)
    assert not run.file.exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [0.0, 11.0])
def test_a_table_that_is_split_and_merged_goes_on(run: Run, kind: str, step: float) -> None:
    assert "ported 3 rows" in run.run(Server(kind, None), step)
