"""Paths and bytes as they stand in ZooKeeper."""

import ast
from pathlib import Path

import pytest

from hbtable.errors import Corruption, InvalidConfiguration
from hbtable.lockservice.zookeeper import nodes
from hbtable.lockservice.zookeeper.wire import parse_hosts

MAKING = ("create_async", "ensure_path", "ensure_path_async", "transaction")
"""Methods of kazoo's client by which nodes come to be; `create` is the lock service's own as well."""


def test_a_file_and_a_folder_of_one_name_are_two_nodes() -> None:
    assert nodes.node_of("/hbtable", "/a") == "/hbtable/a"
    assert nodes.node_of("/hbtable", "/a/b.lock") == "/hbtable/a+/b.lock"
    assert nodes.folder_node("/hbtable", "/a") == "/hbtable/a+"
    assert nodes.folder_node("/hbtable", "/") == "/hbtable"
    assert nodes.folder_node("", "/") == "/"
    assert nodes.parents_of("/hbtable/a+/b") == ["/hbtable", "/hbtable/a+"]
    assert nodes.names_of(["b", "a+", "a"]) == ["a", "b"]


def test_a_node_says_which_write_it_is_of() -> None:
    value = nodes.encode("0123456789abcdef", b"\0\n")
    assert value == b"0123456789abcdef\n\0\n"
    assert nodes.decode("/a", value) == ("0123456789abcdef", b"\0\n")


@pytest.mark.parametrize("value", [b"", b"short", b"0123456789abcdefX", bytes(40)])
def test_foreign_nodes_are_not_taken_for_ours(value: bytes) -> None:
    with pytest.raises(Corruption, match="/a"):
        nodes.decode("/a", value)


def test_addresses() -> None:
    assert parse_hosts("a:1, b ,[::1]:3") == [("a", 1), ("b", 2181), ("::1", 3)]
    for wrong in ("", "a:", ":1", "a:x", "a:70000", "a,,b"):
        with pytest.raises(InvalidConfiguration):
            parse_hosts(wrong)


def test_every_node_is_made_with_the_clusters_acl() -> None:
    """One that is made without is everybody's until the master's next walk (lockservice.zookeeper.access)."""
    folder = Path(nodes.__file__).parent
    found = [one for path in folder.glob("*.py") for one in ast.walk(ast.parse(path.read_text()))]
    makes = [one for one in found if isinstance(one, ast.Call) and getattr(one.func, "attr", "") in MAKING]
    assert len(makes) == 2, [ast.unparse(one) for one in makes]
    for one in makes:
        assert getattr(one.func, "attr", "") == "create_async", ast.unparse(one)
        assert "acl" in {keyword.arg for keyword in one.keywords}, ast.unparse(one)
