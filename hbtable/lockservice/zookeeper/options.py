"""Settings of a session with ZooKeeper, apart from its client: a process without ZooKeeper need not load that."""

from dataclasses import dataclass
from typing import Final

from hbtable.errors import InvalidConfiguration

_LARGEST_MARGIN: Final = 0.5
"""With more, little would be left of a session between two confirmations."""


@dataclass(frozen=True, slots=True)
class ZooKeeperOptions:
    """One process's session."""

    session_seconds: float = 10.0
    """After so long without a sign of life the service frees this process's locks. Longer: a dead process is noticed
    later; shorter: a stalled one loses its locks sooner. A role does not start when ZooKeeper grants another length;
    its limits are 2 and 20 of its ticks, as a rule 4 s and 40 s."""
    margin_share: float = 0.15
    """The share of a session by which this process stops trusting it before the service ends it. Larger: more room for
    clocks that differ and for the half tick by which followers tell the leader late; less time to reconnect in."""
    call_seconds: float = 4.0
    """After so long without an answer a call fails. Longer: it rides out a slower change of leaders; while the service
    is away its callers wait longer."""

    def __post_init__(self) -> None:
        if self.session_seconds <= 0 or self.call_seconds <= 0:
            raise InvalidConfiguration("session_seconds and call_seconds are above 0")
        if not 0 <= self.margin_share <= _LARGEST_MARGIN:
            raise InvalidConfiguration(
                f"margin_share is {self.margin_share:g}; it is a share of the session, from 0 to {_LARGEST_MARGIN}"
            )
