"""Ray Data's reads and writes of a table beside plain Python over a happybase scan.

All in one test: Ray is several processes, whose start is most of what this takes.
"""

import json
import struct
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import hbtable
from hbtable import dataflow
from hbtable.runtime.processes.temporary_folder import temporary_folder
from tests.harness.clicks_table import TYPES, assert_copied_once, clicks_server, plain, plain_records, sums
from tests.harness.document_blocks import run_blocks
from tests.harness.engine_tables import Engine, Record, Written
from tests.harness.secured_engine import CHECKS as CHECKS_OF_EVERY_ENGINE
from tests.harness.server import ServerProcess
from tests.harness.server_processes import kill_servers, server_pids
from tests.integration import test_mapreduce as jobs

pytestmark = [
    pytest.mark.integration,
    pytest.mark.verify,
    pytest.mark.alone,  # Ray gives each of its parts 30 s to start, however busy the machine is
    pytest.mark.skipif(find_spec("ray") is None, reason="no Ray: pip install 'hbtable[ray]'"),
    pytest.mark.filterwarnings("default"),  # Ray's own
]


class Stage(NamedTuple):
    server: ServerProcess
    table: hbtable.Table
    folder: Path


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    import ray

    with (
        temporary_folder("hbtable-ray-") as (folder, _),  # paths of sockets are short
        clicks_server(tmp_path) as server,
        hbtable.connect("127.0.0.1", server.port) as db,
    ):
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="WARNING",
            object_store_memory=100 << 20,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
            _system_config={"kill_idle_workers_interval_ms": 0},  # a new one takes longer than a check
        )
        try:
            context = ray.data.DataContext.get_current()
            context.enable_progress_bars = False
            context.default_hash_shuffle_parallelism = 2
            yield Stage(server, db.table("clicks"), tmp_path)
        finally:
            ray.shutdown()


def check_every_cell_and_exact_sums_while_a_server_is_killed_and_a_tablet_splits(stage: Stage) -> None:
    expected = plain_records(stage.server)
    dataset = dataflow.to_ray(stage.table, TYPES, at_least=4)
    stage.table.put("1000x", {"c:site": "too late to be read"})
    stage.table.connection.split_table("clicks", "1000")  # type: ignore[attr-defined]
    kill_servers(server_pids(stage.server)[:1])
    assert sorted(tuple(record.values()) for record in dataset.take_all()) == expected
    by_site = dataset.groupby("c:site").sum("c:clicks").take_all()
    assert {one["c:site"]: one["sum(c:clicks)"] or 0 for one in by_site if one["c:site"]} == sums(expected)
    with hbtable.connect("127.0.0.1", stage.server.port) as db:
        db.table("clicks").delete("1000x")


def source(*table: Any, **rows: Any) -> Callable[[], list[Record]]:
    dataset = dataflow.to_ray(*table, **rows)
    return lambda: sorted(tuple(record.values()) for record in dataset.take_all())


def sink(table: hbtable.Table, column: str, **arguments: Any) -> Callable[[list[Written]], None]:
    made = dataflow.ray_sink(table, "id", {"n": column}, types={column: pa.int64()}, **arguments)

    def write(rows: list[Written]) -> None:
        import ray

        ray.data.from_items([{"id": row, "n": number} for row, number in rows]).write_datasink(made)

    return write


ENGINE = Engine(source, sink)


def check_ranges(stage: Stage) -> None:
    expected = plain_records(stage.server)
    inside = [record for record in expected if record[0].startswith(b"07")]
    dataset = dataflow.to_ray(stage.table, TYPES, row_prefix="07")
    assert dataset.schema().names == ["row", *TYPES]
    assert sorted(tuple(record.values()) for record in dataset.take_all()) == inside
    assert len(dataflow.to_ray(stage.table, TYPES).limit(7).take_all()) == 7
    nothing = dataflow.to_ray(stage.table, TYPES, row_prefix="x")
    assert (nothing.count(), nothing.columns()) == (0, ["row", *TYPES])


def check_writes_leave_the_same_when_they_are_repeated(stage: Stage) -> None:
    owner: Any = stage.table.connection
    copy = owner.create_table("copy", {"c": {"max_versions": 5}})
    dataset = dataflow.to_ray(stage.table, TYPES)
    for _ in range(2):
        dataset.write_datasink(dataflow.ray_sink(copy, types=TYPES, timestamp=7))
    assert_copied_once(stage.server, copy, 7)
    sink = dataflow.ray_sink(copy, types=TYPES)
    dataset.write_datasink(sink)
    again = {time for data in plain(stage.server, "copy", include_timestamp=True).values() for _, time in data.values()}
    assert len(again) == 1


def check_word_count_and_inverted_index_have_what_mapreduce_has(stage: Stage) -> None:
    """A sink of Ray has the same columns in all rows, so that the pages of a word are a list in one."""
    owner: Any = stage.table.connection
    web, counts, index = jobs.webtable(owner), owner.create_table("counts", ["n"]), owner.create_table("index", ["p"])
    words = jobs.word_counts()
    pages = dataflow.to_ray(web, {"contents:": pa.string()})
    counted = pages.flat_map(lambda page: [{"word": word} for word in page["contents:"].split()])
    counted = counted.groupby("word").count()
    counted.write_datasink(dataflow.ray_sink(counts, "word", {"count()": "n:count"}, types={"n:count": pa.int64()}))
    expected = {word: {b"n:count": struct.pack(">q", count)} for word, count in words.items()}
    assert plain(stage.server, "counts") == expected
    found = pages.flat_map(
        lambda page: [{"word": word, "page": page["row"].decode()} for word in set(page["contents:"].split())]
    )
    lists = found.groupby("word").map_groups(
        lambda group: {"word": [group["word"][0]], "pages": [sorted(group["page"])]}, batch_format="numpy"
    )
    sink = dataflow.ray_sink(index, "word", {"pages": "p:"}, types={"p:": pa.list_(pa.string())})
    lists.write_datasink(sink)
    inverted = jobs.inverted_index()
    assert {
        word: {b"p:" + page.encode(): b"" for page in json.loads(data[b"p:"])}
        for word, data in plain(stage.server, "index").items()
    } == inverted


def check_the_page_about_jobs(stage: Stage) -> None:
    """Here, as its block takes the Ray that runs."""
    run_blocks("docs/data.md", "import ray", stage.folder)


CHECKS: list[Callable[[Stage], None]] = [
    check_every_cell_and_exact_sums_while_a_server_is_killed_and_a_tablet_splits,
    check_ranges,
    check_writes_leave_the_same_when_they_are_repeated,
    check_word_count_and_inverted_index_have_what_mapreduce_has,
    check_the_page_about_jobs,
]


def test_ray(stage: Stage, subtests: pytest.Subtests) -> None:
    for check in CHECKS:
        with subtests.test(check.__name__):
            check(stage)
    for common in CHECKS_OF_EVERY_ENGINE:
        with subtests.test(common.__name__):
            common(ENGINE, stage.server, stage.folder)
