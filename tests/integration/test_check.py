"""`hbtable check`: sound folders pass, each kind of damage is named with its file, and nothing changes."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hbtable
from hbtable.fs.local import LocalFileSystem
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.commands import LONG_SECONDS, ROOT, environment
from tests.harness.sorted_log import sort_log
from tests.harness.warm_commands import run_warm as run

pytestmark = pytest.mark.integration

WRITER = """\
import os, signal, sys
import hbtable
db = hbtable.open(sys.argv[1])
table = db.create_table("t", {"f": {}, "g": {"locality_group": "g"}}, split_rows=[b"m"])
for number in range(400):
    table.put(b"%c-%04d" % (97 + number % 26, number), {b"f:a": b"v%d" % number * 20, b"g:b": b"w"})
db.compact_table("t", major=True)
db.create_table("u", {"f": {}})
other = db.table("u")
for number in range(50):
    other.put(b"%04d" % number, {b"f:a": b"only in the log"})
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with SSTables and a log that recovery needs; its process was killed."""
    folder = tmp_path_factory.mktemp("check") / "data"
    done = subprocess.run([sys.executable, "-c", WRITER, str(folder)], env=environment(None), cwd=ROOT, check=False)
    assert done.returncode == -9
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    shutil.copytree(sound, tmp_path / "data")
    return tmp_path / "data"


def fingerprint(folder: Path) -> dict[str, str]:
    """Of every file."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def largest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: path.stat().st_size)


def flip(path: Path, offset: int) -> Path:
    content = bytearray(path.read_bytes())
    content[offset] ^= 0x10
    path.write_bytes(content)
    return path


def test_a_sound_folder_passes_before_and_after_recovery(folder: Path) -> None:
    before = fingerprint(folder)
    done = run("check", str(folder))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "everything checks" in done.stdout
    counts = {line.split(None, 1)[1]: int(line.split()[0].replace(",", "")) for line in done.stdout.splitlines()[:-1]}
    assert counts["tables"] == 2
    assert counts["tablets"] == 5  # the root tablet, METADATA's other one, two of t, one of u
    assert counts["cells in SSTables"] >= 800
    assert counts["log records"] >= 50
    assert fingerprint(folder) == before

    with hbtable.open(str(folder)) as database:
        assert len(list(database.table("u").scan())) == 50
        assert run("check", str(folder)).returncode == 3  # in use
    done = run("check", str(folder))
    assert (done.returncode, done.stderr) == (0, "")


Damage = Callable[[Path], Path]

DAMAGE: dict[str, Damage] = {
    "a byte in the middle of an SSTable": lambda folder: flip(largest(folder, "sstables/*/*.sst"), 3000),
    "the last byte of an SSTable": lambda folder: flip(largest(folder, "sstables/*/*.sst"), -1),
    "an SSTable cut short": lambda folder: cut(largest(folder, "sstables/*/*.sst"), 100),
    "an empty SSTable": lambda folder: cut(largest(folder, "sstables/*/*.sst"), None),
    "an SSTable that is gone": lambda folder: gone(largest(folder, "sstables/*/*.sst")),
    "one SSTable in the place of another": lambda folder: swapped(folder),
    "the log below the watermark": lambda folder: flip(largest(folder, "logs/*/*"), 200),
    "the log's header": lambda folder: flip(largest(folder, "logs/*/*"), 5),
    "the log that is gone": lambda folder: gone(largest(folder, "logs/*/*")),
    "the list of a sorted log": lambda folder: flip(sorted_log(folder) / "complete", 20),
    "a byte in the middle of a sorted run": lambda folder: flip(largest(sorted_log(folder), "*.run"), 300),
    "the index of a sorted run": lambda folder: flip(largest(sorted_log(folder), "*.run"), -40),
    "a sorted run cut short": lambda folder: cut(largest(sorted_log(folder), "*.run"), 10),
    "a sorted run that is gone": lambda folder: gone(largest(sorted_log(folder), "*.run")),
    "the numbers of the lock service": lambda folder: flip(folder / "lockservice/epochs", 20),
    "the numbers of the lock service that are gone": lambda folder: gone(folder / "lockservice/epochs"),
    "the root tablet's record": lambda folder: flip(next(folder.glob("lockservice/files/root-tablet")), 20),
}


def cut(path: Path, off: int | None) -> Path:
    content = path.read_bytes()
    path.write_bytes(b"" if off is None else content[:-off])
    return path


def gone(path: Path) -> Path:
    path.unlink()
    return path


def sorted_log(folder: Path) -> Path:
    """Where recovery leaves the runs of the log; it goes on from them when it is interrupted after that."""
    runtime = GeventRuntime()
    try:
        (log,) = (path.name for path in folder.glob("logs/*"))
        sort_log(runtime, LocalFileSystem(str(folder), runtime), f"logs/{log}")
    finally:
        runtime.close()
    return folder / "logs" / log / "sorted"


