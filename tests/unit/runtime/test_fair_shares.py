"""Whose turn it is among clients, by a clock that only goes on while somebody works."""

import random

import pytest

from hbtable.runtime.fair_shares import FairShares, Share

QUANTUM, DEBT = 0.001, 0.05


class Worker:
    """Gives turns; a turn is its length in seconds, and the time at which it came."""

    def __init__(self) -> None:
        self.now = 10.0
        self.shares = FairShares[tuple[float, float]](lambda: self.now, QUANTUM, DEBT)
        self.kept: list[Share[tuple[float, float]]] = []
        self.waited: dict[str, list[float]] = {}
        self.time: dict[str, float] = {}

    def ask(self, client: str, seconds: float) -> None:
        share = self.shares.of(client)
        self.kept.append(share)
        self.shares.wait(share, (seconds, self.now))

    def turn(self) -> str:
        share = self.shares.next(self.now)
        seconds, came = share.queue.popleft()
        self.waited.setdefault(share.name, []).append(self.now - came)
        self.time[share.name] = self.time.get(share.name, 0.0) + seconds
        self.now += seconds
        self.shares.took(share, seconds, share.goes_ahead)
        return share.name

    def turns_beside_new_ones(self, seconds: float, each: float) -> None:
        """For so long; new clients come twice as fast as they are served, with a turn of `each` seconds."""
        number, began = 0, self.now
        while self.now < began + seconds:
            for _ in range(2):
                self.ask(f"new {number}", each)
                number += 1
            self.turn()


def test_new_clients_do_not_pass_one_that_waits() -> None:
    """They came before it, the last first: whoever made new ones as fast as they are served kept it out for ever."""
    worker = Worker()
    worker.ask("early", 0.0005)
    worker.ask("healthy", 0.0005)
    for number in range(1000):
        worker.ask(f"new {number}", 0.0005)
        if worker.turn() == "healthy":
            break
    assert number == 1


def test_those_that_are_at_it_have_half_beside_a_stream_of_new_ones() -> None:
    worker = Worker()
    for _ in range(1000):
        worker.ask("at it", 0.002)
    worker.turn()  # it owes, and does not go ahead any more
    worker.turns_beside_new_ones(2.0, 0.001)
    of_new = sum(seconds for name, seconds in worker.time.items() if name != "at it")
    assert worker.time["at it"] == pytest.approx(of_new, abs=2 * DEBT)


def test_the_servers_own_work_is_done_beside_a_stream_of_new_ones() -> None:
    worker = Worker()
    own = Share[tuple[float, float]]("own", takes_a_third=True)
    for _ in range(1000):
        worker.shares.wait(own, (0.004, worker.now))
        worker.ask("at it", 0.004)
    for _ in range(50):
        worker.turn()  # both owe
    worker.time.clear()
    worker.turns_beside_new_ones(1.0, 0.001)
    assert worker.time["own"] >= 0.15


def test_refusals_alone_in_the_ring_do_not_have_half() -> None:
    """They had, where each of those that were refused came from an address of its own."""
    worker = Worker()
    refusals = Share[tuple[float, float]]("refusals", weight=0.02)
    for _ in range(20_000):
        worker.shares.wait(refusals, (0.0001, worker.now))
    worker.turns_beside_new_ones(1.0, 0.0005)
    assert 0.005 <= worker.time["refusals"] <= 0.05


@pytest.mark.parametrize("seed", range(20))
def test_whoever_asks_now_and_then_waits_for_little(seed: int) -> None:
    """Beside any mix of others: one that begins, those that are at it, and new ones, who take up to half together."""
    chances, worker = random.Random(seed), Worker()
    longest = 0.004
    number, next_new, next_call = 0, worker.now, worker.now
    for client in range(chances.randrange(5)):
        for _ in range(2000):
            worker.ask(f"at it {client}", chances.uniform(0.0, longest))
    began = worker.now
    while worker.now < began + 3.0:
        while next_new <= worker.now:
            worker.ask(f"new {number}", chances.uniform(0.0, 0.001))
            number += 1
            next_new += chances.expovariate(800)  # of half a millisecond: 40 % of the time
        if next_call <= worker.now:
            worker.ask("healthy", 0.0002)
            next_call = worker.now + 0.005
        if any(share.queue for share in worker.shares):
            worker.turn()
        else:
            worker.now = min(next_new, next_call)
    waits = sorted(worker.waited["healthy"])
    assert len(waits) > 200
    assert waits[len(waits) * 99 // 100] <= 4 * longest
    assert waits[-1] <= 10 * longest


def test_who_is_put_aside_is_passed_over_and_keeps_its_place() -> None:
    worker = Worker()
    for name in ("first", "second", "third"):
        worker.ask(name, 0.0)
    aside = []
    for _ in range(2):
        aside.append(worker.shares.next(worker.now))
        worker.shares.put_aside(aside[-1])
    assert worker.turn() == "third"
    worker.shares.take_back(aside)
    assert [worker.turn(), worker.turn()] == ["first", "second"]
