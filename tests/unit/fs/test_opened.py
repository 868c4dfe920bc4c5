"""File systems by address."""

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.fs import opened
from hbtable.fs.interface import LOCAL, WEBHDFS
from hbtable.fs.opened import open_file_system, parse_address
from hbtable.fs.webhdfs.http import HttpConnections
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_addresses_are_taken_apart() -> None:
    assert parse_address("webhdfs://a:1,b.c:2/x/y") == ("webhdfs", ("a:1", "b.c:2"), "/x/y")
    assert parse_address("swebhdfs://a:1/x") == ("swebhdfs", ("a:1",), "/x")
    assert parse_address("webhdfs://a:1/") == ("webhdfs", ("a:1",), "/hbtable")
    assert parse_address("hdfs://a:1,b:2/x").hosts == ("a:1", "b:2")
    assert parse_address("hdfs://a:8020") == ("hdfs", ("a:8020",), "/hbtable")
    assert parse_address("/some/folder") == ("", (), "/some/folder")


@pytest.mark.parametrize(
    "address",
    ["", "ftp://a:1/x", "webhdfs://a/x", "webhdfs://a:1,/x", "webhdfs:///x", "webhdfs://a:1/x y", "hdfs://a:1,b/x"],
)
def test_other_addresses_are_refused_with_a_message(address: str) -> None:
    with pytest.raises(InvalidConfiguration):
        parse_address(address)


def test_the_address_chooses_the_kind() -> None:
    runtime = SimulatedRuntime(1)
    assert open_file_system("webhdfs://a:1/x", runtime).log_kind == WEBHDFS
    assert open_file_system("x", runtime).log_kind == LOCAL


def test_an_unknown_way_to_sign_in_is_refused() -> None:
    with pytest.raises(InvalidConfiguration, match="kerberos"):
        WebHdfsOptions(sign_in="password")


def test_a_user_without_a_name_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1000620000")

    monkeypatch.setattr(opened.getpass, "getuser", nobody)
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    assert opened._hadoop_user() == WebHdfsOptions().user
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    assert opened._hadoop_user() == "ann"


def test_addresses_of_the_http_service_are_checked() -> None:
    runtime = SimulatedRuntime(1)
    for wrong in ("a", "a:0", "a:9870,b", "http://a:9870"):
        with pytest.raises(InvalidConfiguration, match="web_addresses"):
            opened._web_namenodes(runtime, HttpConnections(runtime.clock_seconds), ("a:8020",), wrong)
