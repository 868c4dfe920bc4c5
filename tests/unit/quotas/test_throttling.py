"""Which calls wait, which are refused, and whom that concerns: in virtual time, by counts."""

from collections.abc import Callable

import pytest

from hbtable.access.user import User
from hbtable.errors import Throttled
from hbtable.metrics.registry import Registry
from hbtable.quotas.bucket import Bucket
from hbtable.quotas.settings import NO_QUOTAS, Quotas, Subject, ThrottleSetting, ThrottleType
from hbtable.quotas.throttling import CallCost, Throttling, shown_wait
from hbtable.testing.simulated.runtime import SimulatedRuntime

ANN, BOB = User("ann"), User("bob")
READ = CallCost(reads=1)


class Rig:
    """A throttling, and calls through it."""

    def __init__(self, longest_wait_seconds: float = 1.0) -> None:
        self.runtime = SimulatedRuntime(1)
        self.throttling = Throttling(self.runtime, longest_wait_seconds, Registry())

    def set(self, *throttles: ThrottleSetting, exempt: tuple[str, ...] = (), servers: int = 1) -> None:
        self.throttling.use(Quotas(throttles, exempt), servers)

    def call(self, user: User | None = ANN, table: bytes = b"t", cost: CallCost = READ) -> None:
        self.throttling.admit(self.throttling.buckets(user, table), cost)

    def now(self) -> float:
        return self.runtime.clock_seconds()


@pytest.fixture
def rig() -> Rig:
    return Rig()


def a_second(subject: Subject, limit: int = 10, type: ThrottleType = ThrottleType.REQUEST_NUMBER) -> ThrottleSetting:
    return ThrottleSetting(subject, type, limit, 1)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(Throttled) as caught:
        call()
    return str(caught.value)


def test_one_users_storm_leaves_anothers_calls_served(rig: Rig) -> None:
    rig.set(a_second(Subject("ann")))
    served, waits = [0], []

    def storm() -> None:
        while rig.now() < begin + 20:
            try:
                rig.call(ANN)
                served[0] += 1
            except Throttled:
                rig.runtime.sleep(0.01)

    def main() -> None:
        nonlocal begin
        begin = rig.now()
        tasks = [rig.runtime.spawn(storm, name="storm") for _ in range(50)]
        for _ in range(200):
            before = rig.now()
            rig.call(BOB)
            waits.append(rig.now() - before)
            rig.runtime.sleep(0.1)
        for task in tasks:
            task.join()

    begin = 0.0
    rig.runtime.run(main)
    assert waits == [0.0] * 200
    assert 190 <= served[0] <= 10 + 10 * 22, "one limit at once, and the rate of the time that passed"


def test_who_tries_again_at_once_is_refused_ten_times_a_second(rig: Rig) -> None:
    """And not thousands of times, which would cost the others more than the calls that the quota keeps away."""
    rig.set(ThrottleSetting(Subject("ann"), ThrottleType.REQUEST_NUMBER, 1, 3600))

    def main() -> None:
        rig.call()
        end, tries = rig.now() + 10, 0
        while rig.now() < end:
            refused(rig.call)
            tries += 1
        assert tries <= 101

    rig.runtime.run(main)


def test_a_call_waits_for_its_turn_if_that_is_soon_and_is_refused_otherwise(rig: Rig) -> None:
    rig.set(a_second(Subject("ann"), 2))

    def main() -> None:
        begin = rig.now()
        rig.call()
        rig.call()
        assert rig.now() == begin
        rig.call()
        assert rig.now() == pytest.approx(begin + 0.5, abs=0.001)
        rig.call(cost=CallCost(writes=5))
        assert rig.now() == pytest.approx(begin + 1.0, abs=0.001), "a large one is carried out, and then it is paid for"
        assert refused(rig.call) == (
            "number of requests exceeded - wait 2sec, 500ms; the quota of user ann is 2req/sec: send less, or have it "
            "raised (list_quotas shows all)"
        )
        rig.runtime.sleep(2.0)
        rig.call()

    rig.runtime.run(main)


def test_what_is_refused_took_nothing(rig: Rig) -> None:
    rig.set(a_second(Subject("ann"), 1000), ThrottleSetting(Subject("", b"", b"t"), ThrottleType.READ_NUMBER, 1, 3600))

    def main() -> None:
        rig.call()
        for _ in range(5000):
            assert refused(rig.call).startswith(
                "number of read requests exceeded - wait 1hr, 0ms; the quota of table t is 1req/hour: "
            )
        begin = rig.now()
        rig.call(table=b"u")
        assert rig.now() == begin, "ann's own throttle was not used up by what was refused"
        rig.call(cost=CallCost(writes=1))

    rig.runtime.run(main)


