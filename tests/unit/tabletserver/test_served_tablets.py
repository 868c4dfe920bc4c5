"""The changes of a server's tablets: a master that applies them always knows what is served."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from hbtable.errors import Unavailable
from hbtable.master.servers.known_tablets import KnownTablets
from hbtable.model.ranges import RowRange
from hbtable.model.status import LeftTablet, ServedChanges
from hbtable.model.tablet import TabletRecord
from hbtable.tabletserver import served_tablets
from hbtable.tabletserver.served_tablets import ServedTablets
from tests.harness.tiers import quick_first


class Schema:
    name = b"t"

    def __init__(self, version: int) -> None:
        self.version = version


class Served:
    """As much of a tablet as is told."""

    def __init__(self, tablet_id: int, table_id: int, version: int) -> None:
        self.record = TabletRecord(table_id, tablet_id, RowRange(), 0)
        self.schema = Schema(version)

    def requests(self) -> tuple[int, int]:
        return 0, 0

    def sstable_bytes(self) -> int:
        return self.record.tablet_id


class Server:
    """A TabletAdmin that answers as ServedTablets says."""

    def __init__(self, tablets: ServedTablets) -> None:
        self.tablets = tablets
        self.told: list[int] = []

    def served_changes(self, since: int) -> ServedChanges:
        found = self.tablets.changes_since(since, {})
        self.told.append(len(found.served) + len(found.gone))
        return found


def put(tablets: ServedTablets, tablet_id: int, table_id: int = 16, version: int = 1) -> None:
    tablets[tablet_id] = Served(tablet_id, table_id, version)  # type: ignore[assignment]


def test_only_what_changed_is_told() -> None:
    tablets = ServedTablets()
    server, known = Server(tablets), KnownTablets()
    for number in range(500):
        put(tablets, number)
    known.ask(server, -1, 0.0)  # type: ignore[arg-type]
    for _ in range(3):
        known.ask(server, -1, 1.0)  # type: ignore[arg-type]
    del tablets[7]
    put(tablets, 600, version=2)
    tablets.changed(9)
    known.ask(server, -1, 2.0)  # type: ignore[arg-type]
    assert server.told == [500, 0, 0, 0, 3]
    assert known.tablet_ids == set(tablets)


def test_sizes_are_asked_for_again_after_a_while() -> None:
    tablets = ServedTablets()
    server, known = Server(tablets), KnownTablets()
    put(tablets, 5)
    for now in (0.0, 59.0, 61.0, 62.0):
        known.ask(server, -1, now)  # type: ignore[arg-type]
    assert server.told == [1, 0, 1, 0]


def test_what_left_is_told_once_also_where_everything_is_asked_for() -> None:
    """Not what came back."""
    tablets, told = ServedTablets(), []
    known = KnownTablets(server="s", left=lambda server, left: told.append((server, [one.tablet_id for one in left])))
    server = Server(tablets)
    for now in (0.0, 1.0, 61.5):
        for tablet_id in (5, 6, 7, 8):
            put(tablets, tablet_id)
        known.ask(server, -1, now)  # type: ignore[arg-type]
        del tablets[5]
        tablets.pop(6)
        put(tablets, 6)
        tablets.pop(7, None)
        tablets.pop(7, None)
        known.ask(server, -1, now + 0.5)  # type: ignore[arg-type]
    del tablets[8]
    known.ask(server, -1, 130.0)  # type: ignore[arg-type]
    told_of = [one for one in told if one[1]]
    assert told_of == [("s", [7, 5])] * 3 + [("s", [8])]
    assert LeftTablet(16, 8, b"", b"t") in tablets.changes_since(1, {}).left


class Master:
    """What it hears of what left."""

    def __init__(self, tablets: ServedTablets) -> None:
        self.server = Server(tablets)
        self.left: list[int] = []
        self.missed = 0
        self.known = KnownTablets(server="s", left=self._saw, missed=self._miss)

    def _saw(self, server: str, left: Sequence[LeftTablet]) -> None:
        self.left += [one.tablet_id for one in left]

    def _miss(self, server: str) -> None:
        self.missed += 1

    def ask(self, now: float, fails: bool = False) -> None:
        if fails:
            with pytest.raises(Unavailable):
                self.known.ask(Silent(), -1, now)  # type: ignore[arg-type]
        else:
            self.known.ask(self.server, -1, now)  # type: ignore[arg-type]


class Silent:
    """A TabletAdmin that does not answer."""

    def served_changes(self, since: int) -> ServedChanges:
        raise Unavailable("no answer")


class TwoAtOnce:
    """A TabletAdmin whose next answer comes after a whole other question, which is as `meanwhile` says."""

    def __init__(self, inner: Server, meanwhile: Callable[[], None], error: Exception | None = None) -> None:
        self._inner, self._meanwhile, self._error = inner, [meanwhile], error

    def served_changes(self, since: int) -> ServedChanges:
        found = self._inner.served_changes(since)
        if self._meanwhile:
            self._meanwhile.pop()()
            if self._error is not None:
                raise self._error
        return found


class FailsWithChanges:
    """A TabletAdmin that answers with everything, and to no other question."""

    def __init__(self, inner: Server) -> None:
        self._inner = inner

    def served_changes(self, since: int) -> ServedChanges:
        if since:
            raise Unavailable("no answer")
        return self._inner.served_changes(since)


def served(*tablet_ids: int) -> ServedTablets:
    tablets = ServedTablets()
    for tablet_id in tablet_ids:
        put(tablets, tablet_id)
    return tablets


@pytest.mark.parametrize("later", [62.0, 130.0])
def test_what_left_is_told_though_the_question_after_everything_failed(later: float) -> None:
    """Everything had been asked for, which does not tell what left; the question for that was not asked again."""
    tablets = served(5, 6)
    master = Master(tablets)
    master.ask(0.0)
    del tablets[5]
    with pytest.raises(Unavailable):
        master.known.ask(FailsWithChanges(master.server), -1, 61.0)  # type: ignore[arg-type]
    assert (master.left, master.known.tablet_ids) == ([], {6})
    put(tablets, 7)
    master.ask(later)
    assert (master.left, master.missed, master.known.tablet_ids) == ([5], 0, {6, 7})


def test_where_the_server_has_forgotten_what_left_everything_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_tablets, "_KEPT", 1)
    tablets = served(5, 6)
    master = Master(tablets)
    master.ask(0.0)
    tablets.clear()
    for tablet_id in range(10, 20):
        put(tablets, tablet_id)
        del tablets[tablet_id]
    master.ask(1.0)
    assert (master.left, master.missed, master.known.tablet_ids) == ([], 1, set())
    master.ask(2.0)
    assert master.missed == 1


def test_of_two_questions_at_once_one_tells_what_left() -> None:
    """Their answers have the same number."""
    tablets = served(5, 6)
    master = Master(tablets)
    master.ask(0.0)
    del tablets[5]
    both = TwoAtOnce(master.server, lambda: master.ask(1.0))
    master.known.ask(both, -1, 1.0)  # type: ignore[arg-type]
    assert master.left == [5]


def test_of_two_questions_at_once_the_later_answer_is_not_told_twice() -> None:
    tablets = served(5, 6)
    master = Master(tablets)
    master.ask(0.0)
    del tablets[5]

    def meanwhile() -> None:
        del tablets[6]
        master.ask(1.0)

    master.known.ask(TwoAtOnce(master.server, meanwhile), -1, 1.0)  # type: ignore[arg-type]
    assert sorted(master.left) == [5, 6]


@pytest.mark.parametrize("times", [1, 3])
def test_the_first_answer_of_one_that_was_silent_has_everything_looked_at(times: int) -> None:
    """Whoever asked before went on without it; it does not tell what left it before its first answer."""
    master = Master(served(5))
    for now in range(times):
        master.ask(float(now), fails=True)
    assert not master.missed
    for now in range(5, 8):
        master.ask(float(now))
    assert master.missed == 1
    master.ask(9.0, fails=True)
    master.ask(10.0)
    assert master.missed == 1, "what left since is told"


def test_so_it_is_where_the_first_of_two_first_questions_fails_after_the_second() -> None:
    master = Master(served(5))
    both = TwoAtOnce(master.server, lambda: master.ask(0.0), Unavailable("no answer"))
    with pytest.raises(Unavailable):
        master.known.ask(both, -1, 0.0)  # type: ignore[arg-type]
    master.ask(1.0)
    assert master.missed == 1


def test_what_comes_to_an_empty_server_and_leaves_it_is_not_missed() -> None:
    """It tells of changes after a number, and of everything after none."""
    tablets = ServedTablets()
    master = Master(tablets)
    master.ask(0.0)
    put(tablets, 4)
    master.ask(1.0)
    assert not master.missed
    tablets = ServedTablets()
    master = Master(tablets)
    master.ask(0.0)
    put(tablets, 5)
    del tablets[5]
    master.ask(1.0)
    assert master.missed == 1


@pytest.mark.parametrize("seed", quick_first(range(300), 50, 50))
def test_whatever_left_is_told_once_or_everything_is_looked_at(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions overlap and fail, and the numbers that are kept run out."""
    chance = random.Random(seed)
    monkeypatch.setattr(served_tablets, "_KEPT", chance.choice((1, 1000, 1000)))
    tablets = served(*range(100, 103))
    master = Master(tablets)
    master.ask(0.0)
    left: list[int] = []
    new, now = 200, 0.0
    missed_before: list[int] = []

    def change() -> None:
        nonlocal new
        for _ in range(chance.randint(0, 3)):
            if tablets and chance.random() < 0.5:
                gone = chance.choice(sorted(tablets))
                del tablets[gone]
                left.append(gone)
            else:
                put(tablets, new)
                new += 1

    def ask() -> None:
        change()
        if chance.random() < 0.3:
            inner = FailsWithChanges(master.server)
        elif chance.random() < 0.4:
            error = chance.choice((None, Unavailable("no answer")))
            inner = TwoAtOnce(master.server, ask, error)  # type: ignore[assignment]
        else:
            inner = master.server  # type: ignore[assignment]
        try:
            master.known.ask(inner, -1, now)  # type: ignore[arg-type]
        except Unavailable:
            return

    for _ in range(chance.randint(1, 30)):
        now += chance.choice((1.0, 1.0, 61.0))
        missed = master.missed
        ask()
        if master.missed > missed:
            missed_before += left
    master.ask(now + 1)
    if master.missed > missed:
        missed_before += left
    assert len(master.left) == len(set(master.left)), "told twice"
    assert set(master.left) <= set(left)
    assert set(left) <= {*master.left, *missed_before}
    assert master.known.tablet_ids == set(tablets)


