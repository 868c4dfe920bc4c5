"""Apache Beam's reads and writes of a table beside plain Python over a happybase scan.

All in one test: what takes long is Beam's import.
"""

import pickle
import struct
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import hbtable
from hbtable import dataflow
from tests.harness.clicks_table import TYPES, assert_copied_once, clicks_server, plain, plain_records
from tests.harness.document_blocks import run_blocks
from tests.harness.engine_tables import Engine, Record, Written
from tests.harness.secured_engine import CHECKS as CHECKS_OF_EVERY_ENGINE
from tests.harness.server import ServerProcess
from tests.harness.server_processes import kill_servers, server_pids
from tests.integration import test_mapreduce as jobs

pytestmark = [
    pytest.mark.integration,
    pytest.mark.verify,
    pytest.mark.skipif(find_spec("apache_beam") is None, reason="no Beam: pip install 'hbtable[beam]'"),
    pytest.mark.filterwarnings("default"),  # Beam's own
]


class Stage(NamedTuple):
    server: ServerProcess
    table: hbtable.Table
    folder: Path

    def run(self, build: Callable[[Any], Any], **options: Any) -> None:
        """In this process, by the runner that needs no program from elsewhere."""
        import apache_beam as beam
        from apache_beam.options.pipeline_options import PipelineOptions

        with beam.Pipeline(options=PipelineOptions(flags=[], runner="FnApiRunner", **options)) as pipeline:
            build(pipeline)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with clicks_server(tmp_path) as server, hbtable.connect("127.0.0.1", server.port) as db:
        yield Stage(server, db.table("clicks"), tmp_path)


def equals(expected: list[Any]) -> Any:
    from apache_beam.testing.util import assert_that, equal_to

    return lambda found: assert_that(found, equal_to(expected))


def check_every_cell_in_another_process_while_a_server_is_killed_and_a_tablet_splits(stage: Stage) -> None:
    cells = list(plain(stage.server, "clicks").items())
    source = dataflow.beam_source(stage.table, ["c"], at_least=4)
    stage.table.put("1000x", {"c:site": "too late to be read"})
    stage.table.connection.split_table("clicks", "1000")  # type: ignore[attr-defined]
    kill_servers(server_pids(stage.server)[:1])
    stage.run(
        lambda pipeline: equals(cells)(pipeline | source),
        direct_num_workers=1,
        direct_running_mode="multi_processing",
    )
    with hbtable.connect("127.0.0.1", stage.server.port) as db:
        db.table("clicks").delete("1000x")


def check_typed_records(stage: Stage) -> None:
    expected = [dict(zip(("row", *TYPES), one, strict=True)) for one in plain_records(stage.server)]
    inside = [one for one in expected if one["row"].startswith(b"07")]  # type: ignore[union-attr]
    source = dataflow.beam_source(stage.table, TYPES, row_prefix="07")
    stage.run(lambda pipeline: equals(inside)(pipeline | source))


def engine(stage: Stage) -> Engine:
    import apache_beam as beam

    def source(*table: Any, **rows: Any) -> Callable[[], list[Record]]:
        made = dataflow.beam_source(*table, **rows)

        def run() -> list[Record]:
            found: list[Record] = []
            kept = stage.folder / "found"

            def keep(record: dict[str, Any]) -> None:
                with kept.open("ab") as file:
                    pickle.dump(tuple(record.values()), file)

            kept.write_bytes(b"")
            stage.run(lambda pipeline: pipeline | made | beam.Map(keep))
            with kept.open("rb") as file:
                while file.peek(1):
                    found.append(pickle.load(file))
            return sorted(found)

        return run

    def sink(table: hbtable.Table, column: str, **arguments: Any) -> Callable[[list[Written]], None]:
        made = dataflow.beam_sink(table, **arguments)

        def write(rows: list[Written]) -> None:
            elements = [(row, {column: struct.pack(">q", number)}) for row, number in rows]
            stage.run(lambda pipeline: pipeline | beam.Create(elements) | made)

        return write

    return Engine(source, sink, needs_types=False)


def check_elements_of_another_form_are_refused(stage: Stage) -> None:
    import apache_beam as beam

    before, sink = plain(stage.server, "clicks", include_timestamp=True), dataflow.beam_sink(stage.table)
    with pytest.raises(Exception, match=r"the element 'late' has to be \(row, {column: value}\)"):
        stage.run(lambda pipeline: pipeline | beam.Create(["late"]).with_output_types(Any) | sink)
    assert plain(stage.server, "clicks", include_timestamp=True) == before


def check_writes_leave_the_same_when_they_are_repeated(stage: Stage) -> None:
    owner: Any = stage.table.connection
    copy = owner.create_table("copy", {"c": {"max_versions": 5}})
    for _ in range(2):
        stage.run(lambda pipeline: pipeline | dataflow.beam_source(stage.table) | dataflow.beam_sink(copy, 7))
    assert_copied_once(stage.server, copy, 7)


def check_word_count_and_inverted_index_have_what_mapreduce_has(stage: Stage) -> None:
    import apache_beam as beam

    owner: Any = stage.table.connection
    web, counts, index = jobs.webtable(owner), owner.create_table("counts", ["n"]), owner.create_table("index", ["p"])
    words = jobs.word_counts()
    stage.run(
        lambda pipeline: (
            pipeline
            | dataflow.beam_source(web, ["contents:"])
            | beam.FlatMap(lambda page: page[1][b"contents:"].split())
            | beam.combiners.Count.PerElement()
            | beam.MapTuple(lambda word, count: (word, {"n:count": b"%d" % count}))
            | dataflow.beam_sink(counts)
        )
    )
    assert plain(stage.server, "counts") == {word: {b"n:count": b"%d" % count} for word, count in words.items()}
    stage.run(
        lambda pipeline: (
            pipeline
            | dataflow.beam_source(web, ["contents:"])
            | beam.FlatMap(lambda page: [(word, page[0]) for word in set(page[1][b"contents:"].split())])
            | beam.GroupByKey()
            | beam.MapTuple(lambda word, pages: (word, {b"p:" + page: b"" for page in pages}))
            | dataflow.beam_sink(index)
        )
    )
    assert plain(stage.server, "index") == jobs.inverted_index()


def check_the_page_about_jobs(stage: Stage) -> None:
    """Here, as Beam's import takes longer than its block."""
    run_blocks("docs/data.md", "apache_beam", stage.folder)


CHECKS: list[Callable[[Stage], None]] = [
    check_every_cell_in_another_process_while_a_server_is_killed_and_a_tablet_splits,
    check_typed_records,
    check_elements_of_another_form_are_refused,
    check_writes_leave_the_same_when_they_are_repeated,
    check_word_count_and_inverted_index_have_what_mapreduce_has,
    check_the_page_about_jobs,
]


def test_beam(stage: Stage, subtests: pytest.Subtests) -> None:
    for check in CHECKS:
        with subtests.test(check.__name__):
            check(stage)
    for common in CHECKS_OF_EVERY_ENGINE:
        with subtests.test(common.__name__):
            common(engine(stage), stage.server, stage.folder)
