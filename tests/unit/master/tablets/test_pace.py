"""How many tablets move at a time: many where each is quick, few where they wait for each other."""

import pytest

from hbtable.master.tablets.pace import MovePace
from hbtable.runtime.parallel import run_all
from hbtable.testing.simulated.runtime import SimulatedRuntime


class Moves:
    """Each needs a processor, which all of them share, and a file system, which has time for all."""

    def __init__(self, runtime: SimulatedRuntime, processor: float, files: float) -> None:
        self._runtime, self._processor, self._files = runtime, processor, files
        self._turn = runtime.lock()
        self.pace = MovePace(runtime, 32)
        self.took: list[float] = []
        self.most = self._under_way = 0

    def one(self) -> None:
        with self.pace.turn():
            began = self._runtime.clock_seconds()
            self._under_way += 1
            self.most = max(self.most, self._under_way)
            assert self._under_way <= 32
            with self._turn:
                self._runtime.sleep(self._processor)
            self._runtime.sleep(self._files)
            self._under_way -= 1
            self.took.append(self._runtime.clock_seconds() - began)

    def run(self, number: int) -> float:
        """The seconds for all of them."""
        began = self._runtime.clock_seconds()
        run_all(self._runtime, 64, [self.one] * number, "move")
        return self._runtime.clock_seconds() - began


@pytest.mark.parametrize("seed", [1, 2])
def test_a_busy_processor_is_not_given_more_than_it_can_do(seed: int) -> None:
    runtime = SimulatedRuntime(seed)

    def main() -> None:
        moves = Moves(runtime, 0.05, 0.0)
        assert moves.run(1000) < 51, "as many in a second as with any number"
        took = sorted(moves.took)
        assert took[500] <= 0.26
        assert took[-1] < 0.5

    runtime.run(main)


@pytest.mark.parametrize(("files", "most"), [(0.05, 32), (0.9, 4)])
def test_a_file_system_that_is_far_away_is_given_several(files: float, most: int) -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        moves = Moves(runtime, 0.0, files)
        assert moves.run(1000) < 1000 * files / most + (3 if most > 4 else 1)
        assert moves.most == most

    runtime.run(main)


@pytest.mark.parametrize("files", [1.2, 3.0])
def test_where_all_take_long_no_more_are_away_than_where_they_are_quick(files: float) -> None:
    """Those of more than a second did not count, so that four more began in each: all 32, where each took eight."""
    runtime = SimulatedRuntime(1)

    def main() -> None:
        moves = Moves(runtime, 0.0, files)
        moves.run(100)
        assert moves.most <= 4 * (1 + int(files)), "as long as nothing is known of them"
        moves.most = 0
        assert moves.run(100) < 100 * files / 4 + 1
        assert moves.most == 4

    runtime.run(main)


def test_those_that_hang_hold_up_quick_ones_for_a_second_each_though_others_were_slow() -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        pace = MovePace(runtime, 32)

        def take(seconds: float) -> None:
            with pace.turn():
                runtime.sleep(seconds)

        for seconds in (5.0, 0.1, 0.1, 5.0, 0.1):
            take(seconds)
        hanging = [runtime.spawn(take, 60) for _ in range(pace.at_once)]
        runtime.sleep(0.01)
        at = runtime.clock_seconds()
        take(0.1)
        assert 0.9 < runtime.clock_seconds() - at < 1.2
        for task in hanging:
            task.join()

    runtime.run(main)


def test_one_that_fails_frees_its_place() -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        pace = MovePace(runtime, 1)
        for _ in range(3):
            with pytest.raises(ValueError, match="broken"), pace.turn():
                raise ValueError("broken")
        with pace.turn():
            task = runtime.spawn(lambda: pace.turn().__enter__())
            assert not task.join(0.5)
        assert task.join(0.1)

    runtime.run(main)


def test_those_that_hang_hold_the_others_up_for_a_second_each() -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        pace, began = MovePace(runtime, 32), []

        def hang() -> None:
            with pace.turn():
                began.append(runtime.clock_seconds())
                runtime.sleep(60)

        first = runtime.clock_seconds()
        run_all(runtime, 32, [hang] * 12, "hang")
        assert [round(at - first) for at in began] == [0] * 4 + [1] * 4 + [2] * 4

    runtime.run(main)
