"""Grants in the lock service: changed by several at once, followed by those who check calls."""

from collections.abc import Callable, Iterator
from itertools import count, repeat

import pytest

from hbtable.access import grants_file as grants_file_module
from hbtable.access import grants_record
from hbtable.access.actions import EVERY_ACTION, Action
from hbtable.access.grants import NO_GRANTS, Grants
from hbtable.access.grants_file import WatchedGrants, begin_table, grants_file, with_grant
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.encoding.sealed import HEADER_BYTES, seal
from hbtable.errors import Corruption, InvalidRequest, LimitExceeded, UnsupportedFormat
from hbtable.lockservice import record_file
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import GRANTS
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


@pytest.fixture
def runtime() -> SimulatedRuntime:
    return SimulatedRuntime(1)


@pytest.fixture
def session(runtime: SimulatedRuntime) -> Session:
    return MemoryLockService(runtime).open_session("test")


def test_two_who_change_at_once_lose_nothing(runtime: SimulatedRuntime, session: Session) -> None:
    file = grants_file(session)

    def grant(number: int) -> None:
        file.change(lambda grants: grants.with_grant(f"user{number}", GLOBAL, Action.READ))

    def run() -> None:
        for task in [runtime.spawn(grant, number, name="grant") for number in range(20)]:
            task.join()
        assert {one.holder for one in file.read()} == {f"user{number}" for number in range(20)}

    runtime.run(run)


def test_a_change_is_in_force_at_once_here_and_soon_elsewhere(runtime: SimulatedRuntime, session: Session) -> None:
    here: list[Grants] = []
    there: list[Grants] = []
    granted = NO_GRANTS.with_grant("ann", of_table(b"t"), Action.READ)

    def run() -> None:
        first = WatchedGrants(runtime, session, here.append)
        second = WatchedGrants(runtime, session, there.append)
        first.start()
        second.start()
        assert here == there == [NO_GRANTS]
        first.change(lambda grants: grants.with_grant("ann", of_table(b"t"), Action.READ))
        assert here[-1] == granted
        runtime.sleep(1.0)
        assert there[-1] == granted
        first.change(lambda grants: grants.without("ann", of_table(b"t")))
        assert here[-1] == NO_GRANTS
        runtime.sleep(1.0)
        assert there[-1] == NO_GRANTS
        assert len(here) == len(there) == 3
        first.stop()
        second.stop()

    runtime.run(run)


@pytest.mark.parametrize("damage", [b"", b"G\1nonsense", grants_record.encode(NO_GRANTS)[:-1] + b"x"])
def test_grants_that_cannot_be_read_grant_nothing(
    runtime: SimulatedRuntime, session: Session, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    known: list[Grants] = []

    def run() -> None:
        watched = WatchedGrants(runtime, session, known.append)
        watched.start()
        watched.change(lambda grants: grants.with_grant("ann", GLOBAL, EVERY_ACTION))
        session.write(GRANTS, damage, session.read(GRANTS).version)
        runtime.sleep(1.0)
        assert known[-1] == NO_GRANTS
        with pytest.raises(Corruption):
            watched.change(lambda grants: grants.with_grant("bob", GLOBAL, EVERY_ACTION))
        watched.stop()

    runtime.run(run)
    assert [record.getMessage() for record in caplog.records if "nobody but superusers" in record.getMessage()]
    assert len(caplog.records) == 1  # not each time that it is looked at


def test_a_later_level_or_action_is_no_damage() -> None:
    record = grants_record.encode(NO_GRANTS.with_grant("ann", GLOBAL, Action.READ))
    body = bytearray(record[HEADER_BYTES:])
    for place in (1, len(body) - 1):
        changed = bytes(body[:place]) + bytes((body[place] | 0x60,)) + bytes(body[place + 1 :])
        with pytest.raises(UnsupportedFormat):
            grants_record.decode(seal(grants_record.KIND, 1, changed))


def test_every_changed_byte_of_a_record_is_found_out() -> None:
    record = grants_record.encode(NO_GRANTS.with_grant("ann", of_table(b"ns:t", b"f", b"q"), Action.READ))
    for place in range(len(record)):
        for bit in range(8):
            damaged = bytearray(record)
            damaged[place] ^= 1 << bit
            with pytest.raises((Corruption, UnsupportedFormat)):
                grants_record.decode(bytes(damaged))


def test_too_many_for_one_file_are_refused_by_their_limit(runtime: SimulatedRuntime, session: Session) -> None:
    def many(grants: Grants) -> Grants:
        lists = {f"user{number}" + "x" * 90: int(Action.READ) for number in range(10_000)}
        return Grants({Scope(b"ns"): lists})

    def run() -> None:
        with pytest.raises(LimitExceeded, match="900000 is the most: grant to groups"):
            grants_file(session).change(many)
        assert grants_file(session).read() == NO_GRANTS

    runtime.run(run)


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants_file_module, "_MOST_OF_ONE_BYTES", 6_000)
    monkeypatch.setattr(grants_file_module, "_KEPT_BYTES", 20_000)
    for module in (grants_file_module, record_file):
        monkeypatch.setattr(module, "MOST_BYTES", 90_000)


