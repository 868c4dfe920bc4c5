"""Which scanner goes when there are too many, beside a model that looks at all of them."""

import random

import pytest

from hbtable.hbase.calls.scanner_shares import ScannerShares
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.stretches import counted_stretches
from tests.harness.tiers import quick_first


@pytest.mark.parametrize("seed", quick_first([0, 1, 3, 8, 19, *sorted(set(range(20)) - {0, 1, 3, 8, 19})], 5, 5))
def test_it_is_of_whoever_has_most_bytes_and_unused_for_longest(seed: int) -> None:
    chance = random.Random(seed)
    shares = ScannerShares()
    there: dict[int, tuple[str, int]] = {}  # by last use
    for number in range(2000):
        holder = f"user{chance.randrange(1 + seed)}"
        there[number] = (holder, chance.randrange(1000, 3000))
        shares.add(holder, number, there[number][1])
        if chance.random() < 0.3:
            used = chance.choice(list(there))
            there[used] = there.pop(used)
            shares.used(there[used][0], used)
        if chance.random() < 0.5:
            gone = chance.choice(list(there))
            shares.remove(there[gone][0], gone, there.pop(gone)[1])
        if not there:
            continue
        total: dict[str, int] = {}
        for one, size in there.values():
            total[one] = total.get(one, 0) + size
        assert shares.size_bytes == sum(total.values())
        victim = shares.next_to_go()
        assert total[there[victim][0]] == max(total.values())
        assert victim == next(one for one in there if there[one][0] == there[victim][0])


def test_as_many_holders_as_scanners_cost_no_time() -> None:
    """Each opens a scanner, and one of somebody is closed for it."""
    shares = ScannerShares()
    for number in range(60_000):
        shares.add(f"user{number}", number, 1000 + number % 7)
    runtime = SimulatedRuntime(0)

    def main() -> None:
        with counted_stretches(runtime) as stretches:
            for number in range(60_000, 60_100):
                shares.add(f"user{number}", number, 1000)
                stretches.begin()
                victim = shares.next_to_go()
                shares.remove(f"user{victim}", victim, 1000 + victim % 7 if victim < 60_000 else 1000)
                stretches.paused()
            stretches.check(300)

    runtime.run(main)
