"""The hub's time is shared among clients: by a clock that only goes on while somebody computes."""

from collections.abc import Callable

import gevent
import gevent.socket
import pytest

from hbtable.errors import Overloaded
from hbtable.runtime.fair_scheduler import FairScheduler, Share
from hbtable.runtime.request_gate import RequestGate


class Hub:
    """Clients whose requests note when they were worked on. Each begins in a round that is no longer young."""

    def __init__(self) -> None:
        self.now = 0.0
        self.fair_scheduler = FairScheduler(lambda: self.now)
        self.done: list[str] = []
        self.tasks: list[gevent.Greenlet] = []

    def request(self, client: str, seconds: float, most: int = 1000, slices: int = 1) -> gevent.Greenlet:
        """In a task of its own; `slices`: so often it computes, with a pause after each."""

        def run() -> None:
            share = self.fair_scheduler.share(client)
            self.fair_scheduler.adopt(share)
            try:
                self.fair_scheduler.begin(share, most, self.now)
            except Overloaded:
                self.done.append(f"{client} refused")
                return
            for _ in range(slices):
                self.compute(client, seconds)
                if slices > 1:
                    self.fair_scheduler.pause()

        self.tasks.append(gevent.spawn(run))
        return self.tasks[-1]

    def compute(self, who: str, seconds: float) -> None:
        self.now += seconds
        self.done.append(who)

    def make_old(self) -> Share:
        """This round is no longer young, so that whoever asks in it has to wait."""
        share = self.fair_scheduler.share("early")
        self.fair_scheduler.begin(share, 1000, self.now)
        self.now += 1.0
        return share

    def run(self) -> list[str]:
        gevent.joinall(self.tasks, timeout=60)
        assert all(task.ready() for task in self.tasks)
        return self.done


@pytest.fixture
def hub() -> Hub:
    return Hub()


def in_an_old_round(hub: Hub, then: Callable[[], None]) -> list[str]:
    """`then` makes requests, all of which come at once, after something that took the whole round."""

    def late() -> None:
        hub.make_old()
        then()

    hub.tasks.append(gevent.spawn(late))
    gevent.joinall(hub.tasks, timeout=60)
    return hub.run()


def test_a_request_alone_goes_straight_on(hub: Hub) -> None:
    def alone() -> None:
        share = hub.fair_scheduler.share("a")
        before = hub.fair_scheduler.calls
        hub.fair_scheduler.begin(share, 0, hub.now)
        assert hub.fair_scheduler.calls == before
        hub.done.append("a")

    gevent.spawn(alone).join(60)
    assert hub.done == ["a"]


def test_one_call_is_not_behind_anothers_hundred(hub: Hub) -> None:
    def come() -> None:
        for _ in range(100):
            hub.request("greedy", 0.0003)
        hub.request("neighbour", 0.0003)

    done = in_an_old_round(hub, come)
    assert len(done) == 101
    assert done.index("neighbour") <= 30, "behind those that went straight on while nobody else was there"


def test_each_of_two_busy_clients_gets_half_of_the_time_whatever_its_requests_take(hub: Hub) -> None:
    def come() -> None:
        for _ in range(40):
            hub.request("long", 0.004)
        for _ in range(400):
            hub.request("short", 0.0004)

    done = in_an_old_round(hub, come)[:220]
    taken = {"long": done.count("long") * 0.004, "short": done.count("short") * 0.0004}
    assert 0.8 < taken["long"] / taken["short"] < 1.25


