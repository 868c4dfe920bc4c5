"""How the single server ends: what it says, and its exit code."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.errors import OutcomeUnknown, StorageFailed
from hbtable.fs.memory import MemoryFileSystem
from hbtable.hbase.errors import declared
from hbtable.launch import serve
from hbtable.launch.config.sections import ServerOptions, read_configuration
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.local import LocalLockService
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.runtime.threads.portal import Portal
from hbtable.testing.faulty_fs import FaultPlan, FaultyFileSystem
from hbtable.testing.simulated.runtime import SimulatedRuntime

SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f")})


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.close()


def test_an_orderly_stop_is_not_taken_for_a_lost_lock(
    portal: Portal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serve, "_LOOK_SECONDS", 0.001)

    def life() -> int:
        folder = str(tmp_path / "data")
        configuration = read_configuration(None, {"HOME": os.devnull}, ())
        server = serve.SingleServer(configuration, ServerOptions(data=folder, port=0, http_port=0), folder)
        server.start()
        waiting = server.runtime.spawn(server.wait, name="wait")
        server.runtime.sleep(0.02)
        close = server._status.close

        def close_slowly() -> None:  # the session is over by now, and whoever still watches it has time to look
            server.runtime.sleep(0.1)
            close()

        monkeypatch.setattr(server._status, "close", close_slowly)
        server.ask_to_stop()
        waiting.join()
        return server.stop()

    with caplog.at_level(logging.WARNING):
        assert portal.call(life) == 0
    assert "lock was lost" not in caplog.text


def test_a_write_whose_log_sync_failed_has_an_unknown_outcome_and_the_stop_says_that_something_failed() -> None:
    runtime = SimulatedRuntime(1)
    memory = MemoryFileSystem(runtime)
    plan = FaultPlan()

    def cluster(fs: object) -> EmbeddedCluster:
        return EmbeddedCluster(runtime, fs, LocalLockService(memory, runtime))  # type: ignore[arg-type]

    def put(cluster: EmbeddedCluster, row: bytes) -> None:
        cluster.client.table(b"t").mutate([RowMutation(row, [(PUT, b"f", b"q", SERVER_TIME, b"v")])])

    def life() -> None:
        broken = cluster(FaultyFileSystem(memory, plan, runtime))
        broken.start()
        broken.client.admin.create_table(SCHEMA, [])
        put(broken, b"before")
        plan.fail("sync", StorageFailed("the disk reports an error"), path="logs/", nth=1)
        with pytest.raises(OutcomeUnknown, match="whether this write was stored is unknown") as caught:
            put(broken, b"doubtful")
        text = declared(caught.value, {"io": 1}).message
        assert "unknown" in text
        assert "restart" in text
        assert text.startswith("org.apache.hadoop.hbase.DoNotRetryIOException: ")
        with pytest.raises(StorageFailed, match="restart this tablet server"):
            put(broken, b"refused")
        assert "commit log" in broken.stop()

        again = cluster(memory)
        again.start()
        found = {row for row, _ in again.client.rows(b"t").scan()}
        assert b"before" in found
        assert b"refused" not in found
        assert again.stop() == ""

    runtime.run(life)
