"""A database with one number of its configuration at either end: what the bounds allow can be lived with, from one
start to the next."""

import logging
from pathlib import Path
from typing import Final

import pytest

from hbtable.errors import InvalidConfiguration, LimitExceeded
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.config.bounds import bounds_of
from hbtable.launch.config.configuration import keys_of
from hbtable.launch.config.sections import SECTIONS, embedded_options, read_configuration
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.lockservice.local import LocalLockService
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime, SimulationOptions

OF_PORTS_AND_PROCESSES: Final = {"server", "tls", "auth", "thrift", "memory"}
SECTIONS_HERE: Final = sorted(set(SECTIONS) - OF_PORTS_AND_PROCESSES)
ROWS: Final = [b"row%02d" % number for number in range(10)]


def ends(folder: Path, section: str) -> dict[str, EmbeddedOptions]:
    """The options with one key at an end, by that setting, without what contradicts another key."""
    empty = folder / "empty.toml"
    empty.write_text("")
    found = {}
    for field in keys_of(SECTIONS[section]):
        if field.type not in ("int", "float", int, float):
            continue
        for end in bounds_of(section, field.name):
            setting = f"{section}.{field.name}={int(end) if end == int(end) else end}"
            try:
                found[setting] = embedded_options(read_configuration(str(empty), {}, [setting]))
            except InvalidConfiguration:
                continue
    return found


def lived(options: EmbeddedOptions) -> None:
    """Two lives. A limit of cells below those that are put may refuse them, and nothing else."""
    runtime = SimulatedRuntime(1, SimulationOptions(limit_seconds=600.0))
    memory = MemoryFileSystem(runtime)

    def life(first: bool) -> None:
        cluster = EmbeddedCluster(runtime, memory, LocalLockService(memory, runtime), options)
        cluster.start()
        if first:
            cluster.client.admin.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f")}))
        table = cluster.client.table(b"t")
        try:
            for _ in range(4):
                table.mutate([RowMutation(row, [(PUT, b"f", b"q", SERVER_TIME, b"v" * 200)]) for row in ROWS])
                runtime.sleep(0.5)
        except LimitExceeded:
            assert options.server.tablet.max_cell_bytes < 400
        else:
            assert len(table.read_rows(ROWS, ReadSpec())) == len(ROWS)
        cluster.client.admin.flush(b"t")
        assert cluster.stop() == ""

    for first in (True, False):
        runtime.run(life, first)


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS_HERE)
def test_what_the_bounds_allow_can_be_lived_with(
    tmp_path: Path, section: str, caplog: pytest.LogCaptureFixture
) -> None:
    failed = {}
    with caplog.at_level(logging.CRITICAL):
        for setting, options in ends(tmp_path, section).items():
            try:
                lived(options)
            except Exception as error:
                failed[setting] = repr(error)
    assert failed == {}


def test_there_are_such_options(tmp_path: Path) -> None:
    assert sum(len(ends(tmp_path, section)) for section in SECTIONS_HERE) > 80
