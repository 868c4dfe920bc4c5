"""Dask's and Polars' frames of a table beside a plain happybase scan and plain Python over it."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import hbtable
from hbtable import dataflow
from tests.harness.clicks_table import TYPES, Record, clicks_server, plain_records, sums
from tests.harness.commands import run_python
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


def test_ranges_of_rows_and_what_is_not_there(table: hbtable.Table, expected: list[Record]) -> None:
    inside = [record for record in expected if record[0].startswith(b"07")]
    assert dataflow.scan_polars(table, TYPES, row_prefix="07").collect().rows() == inside
    assert len(dataflow.to_dask(table, TYPES, row_prefix="07").compute(scheduler="synchronous")) == len(inside)
    with pytest.raises(hbtable.WrongType, match="a type of Arrow for each"):
        dataflow.scan_polars(table, ["c:site"])  # type: ignore[arg-type]
    with pytest.raises(hbtable.NoSuchFamily):
        dataflow.to_dask(table, {"x:y": None})
    for call in (dataflow.to_dask, dataflow.scan_polars):
        with pytest.raises(TypeError, match="'row_strat'"):
            call(table, TYPES, row_strat="07")  # type: ignore[operator]


def test_a_value_of_another_type_is_named(table: hbtable.Table) -> None:
    with pytest.raises(Exception, match="c:site") as caught:
        dataflow.scan_polars(table, {"c:site": pa.int64()}).collect()
    assert "0001" in str(caught.value)


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
