"""Quotas of `hbtable start --servers N`: its processes are a cluster's tablet servers."""

from pathlib import Path

import pytest

from tests.harness.server import ServerProcess
from tests.harness.throttled_puts import LIMIT, fill_to_its_limit, passed, shell

pytestmark = pytest.mark.integration
ROWS = [b"a", b"c", b"m", b"t"]
"""One of each tablet; two tablets are on each server."""


def test_throttles_of_each_process_and_of_all_and_space(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    server.arguments = ["--servers", "2"]
    with server:
        shell(server.port, "create 't', 'f', SPLITS => ['c', 'm', 't']")
        assert passed(server.port, "MACHINE", ROWS) == 2 * LIMIT
        assert passed(server.port, "CLUSTER", ROWS) == LIMIT
        fill_to_its_limit(server.port, ROWS[0])
        assert server.stop() == 0
