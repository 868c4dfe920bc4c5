"""A cluster of masters, tablet servers and clients in one process, seed after seed, under every kind of fault.

    python -m tests.campaigns.cluster_simulation [--seeds 2000] [--seed N] [--bug NAME]

What a seed does and checks: tests/harness/sim_schedule.py. --bug switches one of the field's known bugs on
(tests/harness/sim_bugs.py), which must then be found. A failure prints the command that replays it.
"""

import argparse
import logging
import time
from collections import Counter

from tests.harness.sim_bugs import BUGS, schedule_with
from tests.harness.sim_schedule import Schedule


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first one; 0: chosen now and printed")
    parser.add_argument("--bug", choices=sorted(BUGS), default="")
    arguments = parser.parse_args()
    first = arguments.seed or int(time.time())
    print(f"seeds {first} to {first + arguments.seeds - 1}")
    logging.disable(logging.CRITICAL)  # servers die all the time, and say so at length
    begin, used, total, failed = time.monotonic(), time.process_time(), Counter[str](), 0
    bug = f" --bug {arguments.bug}" if arguments.bug else ""
    for seed in range(first, first + arguments.seeds):
        schedule = schedule_with(arguments.bug, seed) if arguments.bug else Schedule(seed)
        outcome = schedule.run()
        total += outcome.count
        if not (seed - first + 1) % 200:
            print(f"{seed - first + 1} seeds, {failed} with violations so far", flush=True)
        if outcome.violations:
            failed += 1
            print(f"seed {seed}, faults {', '.join(schedule.faults.kinds)}: " + "\n    ".join(outcome.violations[:3]))
            print(f"    replay: python -m tests.campaigns.cluster_simulation --seeds 1 --seed {seed}{bug}", flush=True)
            if bug:
                print(f"{arguments.bug} was found after {seed - first + 1} seeds")
                return
    print(
        f"{arguments.seeds} seeds, {failed} with violations, {time.monotonic() - begin:.0f} s, "
        f"{(time.process_time() - used) / arguments.seeds:.2f} CPU seconds a seed"
    )
    print(", ".join(f"{name} {count}" for name, count in sorted(total.items())))
    if failed or bug:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
