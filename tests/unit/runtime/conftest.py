"""What the tests of the runtime share."""

import gevent
import pytest


@pytest.fixture(autouse=True)
def own_work() -> None:
    """A test's own task works for no client at its start. It is the main greenlet, in which one test runs after the
    other: what FairScheduler.adopt() had written there was the next one's client."""
    vars(gevent.getcurrent()).pop("share", None)
