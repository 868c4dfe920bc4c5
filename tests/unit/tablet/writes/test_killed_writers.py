"""A request handler that is killed at a stop waits for its group no longer; what it wrote is applied or refused."""

from unittest.mock import patch

import pytest

from hbtable.commitlog.segments.appender import SegmentAppender
from tests.harness.tablet_bench import Bench, put


@pytest.mark.parametrize("durability", ["sync", "os"])
def test_a_row_goes_on_after_a_write_was_refused_for_which_nobody_waits_any_more(durability: str) -> None:
    bench = Bench(0, durability)
    append = SegmentAppender.append

    def slowly(self: SegmentAppender, *arguments: bytes) -> None:
        bench.runtime.sleep(1)
        append(self, *arguments)

    def main() -> None:
        tablet = bench.open()
        tablet.increment(b"r", b"f", b"n", 1)
        with patch.object(SegmentAppender, "append", slowly):
            first = bench.runtime.spawn(tablet.mutate, [put(b"s", b"f:x", b"")])
            bench.runtime.sleep(0.5)
            waiter = bench.runtime.spawn(tablet.mutate, [put(b"r", b"f:n", bytes(8))])
            while len(tablet._state.row_locks.in_flight) < 2:
                bench.runtime.sleep(0)
            waiter.kill()
            first.join()
            bench.memory.disk.capacity_bytes = bench.memory.disk.used_bytes
            bench.runtime.sleep(5)
        bench.memory.disk.capacity_bytes = None
        assert tablet.increment(b"r", b"f", b"n", 1) == 2
        tablet.freeze_for_unload()

    bench.run(main)