def test_one_that_was_split_is_gone_and_left_no_row() -> None:
    tablets = ServedTablets()
    put(tablets, 5)
    since = tablets.changes_since(0, {}).number
    tablets[5].record = replace(tablets[5].record, tablet_id=7)  # it is the right child
    del tablets[5]
    found = tablets.changes_since(since, {})
    assert (found.gone, found.left) == ([5], ())


def test_thousands_of_changes_are_applied_in_parts_and_a_later_answer_wins() -> None:
    tablets, known = ServedTablets(), KnownTablets()
    server = Server(tablets)
    pauses: list[int] = []

    def pause() -> None:
        pauses.append(len(known.tablet_ids))
        if len(pauses) == 2:  # another question is answered meanwhile
            tablets.clear()
            put(tablets, 7)
            known.ask(server, -1, 0.0)  # type: ignore[arg-type]

    for number in range(5000):
        put(tablets, number)
    known.ask(server, -1, 0.0, pause)  # type: ignore[arg-type]
    assert pauses[:2] == [0, 0]
    assert known.tablet_ids == {7}
    assert known.user_tablets == 1


@pytest.mark.parametrize("seed", quick_first(range(200), 50, 50))
def test_a_master_that_hears_of_changes_knows_what_is_served(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers come late and in another order, too; the numbers that are kept run out."""
    chance = random.Random(seed)
    monkeypatch.setattr(served_tablets, "_KEPT", chance.choice((1, 5, 1000)))
    tablets, known = ServedTablets(), KnownTablets()
    late: list[tuple[int, ServedChanges]] = []
    for step in range(chance.randint(1, 60)):
        for _ in range(chance.randint(0, 8)):
            tablet_id = chance.randrange(12)
            kind = chance.random()
            if kind < 0.5:
                put(tablets, tablet_id, chance.choice((0, 16, 17)), chance.randint(1, 3))
            elif kind < 0.9:
                tablets.pop(tablet_id, None)
            elif kind < 0.98:
                tablets.changed(tablet_id)
            else:
                tablets.clear()
        since = chance.choice((0, known._heard or 0, known._heard or 0))
        late.append((since, tablets.changes_since(since, {})))
        told = [one.tablet_id for one in late[-1][1].served]
        assert [one.record.tablet_id for one in tablets.to_tell(since)] == told
        chance.shuffle(late)
        for _ in range(chance.randint(0, len(late))):
            known._apply(*late.pop(), float(step))
    known.ask(Server(tablets), -1, 1000.0 * chance.randint(0, 1))  # type: ignore[arg-type]
    served = list(tablets.values())
    assert known.tablet_ids == set(tablets)
    assert known.sstable_bytes == sum(tablets)
    assert known.user_tablets == sum(one.record.table_id != 0 for one in served)
    oldest = {
        table: min(one.schema.version for one in served if one.record.table_id == table)
        for table in {one.record.table_id for one in served}
    }
    assert known.oldest_schemas == oldest
