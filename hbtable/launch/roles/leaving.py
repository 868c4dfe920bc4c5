"""The times in which clients leave a gateway that stops: the section [gateway] of a cluster's configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeavingOptions:
    """Options: a gateway of `hbtable thrift` that stops."""

    notice_seconds: float = 10.0
    """For so long new clients are still served, while /readyz says that it stops: longer than a balancer takes to look
    twice. 0: none from the first signal on."""
    leave_seconds: float = 30.0
    """For so long after that those who are connected are served, or until all have gone; then idle connections are
    closed. Longer than the connections of most clients last."""
