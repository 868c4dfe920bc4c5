import importlib.util
from pathlib import Path

import pytest

from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator

_spec = importlib.util.spec_from_file_location("hbtable_fake_cluster", Path(__file__).with_name("fake_cluster.py"))
fake_cluster = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fake_cluster)


@pytest.fixture
def cluster():
    return fake_cluster.FakeCluster()


@pytest.fixture
def catalog(cluster):
    return Catalog(cluster.session, Locator(cluster.session, cluster.transport, cluster.runtime))
