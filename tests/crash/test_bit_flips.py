"""Flipped bits in each kind of file of a stopped cluster: never a wrong answer.

What may happen: the start, or the read, ends with a message; or the damage sat where nothing depends on it, and
everything is as promised. (Logs that recovery needs: tests/property/test_commitlog_damage.py.)
"""

import logging
import random

import pytest

from hbtable.errors import Corruption, HbtableError
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.model.read import ReadSpec
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.campaigns.crash_points import CrashingFileSystem, Script, start
from tests.campaigns.simulation import TABLE, read_everything
from tests.harness.disks import disk_copy
from tests.harness.promises import RowState

pytestmark = pytest.mark.usefixtures("quiet")  # each damage is logged

FLIPS = 25


@pytest.fixture(scope="module")
def stopped() -> tuple[MemoryDisk, dict[bytes, RowState]]:
    """A disk after an orderly stop, with several SSTables for each of several tablets; and what it holds."""
    logging.disable(logging.CRITICAL)
    script, runtime = Script(3), SimulatedRuntime(3)
    fs = CrashingFileSystem(MemoryFileSystem(runtime), runtime, random.Random(3), -1)
    runtime.run(script.run, runtime, fs)
    return fs.inner.disk, {row: state for row, state in script.promises.expected.items() if state}


def damaged(disk: MemoryDisk, path: str, chance: random.Random) -> MemoryDisk:
    """A copy with one bit of that file flipped."""
    copy = disk_copy(disk)
    content = copy.files[path].content
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return copy


def answers(disk: MemoryDisk, seed: int, expected: dict[bytes, RowState]) -> str:
    """ "right", or the message of the error that the start or a read ended with. AssertionError: a wrong answer."""
    runtime = SimulatedRuntime(seed)
    fs = MemoryFileSystem(runtime, disk)

    def main() -> str:
        cluster = start(runtime, fs)
        message = ""
        table = cluster.client.table(TABLE)
        for row in sorted({*expected, b"absent"}):  # each for itself, so that one damaged block hides no other row
            try:
                found = table.read_rows([row], ReadSpec())
            except HbtableError as error:
                message = str(error)
            else:
                state = {column: value for _, cells in found for column, _, value in cells}
                assert state == expected.get(row, {}), f"row {row!r}"
        try:
            assert read_everything(cluster.client) == expected
        except HbtableError as error:
            message = str(error)
        return message or "right"

    try:
        return runtime.run(main)
    except HbtableError as error:
        return str(error)


@pytest.mark.parametrize("kind", ["sstables/00000010/", "sstables/00000000/", "lockservice/", "logs/", "metadata/"])
def test_a_flipped_bit_never_gives_a_wrong_answer(stopped: tuple[MemoryDisk, dict[bytes, RowState]], kind: str) -> None:
    disk, expected = stopped
    chance = random.Random(kind)
    needed = named_sstables(disk)
    paths = sorted(path for path in disk.files if path.startswith(kind) and disk.files[path].content)
    if kind.startswith("sstables/"):
        paths = [path for path in paths if path in needed]
    assert paths, f"there is no {kind}: {sorted(disk.files)}"
    assert answers(disk_copy(disk), 1, expected) == "right"
    outcomes = [answers(damaged(disk, chance.choice(paths), chance), 100 + n, expected) for n in range(FLIPS)]
    told = [outcome for outcome in outcomes if outcome != "right"]
    print(f"{kind}: {len(told)} of {FLIPS} were told, for instance {told[:1]}")
    assert all(len(message) > 20 for message in told)
    if kind.startswith("sstables/"):  # much of the lock service is made anew, which is right
        assert len(told) > FLIPS // 4, "hardly one of them was noticed"


def named_sstables(disk: MemoryDisk) -> set[str]:
    """Others are garbage by now."""
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime, disk_copy(disk))

    def main() -> set[str]:
        records = list(start(runtime, fs).client.catalog.all_tablet_rows())
        return {ref.path for record in records for _, refs in record.files for ref in refs}

    return runtime.run(main)


def test_damage_names_the_file(stopped: tuple[MemoryDisk, dict[bytes, RowState]]) -> None:
    disk, _ = stopped
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime, disk_copy(disk))

    def main() -> None:
        cluster = start(runtime, fs)
        record = cluster.client.admin.tablets(TABLE)[0]
        path = record.files[0][1][0].path
        content = fs.disk.files[path].content
        content[10] ^= 1
        table = cluster.client.table(TABLE)
        with pytest.raises(Corruption) as caught:
            table.read_rows([b"%03d" % number for number in range(30)], ReadSpec())
        assert caught.value.path == path
        assert path in str(caught.value)

    runtime.run(main)
