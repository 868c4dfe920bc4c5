"""A copy that compares while programs write, and after their end only what is newer, and what differed before."""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from hbtable.model.cell import Row
from hbtable.model.schema import TableSchema
from hbtable.shell.copying import copy_workers
from hbtable.shell.copying.copying import CopyOptions, Surroundings, run_copy
from hbtable.shell.copying.peers import PeerAddress
from hbtable.shell.errors import ShellError
from hbtable.shell.transfer.progress import Progress
from tests.unit.shell.test_copies_mended import Cells, DictPeer, cell

ADDRESSES = PeerAddress("thrift", "127.0.0.1:1"), PeerAddress("thrift", "127.0.0.1:2")


class Copied:
    """A copy that follows, between two dicts. Each page that is read is a second of the clock, and an occasion for
    `between`, which may write to the source until the end is asked for, after `rounds`."""

    def __init__(
        self, folder: Path, source: Cells, target: Cells, rounds: int = 2, early: bool = True, delete: bool = True
    ) -> None:
        self.source, self.target = DictPeer("one", source), DictPeer("two", target)
        self.now = 1_000_000
        self.said: list[str] = []
        self.read_at_the_end: int | None = None
        self.between: Callable[[], None] = lambda: None
        self._rounds = rounds
        state = folder / "state"
        state.unlink(missing_ok=True)
        self._options = CopyOptions(
            *ADDRESSES, state, workers=1, follow=True, overlap_seconds=1.0, delete=delete, compare_early=early
        )

    def run(self) -> str:
        around = Surroundings(lambda: 0.0, lambda: self.now, self._wait, self.said.append, quiet=True)
        peers = {address.address: peer for address, peer in zip(ADDRESSES, (self.source, self.target), strict=True)}
        pages = DictPeer.pages

        def watched(
            peer: DictPeer, schema: TableSchema, start: bytes, stop: bytes, since: int, wanted: Any
        ) -> Iterator[list[Row]]:
            for page in pages(peer, schema, start, stop, since, wanted):
                yield page
                self.now += 1000
                if self.read_at_the_end is None:
                    self.between()

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(copy_workers, "connect_peer", lambda peer, _: peers[peer.address])
            patched.setattr(DictPeer, "pages", watched)
            patched.setattr(Progress, "save", lambda *_: None)  # to sync each of thousands takes minutes
            return run_copy(self._options, around)

    def _wait(self, seconds: float) -> bool:
        """The writers stand when it says so."""
        self._rounds -= 1
        if self._rounds <= 0:
            self.read_at_the_end = self._read()
        return self._rounds <= 0

    def _read(self) -> int:
        return self.source.cells_read + self.target.cells_read

    def read_while_writers_stand(self) -> int:
        """Cells, of both sides."""
        assert self.read_at_the_end is not None
        return self._read() - self.read_at_the_end


def rows(number: int) -> Cells:
    return {b"%06d" % one: cell() for one in range(number)}


def test_while_the_writers_stand_only_what_is_newer_is_read(tmp_path: Path) -> None:
    """All cells of both sides were read."""
    copied = Copied(tmp_path, rows(5000), rows(5000))
    del copied.target.cells[b"000100"]
    written = itertools.count()
    copied.between = lambda: copied.source.write(
        b"t", [(b"%06d" % (next(written) * 37 % 5000), [(b"f:new", copied.now, b"1")])]
    )
    copied.run()
    assert copied.target.cells == copied.source.cells
    assert next(written) > 100
    assert 100 < copied.read_while_writers_stand() < 1500

    whole = Copied(tmp_path, rows(5000), rows(5000), early=False)
    whole.run()
    assert whole.read_while_writers_stand() >= 10_000


def test_a_row_that_differed_before_is_compared_whole(tmp_path: Path) -> None:
    """What was deleted at the source before the comparison is found by it, and deleted when the writers stand."""
    copied = Copied(tmp_path, rows(2000), rows(2000))
    del copied.source.cells[b"000007"]
    copied.run()
    assert b"000007" not in copied.target.cells
    left = Copied(tmp_path, rows(2000), rows(2000), delete=False)
    del left.source.cells[b"000007"]
    with pytest.raises(ShellError, match="the two sides differ"):
        left.run()
    assert any("only at the target: 1" in line for line in left.said)


def test_what_it_does_not_see_is_said(tmp_path: Path) -> None:
    copied = Copied(tmp_path, rows(10), rows(10))
    copied.run()
    (line,) = [line for line in copied.said if line.startswith("not looked at")]
    assert re.fullmatch(
        "not looked at, as programs wrote while it was compared: what they deleted since then of older cells, and "
        r"cells that they wrote with times of before 1970-01-01 00:1[67]:\d\d UTC",
        line,
    )
    whole = Copied(tmp_path, rows(10), rows(10), early=False)
    whole.run()
    assert not [line for line in whole.said if line.startswith("not looked at")]


def test_the_last_line_says_what_was_copied_and_what_followed(tmp_path: Path) -> None:
    """It named the rows of the copy alone, with a rate over the whole time."""
    copied = Copied(tmp_path, rows(10), {}, rounds=2, early=False)
    written = iter(range(5))
    copied.between = lambda: copied.source.write(b"t", [(b"new%d" % next(written, 4), [(b"f:a", 1_000_500, b"1")])])
    said = copied.run()
    assert re.fullmatch(
        r"copied 1\d rows, then \d+ newer cells in 3 rounds of following, some of them in several, in 0\.0 s", said
    )
    rounds = [line for line in copied.said if line.startswith("followed:")]
    assert rounds[0].startswith("followed: ")
    assert "newer than 999000 (1970-01-01 00:16:39 UTC) in " in rounds[0]


def test_what_deletes_cells_of_the_target_alone_is_said_with_its_danger(tmp_path: Path) -> None:
    for delete in (False, True):
        copied = Copied(tmp_path, rows(3), rows(4), rounds=1, early=False, delete=delete)
        if delete:
            copied.run()
        else:
            with pytest.raises(ShellError, match="the two sides differ, as said above: mend that"):
                copied.run()
        told = [line for line in copied.said if "with --delete, and it deletes them for good" in line]
        assert len(told) == (0 if delete else 1)


KEYS = st.sampled_from([b"%02d" % number for number in range(30)])
SIDES = st.dictionaries(
    KEYS,
    st.dictionaries(st.tuples(st.sampled_from([b"f:a", b"f:b"]), st.integers(1, 2)), st.sampled_from([b"x", b"y"]),
                    min_size=1),
)  # fmt: skip
WRITES = st.lists(st.lists(st.tuples(KEYS, st.sampled_from([b"f:a", b"f:b"])), max_size=3), max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SIDES, SIDES, WRITES, st.integers(1, 4))
def test_whatever_is_written_meanwhile_both_are_alike(
    tmp_path: Path, source: Cells, target: Cells, writes: list[list[tuple[bytes, bytes]]], rounds: int
) -> None:
    copied = Copied(tmp_path, source, target, rounds)
    copied.source._page_rows = copied.target._page_rows = 3
    left = iter(writes)

    def write() -> None:
        for row, column in next(left, ()):
            source.setdefault(row, {})[column, copied.now] = b"w"

    copied.between = write
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hbtable.shell.copying.mended_rows._NEAR", 3)
        patched.setattr("hbtable.shell.copying.mended_rows._MOST", 4)
        copied.run()
    assert target == source
