"""`hbtable repair` where METADATA is made anew and the schema had changed: what logs and SSTables tell together."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hbtable
from tests.harness.commands import LONG_SECONDS
from tests.harness.warm_commands import run_warm

pytestmark = pytest.mark.integration

KILLED_IN_A_FLUSH = """
import os, sys
import hbtable
from hbtable.tablet.compactions.compaction import Compactor

write, begun = Compactor._write_frozen, []

def write_frozen(self, *of):
    if self._state.keeper.record.table_id:
        if len(begun) == int(sys.argv[2]):
            os._exit(9)
        begun.append(1)
    return write(self, *of)

Compactor._write_frozen = write_frozen
database = hbtable.open(sys.argv[1])
table = database.create_table("t", {"f": {"locality_group": "x"}, "g": {"locality_group": "x"}})
for number in range(3):
    table.put(b"r%d" % number, {b"f:a": b"F%d" % number, b"g:b": b"G%d" % number})
database.alter_table("t", change={"f": {"locality_group": ""}, "g": {"locality_group": ""}})
table.put(b"r9", {b"f:a": b"F9", b"g:b": b"G9"})
database.flush_table("t")
"""
WITHOUT_THE_FAMILY = """
import os, sys
import hbtable

database = hbtable.open(sys.argv[1])
database.create_table("t", {"f": {}}).put(b"r", {b"f:a": b"F"})
os._exit(9)
"""
WITH_THE_FAMILY = """
import os, sys
import hbtable
from hbtable.master.files.collector import Collector

Collector._list_logs = lambda self: []  # the log of the life before is not collected yet
database = hbtable.open(sys.argv[1], config={"log.segment_bytes": 4096})
database.alter_table("t", add={"g": {}})
table = database.table("t")
table.put(b"r", {b"g:b": b"G"})
database.flush_table("t")

def flush_metadata():
    for tablet in list(database._cluster.server._online_tablets.tablets.values()):
        if tablet.record.table_id == 0:
            tablet.flush()

for _ in range(3):
    database._call(flush_metadata)
    for _ in range(40):
        table.put(b"other", {b"f:a": bytes(200)})
    database.flush_table("t")
table.put(b"late", {b"g:b": b"G"})
os._exit(9)
"""


def killed(code: str, *arguments: object) -> None:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    assert subprocess.run(command, timeout=LONG_SECONDS, check=False).returncode == 9


def lose_metadata(folder: Path) -> None:
    for part in ("lockservice", "metadata", "sstables/00000000"):
        shutil.rmtree(folder / part, ignore_errors=True)


@pytest.mark.parametrize("written", [1, 2])
def test_a_file_of_one_grouping_does_not_speak_for_the_memtable_of_another(tmp_path: Path, written: int) -> None:
    """A process is killed between the files of a flush, while cells of a family lie in memtables of two groupings."""
    folder = tmp_path / "data"
    killed(KILLED_IN_A_FLUSH, folder, written)
    lose_metadata(folder)
    done = run_warm("repair", str(folder))
    assert done.returncode == 0, done.stderr
    with hbtable.open(str(folder)) as database:
        found = dict(database.table("t").scan())
    assert found == {b"r%d" % one: {b"f:a": b"F%d" % one, b"g:b": b"G%d" % one} for one in (0, 1, 2, 9)}


def test_an_old_row_of_metadata_takes_no_newer_family_away(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    killed(WITHOUT_THE_FAMILY, folder)
    killed(WITH_THE_FAMILY, folder)
    lose_metadata(folder)
    done = run_warm("repair", str(folder))
    assert done.returncode == 0, done.stderr
    assert "table t has the schema of its newest SSTable" in done.stdout
    with hbtable.open(str(folder)) as database:
        table = database.table("t")
        assert table.row(b"r")[b"g:b"] == b"G"
        assert table.row(b"late") == {b"g:b": b"G"}