@pytest.mark.parametrize("connections", [20, 200])
def test_one_call_now_and_then_hardly_waits_beside_connections_that_always_ask(hub: Hub, connections: int) -> None:
    """It waited for what the other's requests may take while nobody else is there, 4 ms, and for a pass of the queues,
    in each round of the loop: 9 to 12 times as long as on a quiet server."""
    waited: list[float] = []
    sent_at = 0.0
    near, far = gevent.socket.socketpair()

    def serve(client: str, mine: gevent.socket.socket, request: Callable[[], bool]) -> None:
        share = hub.fair_scheduler.share(client)
        hub.fair_scheduler.adopt(share)
        gate = RequestGate(hub.fair_scheduler, share, 1000)
        readable = gevent.get_hub().loop.io(mine.fileno(), 1)
        while len(waited) < 50:
            gate.wait(readable, lambda: False)
            mine.recv(1)
            gate(hub.now)
            if not request():
                return

    def always(mine: gevent.socket.socket, peer: gevent.socket.socket) -> None:
        def request() -> bool:
            nonlocal sent_at
            hub.now += 0.0001
            peer.send(b"x")
            if not sent_at and round(hub.now / 0.0001) % 7 == 0:  # somewhere in a round
                sent_at = hub.now
                far.send(b"x")
            return True

        with mine, peer:
            peer.send(b"x")
            serve("greedy", mine, request)

    def now_and_then() -> bool:
        nonlocal sent_at
        waited.append(hub.now - sent_at)
        sent_at = 0.0
        return True

    hub.tasks += [gevent.spawn(always, *gevent.socket.socketpair()) for _ in range(connections)]
    hub.tasks.append(gevent.spawn(serve, "neighbour", near, now_and_then))
    with near, far:
        gevent.joinall(hub.tasks, timeout=60, count=1)
        gevent.killall(hub.tasks)
    assert len(waited) == 50
    assert max(waited[5:]) < 0.0007, "the first ones came before anybody knew of it"


def test_scans_of_one_client_do_not_starve_the_gets_of_another(hub: Hub) -> None:
    """Each of 40 goes on for ten slices of 4 ms."""

    def come() -> None:
        for _ in range(40):
            hub.request("scans", 0.004, slices=10)
        for _ in range(20):
            hub.request("gets", 0.0002)

    done = in_an_old_round(hub, come)
    assert len(done) == 420
    last = len(done) - 1 - done[::-1].index("gets")
    assert last <= 30


def test_what_comes_during_a_slice_is_worked_on_before_the_next_one(hub: Hub) -> None:
    """Whoever comes waits for the slice that is under way, and for no other."""
    near, far = gevent.socket.socketpair()
    readable = gevent.get_hub().loop.io(near.fileno(), 1)

    def neighbour() -> None:
        share = hub.fair_scheduler.share("neighbour")
        hub.fair_scheduler.adopt(share)
        gate = RequestGate(hub.fair_scheduler, share, 1000)
        for _ in range(10):
            gate.wait(readable, lambda: False)
            near.recv(1)
            gate(hub.now)
            hub.done.append("neighbour")

    def scan() -> None:
        share = hub.fair_scheduler.share("scans")
        hub.fair_scheduler.adopt(share)
        hub.fair_scheduler.begin(share, 1000, hub.now)
        for _ in range(10):
            hub.compute("slice", 0.004)
            far.send(b"x")
            hub.fair_scheduler.pause()

    hub.tasks.extend(gevent.spawn(task) for task in (neighbour, scan))
    with near, far:
        assert hub.run() == ["slice", "neighbour"] * 10


@pytest.mark.parametrize(("seconds", "connections"), [(0.0002, 5), (0.001, 1), (0.003, 1), (0.003, 5)])
def test_requests_one_after_the_other_count_for_their_client(hub: Hub, seconds: float, connections: int) -> None:
    """They went straight on before those that waited, and nobody counted their time: the server's own work had a
    twelfth. One of `connections` has its next request there as soon as it is answered."""
    spent = dict.fromkeys(("calls", "scans", "other scan", "server"), 0.0)

    def work(who: str, took: float) -> bool:
        hub.now += took
        spent[who] += took
        return hub.now < 1.0

    def calls(near: gevent.socket.socket, far: gevent.socket.socket) -> None:
        share = hub.fair_scheduler.share("a")
        hub.fair_scheduler.adopt(share)
        gate = RequestGate(hub.fair_scheduler, share, 1000)
        readable = gevent.get_hub().loop.io(near.fileno(), 1)
        with near, far:
            far.send(b"x")
            while True:
                gate.wait(readable, lambda: False)
                near.recv(1)
                gate(hub.now)
                if not work("calls", seconds):
                    return
                far.send(b"x")

    def scan(who: str, client: str) -> None:
        if client:
            hub.fair_scheduler.adopt(hub.fair_scheduler.share(client))
        while work(who, 0.001):
            hub.fair_scheduler.pause()

    hub.tasks += [gevent.spawn(scan, "scans", "a") for _ in range(10)]
    hub.tasks += [gevent.spawn(scan, "other scan", "b"), gevent.spawn(scan, "server", "")]
    hub.tasks += [gevent.spawn(calls, *gevent.socket.socketpair()) for _ in range(connections)]
    hub.run()
    assert min(spent["other scan"], spent["server"], spent["calls"] + spent["scans"]) > 0.3, spent


