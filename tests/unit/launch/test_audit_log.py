import logging
import os
from pathlib import Path

import pytest

from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration
from hbtable.launch.audit_log import open_audit
from tests.harness.waiting import SOON_SECONDS, eventually


def test_lines_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    trail = open_audit(AuthOptions(enabled=True), lambda: 0)
    assert trail is not None
    trail.denied("10.0.0.7:1", "login", "100 % wrong")
    (record,) = caplog.records
    assert record.name == "hbtable.audit"
    assert '"from": "10.0.0.7:1"' in record.getMessage()


def test_lines_go_to_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "audit"
    for _ in range(2):
        trail = open_audit(AuthOptions(enabled=True, audit=str(file)), lambda: 0)
        assert trail is not None
        trail.denied("10.0.0.7:1", "login", "wrong")
    eventually(lambda: file.read_text().count("\n") == 2, SOON_SECONDS, "two lines")
    assert oct(os.stat(file).st_mode & 0o777) == "0o600"


def test_without_authentication_or_by_choice_there_are_none(tmp_path: Path) -> None:
    assert open_audit(AuthOptions(audit=str(tmp_path / "none")), lambda: 0) is None
    assert open_audit(AuthOptions(enabled=True, audit=""), lambda: 0) is None
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=r"auth.audit = .* cannot be written"):
        open_audit(AuthOptions(enabled=True, audit=str(tmp_path / "no" / "folder")), lambda: 0)
