import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location(
    "hbtable_fake_cluster", Path(__file__).parents[1] / "metadata" / "fake_cluster.py"
)
fake_cluster = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fake_cluster)


@pytest.fixture
def cluster():
    return fake_cluster.FakeCluster()
