"""A process of a cluster compares its wall clock with the file system's before it gives anything a time.

While it runs, jumps are refused (wall_clock.py); but a start would believe the clock that it finds. A file that it
writes has the time of the NameNode, as everybody else's: a clock that is far from that is wrong, or the NameNode's is.
On a local disk there is no second clock: a machine that was switched off for a year must start without a hand, so there
a start only says what looks wrong (recovery.py).
"""

from collections.abc import Callable

from hbtable.errors import InvalidConfiguration
from hbtable.fs.interface import LOCAL, FileSystem
from hbtable.fs.probing import probe
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tablet.wall_clock import span


@switches
def refuse_other_time(
    runtime: Runtime, fs: FileSystem, wall_millis: Callable[[], int], max_skew_seconds: float
) -> None:
    """InvalidConfiguration when the time of this process is further from the file system's than that. No local disk is
    asked."""
    if fs.log_kind == LOCAL:
        return
    before = wall_millis()
    theirs = probe(runtime, fs)
    after = wall_millis()
    ahead = before - theirs if before > theirs else min(0, after - theirs)
    if abs(ahead) > max_skew_seconds * 1000:
        raise InvalidConfiguration(
            f"this machine's clock is {span(ahead)} the file system's, which is more than "
            f"tablet.max_clock_skew_seconds = {max_skew_seconds:g}: what is written now would get times that are wrong "
            "for good. Set the clock right, here or on the NameNode, and start again"
        )