def swapped(folder: Path) -> Path:
    """A whole SSTable, checksums and all, but another one than METADATA names."""
    small, large = sorted(folder.glob("sstables/*/*.sst"), key=lambda path: path.stat().st_size)[-2:]
    large.write_bytes(small.read_bytes())
    return large


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_with_its_file_and_nothing_is_changed(folder: Path, kind: str) -> None:
    damaged = DAMAGE[kind](folder)
    before = fingerprint(folder)
    done = run("check", str(folder))
    print(done.stderr)
    # 2: METADATA's log, and numbers that every start needs, keep the whole folder closed.
    assert done.returncode in ((1,) if "SSTable" in kind else (1, 2)), done.stdout
    assert "Traceback" not in done.stderr
    messages = [line for line in done.stderr.splitlines() if line.startswith("DAMAGED: ")]
    assert messages
    name = str(damaged.relative_to(folder))
    assert any(name in line or (damaged.parent.name in line and "log" in line) for line in messages), done.stderr
    assert f"{len(messages)} damaged" in done.stdout
    assert fingerprint(folder) == before


def test_a_sorted_log_is_read_too(folder: Path) -> None:
    runs = list(sorted_log(folder).glob("*.run"))
    assert runs
    done = run("check", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert "log records sorted for recovery" in done.stdout


def test_several_damaged_files_are_all_named(folder: Path) -> None:
    first, second = sorted(folder.glob("sstables/*/*.sst"))[-2:]
    flip(first, 40)
    flip(second, 40)
    done = run("check", str(folder))
    assert done.returncode == 1
    assert first.name in done.stderr
    assert second.name in done.stderr


def test_a_torn_end_of_the_log_is_no_damage(folder: Path) -> None:
    """A loss of power leaves that: nobody was told that those bytes are safe."""
    with largest(folder, "logs/*/*").open("ab") as log:
        log.write(b"\x00" * 700)
    done = run("check", str(folder))
    assert done.returncode == 0, done.stderr
    assert "NOTE: " in done.stderr
    assert "700 bytes, " in done.stderr


def test_damaged_files_that_nothing_needs_are_noted_and_no_damage(folder: Path) -> None:
    """A disk that damages one file damages others."""
    needed = largest(folder, "sstables/*/*.sst")
    needless = needed.with_name("0000000000000fff.sst")
    shutil.copy(needed, needless)
    log = folder / "logs" / "0000000f-0badf00d"
    shutil.copytree(largest(folder, "logs/*/*").parent, log)
    for path in (needless, largest(folder, f"logs/{log.name}/*")):
        flip(path, 200)
    before = fingerprint(folder)
    done = run("check", str(folder))
    assert (done.returncode, "everything checks" in done.stdout) == (0, True), done.stdout + done.stderr
    notes = done.stderr.splitlines()
    assert all(note.startswith("NOTE: ") and "nothing needs it, so nothing is lost" in note for note in notes)
    assert [name for name in (needless.name, log.name) if not any(name in note for note in notes)] == []
    assert len(notes) == 2
    assert len(json.loads(run("check", "--json", str(folder)).stdout)["notes"]) == 2
    assert fingerprint(folder) == before


def test_what_is_no_data_folder_stays_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "thesis.txt"):
        done = run("check", str(path))
        assert done.returncode == 3
        assert "is no hbtable data folder" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_of_a_newer_hbtable_is_refused(folder: Path) -> None:
    (folder / "FORMAT").write_text("hbtable data folder\nformat 2\n")
    done = run("check", str(folder))
    assert done.returncode == 3
    assert "newer hbtable" in done.stderr


def test_a_damaged_file_is_told_with_its_table_and_rows(folder: Path) -> None:
    flip(largest(folder, "sstables/*/*.sst"), 3000)
    done = run("check", "--json", str(folder))
    told = json.loads(done.stdout)
    assert (done.returncode, told["verdict"]) == (1, "damaged")
    (finding,) = told["findings"]
    assert finding["table"] == "t"
    assert finding["rows"] in (["", "m"], ["m", ""])
    assert finding["tablet_id"] >= 16
    assert "hbtable repair" in finding["remedy"]


def test_a_folder_without_its_format_is_told_from_a_foreign_one(folder: Path) -> None:
    (folder / "FORMAT").unlink()
    done = run("check", str(folder))
    assert done.returncode == 2
    assert "FORMAT is not there" in done.stderr
    assert not (folder / "FORMAT").exists()


def test_a_misused_check_has_another_exit_code_than_an_unserviceable_folder() -> None:
    assert run("check").returncode == 3
    assert run("check", "--nonsense", ".").returncode == 3


def test_times_ahead_of_the_clock_are_told(tmp_path: Path) -> None:
    """The folder is sound all the same."""
    write = (
        "import time, hbtable\n"
        "from hbtable.runtime.gevent_runtime import GeventRuntime\n"
        "GeventRuntime.wall_millis = lambda self: time.time_ns() // 10**6 + 365 * 86400 * 1000\n"
        f"with hbtable.open({str(tmp_path / 'data')!r}) as db:\n"
        "    db.create_table('t', ['f']).put(b'r', {b'f:a': b'1'})\n"
    )
    subprocess.run([sys.executable, "-c", write], check=True, cwd=ROOT, timeout=LONG_SECONDS)
    done = run("check", str(tmp_path / "data"))
    assert done.returncode == 0
    assert "NOTE: a server gave times 365.0 days ahead of this machine's clock" in done.stderr
    assert "tablet.set_back_clocks" in done.stderr