def filled(grants: Grants, scopes: Iterator[Scope]) -> tuple[Grants, str]:
    """(`grants` with as many more as one may make at these scopes, the refusal of the next)."""
    names = (f"user{number}" + "x" * 100 for number in count())
    try:
        for scope in scopes:
            grants = with_grant(grants, next(names), scope, Action.READ)
    except LimitExceeded as error:
        return grants, str(error)
    raise AssertionError("there is no limit")


@pytest.mark.parametrize(
    ("scopes", "named"),
    [
        (lambda: repeat(of_table(b"t")), "table t"),
        (lambda: (of_table(b"t", b"f%d" % (number % 300)) for number in count()), "table t"),
        (lambda: (of_table(b"t", b"f", b"%0900d" % number) for number in count()), "table t"),
        (lambda: repeat(Scope(b"ns")), "namespace ns"),
    ],
    ids=["a table", "families", "columns", "a namespace"],
)
def test_who_administers_one_thing_leaves_the_others_their_room(
    little_room: None, scopes: Callable[[], Iterator[Scope]], named: str
) -> None:
    grants, refused = filled(NO_GRANTS, scopes())
    assert refused.startswith(f"the permissions on {named} would take 6")
    assert "6000 is the most: grant to groups" in refused
    first = next(scopes())
    (holder,) = list(grants.at(first))[:1]
    assert with_grant(grants, holder, first, Action.WRITE).at(first)[holder] == Action.READ | Action.WRITE
    for other in (of_table(b"u"), Scope(b"other"), GLOBAL):
        assert with_grant(grants, "ann", other, Action.READ).at(other) == {"ann": Action.READ}
    assert grants.without(holder, first) != grants


def test_who_administers_many_tables_leaves_the_creators_of_others_their_room(
    little_room: None, runtime: SimulatedRuntime, session: Session
) -> None:
    creator = "ann" + "x" * 100

    def run() -> None:
        grants, refused = filled(NO_GRANTS, (of_table(b"t%d" % (number // 50)) for number in count()))
        assert "70000 is the most beside those of creators of tables" in refused
        grants_file(session).change(lambda _: grants)
        for number in range(20):
            begin_table(session, b"new%d" % number, creator)
        found = grants_file(session).read()
        assert found.at(of_table(b"new19")) == {creator: EVERY_ACTION}
        assert found.without(creator, of_table(b"new19")) != found

    runtime.run(run)


@pytest.mark.parametrize("holder", ["", "@", "ann,f", "a b", "an\nn", "@@ops", "ann\0", "a" * 200])
def test_a_holder_has_the_name_of_a_user_or_a_group(holder: str) -> None:
    with pytest.raises(InvalidRequest, match="no name of a"):
        NO_GRANTS.with_grant(holder, GLOBAL, Action.READ)