def test_the_servers_own_work_has_a_third_however_many_clients_there_are(hub: Hub) -> None:
    def own_work() -> None:
        for _ in range(50):
            hub.compute("own", 0.001)
            hub.fair_scheduler.pause()

    def come() -> None:
        for client in range(20):
            for _ in range(20):
                hub.request(f"client {client}", 0.001)
        hub.tasks.append(gevent.spawn(own_work))

    done = in_an_old_round(hub, come)
    last = len(done) - 1 - done[::-1].index("own")
    assert last <= 180


def test_beyond_the_bound_the_client_that_has_most_waiting_is_told_to_try_again(hub: Hub) -> None:
    def come() -> None:
        for _ in range(8):
            hub.request("greedy", 0.0003, most=5)
        hub.request("neighbour", 0.0003, most=5)

    done = in_an_old_round(hub, come)
    assert done.count("greedy") == 4
    assert done.count("greedy refused") == 4
    assert done.count("neighbour") == 1
    assert hub.fair_scheduler.refused == 4
    assert hub.fair_scheduler.calls == 0


def test_refusing_many_does_not_keep_the_others_from_their_turn(hub: Hub) -> None:
    most_waiting: list[int] = []

    def refused() -> None:
        most_waiting.append(hub.fair_scheduler.calls)
        share = hub.fair_scheduler.share("flood")
        hub.fair_scheduler.adopt(share)
        try:
            hub.fair_scheduler.begin(share, 100, hub.now)
        except Overloaded:
            hub.compute("refused", 0.0003)
        else:
            hub.compute("flood", 0.0003)

    def come() -> None:
        hub.tasks.extend(gevent.spawn(refused) for _ in range(1000))

    done = in_an_old_round(hub, come)
    assert 100 <= done.count("flood") <= 500, "those that waited, and some that came in a young round"
    before = done[: len(done) - 1 - done[::-1].index("flood")]
    assert before.count("refused") <= 30
    assert max(most_waiting) == 100


def test_refusals_that_wait_take_no_place_of_those_who_are_not_refused(hub: Hub) -> None:
    """Else a flood would keep the queue full of nothing but refusals, and nobody would be served."""

    def again() -> None:
        for _ in range(20):
            share = hub.fair_scheduler.share("flood")
            hub.fair_scheduler.adopt(share)
            try:
                hub.fair_scheduler.begin(share, 10, hub.now)
            except Overloaded:
                hub.compute("refused", 0.0001)
            else:
                hub.compute("served", 0.0003)

    def come() -> None:
        hub.tasks.extend(gevent.spawn(again) for _ in range(100))

    done = in_an_old_round(hub, come)
    first = done[:600]
    assert first.count("served") * 0.0003 > 0.8 * (first.count("served") * 0.0003 + first.count("refused") * 0.0001)


def test_who_is_killed_while_it_waits_leaves_its_place(hub: Hub) -> None:
    def come() -> None:
        tasks = [hub.request("a", 0.0003) for _ in range(5)]
        gevent.sleep(0)
        for task in tasks[1:4]:
            task.kill(block=False)

    done = in_an_old_round(hub, come)
    assert done.count("a") == 2
    assert hub.fair_scheduler.calls == 0
    hub.request("b", 0.0003)
    assert hub.run()[-1] == "b"


