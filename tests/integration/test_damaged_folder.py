"""A real server over a folder with damaged files: what Thrift clients, pages and the shell are told, and how soon."""

import json
import signal
import time
import urllib.request
from pathlib import Path

import happybase
import pytest

from hbtable.commitlog.segments.high_water import decode_high_water
from tests.harness.free_ports import free_ports
from tests.harness.waiting import eventually, freeze
from tests.harness.warm_commands import run_warm as run
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

ROWS = [b"%04d" % number for number in range(400)]
SOON_SECONDS = 20.0
"""Two seconds, on a machine that does nothing else; what this is not to be is the minute for which a client tries
again."""


def filled(folder: Path) -> None:
    with WarmServer(folder) as server:
        connection = server.connect()
        for name in ("one", "two"):
            connection.create_table(name, {"f": {}})
            with connection.table(name).batch() as batch:
                for row in ROWS:
                    batch.put(row, {b"f:a": b"v" * 200})
        connection.close()
        assert server.stop() == 0


def read_page(url: str) -> tuple[int, bytes]:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.status, answer.read()


def marked_bytes(log: Path) -> int:
    mark = log.parent / "synced"
    return decode_high_water(mark.read_bytes(), str(mark)).length_bytes if mark.exists() else 0


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 8
    path.write_bytes(content)


def refused(table: happybase.Table, row: bytes) -> str:
    began = time.monotonic()
    with pytest.raises(Exception, match="DoNotRetryIOException") as caught:
        table.row(row)
    assert time.monotonic() - began < SOON_SECONDS
    return caught.value.message.decode() if isinstance(caught.value.message, bytes) else caught.value.message


def test_a_missing_and_a_damaged_sstable(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    filled(folder)
    files = sorted(path for path in (folder / "sstables").rglob("*.sst") if "00000000" not in path.parts)
    assert len(files) == 2
    flip(files[0], 1000)
    files[1].unlink()
    port = free_ports(1)
    with WarmServer(folder, [f"server.http_port={port}"]) as server:
        connection = server.connect()
        sound, gone = connection.table("one"), connection.table("two")
        text = refused(sound, ROWS[0])
        assert text.splitlines()[0].startswith("org.apache.hadoop.hbase.DoNotRetryIOException: sstables/")
        assert files[0].name in text
        assert "hbtable repair" in text
        assert sound.row(ROWS[-1]) == {b"f:a": b"v" * 200}
        assert files[1].name in refused(gone, ROWS[5])
        for table in (sound, gone):
            table.put(b"new", {b"f:a": b"1"})
        status, page = read_page(f"http://127.0.0.1:{port}/readyz")
        assert status == 200
        assert len(json.loads(page)["damage"]) == 2
        metrics = read_page(f"http://127.0.0.1:{port}/metrics")[1].decode()
        assert "hbtable_damaged_files 2.0" in metrics
        assert "hbtable_damaged_tablets 2.0" in metrics
        said = run("shell", "--url", f"127.0.0.1:{server.port}", "-e", "status")
        assert "2 files of 2 regions cannot be read whole" in said.stdout + said.stderr
        connection.close()
        assert server.stop() == 0


def test_a_log_that_was_cut_after_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with WarmServer(folder, ["log.mark_seconds=0.05"]) as server:
        connection = server.connect()
        for name in ("one", "two"):
            connection.create_table(name, {"f": {}})
            connection.table(name).put(b"first", {b"f:a": b"1"})
        for row in ROWS:
            connection.table("two").put(row, {b"f:a": b"v" * 200})
        (log,) = (folder / "logs").rglob("*.log")
        process = server.process
        assert process is not None

        def frozen_with_a_mark() -> bool:
            """Looked at while nothing runs: in between, METADATA's tablets may write to the log."""
            freeze(process.pid)
            if marked_bytes(log) == log.stat().st_size:
                return True
            process.send_signal(signal.SIGCONT)
            return False

        eventually(frozen_with_a_mark, 60, "a mark that covers the log")
        connection.close()
        server.kill()
    content = log.read_bytes()
    log.write_bytes(content[: len(content) * 3 // 4])
    # Nobody can say how far the log went on behind its mark, and with whose writes: METADATA's may be among them.
    refusal = run("start", "--data", str(folder), "--port", "0")
    assert refusal.returncode == 1
    assert "METADATA is not served" in refusal.stderr
    assert "what was written after the log's mark may be of any tablet" in refusal.stderr
    assert run("check", str(folder)).returncode == 2
    repair = run("repair", str(folder))
    assert repair.returncode == 1
    assert "LOST: table two, rows" in repair.stderr
    assert "after the mark: any table of this server may have lost its last writes" in repair.stderr
    assert run("check", str(folder)).returncode == 0
    with WarmServer(folder) as server:
        connection = server.connect()
        assert connection.table("one").row(b"first") == {b"f:a": b"1"}
        assert 0 < len(list(connection.table("two").scan())) < len(ROWS)
        connection.table("two").put(b"more", {b"f:a": b"1"})
        connection.close()
        assert server.stop() == 0


def test_metadata_that_lost_log_records_is_brought_back_by_one_command(tmp_path: Path) -> None:
    """Nothing is served on rows of METADATA that may be old. What was flushed is there after the repair."""
    folder = tmp_path / "data"
    with WarmServer(folder, ["log.mark_seconds=0.05"]) as server:
        connection = server.connect()
        connection.create_table("flushed", {"f": {}})
        for row in ROWS[:50]:
            connection.table("flushed").put(row, {b"f:a": b"1"})
        assert run("shell", "--url", f"127.0.0.1:{server.port}", "-e", "flush 'flushed'").returncode == 0
        (log,) = (folder / "logs").rglob("*.log")
        eventually(lambda: marked_bytes(log) >= log.stat().st_size, 60, "a mark that covers the log")
        connection.close()
        server.kill()
    content = log.read_bytes()
    log.write_bytes(content[:200] + bytes(len(content) - 200))
    refusal = run("start", "--data", str(folder), "--port", "0")
    assert refusal.returncode == 1
    assert "METADATA" in refusal.stderr
    assert "run `hbtable repair`, which says what is lost" in refusal.stderr.splitlines()[-1]
    assert run("check", str(folder)).returncode == 2
    repair = run("repair", str(folder))
    print(repair.stdout, repair.stderr)
    assert repair.returncode in (0, 1)  # the log's end may be counted as lost
    assert run("check", str(folder)).returncode == 0
    with WarmServer(folder) as server:
        connection = server.connect()
        assert dict(connection.table("flushed").scan()) == {row: {b"f:a": b"1"} for row in ROWS[:50]}
        connection.table("flushed").put(b"new", {b"f:a": b"2"})
        connection.close()
        assert server.stop() == 0
