"""SSTables of refused changes that METADATA may yet make: they stay for as long, and no longer."""

from dataclasses import replace

import pytest

from hbtable.errors import OutOfSpace
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Event
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.planted_bugs import is_found
from tests.harness.tablet_bench import Bench, put

FULL = OutOfSpace("METADATA's log has no room")


class HeldDelete(DelegatingFake):
    """A file system whose next delete waits."""

    OWN = ("begun", "go_on")

    def __init__(self, inner: FileSystem, begun: Event, go_on: Event) -> None:
        super().__init__(inner)
        self.begun = begun
        self.go_on = go_on

    def delete(self, path: str) -> None:
        self.begun.set()
        self.go_on.wait()
        self.inner.delete(path)


def refused_while_an_earlier_file_is_removed() -> None:
    bench = Bench()
    bench.options = replace(bench.options, merge_files=2)
    begun, go_on = bench.runtime.event(), bench.runtime.event()

    def main() -> None:
        bench.fs = HeldDelete(bench.memory, begun, go_on)  # type: ignore[assignment]
        tablet = bench.open()
        for row in b"a", b"b", b"c":
            tablet.mutate([put(row, b"f:a", b"1")])
            tablet.flush()
        tablet.mutate([put(b"r", b"f:a", b"1")])
        bench.records.errors.append((FULL, False))
        with pytest.raises(OutOfSpace):
            tablet.flush()
        first = set(bench.shared.files_in_flight)
        assert len(first) == 1
        flush = bench.runtime.spawn(tablet.flush)
        begun.wait()
        assert first & bench.shared.files_in_flight
        bench.records.errors.append((FULL, False))
        with pytest.raises(OutOfSpace):
            tablet.compact(False)
        second = bench.shared.files_in_flight - first
        assert len(second) == 1
        go_on.set()
        flush.join()
        assert bench.shared.files_in_flight == second
        assert all(map(bench.memory.exists, second)), "the change that names it can still come back"
        tablet.compact(False)
        assert not bench.shared.files_in_flight
        assert not any(map(bench.memory.exists, second))

    bench.run(main)


def test_a_change_settles_only_what_was_refused_before_it() -> None:
    is_found("early", refused_while_an_earlier_file_is_removed)
