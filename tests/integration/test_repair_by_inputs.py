"""`hbtable repair` where the files that an SSTable was made from take its place, or what was made from one does.

Where the families were grouped anew one SSTable became several: each part stands for its own families, and all of them
together for the file. Where times were set back what it was made from has the wrong ones.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hbtable
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.properties import SSTableIdentity
from hbtable.sstable.reader import SSTableReader
from tests.harness.commands import LONG_SECONDS
from tests.harness.warm_commands import run_warm
from tests.harness.wrong_clock import WrongClock

pytestmark = pytest.mark.integration

APART = {"f": {"locality_group": ""}, "g": {"locality_group": ""}}
KILLED = """
import os, sys
import hbtable
from hbtable.tablet.compactions.compaction import Compactor

write, parts = Compactor._write_anew, []

def write_anew(self, stack, inputs, spec):
    if spec.families is not None:
        parts.append(stack)
        if len(parts) == 2:
            os._exit(9)
    return write(self, stack, inputs, spec)

Compactor._write_anew = write_anew
database = hbtable.open(sys.argv[1])
database.alter_table("t", change={"f": {"locality_group": ""}, "g": {"locality_group": ""}})
database.table("t").put(b"late", {b"f:a": b"late"})
database.compact_table("t", major=True)
"""


def rows(folder: Path) -> dict[bytes, dict[bytes, bytes]]:
    with hbtable.open(str(folder)) as database:
        return dict(database.table("t").scan())


def together(folder: Path) -> "hbtable.Database":
    """An open database whose table t has two families in one group, and five rows in one SSTable."""
    database = hbtable.open(str(folder))
    table = database.create_table("t", {"f": {"locality_group": "x"}, "g": {"locality_group": "x"}})
    for number in range(5):
        table.put(b"r%d" % number, {b"f:a": b"F%d" % number, b"g:b": b"G%d" % number})
    database.flush_table("t")
    return database


def identity_of(path: Path) -> SSTableIdentity:
    data = path.read_bytes()
    reader = SSTableReader.open(lambda at, length: data[at : at + length], "", len(data), BlockCache(0))
    return reader.properties.identity


def made_of_others(path: Path) -> bool:
    return bool(identity_of(path).replaced)


def file_of(folder: Path, group: str) -> Path:
    (found,) = [path for path in (folder / "sstables/00000010").glob("*.sst") if identity_of(path).group == group]
    return found


def damage(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + 8] = bytes(byte ^ 0x55 for byte in content[at : at + 8])
    path.write_bytes(content)


def lose_metadata(folder: Path) -> None:
    for part in ("lockservice", "metadata", "sstables/00000000"):
        shutil.rmtree(folder / part)


def repair(folder: Path, log_is_damaged: bool = False) -> str:
    done = run_warm("repair", str(folder))
    lost = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("LOST")]
    assert log_is_damaged or not lost, lost
    assert all(line.startswith("LOST: what the log ") for line in lost), lost
    assert done.returncode == bool(lost)
    assert run_warm("check", str(folder)).returncode == 0
    return done.stdout


@pytest.mark.parametrize("anew", [False, True], ids=["METADATA is right", "METADATA is lost"])
def test_a_damaged_part_is_made_of_its_families_alone(tmp_path: Path, anew: bool) -> None:
    folder = tmp_path / "data"
    with together(folder) as database:
        database.alter_table("t", change=APART)
        database.compact_table("t", major=True)
        table = database.table("t")
        table.delete(b"r2", [b"g:b"])
        database.flush_table("t")
        # As the shell's major_compact 't', 'g': the marker goes, and with it what masks the cell in the first file.
        database._ask(lambda admin: admin.major_compact(b"t", 0, b"g"))
        expected = dict(table.scan())
    assert b"g:b" not in expected[b"r2"]
    damage(file_of(folder, "f"), 10)
    if anew:
        lose_metadata(folder)
    assert "its 5 cells of families f went into" in repair(folder)
    assert rows(folder) == expected
    with hbtable.open(str(folder)) as database:
        database.compact_table("t", major=True)
    assert rows(folder) == expected


@pytest.mark.parametrize("lost", ["METADATA", "a log"])
def test_a_regrouping_that_was_killed_takes_no_family_away(tmp_path: Path, lost: str) -> None:
    folder = tmp_path / "data"
    together(folder).close()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], timeout=LONG_SECONDS, check=False)
    assert killed.returncode == 9
    expected = {b"r%d" % number: {b"f:a": b"F%d" % number, b"g:b": b"G%d" % number} for number in range(5)}
    expected[b"late"] = {b"f:a": b"late"}
    if lost == "METADATA":
        lose_metadata(folder)
    else:
        log = max((folder / "logs").glob("*/*.log"))
        damage(log, log.stat().st_size // 2)
    repair(folder, log_is_damaged=lost == "a log")
    assert rows(folder) == expected


def test_of_a_file_that_is_gone_all_parts_take_the_place(tmp_path: Path) -> None:
    """All but the SSTables was put back from a backup of before the regrouping."""
    folder, backup = tmp_path / "data", tmp_path / "backup"
    together(folder).close()
    expected = rows(folder)
    shutil.copytree(folder, backup)
    input_ = file_of(folder, "f/g")
    with hbtable.open(str(folder)) as database:
        database.alter_table("t", change=APART)
        database.compact_table("t", major=True)
    input_.unlink(missing_ok=True)
    for place in ("trash", "lockservice", "metadata", "logs", "sstables/00000000"):
        shutil.rmtree(folder / place, ignore_errors=True)
        if (backup / place).exists():
            shutil.copytree(backup / place, folder / place)
    repair(folder)
    assert rows(folder) == expected


def test_times_that_were_set_back_do_not_come_back(tmp_path: Path) -> None:
    folder, clock = tmp_path / "data", WrongClock(tmp_path / "clock")

    def process(code: str) -> str:
        environment = {**os.environ, **clock.environment()}
        command = [sys.executable, "-c", f"import hbtable, sys\n{code}", str(folder)]
        return subprocess.run(
            command, timeout=LONG_SECONDS, env=environment, capture_output=True, text=True, check=True
        ).stdout

    clock.set(86400)
    process("""
with hbtable.open(sys.argv[1]) as database:
    database.create_table("t", {"f": {}}).put(b"r", {b"f:q": b"old"})
    database.flush_table("t")
""")
    clock.set(0)
    process("""
with hbtable.open(sys.argv[1], config={"tablet.set_back_clocks": True}) as database:
    database.table("t").put(b"r", {b"f:q": b"new"})
    database.flush_table("t")
""")
    (moved,) = [path for path in (folder / "sstables/00000010").glob("*.sst") if made_of_others(path)]
    damage(moved, 10)
    assert "LOST: table t, row b'r'" in run_warm("repair", str(folder)).stderr
    assert "new" in process("""
with hbtable.open(sys.argv[1]) as database:
    print(database.table("t").row(b"r"))
""")
