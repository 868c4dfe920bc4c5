"""A healthy folder is started again without a warning, however the last life ended."""

import signal
from pathlib import Path

import pytest

from tests.harness.waiting import of_the_program
from tests.harness.warm_server import WarmServer


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_warns_of_nothing(tmp_path: Path, end: signal.Signals) -> None:
    for life in range(3):
        server = WarmServer(tmp_path / "data").start()
        connection = server.connect()
        if not life:
            connection.create_table("t", {"f": {}})
        table = connection.table("t")
        table.put(b"r%d" % life, {b"f:q": b"v"})
        assert len(list(table.scan())) == life + 1
        connection.close()
        if end == signal.SIGKILL and life < 2:
            server.kill()
        else:
            assert server.stop() == 0
    said = of_the_program(server.errors.read_text().splitlines())
    assert [line for line in said if " ERROR " in line or " WARNING " in line] == []
