"""Ends what was done in METADATA already, and what its caller cannot ask for again: a table is emptied, or has another
schema, and servers have to hear of it.

Where one of them does not begin what it is asked for, the caller must not be told so: that is told where nothing was
done, and clients repeat the call then. It would be refused, as by a table that is not disabled any more. Nor that a
part of METADATA cannot be read, which by itself says as well that nothing was done.
"""

from collections.abc import Callable
from typing import Final

from hbtable.errors import Conflict, HbtableError, LockLost, OutcomeUnknown, StaleLocation, Unavailable
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_SECONDS: Final = 10.0
"""For which it is tried. Longer: others wait longer for the table while a server cannot be asked; shorter: callers hear
more often that the outcome is unknown."""
_PAUSE_SECONDS: Final = 0.1
"""After the first try. Each pause is twice the last, up to the longest."""
_LONGEST_PAUSE_SECONDS: Final = 1.0
_MAY_PASS: Final = (Conflict, StaleLocation, Unavailable)


@switches
def carry_on(runtime: Runtime, done: str, work: Callable[[], None]) -> None:
    """Has `work` end, which may be repeated. OutcomeUnknown where it does not, whatever it met; `done` says what was.
    LockLost. The caller sees to it that the master's cycle goes on with it."""
    latest = runtime.clock_seconds() + _SECONDS
    pause = _PAUSE_SECONDS
    while True:
        try:
            work()
        except (LockLost, OutcomeUnknown):
            raise
        except HbtableError as error:
            if not isinstance(error, _MAY_PASS) or runtime.clock_seconds() >= latest:
                raise OutcomeUnknown(f"{done}, the master goes on trying: {error}") from error
        else:
            return
        runtime.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
