"""Options of a client: for how long it tries again, and how much it does at once."""

from dataclasses import dataclass, field
from typing import Final

from hbtable.metadata.retry_policy import RetryPolicy

MAX_CACHED_TABLES: Final = 10_000
"""Names that a client keeps; beyond it starts over. Names of missing tables count, so this bounds memory."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """One client's retries, and how many calls it makes at once."""

    retry_policy: RetryPolicy = field(default_factory=lambda: RetryPolicy(deadline_seconds=60.0))
    """The time for which a call rides out moving tablets and absent servers. Only calls known not to have been applied
    are tried again. Raising it hides longer outages, and lets calls pile up in front of them."""
    parallel_calls: int = 8
    """Tablets that one batch or one administration call works on at once. Raising it shortens big batches and lets
    one caller take more of the cluster."""
