"""A load does not replay its server's own log: it is refused, loudly, when that would lose something."""

import pytest

from hbtable.errors import StaleLocation, Unavailable
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, everything, put


def written(bench: Bench) -> Tablet:
    tablet = bench.open()
    tablet.mutate([put(b"r%d" % n, b"f:a", b"") for n in range(5)])
    tablet.flush()
    tablet.mutate([put(b"s%d" % n, b"f:a", b"") for n in range(3)])
    return tablet


@pytest.mark.parametrize("anew", [False, True])
def test_a_tablet_that_left_without_a_flush_is_not_loaded_again(
    bench: Bench, anew: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """In the same generation as after a load that is asked for again, or in a later one."""

    def main() -> None:
        tablet = written(bench)
        before = everything(tablet)
        tablet.close()
        with pytest.raises(Unavailable, match=r"tablet 20 .* up to sequence 8, .* needs all from 6 on"):
            bench.load() if anew else bench.load_as_it_is()
        assert "tablet 20 is not loaded: the log of this server, server-1, has records" in caplog.text
        assert bench.shared.memtable_bytes == 0
        bench.crash()
        assert everything(bench.open()) == before, "the next server recovers it from the log"

    bench.run(main)


def test_a_tablet_that_was_unloaded_comes_back_as_often_as_it_is_asked_for(bench: Bench) -> None:
    def main() -> None:
        tablet = written(bench)
        before = everything(tablet)
        for generation in range(4):
            tablet.freeze_for_unload()
            tablet.close()
            tablet = bench.load() if generation % 2 else bench.load_as_it_is()
            assert everything(tablet) == before
            before.append((b"t%d" % generation, [(b"f:a", bench.runtime.wall_millis(), b"")]))
            tablet.mutate([put(b"t%d" % generation, b"f:a", b"", bench.runtime.wall_millis())])
        bench.crash()
        assert everything(bench.open()) == before

    bench.run(main)


def test_what_was_under_way_when_the_tablet_left_is_seen_as_well(bench: Bench) -> None:
    """Such a write is acknowledged after the load has begun."""

    def main() -> None:
        tablet = written(bench)
        tablet.flush()
        tablet.close()
        opened = bench.fs.open

        def open_late(path: str) -> object:
            bench.log._ledger.active[20] = 9
            return opened(path)

        bench.memory.open = open_late  # type: ignore[method-assign, assignment]
        with pytest.raises(Unavailable, match="up to sequence 9"):
            bench.load_as_it_is()
        with pytest.raises(StaleLocation):
            tablet.mutate([put(b"r", b"f:a", b"")])

    bench.run(main)
