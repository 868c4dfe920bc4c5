"""`hbtable repair` where METADATA is lost, and a tablet has a lower id than those that it came of."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hbtable
from tests.harness.commands import LONG_SECONDS
from tests.harness.warm_commands import run_warm

pytestmark = pytest.mark.integration

KILLED = """
import os, sys
from pathlib import Path
import hbtable

database = hbtable.open(sys.argv[1], config={"log.segment_bytes": 4096})
table, other = database.create_table("t", {"f": {}}), database.create_table("other", {"f": {}})
log = Path(sys.argv[1], "logs")

def ids():
    return [one.tablet_id for one in database.tablets("t")]

def write(value):
    for number in range(10):
        table.put(b"%d" % number, {b"f:a": value})

def flush_metadata():
    for tablet in list(database._cluster.server._online_tablets.tablets.values()):
        if tablet.record.table_id == 0:
            tablet.flush()

write(b"old")
database.split_table("t", b"5")
children = ids()
write(b"old")
database.compact_table("t", major=True)
database.merge_table("t")
assert max(ids()) < min(children), "ids go up now, and this test shows nothing"
table.put(b"0", {b"f:a": b"old"})
database.flush_table("t")
begun = set(log.rglob("*.log"))
while begun & set(log.rglob("*.log")):  # METADATA's rows are in no log then
    for number in range(60):
        other.put(b"%d" % number, {b"f:a": bytes(100)})
    database.flush_table("other")
    database._call(flush_metadata)
write(b"acknowledged")
os._exit(9)
"""


def test_what_a_tablet_with_a_lower_id_wrote_last_comes_back(tmp_path: Path) -> None:
    """The master and the server take ids for tablets out of ranges of their own. The merged tablet, whose id is below
    those of both sides, was taken for one of before the split, whose writes are in no log."""
    folder = tmp_path / "data"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], timeout=LONG_SECONDS, capture_output=True)
    assert killed.returncode == 9, killed.stderr.decode()
    for part in ("lockservice", "metadata", "sstables/00000000"):
        shutil.rmtree(folder / part)
    done = run_warm("repair", str(folder))
    assert (done.returncode, done.stderr) == (0, ""), done
    with hbtable.open(str(folder)) as database:
        assert dict(database.table("t").scan()) == {b"%d" % row: {b"f:a": b"acknowledged"} for row in range(10)}
