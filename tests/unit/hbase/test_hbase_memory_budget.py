"""Bounds over all clients: large transfers, turns, log lines, connections."""

from collections.abc import Callable
from contextlib import suppress
from itertools import count, permutations
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import Overloaded
from hbtable.hbase.sending import send_large
from hbtable.runtime.memory_budget import SLOWEST_BYTES, SMALL_BYTES, MemoryBudget
from hbtable.runtime.request_budget import RequestBudget, RequestCost
from hbtable.thrift.message_input import MessageInput
from tests.harness.planted_bugs import is_found


class Trace:
    """What was cut, and how often somebody slept."""

    def __init__(self, limit: int) -> None:
        self.cut: list[str] = []
        self.slept = 0
        self.wake: Any = lambda: None
        self.now = 0.0
        self.budget = MemoryBudget(limit, self._sleep, lambda: self.now)

    def _sleep(self, seconds: float) -> None:
        self.slept += 1
        self.now += seconds
        self.wake()

    def begin(self, name: str) -> Any:
        return self.budget.begin(lambda: self.cut.append(name))


def test_beyond_the_budget_the_client_that_stands_still_is_cut_off_and_not_before() -> None:
    trace = Trace(100)
    for name in "abc":
        trace.budget.arrive(trace.begin(name), 40)
    assert (trace.cut, trace.budget.used_bytes) == (["a"], 80)
    assert 3.0 < trace.now < 4.5, "after three seconds, and then five looks"


def test_requests_that_arrive_wait_for_those_before_them_and_are_refused_in_the_end() -> None:
    trace = Trace(100 << 20)
    first, second = trace.begin("a"), trace.begin("b")
    trace.wake = lambda: trace.budget.moved(first, 1 << 20)  # steady, and never done
    trace.budget.arrive(first, 90 << 20)
    trace.budget.arrive(first, 40 << 20)  # beyond the bound, but somebody has to come to an end
    assert trace.slept == 0
    with pytest.raises(Overloaded, match="try again"):
        trace.budget.arrive(second, 15 << 20)
    assert (trace.cut, 9.5 < trace.now < 11) == ([], True)
    trace.budget.end(second)
    third = trace.begin("c")
    trace.wake = lambda: trace.budget.end(first)
    trace.budget.arrive(third, 15 << 20)
    assert (trace.cut, trace.budget.used_bytes) == ([], 15 << 20)


def test_who_waits_for_room_is_not_the_one_that_stands_still() -> None:
    trace = Trace(100)
    working = trace.budget.begin(None)
    trace.budget.collect(working, 90)
    oldest = trace.begin("oldest")
    trace.budget.arrive(oldest, 5)
    waiting = trace.begin("waiting")

    def end_late() -> None:
        trace.budget.moved(oldest, 1 << 20)
        if trace.now > 8:
            trace.budget.end(working)

    trace.wake = end_late
    trace.budget.arrive(waiting, 20)
    assert (trace.cut, trace.budget.used_bytes) == ([], 25)


