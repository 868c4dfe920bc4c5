"""Hundreds of column families in a table, with a warning."""

import logging
from pathlib import Path
from warnings import catch_warnings

import pytest

import hbtable
from hbtable.model.schema_limits import MANY_FAMILIES, MAX_FAMILIES
from tests.harness.warm_commands import run_warm as run
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


def test_as_many_families_as_can_be_are_served_flushed_and_opened_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"f{number:03}" for number in range(MAX_FAMILIES)]
    with hbtable.open(str(tmp_path), durability="os") as database:
        said = pytest.warns(UserWarning, match=f"table t has {MAX_FAMILIES} column families")
        with caplog.at_level(logging.WARNING), said as warnings:
            table = database.create_table("t", names)
        assert [warning.filename for warning in warnings] == [__file__]
        assert f"table t has {MAX_FAMILIES} column families" in caplog.text
        table.put(b"row", {f"{name}:": b"1" for name in names})
        database.flush_table("t")
        table.put(b"row", {f"{name}:": b"3" for name in names})
    with hbtable.open(str(tmp_path), durability="os") as database:
        table = database.table("t")
        assert table.row(b"row") == {f"{name}:".encode(): b"3" for name in names}
        assert table.row(b"row", columns=["f250"]) == {b"f250:": b"3"}
        assert len(table.usage()) == MAX_FAMILIES
        with pytest.raises(hbtable.InvalidRequest, match=f"at most {MAX_FAMILIES} can be"):
            database.alter_table("t", add=["more"])


def test_a_hundred_families_are_no_reason_to_warn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with hbtable.open(str(tmp_path), durability="os") as database, caplog.at_level(logging.WARNING):
        database.create_table("t", [f"f{number}" for number in range(MANY_FAMILIES)])
        assert "column families" not in caplog.text
        database.alter_table("t", change={"f1": {"max_versions": 2}})
        assert "column families" not in caplog.text
        with pytest.warns(UserWarning, match=f"table t has {MANY_FAMILIES + 1} column families"):
            database.alter_table("t", add=["one more"])
        assert f"table t has {MANY_FAMILIES + 1} column families" in caplog.text


def test_who_connects_is_told_as_well(tmp_path: Path) -> None:
    with (
        WarmServer(tmp_path / "data", ["log.durability=os"]) as server,
        hbtable.connect("127.0.0.1", server.port) as database,
    ):
        with pytest.warns(UserWarning, match="table t has 101 column families"):
            database.create_table("t", [f"f{number}" for number in range(101)])
        with pytest.warns(UserWarning, match="table t has 102 column families"):
            database.alter_table("t", add=["more"])
        with catch_warnings(action="error"):
            database.alter_table("t", drop=["more"])
            database.alter_table("t", change={"f1": {"max_versions": 2}})
            database.create_table("usual", [f"f{number}" for number in range(100)])


def test_the_shell_says_what_many_families_and_a_hidden_table_mean(tmp_path: Path) -> None:
    with WarmServer(tmp_path / "data", ["log.durability=os"]) as server:
        families = ", ".join(f"'f{number}'" for number in range(MANY_FAMILIES + 1))
        many = run("shell", "--url", f"127.0.0.1:{server.port}", "-n", "-e", f"create 'many', {families}")
        assert f"table many has {MANY_FAMILIES + 1} column families" in many.stderr
        for change in ("alter 'many', 'one more'", "clone_table_schema 'many', 'another'"):
            done = run("shell", "--url", f"127.0.0.1:{server.port}", "-n", "-e", change)
            assert f"has {MANY_FAMILIES + 2} column families" in done.stderr, change
        less = run("shell", "--url", f"127.0.0.1:{server.port}", "-n", "-e", "alter 'many', 'delete' => 'f1'")
        assert (less.returncode, less.stderr) == (0, "")
        hidden = run("shell", "--url", f"127.0.0.1:{server.port}", "-n", "-e", "create 'hbase:x', 'f'")
        assert "no list of tables shows it" in hidden.stderr
        assert hidden.returncode == many.returncode == 0
        usual = run("shell", "--url", f"127.0.0.1:{server.port}", "-n", "-e", "create 'usual', 'f'")
        assert usual.stderr == ""
