"""Patterns that take for ever: they end in an error that names them, and other clients are served meanwhile."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from happybase.connection import Hbase

from tests.harness.server import ServerProcess
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ATTACKS = {
    "backtracking": (rb"^(?=(a|a)+$)a", "took more than 0.1 s over 300000 bytes"),
    "a large program": (rb"(x?a?){0,500}(b?a?){0,500}c", "the worker process took more than"),
    "compiling": ("[à-ÿ]{0,1000}".encode() * 80 + b"z", "the worker process took more than"),
}
"""Pattern, and what the error says. Each would hold whoever searches here for many seconds, some for ever."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path / "data", ["log.durability=os"]) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        connection.table("t").put(b"r", {b"f:long": b"a" * 299_999 + b"!", b"f:short": b"v"})
        connection.close()
        yield server


@pytest.mark.parametrize("kind", ["backtracking", *taking_turns(sorted(ATTACKS.keys() - {"backtracking"}), 2)])
def test_others_are_served_while_a_pattern_takes_for_ever(server: ServerProcess, kind: str) -> None:
    pattern, reason = ATTACKS[kind]
    # One or two are answered before the search begins. Once more when this process stood still while it went on.
    eventually(lambda: served_beside(server, pattern, reason) > 3, SOON_SECONDS, "others served during a search")


def served_beside(server: ServerProcess, pattern: bytes, reason: str) -> int:
    """How often another client was served while a scan with this pattern went on, which ends for this reason."""
    ended: list[str] = []

    def attack() -> None:
        connection = server.connect()
        try:
            list(connection.table("t").scan(filter=b"ValueFilter(=,'regexstring:%b')" % pattern))
        except (Hbase.scannerGetList_result.thrift_spec[1][2], Hbase.scannerGetList_result.thrift_spec[2][2]) as error:
            ended.append(str(error.message))
        finally:
            connection.close()

    attacker = threading.Thread(target=attack)
    attacker.start()
    connection = server.connect()
    served = 0
    while attacker.is_alive():
        assert connection.table("t").row(b"r", [b"f:short"]) == {b"f:short": b"v"}
        served += 1
    attacker.join()
    connection.close()
    assert reason in ended[0]
    return served
