"""A tablet on a simulated machine."""

import pytest

from tests.harness.tablet_bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
