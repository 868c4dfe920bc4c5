"""A cluster of masters, tablet servers and clients in one process, seed after seed, under every kind of fault.

    python -m tests.campaigns.cluster_simulation [--seeds 2000] [--seed N] [--bug NAME]

What a seed does and checks: tests/harness/sim_schedule.py. --bug switches one of the field's known bugs on
(tests/harness/sim_bugs.py), which must then be found. A failure prints the command that replays it.
"""

import argparse
import resource
import time
from collections import Counter
from functools import partial

from tests.harness.sim_bugs import BUGS, run_with
from tests.harness.sim_schedule import run_seed
from tests.harness.sim_seeds import outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first one; 0: chosen now and printed")
    parser.add_argument("--bug", choices=sorted(BUGS), default="")
    arguments = parser.parse_args()
    first = arguments.seed or int(time.time())
    seeds = range(first, first + arguments.seeds)
    print(f"seeds {first} to {seeds[-1]}")
    begin, total, failed = time.monotonic(), Counter[str](), 0
    bug = f" --bug {arguments.bug}" if arguments.bug else ""
    run = partial(run_with, arguments.bug) if arguments.bug else run_seed
    for number, outcome in enumerate(outcomes(run, seeds), 1):
        total += outcome.count
        if outcome.violations:
            failed += 1
            print(f"seed {outcome.seed}, faults {', '.join(outcome.faults)}: " + "\n    ".join(outcome.violations[:3]))
            replay = f"python -m tests.campaigns.cluster_simulation --seeds 1 --seed {outcome.seed}{bug}"
            print(f"    replay: {replay}", flush=True)
            if bug:
                print(f"{arguments.bug} was found after {number} seeds")
                return
        if not number % 200:
            print(f"{number} seeds, {failed} with violations so far", flush=True)
    print(
        f"{len(seeds)} seeds, {failed} with violations, {time.monotonic() - begin:.0f} s, "
        f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime / len(seeds):.2f} CPU seconds a seed"
    )
    print(", ".join(f"{name} {count}" for name, count in sorted(total.items())))
    if failed or bug:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
