"""hbtable.pytest_plugin, by pytest in a process of its own, as in the tests of another program."""

import subprocess
import sys
from pathlib import Path

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
