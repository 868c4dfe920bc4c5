import pytest

from hbtable.access.tries import FREE_TRIES, AddressTries, FailedTries, address_of


def test_after_some_failures_each_try_waits_longer() -> None:
    tries, now, waits = FailedTries(), 100.0, []
    for _ in range(FREE_TRIES + 10):
        waits.append(tries.wait_seconds("h", "ann", now))
        now += waits[-1]
        tries.failed("h", "ann", now)
    assert waits == [0.0] * FREE_TRIES + [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]


def test_others_do_not_wait() -> None:
    tries = FailedTries()
    for _ in range(10):
        tries.failed("h", "ann", 0.0)
    assert tries.wait_seconds("h", "ann", 0.0)
    assert tries.wait_seconds("h", "ben", 0.0) == tries.wait_seconds("g", "ann", 0.0) == 0.0


def test_who_got_it_right_begins_anew() -> None:
    tries = FailedTries()
    for _ in range(10):
        tries.failed("h", "ann", 0.0)
    tries.succeeded("h", "ann")
    assert tries.wait_seconds("h", "ann", 0.0) == 0.0


def test_names_that_are_made_up_take_bounded_memory() -> None:
    tries = FailedTries(most=100)
    for number in range(1000):
        tries.failed("h", f"u{number}" * 1000, 0.0)
    assert len(tries._failed) == 100
    assert all(len(name) <= 128 for _, name in tries._failed)
    assert tries.wait_seconds("h", "u999" * 1000, 0.0) == 0.0


def test_an_address_has_fifty_failures_and_then_one_in_two_seconds() -> None:
    tries, now, waits = AddressTries(), 100.0, []
    for _ in range(53):
        waits.append(tries.wait_seconds("h", now))
        now += waits[-1]
        tries.failed("h", now)
    assert waits == [0.0] * 50 + [2.0] * 3
    assert tries.wait_seconds("g", now) == 0.0
    assert tries.wait_seconds("h", now + 100) == 0.0
    tries.failed("h", now + 1000)
    assert tries.wait_seconds("h", now + 1000) == 0.0


def test_the_failures_of_an_address_have_a_limit() -> None:
    tries = AddressTries()
    for _ in range(20_000):
        tries.failed("h", 100.0)
    assert tries.wait_seconds("h", 100.0) == 2.0
    tries.was_right("h", tries.failed("h", 100.0), 100.0)
    assert tries.wait_seconds("h", 100.0) == 0.0
    tries.was_right("g", 200.0, 100.0)


def test_what_time_has_forgotten_is_not_taken_back() -> None:
    """It would be a failure of somebody else."""
    tries = AddressTries()
    forgotten_at = tries.failed("h", 100.0)
    others = [tries.failed("h", 105.0) for _ in range(50)]
    tries.was_right("h", forgotten_at, 105.0)
    assert tries.wait_seconds("h", 105.0) == 2.0
    tries.was_right("h", others[-1], 105.0)
    assert tries.wait_seconds("h", 105.0) == 0.0


def test_addresses_that_are_made_up_take_bounded_memory() -> None:
    tries = AddressTries(most=10)
    for number in range(100):
        tries.failed(f"10.0.0.{number}", 0.0)
    assert len(tries._paid) == 10


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:3::4]", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("a:b", "a:b"),
        ("", ""),
    ],
)
def test_ipv6_is_counted_by_the_network(host: str, address: str) -> None:
    assert address_of(host) == address