def test_a_client_that_takes_its_answer_steadily_is_never_cut_off_and_a_slow_one_is() -> None:
    def cut_off(bytes_a_second: int) -> list[str]:
        trace = Trace(100)
        sending, late = trace.begin("reader"), trace.budget.begin(None)
        trace.budget.send(sending, 90)
        trace.budget.grow(trace.budget.begin(None), 5)  # goes on in any case

        def take() -> None:
            trace.budget.moved(sending, int(bytes_a_second * 0.2))

        trace.wake = take
        with suppress(Overloaded):
            trace.budget.grow(late, 10)
        return trace.cut

    assert cut_off(2 * SLOWEST_BYTES) == []
    assert cut_off(SLOWEST_BYTES // 2) == ["reader"]
    assert cut_off(0) == ["reader"]


def test_clients_are_not_slow_because_the_process_stood_still() -> None:
    trace = Trace(100)
    reader, late = trace.begin("reader"), trace.budget.begin(None)
    trace.budget.send(reader, 90)
    trace.budget.grow(trace.budget.begin(None), 5)  # goes on in any case

    def stand_still_at_first() -> None:
        if trace.slept == 1:
            trace.now += 3600
        elif trace.slept == 4:
            trace.budget.moved(reader, 2 * SLOWEST_BYTES)
            trace.budget.moved(reader, 2 * SLOWEST_BYTES)
        elif trace.slept == 8:
            trace.budget.end(reader)

    trace.wake = stand_still_at_first
    trace.budget.grow(late, 10)
    assert trace.cut == []


def test_one_look_counts_once_however_many_are_cut_off_at_it() -> None:
    """Each that went had the others counted as slow again."""
    trace = Trace(100)
    steady = trace.begin("steady")
    trace.budget.arrive(steady, 10)
    for name in "abcde":
        trace.budget.arrive(trace.begin(name), 10)
    working = trace.budget.begin(None)
    trace.now = 3.5
    trace.budget.moved(steady, 2 << 20)
    assert not trace.budget.collect(working, 200)
    for _ in range(3):
        trace.now += 0.11
        trace.budget.collect(working, 1)
    assert trace.cut == []
    trace.now += 3.5  # the process stood still
    trace.budget.collect(working, 1)
    assert trace.cut == list("abcde")


def test_a_client_that_waits_for_its_turn_is_not_slow() -> None:
    trace = Trace(100)
    reader, late = trace.begin("reader"), trace.budget.begin(None)
    trace.budget.send(reader, 90)
    trace.budget.grow(trace.budget.begin(None), 5)  # goes on in any case

    def other_requests() -> None:
        with pytest.raises(Overloaded):
            trace.budget.grow(late, 10)

    trace.budget.pause(reader, other_requests)
    assert (trace.cut, trace.now > 9) == ([], True)


@pytest.mark.parametrize("at_once", [False, True])
def test_an_answer_grows_beyond_the_bound_only_when_those_that_go_out_had_their_time(at_once: bool) -> None:
    """Or each in turn is the oldest that grows, and then one more that goes out, until one of them is cut off."""
    trace = Trace(100)
    reader, oldest = trace.begin("reader"), trace.budget.begin(None)
    trace.budget.send(reader, 60)
    trace.budget.grow(oldest, 50)
    assert (trace.slept, trace.budget.used_bytes) == (0, 110), "a little beyond it, so that one is done next"
    trace.wake = lambda: trace.budget.moved(reader, SLOWEST_BYTES)
    trace.budget.grow(oldest, 30, at_once)
    assert (4.5 < trace.now < 6, trace.slept == 0) == (not at_once, at_once)
    assert (trace.cut, trace.budget.used_bytes) == ([], 140)


def test_each_answer_in_turn_waits_for_those_that_go_out() -> None:
    trace = Trace(100)
    reader, first, second = trace.begin("reader"), trace.budget.begin(None), trace.budget.begin(None)
    trace.budget.send(reader, 80)
    trace.budget.grow(first, 20)
    trace.now = 1.0

    def take_and_end_the_first() -> None:
        trace.budget.moved(reader, SLOWEST_BYTES)
        if trace.now > 5:
            trace.budget.end(first)

    trace.wake = take_and_end_the_first
    trace.budget.grow(second, 50)
    assert (9.5 < trace.now < 12, trace.cut) == (True, []), "until the first has ended, and then for its own time"


def test_an_answer_is_not_cut_for_its_own_room_and_others_are_where_the_process_is_in_danger() -> None:
    trace = Trace(100)
    first, answer = trace.begin("a"), trace.begin("b")
    trace.budget.arrive(first, 90)
    trace.budget.send(answer, 50)
    assert trace.cut == []
    trace.budget.send(answer, 450)
    assert (trace.cut, trace.budget.used_bytes) == (["a"], 500)
    trace.budget.end(answer)
    trace.budget.end(answer)
    assert trace.budget.used_bytes == 0


def test_answers_that_wait_for_room_bring_nobody_into_danger_and_are_refused_themselves() -> None:
    trace = Trace(100)
    reader, answer, oldest, waiting = trace.begin("reader"), trace.begin("b"), *(trace.budget.begin(None) for _ in "ab")
    trace.budget.send(reader, 70)
    trace.budget.grow(oldest, 20)
    trace.wake = lambda: trace.budget.send(answer, 50)
    with pytest.raises(Overloaded):
        trace.budget.grow(waiting, 30)
    assert (trace.cut, trace.slept) == ([], 1)


def test_danger_begins_earlier_where_the_process_has_less_room() -> None:
    def held_before_a_cut(limit: int) -> int:
        trace = Trace(100)
        trace.budget.limit_bytes = limit  # as launch.memory_watch does near the memory's limit
        answers = [trace.begin("a"), trace.begin("b")]
        while not trace.cut:
            for one in answers:
                trace.budget.send(one, 1)
        return trace.budget.used_bytes + answers[0].size_bytes

    assert 150 < held_before_a_cut(100) < 155
    assert 70 < held_before_a_cut(20) < 75


def test_what_is_kept_goes_before_anybody_is_cut_off() -> None:
    trace = Trace(100)
    dropped: list[str] = []
    first = trace.budget.keep(12, lambda: dropped.append("first"))
    assert first is not None
    second = trace.budget.keep(12, lambda: dropped.append("second"))
    assert second is not None
    trace.budget.arrive(trace.begin("a"), 80)
    assert (dropped, trace.cut, trace.budget.used_bytes, trace.budget.kept_bytes) == (["first"], [], 92, 12)
    trace.budget.let_go(first)
    trace.budget.let_go(second)
    trace.budget.let_go(second)
    assert (dropped, trace.budget.used_bytes, trace.budget.kept_bytes) == (["first"], 80, 0)


def test_what_is_kept_takes_room_from_nobody_and_a_quarter_at_most() -> None:
    trace = Trace(100)
    assert trace.budget.keep(26, lambda: None) is None
    kept = [trace.budget.keep(5, lambda: None) for _ in range(6)]
    assert [one is not None for one in kept] == [True] * 5 + [False]
    trace.budget.drop_kept()
    trace.budget.arrive(trace.begin("a"), 90)
    assert trace.budget.keep(11, lambda: None) is None
    assert (trace.cut, trace.budget.used_bytes, trace.budget.kept_bytes) == ([], 90, 0)


def test_what_the_server_works_on_stays_and_others_wait_or_are_refused() -> None:
    trace = Trace(100)
    working = trace.budget.begin(None)
    assert not trace.budget.collect(working, 120)
    trace.budget.grow(trace.budget.begin(None), 0)  # the oldest of those that grow
    refused = trace.budget.begin(None)
    with pytest.raises(Overloaded, match=r"160 bytes of large .* its bound of 100 lets it add to; try again"):
        trace.budget.grow(refused, 40)
    assert trace.slept == 0
    trace.budget.end(refused)
    trace.budget.arrive(trace.begin("first"), 0)
    trace.wake = lambda: trace.budget.end(working)
    trace.budget.arrive(trace.begin("late"), 20)
    assert (trace.slept, trace.cut) == (1, [])


def test_of_answers_that_grow_the_oldest_goes_on_and_others_wait_for_it() -> None:
    trace = Trace(100)
    first, second, third = (trace.budget.begin(None) for _ in range(3))
    trace.budget.grow(first, 60)
    trace.budget.grow(second, 30)
    trace.budget.grow(first, 25)  # beyond the bound, but somebody has to come to an end
    assert (trace.slept, trace.budget.used_bytes) == (0, 115)
    trace.wake = lambda: trace.budget.end(first)
    trace.budget.grow(second, 5)
    assert (trace.slept, trace.budget.used_bytes) == (1, 35)
    trace.wake = lambda: None
    trace.budget.grow(third, 60)
    trace.budget.grow(second, 10)
    with pytest.raises(Overloaded):  # waits, and nobody ends
        trace.budget.grow(third, 1)
    assert trace.slept > 10


def test_an_answer_that_waits_again_and_again_is_refused_when_that_is_too_long_together() -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if not len(slept) % 8:
            budget.end(other)

    budget = MemoryBudget(100, sleep, lambda: sum(slept), room_seconds=5.0)
    first, growing, other = (budget.begin(None) for _ in range(3))
    budget.grow(first, 50)
    budget.grow(growing, 40)

    def wait_again_and_again() -> None:
        nonlocal other
        for _ in range(100):
            other = budget.begin(None)
            budget.collect(other, 12)
            budget.grow(growing, 0)

    with pytest.raises(Overloaded):
        wait_again_and_again()
    assert 5.0 <= sum(slept) < 5.5


def test_who_keeps_others_waiting_is_refused_where_he_would_have_to_wait() -> None:
    trace = Trace(100 << 20)
    first, second = RequestBudget(trace.budget), RequestBudget(trace.budget)
    first.hold(90 << 20, at_once=True)
    first.hold(20 << 20, at_once=True)
    with pytest.raises(Overloaded, match="try again"):
        second.hold(5 << 20, at_once=True)
    assert trace.slept == 0
    second.clear()
    assert trace.budget.used_bytes == 110 << 20


def test_what_has_ended_cannot_grow() -> None:
    trace = Trace(100)
    ended = trace.budget.begin(None)
    trace.budget.grow(ended, 40)
    trace.budget.end(ended)
    trace.budget.grow(ended, 40)
    assert (trace.budget.used_bytes, trace.budget.growing_bytes) == (0, 0)
    other = trace.budget.begin(None)
    trace.budget.grow(other, 120)
    assert trace.slept == 0, "nothing that has ended is the oldest for ever"


def test_what_a_page_held_is_its_requests_until_the_answer_is_sent() -> None:
    trace = Trace(100 << 20)
    request = RequestBudget(trace.budget)
    for size in (30 << 20, 20 << 20):
        page = request.part()
        page.hold(size)
        page.hand_over()
        page.clear()
    assert (trace.budget.used_bytes, trace.budget.growing_bytes) == (50 << 20, 0)
    request.clear()
    assert trace.budget.used_bytes == 0


def test_a_request_that_took_over_what_its_pages_held_and_grows_itself_leaves_the_count_as_it_was() -> None:
    trace = Trace(100 << 20)
    for steps in permutations("hp"):
        request = RequestBudget(trace.budget)
        for step in steps:
            if step == "h":
                request.hold(40 << 20)
            else:
                page = request.part()
                page.hold(40 << 20)
                page.hand_over()
        assert (trace.budget.used_bytes, trace.budget.growing_bytes) == (80 << 20, 40 << 20)
        request.clear()
        assert (trace.budget.used_bytes, trace.budget.growing_bytes) == (0, 0), steps
    # Else what only grows counts as what goes out, and steady clients are cut off for it.
    trace.budget.send(trace.begin("steady"), 20 << 20)
    growing = RequestBudget(trace.budget)
    growing.hold(50 << 20)
    trace.budget.send(trace.begin("next"), 40 << 20)
    assert trace.cut == []


def test_who_begins_waits_while_answers_take_half_of_the_memory_and_small_ones_do_not() -> None:
    trace = Trace(100 << 20)
    trace.budget.arrive(trace.begin("slow"), 20 << 20)
    held, late, small = (RequestBudget(trace.budget) for _ in range(3))
    held.hold(51 << 20)
    held.hold(1 << 20)
    for _ in range(10):
        small.hold(20_000)
    assert (trace.slept, trace.budget.growing_bytes) == (0, 52 << 20)
    trace.wake = held.clear
    late.hold(1 << 20)
    assert (trace.slept, trace.budget.growing_bytes) == (1, 1 << 20)
    late.clear()
    held.hold(51 << 20)
    trace.wake = lambda: None
    with pytest.raises(Overloaded, match="try again"):
        late.hold(1 << 20)
    assert trace.slept > 10


def test_where_too_many_wait_for_room_the_next_is_refused_at_once() -> None:
    trace = Trace(100)
    trace.budget.grow(trace.budget.begin(None), 90)
    with pytest.raises(Overloaded):
        trace.budget.grow(trace.budget.begin(None), 61)
    assert trace.slept == 0


def test_what_a_request_holds_is_free_when_it_is_over() -> None:
    trace = Trace(100 << 20)
    request = RequestBudget(trace.budget)
    request.hold(60 << 20)
    page = request.part()
    page.hold(30 << 20)
    assert trace.budget.used_bytes == 90 << 20
    page.clear()
    request.spend(RequestCost(1.5, 10, 20))
    assert (trace.budget.used_bytes, request.cost) == (60 << 20, RequestCost(1.5, 10, 20))
    request.clear()
    request.clear()
    assert (trace.budget.used_bytes, request.cost) == (0, RequestCost())


class Drip:
    """A stream that hands out `data` in pieces."""

    def __init__(self, data: bytes, piece: int) -> None:
        self.data, self.piece, self.closed = data, piece, False

    def recv(self, most: int) -> bytes:
        size = min(most, self.piece)
        found, self.data = self.data[:size], self.data[size:]
        return found

    def sendall(self, data: bytes) -> None: ...
    def settimeout(self, seconds: float | None) -> None: ...

    def close(self) -> None:
        self.closed = True


def _input(
    data: bytes,
    piece: int,
    pauses: list[int],
    budget: MemoryBudget | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    framed: bool = False,
) -> MessageInput:
    budget = budget or MemoryBudget(1 << 30, lambda seconds: None, lambda: 0.0)
    return MessageInput(Drip(data, piece), 1 << 20, 1.0, lambda: pauses.append(1), budget, clock, framed)


@pytest.mark.parametrize("framed", [False, True])
def test_a_message_that_drips_has_a_deadline_and_a_slow_one_has_not(framed: bool) -> None:
    def take(seconds_a_piece: float, piece: int) -> bytes:
        """The clock goes on whenever something has arrived."""
        ticks = count()
        size = 100_000
        data = size.to_bytes(4, "big") + b"x" * size if framed else b"x" * size
        source = _input(data, piece, [], clock=lambda: next(ticks) * seconds_a_piece / 2, framed=framed)
        assert source.begin()
        return source.take(size)

    with pytest.raises(TimeoutError):
        take(0.5, 1)
    assert len(take(0.5, 1000)) == 100_000


def test_small_pieces_of_a_message_let_others_run() -> None:
    pauses: list[int] = []
    source = _input(b"x" * 60000, 60000, pauses)
    assert source.begin()
    for _ in range(60000):
        source.take(1)
    assert len(pauses) >= 50


def test_messages_that_wait_for_no_answer_let_others_run() -> None:
    pauses: list[int] = []
    source = _input(b"x" * 1000, 1000, pauses)
    count = 0
    while source.begin():
        source.take(1)
        count += 1
    assert count == 1000
    assert len(pauses) >= 100


def test_a_large_message_is_counted_while_it_is_there_and_forgotten_after() -> None:
    budget = MemoryBudget(1 << 30, lambda seconds: None, lambda: 0.0)
    source = _input(b"x" * 500_000, 1000, [], budget)
    assert source.begin()
    assert budget.used_bytes == 0
    source.take(SMALL_BYTES * 2)
    assert budget.used_bytes >= SMALL_BYTES
    while source.begin():
        assert budget.used_bytes < SMALL_BYTES * 2
        source.take(1)
    assert budget.used_bytes == 0
    assert source.data == b""


def test_a_refused_message_holds_nothing_while_its_rest_is_thrown_away() -> None:
    budget = MemoryBudget(1 << 30, lambda seconds: None, lambda: 0.0)
    source = _input(b"x" * 500_000, 1000, [], budget)
    assert source.begin()
    source.take(SMALL_BYTES * 2)
    held: list[int] = []

    def look() -> bool:
        held.append(budget.used_bytes)
        return True

    source.discard(400_000, 1.0, look)
    assert (len(held), sum(held), source.data) == (400, 0, b"")


@pytest.mark.parametrize("framed", [False, True])
def test_the_planted_bug_is_found(framed: bool) -> None:
    is_found("patient", lambda: test_a_message_that_drips_has_a_deadline_and_a_slow_one_has_not(framed))


class Taker:
    """A client's stream that takes everything at once."""

    def __init__(self) -> None:
        self.taken = 0

    def sendall(self, data: bytes) -> None:
        self.taken += len(data)

    def close(self) -> None: ...


@pytest.mark.parametrize(("size", "cut"), [(30, []), (60 << 10, ["steady"])])
def test_nobody_is_cut_off_for_the_few_bytes_that_a_large_request_is_answered_with(size: int, cut: list[str]) -> None:
    trace, taker = Trace(100 << 10), Taker()
    steady = trace.begin("steady")
    trace.budget.arrive(steady, 60 << 10)
    request = trace.budget.begin(None)
    trace.budget.collect(request, 100 << 10)  # once it is decoded
    context: Any = SimpleNamespace(
        budget=trace.budget,
        clock=lambda: trace.now,
        slice_end=lambda seconds: trace.now + seconds,
        pause=lambda: None,
    )
    stream: Any = taker
    send_large(b"x" * size, True, stream, context)
    assert (trace.cut, taker.taken) == (cut, 4 + size)
