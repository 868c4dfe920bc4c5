"""Options: how soon a role that nobody reaches is noticed, and what follows."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReachabilityOptions:
    """Options: how roles watch each other, and what a tablet server does that nobody reaches."""

    period_seconds: float = 1.0
    """Between two looks. Longer: fewer calls, later notice."""
    unreachable_seconds: float = 5.0
    """A role that has answered nobody's call for so long is shown as unreachable. Longer: fewer alarms from short
    disturbances, later notice."""
    give_up_seconds: float = 10.0
    """A tablet server that the master and most of those that watch it have called unreachable for so long ends itself,
    so that others serve its tablets. Longer: rides out longer disturbances of the network, and rows are away for longer
    when it is none. 0: never, it is shown only."""
    limit_seconds: float = 600.0
    """In so long only a minority of the tablet servers gives up, whatever is said of them. Longer: a network that comes
    and goes does less harm, and a second server that nobody reaches stays away for longer."""
