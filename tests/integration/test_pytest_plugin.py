"""hbtable.pytest_plugin, by pytest in a process of its own, as in the tests of another program."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = """
import happybase
import hbtable
import pytest


@pytest.mark.parametrize("run", range(3))
def test_a_database_of_its_own(hbtable_db: hbtable.Database, run: int) -> None:
    assert hbtable_db.tables() == []
    hbtable_db.create_table("t", ["f"]).put("r", {"f:a": str(run)})
    assert hbtable_db.table("t").row("r") == {b"f:a": b"%d" % run}


@pytest.mark.parametrize("run", range(3))
def test_one_port_without_tables(hbtable_server, run: int) -> None:
    connection = happybase.Connection(hbtable_server.host, hbtable_server.port)
    assert connection.tables() == []
    assert hbtable_server.db.namespaces() == [b"default", b"hbase"]
    hbtable_server.db.create_namespace("n")
    hbtable_server.db.create_table("n:u", ["f"])
    hbtable_server.db.disable_table("n:u")
    connection.create_table("t", {"f": {}})
    connection.table("t").put(b"r", {b"f:a": b"1"})
    assert hbtable_server.db.table("t").row("r") == {b"f:a": b"1"}
    ports.add(hbtable_server.port)
    assert len(ports) == 1  # the connection of this test stays open


ports: set[int] = set()
"""


COSTS = """
import statistics
import time

import pytest

costs: dict[str, float] = {}


def cost(item):
    begun = time.process_time()
    try:
        return (yield)
    finally:
        costs[item.nodeid] = costs.get(item.nodeid, 0.0) + time.process_time() - begun


pytest_runtest_setup = pytest_runtest_teardown = pytest.hookimpl(wrapper=True)(cost)


def pytest_terminal_summary(terminalreporter):
    for name in ("hbtable_db", "hbtable_server"):
        millis = [1000 * found for test, found in costs.items() if name in test]
        terminalreporter.write_line(f"{name} {len(millis)} {statistics.median(millis):.1f}")
"""
COSTING = """
import pytest


@pytest.mark.parametrize("run", range(40))
def test_of_hbtable_db(hbtable_db, run: int) -> None:
    hbtable_db.create_table("t", ["f"]).put("r", {"f:a": "1"})


@pytest.mark.parametrize("run", range(40))
def test_of_hbtable_server(hbtable_server, run: int) -> None:
    hbtable_server.db.create_table("t", ["f"]).put("r", {"f:a": "1"})
"""


def run_pytest(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr


def test_each_test_begins_with_nothing_in_each_worker(tmp_path: Path) -> None:
    (tmp_path / "test_example.py").write_text(EXAMPLE)
    assert "6 passed" in run_pytest(tmp_path, "-n", "2")


def test_each_test_begins_with_nothing_where_gevent_patched_all(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import gevent.monkey\n\ngevent.monkey.patch_all()\n")
    (tmp_path / "test_example.py").write_text(EXAMPLE)
    assert "6 passed" in run_pytest(tmp_path)


def test_who_closes_the_server_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_example.py").write_text("def test_it(hbtable_server):\n    hbtable_server.db.close()\n")
    output = run_pytest(tmp_path)
    assert "ERROR test_example.py::test_it" in output
    assert "cannot be dropped for the next one: the database :memory: is closed" in output


def test_tests_that_do_not_use_it_import_nothing_of_it(tmp_path: Path) -> None:
    text = "import sys\n\ndef test_it():\n    assert not {'gevent', 'hbtable.launch'} & sys.modules.keys()\n"
    (tmp_path / "test_example.py").write_text(text)
    assert "1 passed" in run_pytest(tmp_path)


@pytest.mark.alone
@pytest.mark.parametrize(
    "patches", ["", "import gevent.monkey\n\ngevent.monkey.patch_all()\n"], ids=["plain", "gevent"]
)
def test_a_fixture_costs_less_than_20_ms_a_test(patches: str, tmp_path: Path) -> None:
    """Of the processor, in the median: the first test imports all that there is."""
    (tmp_path / "conftest.py").write_text(patches + COSTS)
    (tmp_path / "test_costs.py").write_text(COSTING)
    output = run_pytest(tmp_path)
    assert "80 passed" in output
    found = re.findall(r"^(hbtable_\w+) 40 ([0-9.]+)$", output, re.MULTILINE)
    assert [name for name, _ in found] == ["hbtable_db", "hbtable_server"]
    assert {name: millis for name, millis in found if float(millis) >= 20} == {}
