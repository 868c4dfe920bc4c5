"""hbtable import of rows with a family that the table lacks: bad records, named by their place, skipped and kept."""

import json
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

import hbtable
from hbtable.shell.errors import ShellError
from hbtable.shell.transfer.importing import ImportOptions, run_import
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration
KINDS = ("thrift", "thrift1", "thrift2")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("families") / "data", ["log.durability=os"]) as server:
        yield server


def json_lines(path: Path) -> None:
    lines = [{"row": row, "cells": [{"column": column, "value": "1"}]} for row, column in
             (("a", "f:a"), ("b", "x:a"), ("c", "g:a"))]  # fmt: skip
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def fields(path: Path) -> None:
    path.write_text("HBASE_ROW_KEY,f:a,x:a\na,1,\nb,,1\nc,1,\n")


def cells(path: Path) -> None:
    pyarrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({
        "row": [b"a", b"b", b"c"], "column": [b"f:a", b"x:a", b"g:a"], "timestamp": [1, 1, 1], "value": [b"1"] * 3,
    })  # fmt: skip
    parquet.write_table(table, path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("form", "write", "place"),
    [("jsonl", json_lines, "line 2"), ("csv", fields, "line 3"), ("parquet", cells, "record 2")],
)
def test_a_row_of_a_family_that_the_table_lacks_is_a_bad_record(
    server: WarmServer, tmp_path: Path, kind: str, form: str, write: Any, place: str
) -> None:
    """It was said without file, line and row, and could not be skipped."""
    path, errors, name = tmp_path / f"rows.{form}", tmp_path / "errors", f"{form}-{kind}"
    write(path)
    where = f"{kind}://127.0.0.1:{server.port}"
    with hbtable.connect("127.0.0.1", server.port, timeout=60_000) as database:
        table = database.create_table(name, {"f": {}, "g": {}})
        said = f"{path}, {place}: row b: table {name} has no family x; its families are f, g"
        with pytest.raises(ShellError, match=said):
            run_import(where, ImportOptions(name.encode(), path, form), perf_counter)
        options = ImportOptions(name.encode(), path, form, skip_bad=1, errors=errors)
        assert "1 bad records skipped" in run_import(where, options, perf_counter)
        assert [row for row, _ in table.scan()] == [b"a", b"c"]
        assert errors.with_name("errors.why").read_text() == f"{said}\n"
        # What is kept can be put right, and imported.
        mended = tmp_path / ("mended.csv" if form == "csv" else "mended.jsonl")
        mended.write_text(errors.read_text().replace("x:a", "g:a"))
        run_import(where, ImportOptions(name.encode(), mended, mended.suffix[1:]), perf_counter)
        assert table.row(b"b") == {b"g:a": b"1"}
