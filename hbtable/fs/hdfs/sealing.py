"""Waits until HDFS has closed a file whose writer may be dead: it recovers the lease, which takes seconds."""

from collections.abc import Callable
from typing import Final

from hbtable.errors import FileNotFound, Unavailable
from hbtable.fs.hdfs.errors import translated
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 4.0


@switches
def sealed_length(runtime: Runtime, path: str, seconds: float, recovered_length: Callable[[], int | None]) -> int:
    """The length in bytes of the file at `path`, to which nobody can write any more. `recovered_length` asks for the
    recovery, and gives None while it goes on. FileNotFound; Unavailable after `seconds`."""
    end = runtime.clock_seconds() + seconds
    pause_seconds = _FIRST_PAUSE_SECONDS
    while True:
        reason = "its last block is being recovered"
        try:
            length = recovered_length()
            if length is not None:
                return length
        except Exception as error:
            known = translated(error, path, "sealing", writes=False)
            if isinstance(known, FileNotFound):
                raise known from error
            reason = str(known)
        if runtime.clock_seconds() >= end:
            raise Unavailable(f"{path} could not be sealed within {seconds:g} s, try again: {reason}")
        runtime.sleep(pause_seconds)
        # Each call may begin the recovery anew: one that takes long must be let alone for as long.
        pause_seconds = min(pause_seconds * 1.3, _LONGEST_PAUSE_SECONDS)