def test_an_error_of_a_task_does_not_end_the_others(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(gevent.get_hub(), "handle_error", lambda context, kind, value, trace: seen.append(kind))

    def broken() -> None:
        hub.fair_scheduler.pause()
        raise KeyError("a bug")

    def come() -> None:
        gevent.spawn_raw(broken)
        for _ in range(3):
            hub.request("a", 0.0003)

    assert in_an_old_round(hub, come) == ["a", "a", "a"]
    assert seen == [KeyError]


def test_requests_go_straight_on_again_once_nobody_waits_any_more(hub: Hub) -> None:
    """Who had waited once, and wants nothing now, stood in the way of all others until he wanted something again: two
    clients that ask in turn sent each other into the queue for ever."""

    def one_after_the_other() -> None:
        shares = [hub.fair_scheduler.share(name) for name in "ab"]
        for name in "ab":
            hub.request(name, 0.0001)
        hub.make_old()
        gevent.sleep(0.01)
        assert hub.done == ["a", "b"]
        for number in range(10):
            gevent.sleep(0.001)  # another round
            assert hub.fair_scheduler.goes_on(shares[number % 2], hub.now), number

    hub.tasks.append(gevent.spawn(one_after_the_other))
    hub.run()
    hub.tasks[0].get()


def test_slices_of_long_work_are_shorter_while_several_clients_ask(hub: Hub) -> None:
    scheduler, usual = hub.fair_scheduler, 0.001
    first, second = (scheduler.share(name) for name in "ab")

    def ask() -> None:
        scheduler.goes_on(first, hub.now)
        assert scheduler.slice_end(usual) - hub.now == pytest.approx(usual)
        scheduler.goes_on(second, hub.now)
        assert scheduler.slice_end(usual) - hub.now < usual / 2
        assert scheduler.slice_end(0.0001) - hub.now == pytest.approx(0.0001)
        hub.now += 60.0  # only one of them asks meanwhile
        scheduler.goes_on(second, hub.now)
        assert scheduler.slice_end(usual) - hub.now == pytest.approx(usual)

    hub.tasks.append(gevent.spawn(ask))
    hub.run()
    hub.tasks[0].get()


def test_who_asks_often_whether_its_slice_is_over_pauses_once_in_each(hub: Hub) -> None:
    """A pause behind each few elements of a long list costs a look at the clock, and not a round of the loop."""
    pauses: list[float] = []
    pause = hub.fair_scheduler.pause

    def noted() -> None:
        pauses.append(hub.now)
        pause()

    def work(client: str, slice_seconds: float) -> None:
        hub.fair_scheduler.adopt(hub.fair_scheduler.share(client))
        hub.fair_scheduler.begin(hub.fair_scheduler.share(client), 1000, hub.now)
        del pauses[:]
        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(FairScheduler, "pause", lambda scheduler: noted())
            for _ in range(1000):
                hub.now += 0.00001
                hub.fair_scheduler.pause_when_due(slice_seconds)

    def alone_and_beside_another() -> None:
        work("a", 0.001)
        assert 9 <= len(pauses) <= 10, "of 10 ms"
        work("b", 0.001)
        assert 25 <= len(pauses) <= 34, "two clients asked: a slice is shorter"

    hub.tasks.append(gevent.spawn(alone_and_beside_another))
    hub.run()
    hub.tasks[0].get()


def test_who_is_in_the_middle_of_long_work_is_beside_who_asks(hub: Hub) -> None:
    """A call of more than ten seconds asks once: its slices grew to a millisecond, and the other client waited for
    them, as if it were alone."""
    scheduler, usual = hub.fair_scheduler, 0.001
    long_one, other = (scheduler.share(name) for name in "ab")

    def work() -> None:
        scheduler.adopt(long_one)
        scheduler.begin(long_one, 1000, hub.now)
        scheduler.goes_on(other, hub.now)
        for _ in range(100):
            hub.now += 1.0
            scheduler.pause()
            assert scheduler.slice_end(usual) - hub.now < usual / 2
            scheduler.goes_on(other, hub.now)
        for _ in range(20):  # nobody asks any more
            hub.now += 1.0
            scheduler.pause()
        assert scheduler.slice_end(usual) - hub.now == pytest.approx(usual)

    hub.tasks.append(gevent.spawn(work))
    hub.run()
    hub.tasks[0].get()


def test_the_servers_own_work_is_no_other_client(hub: Hub) -> None:
    scheduler, usual = hub.fair_scheduler, 0.001
    only = scheduler.share("a")

    def work() -> None:
        for _ in range(3):
            scheduler.goes_on(only, hub.now)
            hub.now += 1.0
            scheduler.pause()
        assert scheduler.slice_end(usual) - hub.now == pytest.approx(usual)

    hub.tasks.append(gevent.spawn(work))
    hub.run()
    hub.tasks[0].get()
