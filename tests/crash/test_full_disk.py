"""A full disk and a failing sync: nothing is acknowledged that is not durable, the client gets a message, reads go on,
and writing works again when there is room (after a restart, for a sync that failed)."""

import os
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import happybase
import pytest
import thriftpy2
from thriftpy2.rpc import make_client

from hbtable.errors import OutcomeUnknown, OutOfSpace, StorageFailed, Unavailable
from tests.harness.commands import ROOT
from tests.harness.full_disk import TABLE, Machine
from tests.harness.server import ServerProcess
from tests.harness.tiers import quick_first, taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.usefixtures("quiet")  # each failure is logged


SEEDS = quick_first(range(1, 9), 2, 3)


# ---------------------------------------------------------------- a full disk, simulated


@pytest.mark.parametrize("seed", SEEDS)
def test_a_full_disk_refuses_with_a_message_and_goes_on_when_there_is_room(seed: int) -> None:
    machine = Machine(seed)

    def body(machine: Machine) -> None:
        for _ in range(20):
            machine.put()
        machine.fill(machine.random.randrange(1000, 60000))
        error = machine.put_until_refused()
        assert isinstance(error, (OutOfSpace, Unavailable))
        assert "room" in str(error) or "flush" in str(error), error
        machine.verify()
        for _ in range(5):  # still full: refused again and again, reads go on
            machine.put()
            machine.runtime.sleep(machine.random.choice((0.0, 1.0, 7.0)))
            machine.verify()
        with suppress(OutOfSpace, Unavailable):
            machine.cluster.client.admin.major_compact(TABLE)
        machine.verify()

        machine.make_room()
        machine.runtime.sleep(10)
        before = len(machine.acknowledged)
        for _ in range(100):
            assert machine.put(), machine.errors[-1]
        assert len(machine.acknowledged) == before + 100
        machine.cluster.client.admin.major_compact(TABLE)
        machine.verify()
        machine.cluster.stop()

    machine.run(body)
    again = Machine(seed + 100, machine.memory.disk)
    again.acknowledged, again.refused = machine.acknowledged, machine.refused

    def after(again: Machine) -> None:
        again.verify()
        again.cluster.stop()

    again.run(after)


@pytest.mark.parametrize("seed", SEEDS)
def test_power_lost_on_a_full_disk_loses_nothing_acknowledged(seed: int) -> None:
    machine = Machine(seed)

    def body(machine: Machine) -> None:
        machine.fill(machine.random.randrange(1000, 60000))
        machine.put_until_refused()
        for _ in range(machine.random.randrange(4)):
            machine.put()
            machine.runtime.sleep(machine.random.choice((0.0, 3.0)))

    machine.run(body)

    def after(again: Machine) -> None:
        again.verify(refused_may_be_there=True)
        again.cluster.stop()

    machine.power_loss().run(after)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stop_on_a_full_disk_ends_and_loses_nothing(seed: int) -> None:
    machine = Machine(seed)

    def body(machine: Machine) -> None:
        for _ in range(30):
            machine.put()
        machine.fill(machine.random.randrange(3000))
        machine.put_until_refused()
        machine.cluster.stop()

    machine.run(body)
    machine.make_room()
    again = Machine(seed + 100, machine.memory.disk)
    again.acknowledged = machine.acknowledged

    def after(again: Machine) -> None:
        again.verify()
        assert again.put()

    again.run(after)


@pytest.mark.parametrize("seed", SEEDS)
def test_compactions_without_room_stop_nothing(seed: int) -> None:
    """Only SSTables have no room: what is in memory stays there and in the log, and is written out later."""
    machine = Machine(seed)

    def body(machine: Machine) -> None:
        machine.plan.fail("append", OutOfSpace("no room left for SSTables"), path="sstables/", times=-1)
        while machine.put() and len(machine.acknowledged) < 300:
            pass
        # Back-pressure may have ended it; but far more was taken than the memtable that could not be written out.
        assert len(machine.acknowledged) > 30
        machine.verify()
        machine.plan.clear()
        machine.runtime.sleep(20)
        for _ in range(50):
            assert machine.put(), machine.errors[-1]
        machine.cluster.client.admin.flush(TABLE)
        machine.verify()
        machine.cluster.stop()

    machine.run(body)


# ---------------------------------------------------------------- a failing sync, simulated


