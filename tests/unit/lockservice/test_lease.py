"""How long a session is trusted."""

from hbtable.lockservice.lease import Lease


def test_a_lease_counts_from_when_the_message_was_sent_and_never_shrinks() -> None:
    now = [100.0]
    lease = Lease(lambda: now[0], 8.0)
    assert not lease.valid(), "nothing was confirmed yet"
    lease.renew(98.0)
    now[0] = 105.9
    assert lease.valid()
    lease.renew(90.0)  # an older answer that comes in late
    assert lease.valid()
    now[0] = 106.0
    assert not lease.valid()
    assert not lease.over()
    lease.renew(105.0)
    assert lease.valid()


def test_what_is_over_stays_over() -> None:
    lease = Lease(lambda: 0.0, 8.0)
    lease.renew(0.0)
    assert lease.end()
    assert not lease.end()
    lease.renew(0.0)  # its answer was under way when the end was noticed
    assert lease.over()
    assert not lease.valid()
