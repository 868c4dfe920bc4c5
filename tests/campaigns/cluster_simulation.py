"""A cluster of masters, tablet servers and clients in one process, seed after seed, under every kind of fault.

    python -m tests.campaigns.cluster_simulation [--damage | --ways] [--seeds 2000] [--seed N] [--bug NAME]

What a seed does and checks: tests/harness/sim_schedule.py; with --damage, tests/harness/sim_damaged.py; with --ways
nothing but cut ways, members of the lock service that are behind, and deaths. --bug switches one of the field's known
bugs on (tests/harness/sim_bugs.py, sim_damage_bugs.py), which must then be found. A failure prints the command that
replays it.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

from tests.harness.sim_bugs import BUGS, run_with
from tests.harness.sim_damage_bugs import DAMAGE_BUGS, run_damaged_with
from tests.harness.sim_damaged import run_damaged_seed
from tests.harness.sim_faults import ONLY_WAYS
from tests.harness.sim_schedule import Outcome, run_seed
from tests.harness.sim_seeds import outcomes, timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first one; 0: chosen now and printed")
    parser.add_argument("--damage", action="store_true", help="the cluster is stopped, damaged, and goes on")
    parser.add_argument("--ways", action="store_true", help="ways are cut, and processes die, and nothing else")
    parser.add_argument("--bug", choices=sorted([*BUGS, *DAMAGE_BUGS]), default="")
    arguments = parser.parse_args()
    damaged = arguments.damage or arguments.bug in DAMAGE_BUGS
    first = arguments.seed or int(time.time())
    seeds = range(first, first + arguments.seeds)
    print(f"seeds {first} to {seeds[-1]}")
    begin, total, failed, processor = time.monotonic(), Counter[str](), 0, 0.0
    bug = f' --bug "{arguments.bug}"' if arguments.bug else ""
    run: Callable[[int], Outcome] = run_damaged_seed if damaged else run_seed
    if arguments.bug:
        run = partial(run_damaged_with if damaged else run_with, arguments.bug)
    if arguments.ways:
        run = partial(run_seed, kinds=ONLY_WAYS)
    way = " --damage" if damaged else " --ways" if arguments.ways else ""
    for number, (outcome, seconds) in enumerate(outcomes(partial(timed, run), seeds), 1):
        processor += seconds
        total += outcome.count
        if outcome.violations:
            failed += 1
            print(f"seed {outcome.seed}, faults {', '.join(outcome.faults)}: " + "\n    ".join(outcome.violations[:3]))
            replay = f"python -m tests.campaigns.cluster_simulation{way} --seeds 1 --seed {outcome.seed}{bug}"
            print(f"    replay: {replay}", flush=True)
            if bug:
                print(f"{arguments.bug} was found after {number} seeds")
                return
        if not number % 200:
            print(f"{number} seeds, {failed} with violations so far", flush=True)
    print(
        f"{len(seeds)} seeds, {failed} with violations, {time.monotonic() - begin:.0f} s, "
        f"{processor / len(seeds):.2f} CPU seconds a seed"
    )
    print(", ".join(f"{name} {count}" for name, count in sorted(total.items())))
    if failed or bug:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
