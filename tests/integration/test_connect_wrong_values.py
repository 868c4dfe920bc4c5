"""Every parameter of every public method takes every wrong value over hbtable.connect(), as it does over hbtable.open()
(test_library_wrong_values.py): what Thrift would leave out or turn into another value is refused before it is sent."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import hbtable
from tests.harness.warm_server import WarmServer
from tests.integration import test_library_wrong_values as sweep

pytestmark = pytest.mark.verify

METHODS = {method: given for method, given in sweep.DATABASE.items() if hasattr(hbtable.ConnectedDatabase, method)}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hbtable.ConnectedDatabase]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("connect") / "data"
        server = stack.enter_context(WarmServer(folder, ["log.durability=os"]))
        database = stack.enter_context(hbtable.connect("127.0.0.1", server.port, timeout=60_000))
        table = database.create_table("t", {"f": {"max_versions": 1000}}, split_rows=[b"zzz"])
        with table.batch() as batch:
            for row, data in sweep.NEIGHBOURS.items():
                batch.put(row, data)
        yield database


@pytest.mark.parametrize(("method", "parameter"), sweep.parameters(METHODS))
def test_methods_of_the_database(database: hbtable.ConnectedDatabase, method: str, parameter: str) -> None:
    sweep.test_methods_of_the_database(database, method, parameter)


@pytest.mark.parametrize(("method", "parameter"), sweep.parameters(sweep.ROWS))
def test_methods_of_a_table(database: hbtable.ConnectedDatabase, method: str, parameter: str) -> None:
    sweep.test_methods_of_a_table(database, method, parameter)


@pytest.mark.parametrize(("method", "parameter"), sweep.parameters(sweep.BATCH))
def test_methods_of_a_batch(database: hbtable.ConnectedDatabase, method: str, parameter: str) -> None:
    sweep.test_methods_of_a_batch(database, method, parameter)


@pytest.mark.parametrize("option", list(hbtable.FamilyOptions.__annotations__))
def test_options_of_a_family(database: hbtable.ConnectedDatabase, option: str) -> None:
    sweep.test_options_of_a_family(database, option)
