import json
import logging
import os
import select
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration
from hbtable.hbase.audit import lost_line
from hbtable.launch.audit_log import open_audit
from hbtable.launch.log_lines import LogLines
from tests.harness.waiting import SOON_SECONDS, eventually


def test_lines_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    trail = open_audit(AuthOptions(enabled=True), lambda: 0)
    assert trail is not None
    trail.denied("10.0.0.7:1", "login", "100 % wrong")
    (record,) = caplog.records
    assert record.name == "hbtable.audit"
    assert '"from": "10.0.0.7:1"' in record.getMessage()


def test_lines_that_the_log_drops_are_lost_ones_of_the_audit(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reads = threading.Event()

    def write(_: int, data: bytes) -> int:
        reads.wait()
        return len(data)

    lines = LogLines(-1, 10, write=write)
    logging.getLogger().addHandler(lines)
    try:
        trail = open_audit(AuthOptions(enabled=True), lambda: 0)
        assert trail is not None
        assert (trail.problem(), trail.lost()) == ("", 0)
        for _ in range(100):
            trail.users_changed("ann", "removed")
        lost = lines.dropped
        logging.getLogger("hbtable.other").info("another line")
        assert (trail.lost(), lines.dropped) == (lost, lost + 1)
        assert lost
        assert trail.problem() == "nobody read them in time"
        reads.set()
        eventually(lambda: not trail.problem(), SOON_SECONDS, "the log is read again")
        assert trail.lost() == lost
    finally:
        reads.set()
        logging.getLogger().removeHandler(lines)


def test_lines_go_to_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "audit"
    for _ in range(2):
        trail = open_audit(AuthOptions(enabled=True, audit=str(file)), lambda: 0)
        assert trail is not None
        trail.denied("10.0.0.7:1", "login", "wrong")
    eventually(lambda: file.read_text().count("\n") == 2, SOON_SECONDS, "two lines")
    assert oct(os.stat(file).st_mode & 0o777) == "0o600"


def test_a_place_that_takes_nothing_is_said_in_the_log_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    trail = open_audit(AuthOptions(enabled=True, audit="/dev/full"), lambda: 0)
    assert trail is not None

    def is_said() -> bool:
        trail.denied("10.0.0.7:1", "login", "wrong")
        return "the audit does not reach '/dev/full': No space left on device" in caplog.text

    eventually(is_said, SOON_SECONDS, "the log says it")
    for _ in range(100):
        trail.denied("10.0.0.7:1", "login", "wrong")
    assert caplog.text.count("does not reach") == 1
    assert trail.problem() == "No space left on device"
    assert trail.lost() == 0, "they wait"


def test_lost_lines_are_a_line_of_json() -> None:
    assert json.loads(lost_line(1_700_000_000_123, 7, 'a "disk"')) == {
        "at": "2023-11-14T22:13:20.123+00:00",
        "user": None,
        "call": "audit",
        "outcome": "failed",
        "lost": 7,
        "why": 'a "disk"',
    }


def test_without_authentication_or_by_choice_there_are_none(tmp_path: Path) -> None:
    assert open_audit(AuthOptions(audit=str(tmp_path / "none")), lambda: 0) is None
    assert open_audit(AuthOptions(enabled=True, audit=""), lambda: 0) is None
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=r"auth.audit = .* cannot be written"):
        open_audit(AuthOptions(enabled=True, audit=str(tmp_path / "no" / "folder")), lambda: 0)


def test_a_file_that_is_there_already_by_every_mode(tmp_path: Path) -> None:
    """Whoever collects logs may be its group; nobody else has written lines into it, or reads on."""
    file = tmp_path / "audit"
    file.touch()
    options = AuthOptions(enabled=True, audit=str(file))
    for rights in range(0o600, 0o700):
        file.chmod(rights)
        if rights & 0o022:
            with pytest.raises(InvalidConfiguration, match=rf"auth.audit = .*.mode {rights:04o}.*chmod 640"):
                open_audit(options, lambda: 0)
            continue
        if rights & 0o111:
            continue  # nothing else: each one that is opened has a thread for as long as the process lives
        assert open_audit(options, lambda: 0) is not None
        assert file.stat().st_mode & 0o777 == rights & 0o770


def test_another_users_file_or_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, link = tmp_path / "audit", tmp_path / "link"
    file.touch(0o600)
    link.symlink_to(file)
    assert open_audit(AuthOptions(enabled=True, audit=str(link)), lambda: 0) is not None, "as /var/log may be one"
    of, of_file = os.lstat, os.fstat
    user = os.geteuid() or 5  # not root, and whose the folders on the way are where this is not root
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "fstat", lambda descriptor: owned(of_file(descriptor)))
    with pytest.raises(InvalidConfiguration, match=r"auth.audit = .* belongs to another user .number 4711"):
        open_audit(AuthOptions(enabled=True, audit=str(file)), lambda: 0)
    monkeypatch.setattr(os, "lstat", lambda path: owned(of(path)) if str(path) == str(link) else of(path))
    with pytest.raises(InvalidConfiguration, match=r"a symbolic link of another user .number 4711"):
        open_audit(AuthOptions(enabled=True, audit=str(link)), lambda: 0)


def owned(status: os.stat_result) -> os.stat_result:
    values = list(status)
    values[stat.ST_UID] = 4711
    return os.stat_result(values)


def test_a_pipe_is_written_to_when_somebody_reads_it_and_never_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    options = AuthOptions(enabled=True, audit=str(pipe))
    with pytest.raises(InvalidConfiguration, match=r"auth.audit = .* cannot be written: nobody reads this pipe"):
        open_audit(options, lambda: 0)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        trail = open_audit(options, lambda: 0)
        assert trail is not None
        trail.denied("10.0.0.7:1", "login", "wrong")
        assert select.select([reader], [], [], SOON_SECONDS)[0]
    finally:
        os.close(reader)
    assert open_audit(AuthOptions(enabled=True, audit="/dev/null"), lambda: 0) is not None


def test_the_output_of_this_process_is_a_file_like_others() -> None:
    """Containers have audit = "/dev/stdout"."""
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, check=True, text=True, timeout=SOON_SECONDS
    )
    assert '"why": "wrong"' in told.stdout


PROGRAM = """
import logging
from hbtable.access.options import AuthOptions
from hbtable.hbase.audit import lost_line
from hbtable.launch.audit_log import open_audit
from hbtable.launch.log_lines import LogLines
open_audit(AuthOptions(enabled=True, audit="/dev/stdout"), lambda: 0).denied("10.0.0.7:1", "login", "wrong")
logging.shutdown()
"""
