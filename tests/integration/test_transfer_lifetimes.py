"""Cells with times to live of their own, exported and imported: an export was silent of them, so that an import made
cells that live as long as their family's.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.copying import FAMILIES, LATER, cells, connected, lifetimes, mortal
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("lifetimes") / "data", ["log.durability=os"]) as running:
        yield running


def hbtable(server: WarmServer, word: str, *words: str, service: str = "thrift") -> str:
    """What it said at the end."""
    done = run_warm(word, "--url", f"{service}://127.0.0.1:{server.port}", *words)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("service", ["thrift", "thrift1", "thrift2"])
def test_an_import_makes_cells_that_live_as_long(server: WarmServer, tmp_path: Path, service: str) -> None:
    name, again, path = f"mortal-{service}", f"again-{service}", tmp_path / "rows.jsonl"
    mortal(server, name)
    assert "of their own" not in hbtable(server, "export", name, "-o", str(path))
    written = [cell for line in path.read_text().splitlines() for cell in json.loads(line)["cells"]]
    assert [cell["ttl_millis"] - LATER for cell in written if "ttl_millis" in cell] == [7, 9, 8, 0, 0]
    with connected(server) as database:
        database.create_table(again, FAMILIES)
    hbtable(server, "import", again, str(path), service=service)
    assert lifetimes(server, again) == lifetimes(server, name)


def test_of_what_other_files_leave_out_the_number_is_told(server: WarmServer, tmp_path: Path) -> None:
    mortal(server, "counted")
    said = hbtable(server, "export", "counted", "-o", str(tmp_path / "rows.parquet"))
    assert (
        "; 5 cells have times to live of their own, which Parquet does not keep: export JSON lines to keep them" in said
    )
    assert "of their own" not in hbtable(server, "export", "counted", "-o", str(tmp_path / "a.csv"), "--columns", "f:a")


def test_an_import_says_that_it_makes_no_table(server: WarmServer, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("")
    done = run_warm("import", "--url", f"127.0.0.1:{server.port}", "nowhere", str(tmp_path / "rows.jsonl"))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "RuntimeError: Unknown table nowhere!",
        "  an import makes no table: create it first, with the families of the columns",
    ]


@pytest.mark.parametrize("given", [0, -1, 2**63, True, 1.5, "5", None])
def test_what_is_no_time_to_live_is_refused(server: WarmServer, tmp_path: Path, given: Any) -> None:
    with connected(server) as database:
        if not database.table_exists("refusing"):
            database.create_table("refusing", FAMILIES)
    path = tmp_path / "rows.jsonl"
    now = round(time.time() * 1000)
    cell = {"column": "f:a", "timestamp": now, "value": "v", "ttl_millis": given}
    path.write_text(json.dumps({"row": "r", "cells": [cell]}) + "\n")
    done = run_warm("import", "--url", f"127.0.0.1:{server.port}", "refusing", str(path))
    assert done.returncode == 1
    assert "cells[0].ttl_millis" in done.stderr
    assert cells(server, "refusing") == []
