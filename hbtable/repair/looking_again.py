"""A check of files that are in use: what looks damaged may have changed between two reads, so it is looked at again."""

from collections.abc import Callable
from typing import Final

from hbtable.errors import FileNotFound, Unavailable
from hbtable.repair.checking import Check, Finding
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_LOOKS: Final = 4
_PAUSE_SECONDS: Final = 3.0
"""Between two looks. A table's split, or the recovery of a server that died, goes on meanwhile."""


@switches
def check_repeatedly(runtime: Runtime, new_check: Callable[[], Check]) -> Check:
    """The last of several checks, which has only those findings that each of them had. *Switches* for long. What the
    last look was refused: Unavailable, FileNotFound."""
    check: Check | None = None
    for left in reversed(range(_LOOKS)):
        again = new_check()
        try:
            again.run()
        except (FileNotFound, Unavailable):  # a file may go between two reads of it
            if not left:
                raise
        else:
            lasting = None if check is None else set(map(_thing, check.findings))
            again.findings = [one for one in again.findings if lasting is None or _thing(one) in lasting]
            check = again
            if not check.findings:
                break
        if left:
            runtime.sleep(_PAUSE_SECONDS)
    assert check is not None
    return check


def _thing(finding: Finding) -> tuple[str, int, str]:
    """The part of a finding that stays the same while numbers in it change."""
    return finding.path, finding.tablet_id, finding.consequence.partition(" of ")[0]
