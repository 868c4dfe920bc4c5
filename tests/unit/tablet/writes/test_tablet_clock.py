"""Server-assigned time: monotone, per-row past markers, bounded memory, restored."""

from hbtable.tablet.writes.clock import TabletClock


class Wall:
    def __init__(self, now: int = 1000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def test_the_tablets_time_follows_the_wall_clock_but_never_goes_back() -> None:
    wall = Wall()
    clock = TabletClock(wall, lambda: 0.0)
    assert clock.tick() == 1000
    wall.now = 900
    assert clock.tick() == 1000
    wall.now = 1001
    assert clock.tick() == 1001


def test_a_put_goes_past_a_delete_of_its_row_and_a_delete_need_not() -> None:
    clock = TabletClock(Wall(), lambda: 0.0)
    clock.note(b"r", clock.tick(), True)
    assert clock.floors(b"r") == (1001, 1000)
    assert clock.floors(b"other") == (0, 0)


def test_the_row_stays_ahead_until_the_wall_clock_passed_it() -> None:
    wall = Wall()
    clock = TabletClock(wall, lambda: 0.0)
    clock.tick()
    clock.note(b"r", 1005, False)
    assert clock.floors(b"r") == (1005, 1005)
    wall.now = 1004
    assert clock.tick() == 1004
    assert clock.floors(b"r") == (1005, 1005)
    for wall.now in (1006, 1007):
        clock.tick()
    assert not clock.rows_ahead
    assert clock.floors(b"r") == (0, 0)


def test_a_row_ahead_does_not_carry_the_tablet_along() -> None:
    clock = TabletClock(Wall(), lambda: 0.0)
    clock.note(b"r", 5000, True)
    assert clock.tick() == 1000
    assert clock.highest == 5000


def test_rows_are_forgotten_while_deletes_go_on() -> None:
    wall = Wall()
    clock = TabletClock(wall, lambda: 0.0)
    for number in range(10_000):
        wall.now = 1000 + number // 10
        clock.note(b"%d" % number, clock.tick(), True)
    assert len(clock._young) + len(clock._old) <= 50


def test_after_a_restart_nothing_is_masked_by_a_marker_of_before_even_when_the_wall_clock_went_back() -> None:
    clock = TabletClock(Wall(1000), lambda: 0.0)
    clock.note(b"r", clock.tick(), True)
    later = TabletClock(Wall(10), lambda: 0.0)
    later.restore(clock.highest)
    assert later.tick() == 1001


def test_nothing_to_restore_leaves_the_wall_clock_alone() -> None:
    clock = TabletClock(Wall(10), lambda: 0.0)
    clock.restore(0)
    assert clock.tick() == 10


def test_while_the_wall_clock_is_behind_versions_stay_apart_and_it_catches_up() -> None:
    wall = Wall(1000)
    seconds = [5.0]
    clock = TabletClock(wall, lambda: seconds[0])
    clock.restore(101_000)
    times = []
    for _ in range(100):
        seconds[0] += 1
        wall.now += 1000
        times.append(clock.tick())
    assert len(set(times)) == 100
    assert times == sorted(times)
    assert times[-1] - times[0] == 49_500
    assert clock.ahead_millis() == clock.last - wall.now > 0
    for _ in range(200):
        seconds[0] += 1
        wall.now += 1000
        clock.tick()
    assert clock.tick() == wall.now
    wall.now -= 60_000
    seconds[0] += 2
    first = clock.tick()
    seconds[0] += 2
    assert clock.tick() == first + 1000


def test_rows_are_forgotten_while_the_wall_clock_is_behind() -> None:
    wall = Wall(1000)
    seconds = [0.0]
    clock = TabletClock(wall, lambda: seconds[0])
    clock.restore(10_000_000)
    for number in range(10_000):
        seconds[0] += 0.0002
        clock.note(b"%d" % number, clock.tick(), True)
    assert len(clock._young) + len(clock._old) <= 50
