"""One server for a compatibility run: HBTABLE_COMPAT_SERVER=host:port names a running one (ours or a real HBase);
without it an hbtable is started on a free port."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.server import ServerProcess


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    given = os.environ.get("HBTABLE_COMPAT_SERVER")
    if given:
        host, _, port = given.rpartition(":")
        yield host, int(port)
        return
    folder: Path = tmp_path_factory.mktemp("compat")
    # majorCompact returns when it is done, however busy the disk: recordings go on 2 s after the call.
    with ServerProcess(folder / "data", ["thrift.compaction_wait_seconds=60.0"]) as server:
        yield "127.0.0.1", server.port
        assert server.stop() == 0


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of the recordings."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
