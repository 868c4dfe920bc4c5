"""What is written can be read: at once, after a flush, after a restart, after compactions."""

import gc

from hbtable.tablet.state import TabletState
from tests.harness.tablet_bench import Bench, delete, everything, put, values


def test_a_put_is_read_back(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"1"), put(b"r", b"g:", b"2")])
        assert values(tablet, b"r") == {b"f:a": b"1", b"g:": b"2"}
        assert values(tablet, b"q") == {}

    bench.run(main)


def test_a_crash_loses_nothing_acknowledged(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r%d" % n, b"f:a", b"%d" % n) for n in range(100)])
        tablet.flush()
        tablet.mutate([delete(b"r5", b"f"), put(b"r6", b"f:a", b"new")])
        before = everything(tablet)
        bench.crash()
        tablet = bench.open()
        assert everything(tablet) == before
        assert len(before) == 99

    bench.run(main)


def test_flushes_and_compactions_change_no_answer(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for n in range(10):
            tablet.mutate([put(b"r%d" % k, b"f:a", b"%d" % n) for k in range(n, 50)])
            tablet.mutate([delete(b"r%d" % n, b"f:a"), put(b"r%d" % n, b"g:x", b"kept")])
            tablet.flush()
        before = everything(tablet)
        for major in (False, True):
            tablet.compact(major)
            assert everything(tablet) == before
        assert tablet.status().sstables == 2
        tablet.close()
        tablet = bench.load()
        assert everything(tablet) == before

    bench.run(main)


def test_a_closed_tablet_leaves_memory_without_a_search_for_rings(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"v")])
        tablet.flush()
        assert _states() == before + 1
        tablet.close()

    gc.collect()
    before = _states()
    gc.disable()
    try:
        bench.run(main)
        assert _states() == before
    finally:
        gc.enable()


def _states() -> int:
    """Of tablets, in memory."""
    return sum(1 for one in gc.get_objects() if isinstance(one, TabletState))