@pytest.mark.parametrize("seed", SEEDS)
def test_a_failed_sync_of_the_log_ends_writing_until_a_restart(seed: int) -> None:
    machine = Machine(seed)

    def body(machine: Machine) -> None:
        for _ in range(20):
            machine.put()
        nth = machine.random.randrange(1, 30)
        machine.plan.fail("sync", StorageFailed("the disk reports an error"), path="logs/", nth=nth)
        error = machine.put_until_refused()
        assert isinstance(error, (OutcomeUnknown, StorageFailed, Unavailable))
        assert "restart" in str(error), error
        machine.plan.clear()
        for _ in range(5):  # the disk works again, but nobody knows what it lost
            assert not machine.put()
            assert "restart" in str(machine.errors[-1])
            machine.runtime.sleep(3)
        machine.verify()

    machine.run(body)

    def after(again: Machine) -> None:
        again.verify(refused_may_be_there=True)
        again._number = 100000
        assert again.put()

    machine.power_loss().run(after)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_failed_sync_of_an_sstable_is_tried_again_elsewhere(seed: int) -> None:
    machine = Machine(seed)

    def body(machine: Machine) -> None:
        machine.plan.fail("sync", StorageFailed("the disk reports an error"), path="sstables/", times=3)
        for _ in range(100):
            assert machine.put(), machine.errors[-1]
        machine.runtime.sleep(20)
        machine.cluster.client.admin.flush(TABLE)
        machine.verify()

    machine.run(body)

    def after(again: Machine) -> None:
        again.verify()

    machine.power_loss().run(after)


# ---------------------------------------------------------------- a real small disk


@pytest.mark.integration
@pytest.mark.parametrize("durability", taking_turns(["sync", "os"], 2))
def test_a_real_disk_that_fills_under_a_happybase_program(small_disk: Path, durability: str) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(20 << 20))
    limits = ["tablet.memtable_bytes=2 MiB", "log.segment_bytes=2 MiB", "maintenance.log_bytes=4 MiB"]
    limits += ["garbage.period_seconds=0.5 s", "garbage.trash_seconds=0"]
    with ServerProcess(small_disk / "data", [f"log.durability={durability}", *limits]) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        table = connection.table("t")
        acknowledged: dict[bytes, bytes] = {}
        error = write(table, acknowledged, 40000)
        assert error is not None, "40 MB went into 20 MiB"
        assert error.message.startswith(b"java.io.IOException: "), error.message
        assert b"room" in error.message or b"flush" in error.message, error.message
        assert_there(table, acknowledged)
        assert_refusal_may_be_retried(server.port)

        ballast.unlink()
        eventually(lambda: write(table, acknowledged, 2000) is None, SOON_SECONDS, "puts that are taken again")
        assert_there(table, acknowledged)
        assert server.stop() == 0
        server.start()
        assert_there(server.connect().table("t"), acknowledged)


def write(table: happybase.Table, acknowledged: dict[bytes, bytes], rows: int) -> Any:
    """Batches of 50 rows; the first IOError, None when there was none."""
    first = len(acknowledged)
    for start in range(first, first + rows, 50):
        cells = {b"%08d" % number: random.Random(number).randbytes(1000) for number in range(start, start + 50)}
        batch = table.batch()
        for row, value in cells.items():
            batch.put(row, {b"f:v": value})
        try:
            batch.send()
        except Exception as error:
            if type(error).__name__ != "IOError":
                raise
            return error
        acknowledged.update(cells)
    return None


def assert_refusal_may_be_retried(port: int) -> None:
    """happybase's interface file is too old for canRetry, so with ours."""
    module = thriftpy2.load(os.path.join(ROOT, "thrift", "hbase.thrift"), module_name="hbase_thrift")
    client = make_client(module.Hbase, "127.0.0.1", port)
    mutation = module.Mutation(column=b"f:v", value=bytes(4 << 20))

    def fill() -> None:
        for _ in range(8):
            client.mutateRow(b"t", b"large", [mutation], {})

    with pytest.raises(module.IOError) as caught:
        fill()
    assert caught.value.canRetry is True
    client.close()


def assert_there(table: happybase.Table, acknowledged: dict[bytes, bytes]) -> None:
    """All that was acknowledged. (Of a refused batch some rows may be there: each row is its own promise.)"""
    found = {row: columns[b"f:v"] for row, columns in table.scan()}
    missing = [row for row, value in acknowledged.items() if found.get(row) != value]
    assert not missing, f"{len(missing)} of {len(acknowledged)} acknowledged rows are gone"
    assert len(found) <= len(acknowledged) + 50 + 1
