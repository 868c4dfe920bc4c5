"""How many DataNodes hold a block: Hadoop 3.4.2's answers, shortened, while both live, one died, or a file is new."""

import json
from collections.abc import Callable

import pytest

from hbtable.errors import FileNotFound
from hbtable.fs.webhdfs.copies import count_copies
from hbtable.fs.webhdfs.namenodes import NameNodes
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.requests import NotSent, WebHdfsRequest, WebHdfsResponse
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.task_calls import TaskCalls

NOW = 1_795_419_030_000


def node(millis: int, name: str = "localhost:18026") -> dict[str, object]:
    return {"name": name, "hostName": "localhost", "adminState": "NORMAL", "lastUpdate": millis, "xferPort": 18026}


def located(*nodes: dict[str, object], under_construction: bool = True) -> bytes:
    last = {"block": {"numBytes": 120}, "locations": nodes, "startOffset": 0}
    blocks = {"fileLength": 120, "isUnderConstruction": under_construction, "locatedBlocks": [last]}
    return json.dumps({"LocatedBlocks": {**blocks, "lastLocatedBlock": last}}).encode()


def counted(answer: Callable[[WebHdfsRequest], WebHdfsResponse]) -> int | None:
    runtime, found = SimulatedRuntime(1), list[int | None]()
    options = WebHdfsOptions(failover_seconds=1.0)
    names = NameNodes(runtime, TaskCalls(runtime), answer, ("namenode:9870",), options, {"user.name": "root"})
    runtime.run(lambda: found.append(count_copies(names, "/hbtable/logs/a/1.log")))
    return found[0]


@pytest.mark.parametrize(
    ("body", "copies"),
    [
        (located(node(NOW), node(NOW - 2_900)), 2),
        (located(node(NOW), node(NOW - 15_000)), 1),
        (located(node(NOW)), 1),
        (located(node(NOW), node(NOW), under_construction=False), 2),
        (located(), 0),
        (b'{"LocatedBlocks": {"fileLength": 0, "isUnderConstruction": true, "lastLocatedBlock": null}}', None),
        (b'{"boolean": true}', None),
        (b"no JSON", None),
    ],
)
def test_datanodes_count_while_they_are_heard_of(body: bytes, copies: int | None) -> None:
    assert counted(lambda request: WebHdfsResponse(200, "", body)) == copies


def test_without_an_answer_the_copies_are_not_known() -> None:
    def refuse(request: WebHdfsRequest) -> WebHdfsResponse:
        raise NotSent("refused")

    assert counted(refuse) is None
    assert counted(lambda request: WebHdfsResponse(401, "", b"<html>")) is None


def test_a_file_that_is_gone_is_said_to_be() -> None:
    body = b'{"RemoteException": {"exception": "FileNotFoundException", "javaClassName": "x", "message": "gone"}}'
    with pytest.raises(FileNotFound):
        counted(lambda request: WebHdfsResponse(404, "", body))
