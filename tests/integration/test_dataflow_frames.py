"""Dask's and Polars' frames of a table beside a plain happybase scan and plain Python over it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import hbtable
from hbtable import dataflow
from tests.harness.clicks_table import TYPES, Record, clicks_server, plain_records, sums
from tests.harness.commands import run_python
from tests.harness.engine_tables import Engine
from tests.harness.secured_engine import CHECKS
from tests.harness.server import ServerProcess
from tests.harness.server_processes import kill_servers, server_pids

pytestmark = [pytest.mark.integration, pytest.mark.verify]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with clicks_server(tmp_path_factory.mktemp("frames")) as server:
        yield server


@pytest.fixture
def table(server: ServerProcess) -> Iterator[hbtable.Table]:
    with hbtable.connect("127.0.0.1", server.port) as db:
        yield db.table("clicks")


def dask(*table: Any, **rows: Any) -> Callable[[], list[tuple[Any, ...]]]:
    frame = dataflow.to_dask(*table, **rows)

    def run() -> list[tuple[Any, ...]]:
        found = frame.compute(scheduler="threads", num_workers=2)
        return [tuple(record.values()) for record in pa.Table.from_pandas(found, preserve_index=False).to_pylist()]

    return run


def polars(*table: Any, **rows: Any) -> Callable[[], list[tuple[Any, ...]]]:
    frame = dataflow.scan_polars(*table, **rows)
    return lambda: frame.collect().rows()


@pytest.fixture(scope="module")
def expected(server: ServerProcess) -> list[Record]:
    return plain_records(server)


def test_dask_has_every_cell_and_exact_sums_while_a_server_is_killed_and_a_tablet_splits(
    server: ServerProcess, table: hbtable.Table, expected: list[Record]
) -> None:
    frame = dataflow.to_dask(table, TYPES, at_least=6)
    assert frame.npartitions == 6
    table.connection.split_table("clicks", "1000")  # type: ignore[attr-defined]
    kill_servers(server_pids(server)[:1])
    found = frame.compute(scheduler="threads", num_workers=2)
    records = pa.Table.from_pandas(found, preserve_index=False).to_pylist()
    assert [tuple(record.values()) for record in records] == expected
    by_site = frame.groupby("c:site")["c:clicks"].sum().compute(scheduler="threads", num_workers=2)
    assert by_site.to_dict() == sums(expected)


def test_polars_has_every_cell_and_exact_sums(table: hbtable.Table, expected: list[Record]) -> None:
    frame = dataflow.scan_polars(table, TYPES)
    assert frame.collect().rows() == expected
    by_site = frame.filter(pl.col("c:site").is_not_null()).group_by("c:site").agg(pl.col("c:clicks").sum())
    assert dict(by_site.collect().rows()) == sums(expected)
    assert frame.select("c:clicks").head(7).collect().rows() == [(clicks,) for _, _, clicks in expected[:7]]
    late = frame.filter(pl.col("row") >= b"1990").select("row")
    assert late.collect().rows() == [(row,) for row, _, _ in expected if row >= b"1990"]


def test_ranges_of_rows(table: hbtable.Table, expected: list[Record]) -> None:
    inside = [record for record in expected if record[0].startswith(b"07")]
    assert dataflow.scan_polars(table, TYPES, row_prefix="07").collect().rows() == inside
    assert len(dataflow.to_dask(table, TYPES, row_prefix="07").compute(scheduler="synchronous")) == len(inside)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("engine", [Engine(dask), Engine(polars, cuts=False)], ids=["dask", "polars"])
def test_it_does_what_every_engine_does(
    server: ServerProcess, tmp_path: Path, engine: Engine, check: Callable[[Engine, ServerProcess, Path], None]
) -> None:
    check(engine, server, tmp_path)


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("polars", "scan_polars"),
        ("dask", "to_dask"),
        ("pyspark", "to_spark"),
        ("ray", "to_ray"),
        ("apache_beam", "beam_source"),
    ],
)
def test_an_engine_that_is_not_installed_is_named(module: str, call: str, tmp_path: Path) -> None:
    extra = module.removeprefix("py").removeprefix("apache_")
    program = f"""
import sys
import hbtable
from hbtable import dataflow
assert not {{"polars", "dask", "pandas", "pyarrow", "pyspark", "ray", "apache_beam"}} & sys.modules.keys()
sys.modules[{module!r}] = None
before = [None] if {module!r} == "pyspark" else []
with hbtable.open("data") as db:
    try:
        dataflow.{call}(*before, db.create_table("t", ["f"]), {{"f:a": None}})
    except hbtable.InvalidRequest as error:
        assert str(error) == "this needs {module}, which is not installed: pip install 'hbtable[{extra}]'", error
    else:
        raise AssertionError("it was there")
"""
    done = run_python(program, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
