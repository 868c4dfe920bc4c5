import importlib.util
from pathlib import Path

import pytest

from hbtable.client.client import Client
from hbtable.model.mutation import PUT, RowMutation

_path = Path(__file__).parents[1] / "metadata" / "fake_cluster.py"
_spec = importlib.util.spec_from_file_location("hbtable_fake_cluster", _path)
fake_cluster = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fake_cluster)


@pytest.fixture
def cluster():
    return fake_cluster.FakeCluster()


@pytest.fixture
def client(cluster):
    return Client(cluster.runtime, cluster.session, cluster.transport)


@pytest.fixture
def put():
    """put(row, value=b"v") makes a mutation of f:q at time 5."""
    return lambda row, value=b"v": RowMutation(row, [(PUT, b"f", b"q", 5, value)])