@pytest.mark.parametrize(
    ("type", "used_up", "words"),
    [
        (ThrottleType.REQUEST_SIZE, CallCost(1, 0, 100), "request size limit exceeded"),
        (ThrottleType.REQUEST_SIZE, CallCost(0, 1, 0, 100), "request size limit exceeded"),
        (ThrottleType.READ_SIZE, CallCost(1, 0, 100), "read size limit exceeded"),
        (ThrottleType.WRITE_SIZE, CallCost(0, 1, 0, 100), "write size limit exceeded"),
        (ThrottleType.WRITE_NUMBER, CallCost(0, 10), "number of write requests exceeded"),
        (ThrottleType.REQUEST_CAPACITY_UNIT, CallCost(1, 1, 5000, 5000), "request capacity unit exceeded"),
        (ThrottleType.READ_CAPACITY_UNIT, CallCost(1, 0, 9999), "read capacity unit exceeded"),
        (ThrottleType.WRITE_CAPACITY_UNIT, CallCost(0, 1, 0, 9999), "write capacity unit exceeded"),
    ],
)
def test_each_type_counts_what_its_name_says(rig: Rig, type: ThrottleType, used_up: CallCost, words: str) -> None:
    rig.set(ThrottleSetting(Subject("ann"), type, 10, 3600))

    def main() -> None:
        buckets = rig.throttling.buckets(ANN, b"t")
        rig.call(cost=used_up._replace(read_bytes=0))
        rig.throttling.count(buckets, CallCost(read_bytes=used_up.read_bytes))
        assert refused(lambda: rig.call(cost=used_up)).startswith(f"{words} - wait ")
        for other in (READ, CallCost(writes=1)):
            name = "READ" if other.reads else "WRITE"
            if not type.name.startswith((name, "REQUEST")):
                rig.call(cost=other)

    rig.runtime.run(main)


def test_the_narrowest_of_a_users_own_throttles_counts_and_besides_it_those_of_others(rig: Rig) -> None:
    subjects = {
        "everything": Subject("ann"),
        "namespace": Subject("ann", b"n"),
        "table": Subject("ann", b"", b"n:t"),
        "all on the table": Subject("", b"", b"n:t"),
        "all on the namespace": Subject("", b"n"),
        "server": Subject(),
    }
    rig.set(*map(a_second, subjects.values()), exempt=("eve",))
    everybodys = ["all on the table", "all on the namespace", "server"]

    def concerned(user: User | None, table: bytes) -> list[str]:
        found = [bucket.throttle.subject for bucket in rig.throttling.buckets(user, table)]
        return [name for name, subject in subjects.items() if subject in found]

    assert concerned(ANN, b"n:t") == ["table", *everybodys]
    assert concerned(ANN, b"n:u") == ["namespace", "all on the namespace", "server"]
    assert concerned(ANN, b"u") == ["everything", "server"]
    assert concerned(BOB, b"n:t") == concerned(None, b"n:t") == everybodys
    assert concerned(User("eve"), b"n:t") == []


def test_a_change_keeps_what_was_counted_by_throttles_that_stay(rig: Rig) -> None:
    hourly = ThrottleSetting(Subject("ann"), ThrottleType.REQUEST_NUMBER, 1, 3600)

    def main() -> None:
        rig.set(hourly)
        rig.call()
        rig.set(hourly, a_second(Subject("bob")))
        refused(rig.call)
        rig.set(hourly._replace(limit=2))
        rig.call()
        rig.throttling.use(NO_QUOTAS, 1)
        assert not rig.throttling.active

    rig.runtime.run(main)


def test_a_limit_of_the_cluster_is_divided_among_its_servers() -> None:
    shared = ThrottleSetting(Subject("ann"), ThrottleType.REQUEST_NUMBER, 10, 1, cluster=True)
    assert [Bucket(shared, servers, 0.0).limit for servers in (1, 3, 10, 50)] == [10, 3, 1, 1]
    bucket = Bucket(shared, 1, 0.0)
    bucket.share(5)
    bucket.take(2, 0.0)
    assert bucket.wait_seconds(0.0) == 0.5


def test_nothing_is_active_without_throttles_or_when_they_are_off(rig: Rig) -> None:
    assert not rig.throttling.active
    rig.throttling.use(Quotas((), ["bob"]), 1)
    assert not rig.throttling.active
    rig.throttling.use(Quotas([a_second(Subject("ann"))], throttling=False), 1)
    assert not rig.throttling.active
    rig.set(a_second(Subject("ann")))
    assert rig.throttling.active


@pytest.mark.parametrize(
    ("millis", "words"),
    [(0, "0ms"), (7, "7ms"), (2500, "2sec, 500ms"), (60_000, "1min, 0ms"), (7_384_005, "2hrs, 3mins, 4sec, 5ms")],
)
def test_waits_are_told_as_hbase_tells_them(millis: int, words: str) -> None:
    assert shown_wait(millis) == words
