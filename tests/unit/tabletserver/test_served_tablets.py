"""The changes of a server's tablets: a master that applies them always knows what is served."""

import random
from dataclasses import replace

import pytest

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
    assert server.told == [1, 0, 1, 0, 0]  # once more for what left since


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
    late: list[ServedChanges] = []
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
        since = chance.choice((0, known._number, known._number))
        late.append(tablets.changes_since(since, {}))
        assert [one.record.tablet_id for one in tablets.to_tell(since)] == [one.tablet_id for one in late[-1].served]
        chance.shuffle(late)
        for _ in range(chance.randint(0, len(late))):
            known._apply(late.pop(), float(step))
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
