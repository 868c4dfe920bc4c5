"""A request that a server was killed over, twice, is refused; clearing it, and all other requests, go on."""

import threading
from pathlib import Path

import pytest
import thriftpy2.thrift
from happybase.connection import Hbase

from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.warm_server import WarmServer

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ILLEGAL = Hbase.scannerGetList_result.thrift_spec[2][2]
LOOKING = rb"ValueFilter(=,'regexstring:^(?=([ab]|[ab]b){18}c)')"
"""1 ms a cell, in a worker: the scan takes 20 s, and no cell so long that it is refused for its time."""
ONE_PAGE = ["tablet.scan_seconds=600"]
"""So that it is one request."""
OTHER = b"ValueFilter(=,'substring:absent')"


def _scan(server: WarmServer, text: bytes) -> list[object]:
    connection = server.connect()
    try:
        return list(connection.table("t").scan(filter=text))
    finally:
        connection.close()


def _is_under_way(folder: Path) -> bool:
    marks = (folder / "requests-under-way").read_bytes()
    return any(marks[place] == 1 and b"(?=([ab]" in marks[place : place + 256] for place in range(8, len(marks), 256))


def test_the_third_server_refuses_what_two_died_over(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with WarmServer(folder) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        with connection.table("t").batch() as batch:
            batch.put(b"00000", {b"f:q": b"ab" * 9 + b"c"})
            for number in range(1, 20_000):
                batch.put(b"%05d" % number, {b"f:q": b"ab" * 20 + b"%d" % number})
        connection.close()
    for _ in range(2):
        with WarmServer(folder, ONE_PAGE) as server:

            def attack(server: WarmServer = server) -> None:
                try:
                    _scan(server, LOOKING)
                except (OSError, thriftpy2.thrift.TException):
                    pass  # the server was killed

            attacker = threading.Thread(target=attack)
            attacker.start()
            eventually(lambda: _is_under_way(folder), SOON_SECONDS, "a mark of the scan")
            server.kill()
            attacker.join()
    with WarmServer(folder) as server:
        with pytest.raises(ILLEGAL) as refusal:
            _scan(server, LOOKING)
        assert "was under way when 2 tablet servers died" in str(refusal.value.message)
        assert _scan(server, OTHER) == []
        (folder / "requests-under-way").unlink()
        connection = server.connect()
        assert [row for row, _ in connection.table("t").scan(filter=LOOKING, batch_size=1, limit=1)] == [b"00000"]
        connection.close()
